package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.api.gax.rpc.FailedPreconditionException;
import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.cloud.pubsub.v1.TopicAdminClient.ListTopicsPage;
import com.google.iam.v1.Binding;
import com.google.iam.v1.GetIamPolicyRequest;
import com.google.iam.v1.Policy;
import com.google.iam.v1.SetIamPolicyRequest;
import com.google.iam.v1.TestIamPermissionsRequest;
import com.google.protobuf.Duration;
import com.google.protobuf.FieldMask;
import com.google.pubsub.v1.DetachSubscriptionRequest;
import com.google.pubsub.v1.ListTopicsRequest;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.Topic;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/** The life of topics and subscriptions, and errors as the client's own exceptions. */
final class AdminTest extends Bench {
  @Test
  void topicLife() {
    String name = topicName("topic");
    Topic red = Topic.newBuilder().setName(name).putLabels("team", "red").build();
    assertEquals(red.getLabelsMap(), topics.createTopic(red).getLabelsMap());
    Topic blue =
        Topic.newBuilder()
            .setName(name)
            .putLabels("team", "blue")
            .setMessageRetentionDuration(Duration.newBuilder().setSeconds(3600))
            .build();
    topics.updateTopic(blue, FieldMask.newBuilder().addPaths("labels").build());
    Topic got = topics.getTopic(name);
    assertEquals(Map.of("team", "blue"), got.getLabelsMap());
    assertFalse(got.hasMessageRetentionDuration(), "the mask did not name it");
    topics.deleteTopic(name);
    refused(NotFoundException.class, () -> topics.getTopic(name));
  }

  @Test
  void subscriptionLife() {
    String topic = topic("topic");
    String name =
        subscription("subscription", s -> s.setAckDeadlineSeconds(30).putLabels("a", "b"));
    assertEquals(List.of(name), listed(topics.listTopicSubscriptions(topic).iterateAll()));
    Subscription update =
        Subscription.newBuilder()
            .setName(name)
            .setAckDeadlineSeconds(60)
            .putLabels("c", "d")
            .build();
    FieldMask mask = FieldMask.newBuilder().addPaths("ack_deadline_seconds").build();
    subscriptions.updateSubscription(update, mask);
    Subscription got = subscriptions.getSubscription(name);
    assertEquals(60, got.getAckDeadlineSeconds());
    assertEquals(Map.of("a", "b"), got.getLabelsMap());
    topics.deleteTopic(topic);
    assertEquals("_deleted-topic_", subscriptions.getSubscription(name).getTopic());
    subscriptions.deleteSubscription(name);
    refused(NotFoundException.class, () -> subscriptions.getSubscription(name));
  }

  @Test
  void listsHavePages() {
    List<String> wanted =
        IntStream.range(0, 5)
            .mapToObj(
                number -> {
                  String topic = topic("topic-" + number);
                  return subscription("subscription-" + number, s -> s.setTopic(topic));
                })
            .toList();
    ListTopicsRequest request =
        ListTopicsRequest.newBuilder().setProject(parent()).setPageSize(3).build();
    List<Integer> sizes = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (ListTopicsPage page : topics.listTopics(request).iteratePages()) {
      sizes.add(page.getPageElementCount());
      page.getValues().forEach(topic -> names.add(topic.getName()));
    }
    assertEquals(List.of(3, 2), sizes);
    assertEquals(
        wanted.stream().map(name -> name.replace("subscription", "topic")).toList(),
        names.stream().sorted().toList());
    List<String> found = new ArrayList<>();
    subscriptions.listSubscriptions(parent()).iterateAll().forEach(s -> found.add(s.getName()));
    assertEquals(wanted, found.stream().sorted().toList());
  }

  @Test
  void errorsAreTheClientsOwn() throws Exception {
    String topic = topic("topic");
    String absent = topicName("absent");
    refused(AlreadyExistsException.class, () -> topics.createTopic(topic));
    refused(NotFoundException.class, () -> topics.getTopic(absent));
    refused(NotFoundException.class, () -> publish(absent, message("x")));
    refused(NotFoundException.class, () -> subscription("subscription", s -> s.setTopic(absent)));
    refused(InvalidArgumentException.class, () -> topic("goog-reserved"));
    refused(
        InvalidArgumentException.class,
        () -> subscription("subscription", s -> s.setAckDeadlineSeconds(5)));
  }

  @Test
  void iamPolicies() {
    String topic = topic("topic");
    GetIamPolicyRequest get = GetIamPolicyRequest.newBuilder().setResource(topic).build();
    Policy policy =
        topics.getIamPolicy(get).toBuilder()
            .addBindings(
                Binding.newBuilder().setRole("roles/pubsub.viewer").addMembers("user:me@example.com"))
            .build();
    topics.setIamPolicy(
        SetIamPolicyRequest.newBuilder().setResource(topic).setPolicy(policy).build());
    assertEquals(policy.getBindingsList(), topics.getIamPolicy(get).getBindingsList());
    List<String> asked = List.of("pubsub.topics.get", "pubsub.topics.publish");
    TestIamPermissionsRequest request =
        TestIamPermissionsRequest.newBuilder().setResource(topic).addAllPermissions(asked).build();
    assertEquals(
        asked, topics.testIamPermissions(request).getPermissionsList().stream().sorted().toList());
  }

  // @spec PUL-04
  @Test
  void detach() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    publish(topic, message("lost"));
    topics.detachSubscription(
        DetachSubscriptionRequest.newBuilder().setSubscription(name).build());
    assertTrue(subscriptions.getSubscription(name).getDetached());
    assertEquals(List.of(), listed(topics.listTopicSubscriptions(topic).iterateAll()));
    refused(FailedPreconditionException.class, () -> subscriptions.pull(name, 1));
  }

  private static List<String> listed(Iterable<String> names) {
    return StreamSupport.stream(names.spliterator(), false).toList();
  }
}
