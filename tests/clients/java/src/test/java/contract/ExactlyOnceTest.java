package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.cloud.pubsub.v1.AckReplyConsumerWithResponse;
import com.google.cloud.pubsub.v1.AckResponse;
import com.google.cloud.pubsub.v1.MessageReceiverWithAckResponse;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.StreamingPullResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Acks that tell how they fared. */
final class ExactlyOnceTest extends Bench {
  private record Delivery(PubsubMessage message, AckReplyConsumerWithResponse reply) {}

  private final BlockingQueue<Delivery> received = new LinkedBlockingQueue<>();
  private String topic;
  private String name;

  @BeforeEach
  void create() {
    topic = topic("topic");
    name = subscription("subscription", s -> s.setEnableExactlyOnceDelivery(true));
  }

  // @spec EOD-01 EOD-06
  @Test
  void exactlyOnceAcksSucceed() throws Exception {
    publish(topic, numbered(100));
    receive(transport);
    Set<String> seen = new HashSet<>();
    List<Future<AckResponse>> acks = new ArrayList<>();
    for (int number = 0; number < 100; number++) {
      Delivery delivery = next();
      seen.add(delivery.message().getData().toStringUtf8());
      acks.add(delivery.reply().ack());
    }
    for (Future<AckResponse> ack : acks) {
      assertEquals(AckResponse.SUCCESSFUL, soon(ack));
    }
    assertEquals(100, seen.size());
    assertNull(received.poll(QUIET.toMillis(), TimeUnit.MILLISECONDS));
  }

  // @spec EOD-02 EOD-03
  @Test
  void exactlyOnceAckFails() throws Exception {
    BlockingQueue<String> ids = new LinkedBlockingQueue<>();
    receive(transport(ENDPOINT, new AckIds(ids)));
    publish(topic, message("x"));
    Delivery first = next();
    // Somebody else ends the lease, and the message comes again under a new id.
    subscriptions.modifyAckDeadline(name, List.of(ids.take()), 0);
    Delivery second = next();
    assertEquals(AckResponse.INVALID, soon(first.reply().ack()));
    assertEquals(AckResponse.SUCCESSFUL, soon(second.reply().ack()));
  }

  private Delivery next() throws InterruptedException {
    Delivery delivery = received.poll(HANG_LIMIT.toSeconds(), TimeUnit.SECONDS);
    assertNotNull(delivery, "no message");
    return delivery;
  }

  private void receive(TransportChannelProvider transport) {
    MessageReceiverWithAckResponse receiver =
        (message, reply) -> received.add(new Delivery(message, reply));
    Subscriber subscriber =
        Subscriber.newBuilder(name, receiver)
            .setChannelProvider(transport)
            .setCredentialsProvider(NOBODY)
            .build();
    subscriber.startAsync().awaitRunning();
    closed(
        () -> subscriber.stopAsync().awaitTerminated(HANG_LIMIT.toSeconds(), TimeUnit.SECONDS));
  }

  /** Tells the id of each delivery, which the client keeps to itself. */
  private record AckIds(BlockingQueue<String> ids) implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(
        MethodDescriptor<Q, A> method, CallOptions options, Channel channel) {
      return new SimpleForwardingClientCall<>(channel.newCall(method, options)) {
        @Override
        public void start(Listener<A> listener, Metadata headers) {
          super.start(
              new SimpleForwardingClientCallListener<>(listener) {
                @Override
                public void onMessage(A answer) {
                  if (answer instanceof StreamingPullResponse response) {
                    response.getReceivedMessagesList().forEach(each -> ids.add(each.getAckId()));
                  }
                  super.onMessage(answer);
                }
              },
              headers);
        }
      };
    }
  }
}
