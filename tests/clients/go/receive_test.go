package contract

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// flows expects total messages, while between least and most of them are out unsettled.
func flows(b bench, name string, total, least, most int, change func(*pubsub.ReceiveSettings)) {
	b.Helper()
	settled := make(chan bool)
	pending := make(chan *pubsub.Message, total)
	b.listen(name, func(message *pubsub.Message) {
		pending <- message
		<-settled
		message.Ack()
	}, change)
	until(b.T, func() bool { return len(pending) >= least })
	time.Sleep(quiet)
	if out := len(pending); out < least || out > most {
		b.Fatalf("%d messages are out, want %d to %d", out, least, most)
	}
	for range total {
		select {
		case <-pending:
		case <-time.After(hangLimit):
			b.Fatal("no message")
		}
		if out := len(pending); out >= most {
			b.Fatalf("%d messages are out, want at most %d", out, most)
		}
		settled <- true
	}
}

// @spec STR-07
func TestFlowControlByCount(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", nil)
	b.publish(topic, numbered(20)...)
	flows(b, name, 20, 3, 3, func(s *pubsub.ReceiveSettings) { s.MaxOutstandingMessages = 3 })
}

// @spec STR-07
func TestFlowControlByBytes(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", nil)
	for i := range 10 {
		b.publish(topic, &pubsub.Message{Data: bytes.Repeat([]byte{byte(i)}, 100_000)})
	}
	// Two fit; whether a third may overrun the limit is the server's and the client's choice.
	flows(b, name, 10, 2, 3, func(s *pubsub.ReceiveSettings) { s.MaxOutstandingBytes = 250_000 })
}

// @spec DLV-09
func TestSubscribersShare(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", nil)
	boxes := []inbox{b.listen(name, nil, nil), listen(t, newClient(t, b.project), name, nil, nil)}
	time.Sleep(quiet) // both streams are open
	b.publish(topic, numbered(500)...)
	until(t, func() bool { return len(boxes[0].received)+len(boxes[1].received) == 500 })
	shares := []int{len(boxes[0].received), len(boxes[1].received)}
	if shares[0] == 0 || shares[1] == 0 {
		t.Fatalf("shared as %v", shares)
	}
	counts := boxes[0].counts(shares[0])
	for text := range boxes[1].counts(shares[1]) {
		counts[text]++
	}
	if len(counts) != 500 {
		t.Fatalf("%d different messages", len(counts))
	}
}

// @spec DLV-07
func TestFanOut(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	for i := range 3 {
		b.subscription(fmt.Sprint("subscription-", i), nil)
	}
	b.publish(topic, numbered(100)...)
	for i := range 3 {
		box := b.listen(fmt.Sprint("subscription-", i), nil, nil)
		if counts := box.counts(100); len(counts) != 100 {
			t.Fatalf("%d different messages", len(counts))
		}
		box.staysQuiet()
	}
}

// @spec DLV-03 DLQ-01
func TestNackAndAttempts(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{
		DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{
			DeadLetterTopic: b.topic("dead"), MaxDeliveryAttempts: 10,
		},
	})
	box := b.listen(name, func(message *pubsub.Message) {
		if *message.DeliveryAttempt == 3 {
			message.Ack()
		} else {
			message.Nack()
		}
	}, nil)
	b.publish(topic, numbered(2)...)
	seen := map[string]int{}
	for range 6 {
		message := box.next()
		seen[fmt.Sprintf("%s/%d", message.Data, *message.DeliveryAttempt)]++
	}
	if len(seen) != 6 {
		t.Fatalf("attempts %v", seen)
	}
	box.staysQuiet()
}

// @spec DLV-21 CLI-14
func TestSlowHandlerKeepsItsLease(t *testing.T) {
	const lease, slow = 10 * time.Second, 13 * time.Second
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{AckDeadlineSeconds: 10})
	b.publish(topic, numbered(2)...)
	box := b.listen(name, func(message *pubsub.Message) {
		time.Sleep(slow)
		message.Ack()
	}, func(s *pubsub.ReceiveSettings) { s.MaxDurationPerAckExtension = lease })
	if counts := box.counts(2); len(counts) != 2 {
		t.Fatalf("received %v", counts)
	}
	box.staysQuiet()
}

// @spec RTY-02
func TestRetryBackoff(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{RetryPolicy: &pubsubpb.RetryPolicy{
		MinimumBackoff: durationpb.New(time.Second), MaximumBackoff: durationpb.New(10 * time.Second),
	}})
	var lock sync.Mutex
	var times []time.Time
	box := b.listen(name, func(message *pubsub.Message) {
		lock.Lock()
		defer lock.Unlock()
		if times = append(times, time.Now()); len(times) == 3 {
			message.Ack()
		} else {
			message.Nack()
		}
	}, nil)
	b.publish(topic, numbered(1)...)
	box.counts(3)
	// It doubles; the second nack waits in the client for up to 100 ms.
	first, second := times[1].Sub(times[0]), times[2].Sub(times[1])
	if first < time.Second || second < 2*time.Second {
		t.Fatalf("came again after %v and %v", first, second)
	}
}

