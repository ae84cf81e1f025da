package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.api.core.ApiFuture;
import com.google.api.core.ApiFutures;
import com.google.api.gax.batching.BatchingSettings;
import com.google.api.gax.rpc.NotFoundException;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.pubsub.v1.PubsubMessage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The batching publisher. */
final class PublishTest extends Bench {
  private static final int TEN_THOUSAND = 10_000;

  // @spec CLI-11
  @Test
  void tenThousandMessagesInBatches() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    BatchingSettings batches =
        BatchingSettings.newBuilder()
            .setElementCountThreshold(1_000L)
            .setRequestByteThreshold(1_000_000L)
            .setDelayThresholdDuration(java.time.Duration.ofMillis(100))
            .build();
    Publisher publisher = publisher(topic, settings -> settings.setBatchingSettings(batches));
    List<ApiFuture<String>> futures = new ArrayList<>();
    for (PubsubMessage message : numbered(TEN_THOUSAND)) {
      futures.add(
          publisher.publish(
              message.toBuilder().putAttributes("number", message.getData().toStringUtf8()).build()));
    }
    Set<String> ids = new HashSet<>(soon(ApiFutures.allAsList(futures)));
    assertEquals(TEN_THOUSAND, ids.size());
    Inbox inbox = listen(name);
    for (int number = 0; number < TEN_THOUSAND; number++) {
      PubsubMessage message = inbox.next().message();
      assertEquals(message.getData().toStringUtf8(), message.getAttributesOrThrow("number"));
      ids.remove(message.getMessageId());
    }
    assertEquals(Set.of(), ids);
    inbox.staysQuiet();
  }

  @Test
  void compressedPublish() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    Link link = closed(new Link("tcp"));
    Publisher publisher =
        publisher(topic, transport(link.address), settings -> settings.setEnableCompression(true));
    String text = "compressible ".repeat(10_000);
    soon(publisher.publish(message(text)));
    int sent = link.sentBytes();
    assertTrue(0 < sent && sent < text.length() / 10, () -> sent + " bytes were sent");
    assertEquals(text, listen(name).next().text());
  }

  // @spec ORD-01
  @Test
  void failedKeyResumes() throws Exception {
    String topic = topicName("topic");
    Publisher publisher = publisher(topic, settings -> settings.setEnableMessageOrdering(true));
    // There is no topic yet.
    refused(NotFoundException.class, () -> soon(publisher.publish(keyed("lost"))));
    topic("topic");
    String name = subscription("subscription", s -> s.setEnableMessageOrdering(true));
    assertThrows(ExecutionException.class, () -> soon(publisher.publish(keyed("paused"))));
    publisher.resumePublish("key");
    List<String> sent = Stream.of(numbered(20)).map(m -> m.getData().toStringUtf8()).toList();
    sent.forEach(text -> publisher.publish(keyed(text)));
    assertEquals(sent, listen(name).take(sent.size()));
  }

  @Test
  void fiveMegabyteMessage() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    String text = "0123456789".repeat(500_000);
    publish(topic, message(text));
    assertEquals(text, listen(name).next().text());
  }

  private static PubsubMessage keyed(String text) {
    return message(text).toBuilder().setOrderingKey("key").build();
  }
}
