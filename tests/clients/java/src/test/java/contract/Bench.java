package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.api.core.ApiFuture;
import com.google.api.core.ApiFutures;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.grpc.GrpcTransportChannel;
import com.google.api.gax.rpc.ApiException;
import com.google.api.gax.rpc.FixedTransportChannelProvider;
import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.cloud.pubsub.v1.SubscriptionAdminClient;
import com.google.cloud.pubsub.v1.SubscriptionAdminSettings;
import com.google.cloud.pubsub.v1.TopicAdminClient;
import com.google.cloud.pubsub.v1.TopicAdminSettings;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A project of the test's own, and clients that are closed after it. */
abstract class Bench {
  /** Longer than anything here takes. */
  static final Duration HANG_LIMIT = Duration.ofSeconds(30);

  /** Long enough for a message to arrive that should not. */
  static final Duration QUIET = Duration.ofMillis(500);

  static final String ENDPOINT =
      System.getenv().getOrDefault("ENDPOINT", System.getenv("PUBSUB_EMULATOR_HOST"));

  static final NoCredentialsProvider NOBODY = NoCredentialsProvider.create();

  final String project = "java-" + UUID.randomUUID().toString().substring(0, 13);
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  TransportChannelProvider transport;
  TopicAdminClient topics;
  SubscriptionAdminClient subscriptions;

  @BeforeEach
  void connect() throws Exception {
    transport = transport(ENDPOINT);
    topics =
        closed(
            TopicAdminClient.create(
                TopicAdminSettings.newBuilder()
                    .setTransportChannelProvider(transport)
                    .setCredentialsProvider(NOBODY)
                    .build()));
    subscriptions =
        closed(
            SubscriptionAdminClient.create(
                SubscriptionAdminSettings.newBuilder()
                    .setTransportChannelProvider(transport)
                    .setCredentialsProvider(NOBODY)
                    .build()));
  }

  @AfterEach
  void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }

  <T extends AutoCloseable> T closed(T resource) {
    open.push(resource);
    return resource;
  }

  /** The client asks for TLS and credentials unless it is given a channel. */
  TransportChannelProvider transport(String endpoint, ClientInterceptor... interceptors) {
    ManagedChannel channel =
        ManagedChannelBuilder.forTarget(endpoint)
            .usePlaintext()
            .maxInboundMessageSize(20 << 20)
            .intercept(interceptors)
            .build();
    closed(
        () -> {
          channel.shutdownNow();
          assertTrue(channel.awaitTermination(HANG_LIMIT.toSeconds(), TimeUnit.SECONDS));
        });
    return FixedTransportChannelProvider.create(GrpcTransportChannel.create(channel));
  }

  String parent() {
    return "projects/" + project;
  }

  String topicName(String id) {
    return parent() + "/topics/" + id;
  }

  String subscriptionName(String id) {
    return parent() + "/subscriptions/" + id;
  }

  String topic(String id) {
    return topics.createTopic(topicName(id)).getName();
  }

  String subscription(String id) {
    return subscription(id, settings -> settings);
  }

  /** Its topic is "topic" unless the settings say otherwise. */
  String subscription(String id, UnaryOperator<Subscription.Builder> settings) {
    Subscription.Builder plain =
        Subscription.newBuilder().setName(subscriptionName(id)).setTopic(topicName("topic"));
    return subscriptions.createSubscription(settings.apply(plain).build()).getName();
  }

  Publisher publisher(String topic, UnaryOperator<Publisher.Builder> settings) throws Exception {
    return publisher(topic, transport, settings);
  }

  Publisher publisher(
      String topic, TransportChannelProvider transport, UnaryOperator<Publisher.Builder> settings)
      throws Exception {
    Publisher.Builder plain =
        Publisher.newBuilder(topic).setChannelProvider(transport).setCredentialsProvider(NOBODY);
    Publisher publisher = settings.apply(plain).build();
    closed(
        () -> {
          publisher.shutdown();
          publisher.awaitTermination(HANG_LIMIT.toSeconds(), TimeUnit.SECONDS);
        });
    return publisher;
  }

  /** Publish and return the ids. */
  List<String> publish(String topic, PubsubMessage... messages) throws Exception {
    Publisher publisher = publisher(topic, settings -> settings.setEnableMessageOrdering(true));
    List<ApiFuture<String>> futures = new ArrayList<>();
    for (PubsubMessage message : messages) {
      futures.add(publisher.publish(message));
    }
    return soon(ApiFutures.allAsList(futures));
  }

  Inbox listen(String subscription) {
    return listen(subscription, delivery -> delivery.reply().ack(), settings -> settings);
  }

  Inbox listen(
      String subscription, Inbox.Settler settler, UnaryOperator<Subscriber.Builder> settings) {
    return listen(subscription, transport, settler, settings);
  }

  Inbox listen(
      String subscription,
      TransportChannelProvider transport,
      Inbox.Settler settler,
      UnaryOperator<Subscriber.Builder> settings) {
    return closed(new Inbox(subscription, transport, settler, settings));
  }

  static PubsubMessage message(String text) {
    return PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(text)).build();
  }

  static PubsubMessage[] numbered(int count) {
    return IntStream.range(0, count)
        .mapToObj(number -> message(String.format("%05d", number)))
        .toArray(PubsubMessage[]::new);
  }

  static <T> T soon(java.util.concurrent.Future<T> future) throws Exception {
    return future.get(HANG_LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  /** What the client throws, also as the cause of a future's failure. */
  static <E extends ApiException> E refused(Class<E> kind, Callable<?> call) {
    Throwable thrown = assertThrows(Exception.class, call::call);
    if (thrown instanceof ExecutionException) {
      thrown = thrown.getCause();
    }
    assertEquals(kind, thrown.getClass(), thrown.getMessage());
    assertNotNull(thrown.getMessage());
    return kind.cast(thrown);
  }

  static void until(BooleanSupplier holds) throws InterruptedException {
    long limit = System.nanoTime() + HANG_LIMIT.toNanos();
    while (!holds.getAsBoolean()) {
      assertTrue(System.nanoTime() < limit, "did not come true");
      Thread.sleep(20);
    }
  }
}
