package contract

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func TestTopicLife(t *testing.T) {
	b := newBench(t)
	topics, ctx, name := b.TopicAdminClient, t.Context(), b.topicName("topic")
	created, err := topics.CreateTopic(ctx, &pubsubpb.Topic{
		Name: name, Labels: map[string]string{"team": "red"},
	})
	must(t, err)
	if created.Name != name || created.Labels["team"] != "red" {
		t.Fatalf("created %v", created)
	}
	_, err = topics.UpdateTopic(ctx, &pubsubpb.UpdateTopicRequest{
		Topic: &pubsubpb.Topic{
			Name: name, Labels: map[string]string{"team": "blue"},
			MessageRetentionDuration: &durationpb.Duration{Seconds: 3600},
		},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"labels"}},
	})
	must(t, err)
	got, err := topics.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: name})
	must(t, err)
	if got.Labels["team"] != "blue" || got.MessageRetentionDuration != nil {
		t.Fatalf("got %v; the mask names the labels only", got)
	}
	must(t, topics.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: name}))
	_, err = topics.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: name})
	wantCode(t, err, codes.NotFound)
}

func TestSubscriptionLife(t *testing.T) {
	b := newBench(t)
	ctx, subscriptions := t.Context(), b.SubscriptionAdminClient
	topic := b.topic("topic")
	name := b.subscription("subscription", &pubsubpb.Subscription{
		AckDeadlineSeconds: 30, Labels: map[string]string{"a": "b"},
	})
	listed, err := b.TopicAdminClient.ListTopicSubscriptions(
		ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: topic}).Next()
	must(t, err)
	if listed != name {
		t.Fatalf("listed %v", listed)
	}
	_, err = subscriptions.UpdateSubscription(ctx, &pubsubpb.UpdateSubscriptionRequest{
		Subscription: &pubsubpb.Subscription{
			Name: name, AckDeadlineSeconds: 60, Labels: map[string]string{"c": "d"},
		},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"ack_deadline_seconds"}},
	})
	must(t, err)
	get := &pubsubpb.GetSubscriptionRequest{Subscription: name}
	got, err := subscriptions.GetSubscription(ctx, get)
	must(t, err)
	if got.AckDeadlineSeconds != 60 || got.Labels["a"] != "b" {
		t.Fatalf("got %v; the mask names the deadline only", got)
	}
	must(t, b.TopicAdminClient.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: topic}))
	got, err = subscriptions.GetSubscription(ctx, get)
	must(t, err)
	if got.Topic != "_deleted-topic_" {
		t.Fatalf("the deleted topic is shown as %q", got.Topic)
	}
	must(t, subscriptions.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: name}))
	_, err = subscriptions.GetSubscription(ctx, get)
	wantCode(t, err, codes.NotFound)
}

func TestListsHavePages(t *testing.T) {
	b := newBench(t)
	var want []string
	for i := range 5 {
		want = append(want, b.topic(fmt.Sprint("topic-", i)))
		b.subscription(fmt.Sprint("subscription-", i), &pubsubpb.Subscription{Topic: want[i]})
	}
	topics := b.TopicAdminClient.ListTopics(
		t.Context(), &pubsubpb.ListTopicsRequest{Project: "projects/" + b.project})
	pager := iterator.NewPager(topics, 3, "")
	var names []string
	for _, size := range []int{3, 2} {
		var page []*pubsubpb.Topic
		_, err := pager.NextPage(&page)
		must(t, err)
		if len(page) != size {
			t.Fatalf("a page of %d, want %d", len(page), size)
		}
		for _, topic := range page {
			names = append(names, topic.Name)
		}
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Fatalf("listed %v", names)
	}
	subscriptions := b.SubscriptionAdminClient.ListSubscriptions(t.Context(),
		&pubsubpb.ListSubscriptionsRequest{Project: "projects/" + b.project, PageSize: 3})
	count := 0
	for _, err := range subscriptions.All() {
		must(t, err)
		count++
	}
	if count != 5 {
		t.Fatalf("listed %d subscriptions", count)
	}
}

func TestErrorsAreTheClientsOwn(t *testing.T) {
	b := newBench(t)
	ctx, topic := t.Context(), b.topic("topic")
	_, err := b.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topic})
	wantCode(t, err, codes.AlreadyExists)
	var own *apierror.APIError
	if !errors.As(err, &own) {
		t.Fatalf("%T is not the client's own error", err)
	}
	absent := b.topicName("absent")
	err = b.TopicAdminClient.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: absent})
	wantCode(t, err, codes.NotFound)
	publisher := b.Publisher("absent")
	defer publisher.Stop()
	_, err = publisher.Publish(ctx, &pubsub.Message{Data: []byte("x")}).Get(ctx)
	wantCode(t, err, codes.NotFound)
	subscription := &pubsubpb.Subscription{Name: b.subscriptionName("subscription"), Topic: absent}
	_, err = b.SubscriptionAdminClient.CreateSubscription(ctx, subscription)
	wantCode(t, err, codes.NotFound)
	_, err = b.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: b.topicName("goog-reserved")})
	wantCode(t, err, codes.InvalidArgument)
	subscription.Topic, subscription.AckDeadlineSeconds = topic, 5
	_, err = b.SubscriptionAdminClient.CreateSubscription(ctx, subscription)
	wantCode(t, err, codes.InvalidArgument)
}

func TestIamPolicies(t *testing.T) {
	b := newBench(t)
	ctx, topics, topic := t.Context(), b.TopicAdminClient, b.topic("topic")
	policy, err := topics.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: topic})
	must(t, err)
	policy.Bindings = []*iampb.Binding{
		{Role: "roles/pubsub.viewer", Members: []string{"user:me@example.com"}},
	}
	_, err = topics.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: topic, Policy: policy})
	must(t, err)
	got, err := topics.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: topic})
	must(t, err)
	if len(got.Bindings) != 1 || got.Bindings[0].Role != "roles/pubsub.viewer" {
		t.Fatalf("got %v", got)
	}
	asked := []string{"pubsub.topics.get", "pubsub.topics.publish"}
	granted, err := topics.TestIamPermissions(
		ctx, &iampb.TestIamPermissionsRequest{Resource: topic, Permissions: asked})
	must(t, err)
	if slices.Sort(granted.Permissions); !slices.Equal(granted.Permissions, asked) {
		t.Fatalf("granted %v", granted.Permissions)
	}
}

// @spec PUL-04
func TestDetach(t *testing.T) {
	b := newBench(t)
	ctx, topic := t.Context(), b.topic("topic")
	name := b.subscription("subscription", nil)
	b.publish(topic, numbered(1)...)
	_, err := b.TopicAdminClient.DetachSubscription(
		ctx, &pubsubpb.DetachSubscriptionRequest{Subscription: name})
	must(t, err)
	got, err := b.SubscriptionAdminClient.GetSubscription(
		ctx, &pubsubpb.GetSubscriptionRequest{Subscription: name})
	must(t, err)
	if !got.Detached {
		t.Fatal("not shown as detached")
	}
	err = b.Subscriber(name).Receive(ctx, nil)
	wantCode(t, err, codes.FailedPrecondition)
}
