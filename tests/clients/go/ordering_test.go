package contract

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// @spec ORD-01
func TestOrderedKeys(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{EnableMessageOrdering: true})
	var sent []*pubsub.Message
	for i := range 100 {
		for _, key := range []string{"a", "b", "c"} {
			sent = append(sent, &pubsub.Message{Data: fmt.Append(nil, i), OrderingKey: key})
		}
	}
	b.publish(topic, sent...)
	box, received := b.listen(name, nil, nil), map[string]int{}
	for range sent {
		message := box.next()
		if want := fmt.Sprint(received[message.OrderingKey]); string(message.Data) != want {
			t.Fatalf("%s: received %s, want %s", message.OrderingKey, message.Data, want)
		}
		received[message.OrderingKey]++
	}
}

// @spec ORD-02
func TestOrderedKeyAfterAFailure(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{EnableMessageOrdering: true})
	var sent []string
	for i := range 10 {
		sent = append(sent, fmt.Sprint(i))
		b.publish(topic, &pubsub.Message{Data: []byte(sent[i]), OrderingKey: "key"})
	}
	var failed atomic.Bool
	box := b.listen(name, func(message *pubsub.Message) {
		if string(message.Data) == "4" && failed.CompareAndSwap(false, true) {
			message.Nack()
		} else {
			message.Ack()
		}
	}, nil)
	var received []string
	var again int
	for {
		received = append(received, string(box.next().Data))
		first := slices.Index(received, "4")
		if again = first + 1 + slices.Index(received[first+1:], "4"); first >= 0 && again > first &&
			received[len(received)-1] == "9" {
			break
		}
	}
	// After the failure everything from it on comes again, in order, whatever came in between.
	if !slices.Equal(received[:4], sent[:4]) || !slices.Equal(received[again:], sent[4:]) {
		t.Fatalf("received %v", received)
	}
}
