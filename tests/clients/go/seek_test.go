package contract

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestSeekToTime(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{RetainAckedMessages: true})
	b.publish(topic, &pubsub.Message{Data: []byte("old")})
	time.Sleep(100 * time.Millisecond)
	between := time.Now()
	time.Sleep(100 * time.Millisecond)
	b.publish(topic, &pubsub.Message{Data: []byte("new")})
	box := b.listen(name, nil, nil)
	if counts := box.counts(2); len(counts) != 2 {
		t.Fatalf("received %v", counts)
	}
	box.staysQuiet() // the acks arrive meanwhile
	_, err := b.SubscriptionAdminClient.Seek(t.Context(), &pubsubpb.SeekRequest{
		Subscription: name, Target: &pubsubpb.SeekRequest_Time{Time: timestamppb.New(between)},
	})
	must(t, err)
	if got := box.next(); string(got.Data) != "new" {
		t.Fatalf("received %q", got.Data)
	}
	box.staysQuiet()
}

func TestSeekToSnapshot(t *testing.T) {
	b := newBench(t)
	ctx, topic := t.Context(), b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{RetainAckedMessages: true})
	b.publish(topic, &pubsub.Message{Data: []byte("acked before")})
	first := b.listen(name, nil, nil)
	first.next()
	first.stop()
	b.publish(topic, &pubsub.Message{Data: []byte("kept")})
	snapshot, err := b.SubscriptionAdminClient.CreateSnapshot(ctx, &pubsubpb.CreateSnapshotRequest{
		Name: fmt.Sprintf("projects/%s/snapshots/snapshot", b.project), Subscription: name,
	})
	must(t, err)
	box := b.listen(name, nil, nil)
	box.next()
	box.staysQuiet() // the ack arrives meanwhile
	_, err = b.SubscriptionAdminClient.Seek(ctx, &pubsubpb.SeekRequest{
		Subscription: name, Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: snapshot.Name},
	})
	must(t, err)
	if got := box.next(); string(got.Data) != "kept" {
		t.Fatalf("received %q", got.Data)
	}
	box.staysQuiet()
	must(t, b.SubscriptionAdminClient.DeleteSnapshot(
		ctx, &pubsubpb.DeleteSnapshotRequest{Snapshot: snapshot.Name}))
}
