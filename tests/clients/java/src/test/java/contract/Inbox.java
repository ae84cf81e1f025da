package contract;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.cloud.pubsub.v1.AckReplyConsumer;
import com.google.cloud.pubsub.v1.MessageReceiver;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.pubsub.v1.PubsubMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** A running subscriber, and what it has received. */
final class Inbox implements AutoCloseable {
  record Delivery(PubsubMessage message, AckReplyConsumer reply) {
    String text() {
      return message.getData().toStringUtf8();
    }

    int attempt() {
      return Subscriber.getDeliveryAttempt(message);
    }
  }

  interface Settler {
    void settle(Delivery delivery) throws InterruptedException;
  }

  final LinkedBlockingQueue<Delivery> received = new LinkedBlockingQueue<>();
  private final Subscriber subscriber;

  Inbox(
      String subscription,
      TransportChannelProvider transport,
      Settler settler,
      UnaryOperator<Subscriber.Builder> settings) {
    MessageReceiver receiver =
        (message, reply) -> {
          Delivery delivery = new Delivery(message, reply);
          try {
            settler.settle(delivery);
          } catch (InterruptedException interrupted) {
            return; // the test is over
          }
          received.add(delivery);
        };
    Subscriber.Builder plain =
        Subscriber.newBuilder(subscription, receiver)
            .setChannelProvider(transport)
            .setCredentialsProvider(Bench.NOBODY);
    subscriber = settings.apply(plain).build();
    subscriber.startAsync().awaitRunning();
  }

  Delivery next() throws InterruptedException {
    return next(Bench.HANG_LIMIT);
  }

  Delivery next(Duration limit) throws InterruptedException {
    Delivery delivery = received.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
    assertNotNull(delivery, () -> "no message within " + limit);
    return delivery;
  }

  List<String> take(int count) throws InterruptedException {
    List<String> texts = new ArrayList<>();
    while (texts.size() < count) {
      texts.add(next().text());
    }
    return texts;
  }

  void staysQuiet() throws InterruptedException {
    assertNull(received.poll(Bench.QUIET.toMillis(), TimeUnit.MILLISECONDS), "unexpected");
  }

  /** Stop; fail if the stream did. */
  @Override
  public void close() throws Exception {
    subscriber.stopAsync().awaitTerminated(Bench.HANG_LIMIT.toSeconds(), TimeUnit.SECONDS);
  }
}
