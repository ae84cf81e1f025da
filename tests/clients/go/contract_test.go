// Package contract holds what the official Go client needs of a Pub/Sub server.
//
// PUBSUB_EMULATOR_HOST (or ENDPOINT) says where the server is; FAULTS, where the program is that
// breaks connections (tests/clients/faults.py).
package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// hangLimit is longer than anything here takes.
	hangLimit = 30 * time.Second
	// quiet is long enough for a message to arrive that should not.
	quiet = 500 * time.Millisecond
)

func TestMain(m *testing.M) {
	if endpoint := os.Getenv("ENDPOINT"); endpoint != "" {
		os.Setenv("PUBSUB_EMULATOR_HOST", endpoint)
	}
	os.Exit(m.Run())
}

// A bench is a client and a project of the test's own.
type bench struct {
	*testing.T
	*pubsub.Client
	project string
}

func newBench(t *testing.T) bench {
	t.Helper()
	t.Parallel()
	project := fmt.Sprintf("go-%012x", rand.Int64N(1<<48))
	return bench{t, newClient(t, project), project}
}

func newClient(t *testing.T, project string, options ...option.ClientOption) *pubsub.Client {
	t.Helper()
	client, err := pubsub.NewClient(context.Background(), project, options...)
	must(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func (b bench) topicName(name string) string {
	return fmt.Sprintf("projects/%s/topics/%s", b.project, name)
}

func (b bench) subscriptionName(name string) string {
	return fmt.Sprintf("projects/%s/subscriptions/%s", b.project, name)
}

func (b bench) topic(name string) string {
	b.Helper()
	topic := &pubsubpb.Topic{Name: b.topicName(name)}
	created, err := b.TopicAdminClient.CreateTopic(b.Context(), topic)
	must(b.T, err)
	return created.Name
}

// subscription creates one with the settings given; its topic is "topic" unless they name one.
func (b bench) subscription(name string, settings *pubsubpb.Subscription) string {
	b.Helper()
	if settings == nil {
		settings = &pubsubpb.Subscription{}
	}
	settings.Name = b.subscriptionName(name)
	if settings.Topic == "" {
		settings.Topic = b.topicName("topic")
	}
	created, err := b.SubscriptionAdminClient.CreateSubscription(b.Context(), settings)
	must(b.T, err)
	return created.Name
}

func (b bench) publish(topic string, messages ...*pubsub.Message) []string {
	b.Helper()
	publisher := b.Publisher(topic)
	defer publisher.Stop()
	publisher.EnableMessageOrdering = true
	results := make([]*pubsub.PublishResult, len(messages))
	for i, message := range messages {
		results[i] = publisher.Publish(b.Context(), message)
	}
	ids := make([]string, len(messages))
	for i, result := range results {
		id, err := result.Get(b.Context())
		must(b.T, err)
		ids[i] = id
	}
	return ids
}

func numbered(count int) []*pubsub.Message {
	messages := make([]*pubsub.Message, count)
	for i := range messages {
		messages[i] = &pubsub.Message{Data: fmt.Appendf(nil, "%05d", i)}
	}
	return messages
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Fatalf("got %v, want the code %v", err, want)
	}
}

// An inbox is a running Receive and what it has received.
type inbox struct {
	*testing.T
	received chan *pubsub.Message
	stop     func()
}

func (b bench) listen(name string, settle func(*pubsub.Message), change func(*pubsub.ReceiveSettings)) inbox {
	b.Helper()
	return listen(b.T, b.Client, name, settle, change)
}

// listen receives until stop is called, or the test ends; settle nil acks.
func listen(
	t *testing.T, client *pubsub.Client, name string,
	settle func(*pubsub.Message), change func(*pubsub.ReceiveSettings),
) inbox {
	if settle == nil {
		settle = (*pubsub.Message).Ack
	}
	subscriber := client.Subscriber(name)
	if change != nil {
		change(&subscriber.ReceiveSettings)
	}
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan *pubsub.Message, 20_000)
	ended := make(chan error, 1)
	go func() {
		ended <- subscriber.Receive(ctx, func(_ context.Context, message *pubsub.Message) {
			settle(message)
			received <- message
		})
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("receive ended with %v", err)
			}
		case <-time.After(hangLimit):
			t.Error("receive does not end")
		}
	})
	t.Cleanup(stop)
	return inbox{t, received, stop}
}

func (i inbox) next() *pubsub.Message {
	i.Helper()
	return i.nextWithin(hangLimit)
}

func (i inbox) nextWithin(limit time.Duration) *pubsub.Message {
	i.Helper()
	select {
	case message := <-i.received:
		return message
	case <-time.After(limit):
		i.Fatalf("no message within %v", limit)
		return nil
	}
}

// counts tells how often each text came among the next messages.
func (i inbox) counts(messages int) map[string]int {
	i.Helper()
	counts := map[string]int{}
	for range messages {
		counts[string(i.next().Data)]++
	}
	return counts
}

func (i inbox) staysQuiet() {
	i.Helper()
	select {
	case message := <-i.received:
		i.Fatalf("%q came unexpectedly", message.Data)
	case <-time.After(quiet):
	}
}

func until(t *testing.T, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(hangLimit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("did not come true")
		}
	}
}

// A link is an address of the server whose connections break on order.
type link struct {
	*testing.T
	Address string
	ID      int
}

func newLink(t *testing.T, kind string) link {
	t.Helper()
	if os.Getenv("FAULTS") == "" {
		t.Skip("FAULTS does not name a program that breaks connections")
	}
	opened := link{T: t}
	opened.order(http.MethodPost, kind, &opened)
	t.Cleanup(func() { opened.order(http.MethodDelete, fmt.Sprint(opened.ID), &struct{}{}) })
	return opened
}

// breakAll breaks what is open and returns how much that was.
func (l link) breakAll(silent time.Duration) int {
	l.Helper()
	var answer struct{ Broken int }
	path := fmt.Sprintf("%d/break?silent_s=%g", l.ID, silent.Seconds())
	l.order(http.MethodPost, path, &answer)
	return answer.Broken
}

// seen tells how much clients have sent, and how many streams they have opened.
func (l link) seen() (answer struct {
	SentBytes int `json:"sent_bytes"`
	Streams   int
}) {
	l.Helper()
	l.order(http.MethodGet, fmt.Sprint(l.ID), &answer)
	return answer
}

func (l link) order(method, path string, answer any) {
	l.Helper()
	url := fmt.Sprintf("http://%s/links/%s", os.Getenv("FAULTS"), path)
	request, err := http.NewRequest(method, url, nil)
	must(l.T, err)
	response, err := http.DefaultClient.Do(request)
	must(l.T, err)
	defer response.Body.Close()
	must(l.T, json.NewDecoder(response.Body).Decode(answer))
}
