package contract

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
)

// @spec STR-10 STR-11 CLI-12
func TestIdleStream(t *testing.T) {
	const idle = 40 * time.Second
	b := newBench(t)
	topic := b.topic("topic")
	watched := newLink(t, "grpc")
	client := newClient(t, b.project, option.WithEndpoint(watched.Address))
	box := listen(t, client, b.subscription("subscription", nil), nil, nil)
	publisher := b.Publisher(topic)
	defer publisher.Stop()
	publisher.PublishSettings.DelayThreshold = time.Millisecond
	var streams int
	for _, wait := range []time.Duration{0, idle} {
		time.Sleep(wait)
		_, err := publisher.Publish(t.Context(), &pubsub.Message{Data: []byte("x")}).Get(t.Context())
		must(t, err)
		if wait == 0 {
			box.next()
			streams = watched.seen().Streams
		} else {
			box.nextWithin(time.Second)
		}
	}
	if now := watched.seen().Streams; streams == 0 || now != streams {
		t.Fatalf("%d streams, then %d: some were given up", streams, now)
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

// @spec CLI-02
func TestCutConnection(t *testing.T) { goesOn(t, "tcp", 500*time.Millisecond) }

// @spec STR-13 CLI-02
func TestEndedStream(t *testing.T) { goesOn(t, "grpc", 0) }
