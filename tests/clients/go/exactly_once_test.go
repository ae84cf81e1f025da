package contract

import (
	"context"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
)

// @spec EOD-01 EOD-06
func TestExactlyOnceAcksSucceed(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{EnableExactlyOnceDelivery: true})
	b.publish(topic, numbered(100)...)
	box := b.listen(name, func(message *pubsub.Message) {
		if got, err := message.AckWithResult().Get(context.Background()); err != nil ||
			got != pubsub.AcknowledgeStatusSuccess {
			t.Errorf("acked with %v, %v", got, err)
		}
	}, nil)
	if counts := box.counts(100); len(counts) != 100 {
		t.Fatalf("%d different messages", len(counts))
	}
	box.staysQuiet()
}

// ackIDs tells the id of each delivery, which the client keeps to itself.
type ackIDs struct {
	grpc.ClientStream
	ids chan string
}

func (s ackIDs) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if response, ok := message.(*pubsubpb.StreamingPullResponse); ok && err == nil {
		for _, received := range response.ReceivedMessages {
			s.ids <- received.AckId
		}
	}
	return err
}

// @spec EOD-02 EOD-03
func TestExactlyOnceAckFails(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{EnableExactlyOnceDelivery: true})
	ids := make(chan string, 10)
	listenIn := func(
		ctx context.Context, description *grpc.StreamDesc, connection *grpc.ClientConn,
		method string, streamer grpc.Streamer, options ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		stream, err := streamer(ctx, description, connection, method, options...)
		return ackIDs{stream, ids}, err
	}
	client := newClient(t, b.project,
		option.WithGRPCDialOption(grpc.WithStreamInterceptor(listenIn)))
	deliveries := make(chan *pubsub.Message, 2)
	results := make(chan *pubsub.AckResult, 2)
	settle := make(chan bool)
	listen(t, client, name, func(message *pubsub.Message) {
		deliveries <- message
		<-settle
		results <- message.AckWithResult()
	}, nil)
	b.publish(topic, numbered(1)...)
	<-deliveries
	// Somebody else ends the lease, and the message comes again under a new id.
	must(t, b.SubscriptionAdminClient.ModifyAckDeadline(t.Context(),
		&pubsubpb.ModifyAckDeadlineRequest{Subscription: name, AckIds: []string{<-ids}}))
	second := <-deliveries
	statuses := map[pubsub.AcknowledgeStatus]int{}
	for range 2 {
		settle <- true
		status, _ := (<-results).Get(t.Context())
		statuses[status]++
	}
	if statuses[pubsub.AcknowledgeStatusInvalidAckID] != 1 ||
		statuses[pubsub.AcknowledgeStatusSuccess] != 1 {
		t.Fatalf("acks of %q fared as %v, want one success and one invalid id", second.Data, statuses)
	}
}