// @spec DLQ-02 DLQ-03
func TestDeadLetter(t *testing.T) {
	b := newBench(t)
	topic, dead := b.topic("topic"), b.topic("dead")
	b.subscription("dead", &pubsubpb.Subscription{Topic: dead})
	name := b.subscription("subscription", &pubsubpb.Subscription{
		DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: dead, MaxDeliveryAttempts: 5},
	})
	b.publish(topic, &pubsub.Message{
		Data: []byte("poison"), Attributes: map[string]string{"color": "green"},
	})
	box := b.listen(name, (*pubsub.Message).Nack, nil)
	buried := b.listen("dead", nil, nil).next()
	if counts := box.counts(5); counts["poison"] != 5 {
		t.Fatalf("received %v", counts)
	}
	box.staysQuiet()
	want := map[string]string{
		"color": "green",
		"CloudPubSubDeadLetterSourceDeliveryCount":       "5",
		"CloudPubSubDeadLetterSourceSubscription":        "subscription",
		"CloudPubSubDeadLetterSourceSubscriptionProject": b.project,
	}
	for name, value := range want {
		if buried.Attributes[name] != value {
			t.Errorf("%s is %q, want %q", name, buried.Attributes[name], value)
		}
	}
}

// @spec DLV-40
func TestFilter(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{
		Filter: `attributes.color = "red" AND NOT hasPrefix(attributes.size, "x")`,
	})
	box := b.listen(name, nil, nil)
	b.publish(topic,
		&pubsub.Message{Data: []byte("green"), Attributes: map[string]string{"color": "green", "size": "s"}},
		&pubsub.Message{Data: []byte("large"), Attributes: map[string]string{"color": "red", "size": "xl"}},
		&pubsub.Message{Data: []byte("plain")},
		&pubsub.Message{Data: []byte("red"), Attributes: map[string]string{"color": "red", "size": "s"}},
	)
	if got := box.next(); string(got.Data) != "red" {
		t.Fatalf("received %q", got.Data)
	}
	box.staysQuiet()
}

// @spec CLI-12
func TestStartAndStop(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", nil)
	for _, sent := range numbered(20) {
		box := b.listen(name, nil, nil)
		b.publish(topic, sent)
		if got := box.next(); !bytes.Equal(got.Data, sent.Data) {
			t.Fatalf("received %q, want %q", got.Data, sent.Data)
		}
		box.stop()
	}
	b.listen(name, nil, nil).staysQuiet()
}

// A subscriber that leaves hands what it nacks to the next one, not to itself. It has as many
// messages at hand as the client gives it: of a key one at a time.
func handsOn(
	t *testing.T, atHand int, patience time.Duration, settings *pubsubpb.Subscription,
) {
	const all, keys = 50, 10
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", settings)
	messages := numbered(all)
	for i, message := range messages {
		message.OrderingKey = fmt.Sprint("key-", i%keys)
	}
	b.publish(topic, messages...)
	held, leave := make(chan bool, all), make(chan bool)
	first := b.listen(name, func(message *pubsub.Message) {
		held <- true
		<-leave
		message.Nack()
	}, nil)
	until(t, func() bool { return len(held) == atHand })
	go first.stop()
	time.Sleep(quiet / 10) // the client has begun to stop, and waits for its handlers
	close(leave)
	first.stop()
	next, last := b.listen(name, nil, nil), map[string]string{}
	for range all {
		message := next.nextWithin(patience)
		if text := string(message.Data); settings.EnableMessageOrdering &&
			text <= last[message.OrderingKey] {
			t.Fatalf("%s of %s came after %s", text, message.OrderingKey, last[message.OrderingKey])
		}
		last[message.OrderingKey] = string(message.Data)
	}
	next.staysQuiet()
}

// @spec STR-14 DLV-03 CLI-12
func TestStopHandsMessagesOn(t *testing.T) {
	handsOn(t, 50, hangLimit, &pubsubpb.Subscription{})
}

func TestStopHandsOrderedMessagesOn(t *testing.T) {
	handsOn(t, 10, hangLimit, &pubsubpb.Subscription{EnableMessageOrdering: true})
}

// What is on its way to the client when it nacks, it may still answer with a receipt, and then
// keeps without a handler for its lease of a minute.
func TestStopHandsMessagesOnExactlyOnce(t *testing.T) {
	handsOn(t, 50, 3*hangLimit, &pubsubpb.Subscription{EnableExactlyOnceDelivery: true})
}
