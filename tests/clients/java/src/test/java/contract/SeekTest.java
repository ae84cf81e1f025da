package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.SeekRequest;
import com.google.pubsub.v1.Snapshot;
import java.time.Instant;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Messages that were acked come again. */
final class SeekTest extends Bench {
  private String topic;
  private String name;

  @BeforeEach
  void create() {
    topic = topic("topic");
    name = subscription("subscription", s -> s.setRetainAckedMessages(true));
  }

  @Test
  void seekToTime() throws Exception {
    publish(topic, message("old"));
    Thread.sleep(100);
    Instant between = Instant.now();
    Thread.sleep(100);
    publish(topic, message("new"));
    Inbox inbox = listen(name);
    assertEquals(Set.of("old", "new"), Set.copyOf(inbox.take(2)));
    inbox.staysQuiet(); // the acks arrive meanwhile
    Timestamp time =
        Timestamp.newBuilder()
            .setSeconds(between.getEpochSecond())
            .setNanos(between.getNano())
            .build();
    subscriptions.seek(SeekRequest.newBuilder().setSubscription(name).setTime(time).build());
    assertEquals("new", inbox.next().text());
    inbox.staysQuiet();
  }

  @Test
  void seekToSnapshot() throws Exception {
    publish(topic, message("acked before"));
    try (Inbox inbox = new Inbox(name, transport, d -> d.reply().ack(), s -> s)) {
      inbox.next();
      inbox.staysQuiet(); // the ack arrives meanwhile
    }
    publish(topic, message("kept"));
    Snapshot snapshot = subscriptions.createSnapshot(parent() + "/snapshots/snapshot", name);
    assertEquals(topic, snapshot.getTopic());
    Inbox inbox = listen(name);
    assertEquals("kept", inbox.next().text());
    inbox.staysQuiet();
    subscriptions.seek(
        SeekRequest.newBuilder().setSubscription(name).setSnapshot(snapshot.getName()).build());
    assertEquals("kept", inbox.next().text());
    inbox.staysQuiet();
    subscriptions.deleteSnapshot(snapshot.getName());
  }
}
