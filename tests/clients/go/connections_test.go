package contract

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
)

func TestIdleStream(t *testing.T) {
	const idle = 40 * time.Second
	b := newBench(t)
	topic := b.topic("topic")
	box := b.listen(b.subscription("subscription", nil), nil, nil)
	publisher := b.Publisher(topic)
	defer publisher.Stop()
	publisher.PublishSettings.DelayThreshold = time.Millisecond
	for _, wait := range []time.Duration{0, idle} {
		time.Sleep(wait)
		_, err := publisher.Publish(t.Context(), &pubsub.Message{Data: []byte("x")}).Get(t.Context())
		must(t, err)
		box.nextWithin(time.Second)
	}
}

// goesOn breaks the link three times; every message published in between arrives.
func goesOn(t *testing.T, kind string, silent time.Duration) {
	b := newBench(t)
	b.topic("topic")
	name := b.subscription("subscription", nil)
	broken := newLink(t, kind)
	through := bench{t, newClient(t, b.project, option.WithEndpoint(broken.Address)), b.project}
	box := through.listen(name, nil, nil)
	for i, sent := range numbered(4) {
		through.publish("topic", sent)
		until(t, func() bool { return string(box.next().Data) == string(sent.Data) })
		if i < 3 && broken.breakAll(silent) == 0 {
			t.Fatal("nothing was open")
		}
	}
}

func TestCutConnection(t *testing.T) { goesOn(t, "tcp", 500*time.Millisecond) }

func TestEndedStream(t *testing.T) { goesOn(t, "grpc", 0) }
