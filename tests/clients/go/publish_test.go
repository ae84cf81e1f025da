package contract

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
)

// @spec CLI-12
func TestTenThousandMessagesInBatches(t *testing.T) {
	const tenThousand = 10_000
	b := newBench(t)
	b.topic("topic")
	name := b.subscription("subscription", nil)
	publisher := b.Publisher("topic")
	defer publisher.Stop()
	publisher.PublishSettings.CountThreshold = 1_000
	publisher.PublishSettings.DelayThreshold = 100 * time.Millisecond
	messages := numbered(tenThousand)
	results := make([]*pubsub.PublishResult, len(messages))
	for i, message := range messages {
		message.Attributes = map[string]string{"number": string(message.Data)}
		results[i] = publisher.Publish(t.Context(), message)
	}
	ids := map[string]bool{}
	for _, result := range results {
		id, err := result.Get(t.Context())
		must(t, err)
		ids[id] = true
	}
	if len(ids) != tenThousand {
		t.Fatalf("%d ids", len(ids))
	}
	box := b.listen(name, nil, nil)
	for range messages {
		message := box.next()
		if message.Attributes["number"] != string(message.Data) || !ids[message.ID] {
			t.Fatalf("received %v", message)
		}
		delete(ids, message.ID)
	}
	box.staysQuiet()
}

func TestCompressedPublish(t *testing.T) {
	b := newBench(t)
	b.topic("topic")
	name := b.subscription("subscription", nil)
	counted := newLink(t, "tcp")
	publisher := newClient(t, b.project, option.WithEndpoint(counted.Address)).Publisher("topic")
	defer publisher.Stop()
	publisher.PublishSettings.EnableCompression = true
	data := strings.Repeat("compressible ", 10_000)
	_, err := publisher.Publish(t.Context(), &pubsub.Message{Data: []byte(data)}).Get(t.Context())
	must(t, err)
	if sent := counted.seen().SentBytes; sent == 0 || sent > len(data)/10 {
		t.Fatalf("%d bytes were sent", sent)
	}
	if got := b.listen(name, nil, nil).next(); string(got.Data) != data {
		t.Fatalf("received %d bytes", len(got.Data))
	}
}

// @spec ORD-01
func TestFailedKeyResumes(t *testing.T) {
	b := newBench(t)
	publisher := b.Publisher("topic")
	defer publisher.Stop()
	publisher.EnableMessageOrdering = true
	publish := func(data string) error {
		message := &pubsub.Message{Data: []byte(data), OrderingKey: "key"}
		_, err := publisher.Publish(t.Context(), message).Get(t.Context())
		return err
	}
	wantCode(t, publish("lost"), codes.NotFound) // there is no topic yet
	b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{EnableMessageOrdering: true})
	if err := publish("paused"); !errors.As(err, &pubsub.ErrPublishingPaused{}) {
		t.Fatalf("got %v, want it paused", err)
	}
	publisher.ResumePublish("key")
	messages := numbered(20)
	for _, message := range messages {
		message.OrderingKey = "key"
		publisher.Publish(t.Context(), message)
	}
	box := b.listen(name, nil, nil)
	for _, sent := range messages {
		got := box.next()
		if !bytes.Equal(got.Data, sent.Data) || got.OrderingKey != "key" {
			t.Fatalf("received %q of %q, want %q", got.Data, got.OrderingKey, sent.Data)
		}
	}
}

func TestFiveMegabyteMessage(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", nil)
	data := bytes.Repeat([]byte("0123456789"), 500_000)
	b.publish(topic, &pubsub.Message{Data: data})
	if got := b.listen(name, nil, nil).next(); !bytes.Equal(got.Data, data) {
		t.Fatalf("received %d bytes", len(got.Data))
	}
}
