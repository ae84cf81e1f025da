package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.cloud.pubsub.v1.Publisher;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Streams that are idle, cut, or ended. */
final class ConnectionTest extends Bench {
  private static final Duration IDLE = Duration.ofSeconds(40);

  // @spec STR-10 STR-11 CLI-11
  @Test
  void idleStream() throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    Link link = closed(new Link("grpc"));
    Inbox inbox = listen(name, transport(link.address), d -> d.reply().ack(), s -> s);
    Publisher publisher = publisher(topic, settings -> settings);
    soon(publisher.publish(message("x")));
    inbox.next();
    int streams = link.streams();
    Thread.sleep(IDLE.toMillis());
    soon(publisher.publish(message("x")));
    inbox.next(Duration.ofSeconds(1));
    assertTrue(streams > 0);
    assertEquals(streams, link.streams(), "some were given up meanwhile");
  }

  // @spec CLI-03
  @Test
  void cutConnection() throws Exception {
    goesOn("tcp", 0.5);
  }

  // @spec STR-13 CLI-03
  @Test
  void endedStream() throws Exception {
    goesOn("grpc", 0);
  }

  /** Break the link three times; every message published in between arrives. */
  private void goesOn(String kind, double silentSeconds) throws Exception {
    String topic = topic("topic");
    String name = subscription("subscription");
    Link link = closed(new Link(kind));
    TransportChannelProvider through = transport(link.address);
    Publisher publisher = publisher(topic, through, settings -> settings);
    Inbox inbox = listen(name, through, d -> d.reply().ack(), settings -> settings);
    for (int number = 0; number < 4; number++) {
      String text = String.valueOf(number);
      soon(publisher.publish(message(text)));
      while (!inbox.next().text().equals(text)) {} // others may come twice
      if (number < 3) {
        assertTrue(link.breakAll(silentSeconds) > 0, "nothing was open");
      }
    }
  }
}
