package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.api.gax.batching.FlowControlSettings;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.DeadLetterPolicy;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.RetryPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Streaming pull: flow control, sharing, leases, redelivery. */
final class ReceiveTest extends Bench {
  private static final Inbox.Settler LATER = delivery -> {};
  private static final Duration LEASE = Duration.ofSeconds(10);
  private static final Duration SLOW = Duration.ofSeconds(13);

  // @spec STR-07
  @Test
  void flowControlByCount() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    publish(topic, numbered(20));
    flows(
        name, 20, 3, 3, FlowControlSettings.newBuilder().setMaxOutstandingElementCount(3L).build());
  }

  // @spec STR-07
  @Test
  void flowControlByBytes() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    for (int number = 0; number < 10; number++) {
      publish(topic, message(String.valueOf(number).repeat(100_000)));
    }
    // Two fit; whether a third may overrun the limit is the server's and the client's choice.
    flows(
        name,
        10,
        2,
        3,
        FlowControlSettings.newBuilder().setMaxOutstandingRequestBytes(250_000L).build());
  }

  /** Expect `total` messages, while between `least` and `most` of them are out unsettled. */
  private void flows(String name, int total, int least, int most, FlowControlSettings flow)
      throws Exception {
    Inbox inbox = listen(name, LATER, settings -> settings.setFlowControlSettings(flow));
    until(() -> inbox.received.size() >= least);
    Thread.sleep(QUIET.toMillis());
    assertTrue(inbox.received.size() <= most, () -> inbox.received.size() + " are out");
    Set<String> seen = new HashSet<>();
    for (int number = 0; number < total; number++) {
      Inbox.Delivery delivery = inbox.next();
      assertTrue(inbox.received.size() < most, () -> inbox.received.size() + " more are out");
      seen.add(delivery.text());
      delivery.reply().ack();
    }
    assertEquals(total, seen.size());
  }

  // @spec DLV-09
  @Test
  void subscribersShare() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    Inbox first = listen(name);
    Inbox second = listen(name, transport(ENDPOINT), d -> d.reply().ack(), settings -> settings);
    Thread.sleep(QUIET.toMillis()); // both streams are open
    publish(topic, numbered(500));
    until(() -> first.received.size() + second.received.size() == 500);
    assertTrue(first.received.size() > 0 && second.received.size() > 0);
    Set<String> all = new HashSet<>(first.take(first.received.size()));
    all.addAll(second.take(second.received.size()));
    assertEquals(500, all.size());
  }

  // @spec DLV-07
  @Test
  void fanOut() throws Exception {
    String topic = topic("topic");
    List<String> names =
        Stream.of("one", "two", "three").map(id -> subscription(id)).toList();
    publish(topic, numbered(100));
    for (String name : names) {
      Inbox inbox = listen(name);
      assertEquals(100, new HashSet<>(inbox.take(100)).size());
      inbox.staysQuiet();
    }
  }

  // @spec DLV-03 DLQ-01
  @Test
  void nackAndAttempts() throws Exception {
    String topic = topic("topic");
    DeadLetterPolicy policy =
        DeadLetterPolicy.newBuilder()
            .setDeadLetterTopic(topic("dead"))
            .setMaxDeliveryAttempts(10)
            .build();
    String name = subscription("subscription", s -> s.setDeadLetterPolicy(policy));
    Inbox inbox =
        listen(
            name,
            delivery -> {
              if (delivery.attempt() == 3) {
                delivery.reply().ack();
              } else {
                delivery.reply().nack();
              }
            },
            settings -> settings);
    publish(topic, numbered(2));
    Set<String> seen = new HashSet<>();
    for (int number = 0; number < 6; number++) {
      Inbox.Delivery delivery = inbox.next();
      seen.add(delivery.text() + "/" + delivery.attempt());
    }
    assertEquals(6, seen.size(), seen::toString);
    inbox.staysQuiet();
  }

  // @spec DLV-21 CLI-14
  @Test
  void slowHandlerKeepsItsLease() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription", s -> s.setAckDeadlineSeconds(10));
    publish(topic, numbered(2));
    Inbox inbox =
        listen(
            name,
            delivery -> {
              Thread.sleep(SLOW.toMillis());
              delivery.reply().ack();
            },
            settings -> settings.setMaxDurationPerAckExtensionDuration(LEASE));
    assertEquals(2, new HashSet<>(inbox.take(2)).size());
    inbox.staysQuiet();
  }

  // @spec RTY-02
  @Test
  void retryBackoff() throws Exception {
    String topic = topic("topic");
    RetryPolicy policy =
        RetryPolicy.newBuilder()
            .setMinimumBackoff(com.google.protobuf.Duration.newBuilder().setSeconds(1))
            .setMaximumBackoff(com.google.protobuf.Duration.newBuilder().setSeconds(10))
            .build();
    String name = subscription("subscription", s -> s.setRetryPolicy(policy));
    List<Long> times = Collections.synchronizedList(new ArrayList<>());
    Inbox inbox =
        listen(
            name,
            delivery -> {
              times.add(System.nanoTime());
              if (times.size() == 3) {
                delivery.reply().ack();
              } else {
                delivery.reply().nack();
              }
            },
            settings -> settings);
    publish(topic, message("x"));
    inbox.take(3);
    assertTrue(times.get(1) - times.get(0) >= 1_000_000_000L, times::toString);
    // It doubles.
    assertTrue(times.get(2) - times.get(1) >= 2_000_000_000L, times::toString);
  }

  // @spec DLQ-02 DLQ-03
  @Test
  void deadLetter() throws Exception {
    String topic = topic("topic");
    String dead = topic("dead");
    String grave = subscription("dead", s -> s.setTopic(dead));
    DeadLetterPolicy policy =
        DeadLetterPolicy.newBuilder().setDeadLetterTopic(dead).setMaxDeliveryAttempts(5).build();
    String name = subscription("subscription", s -> s.setDeadLetterPolicy(policy));
    publish(topic, colored("poison", "green", "s"));
    Inbox inbox = listen(name, delivery -> delivery.reply().nack(), settings -> settings);
    PubsubMessage buried = listen(grave).next().message();
    assertEquals(Collections.nCopies(5, "poison"), inbox.take(5));
    inbox.staysQuiet();
    assertEquals(ByteString.copyFromUtf8("poison"), buried.getData());
    Map.of(
            "color", "green",
            "CloudPubSubDeadLetterSourceDeliveryCount", "5",
            "CloudPubSubDeadLetterSourceSubscription", "subscription",
            "CloudPubSubDeadLetterSourceSubscriptionProject", project)
        .forEach((key, value) -> assertEquals(value, buried.getAttributesOrThrow(key)));
  }

  // @spec DLV-40
  @Test
  void filter() throws Exception {
    String topic = topic("topic");
    String wanted = "attributes.color = \"red\" AND NOT hasPrefix(attributes.size, \"x\")";
    String name = subscription("subscription", s -> s.setFilter(wanted));
    Inbox inbox = listen(name);
    publish(
        topic,
        colored("green", "green", "s"),
        colored("large", "red", "xl"),
        message("plain"),
        colored("red", "red", "s"));
    assertEquals("red", inbox.next().text());
    inbox.staysQuiet();
  }

  // @spec CLI-11
  @Test
  void startAndStop() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    AtomicInteger acked = new AtomicInteger();
    for (PubsubMessage sent : numbered(20)) {
      try (Inbox inbox = new Inbox(name, transport, d -> d.reply().ack(), s -> s)) {
        publish(topic, sent);
        assertEquals(sent.getData().toStringUtf8(), inbox.next().text());
        acked.incrementAndGet();
      }
    }
    assertEquals(20, acked.get());
    listen(name).staysQuiet();
  }

  private static PubsubMessage colored(String text, String color, String size) {
    return message(text).toBuilder()
        .putAttributes("color", color)
        .putAttributes("size", size)
        .build();
  }
}
