package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.pubsub.v1.PubsubMessage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Messages of one key come in order, also after a failure. */
final class OrderingTest extends Bench {
  private String topic;
  private String name;

  @BeforeEach
  void create() {
    topic = topic("topic");
    name = subscription("subscription", s -> s.setEnableMessageOrdering(true));
  }

  // @spec ORD-01
  @Test
  void orderedKeys() throws Exception {
    List<PubsubMessage> sent = new ArrayList<>();
    for (int number = 0; number < 100; number++) {
      for (String key : List.of("a", "b", "c")) {
        sent.add(keyed(key, number));
      }
    }
    publish(topic, sent.toArray(PubsubMessage[]::new));
    Inbox inbox = listen(name);
    Map<String, Integer> received = new HashMap<>();
    for (int count = 0; count < sent.size(); count++) {
      Inbox.Delivery delivery = inbox.next();
      int number = received.merge(delivery.message().getOrderingKey(), 1, Integer::sum) - 1;
      assertEquals(String.valueOf(number), delivery.text());
    }
  }

  // @spec ORD-02
  @Test
  void orderedKeyAfterAFailure() throws Exception {
    List<String> sent = new ArrayList<>();
    for (int number = 0; number < 10; number++) {
      sent.add(String.valueOf(number));
      publish(topic, keyed("key", number));
    }
    AtomicBoolean failed = new AtomicBoolean();
    Inbox inbox =
        listen(
            name,
            delivery -> {
              if (delivery.text().equals("4") && failed.compareAndSet(false, true)) {
                delivery.reply().nack();
              } else {
                delivery.reply().ack();
              }
            },
            settings -> settings);
    List<String> received = new ArrayList<>();
    do {
      received.add(inbox.next().text());
    } while (received.indexOf("4") == received.lastIndexOf("4")
        || !received.get(received.size() - 1).equals("9"));
    // After the failure everything from it on comes again, in order, whatever came in between.
    assertEquals(sent.subList(0, 4), received.subList(0, received.indexOf("4")));
    int again = received.lastIndexOf("4");
    assertEquals(sent.subList(4, 10), received.subList(again, received.size()));
  }

  private static PubsubMessage keyed(String key, int number) {
    return message(String.valueOf(number)).toBuilder().setOrderingKey(key).build();
  }
}
