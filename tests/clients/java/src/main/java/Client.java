import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.grpc.GrpcTransportChannel;
import com.google.api.gax.rpc.FixedTransportChannelProvider;
import com.google.cloud.pubsub.v1.MessageReceiver;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.ProjectSubscriptionName;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.TopicName;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.util.Scanner;

/**
 * A subscriber and publisher on the official Java client: {@code Client PROJECT TOPIC SUBSCRIPTION}.
 *
 * <p>It publishes each line of its input and prints a line for each message it receives, until the
 * input ends.
 */
final class Client {
  public static void main(String[] args) throws Exception {
    String host = System.getenv("PUBSUB_EMULATOR_HOST");
    ManagedChannel channel = ManagedChannelBuilder.forTarget(host).usePlaintext().build();
    var transport = FixedTransportChannelProvider.create(GrpcTransportChannel.create(channel));
    var credentials = NoCredentialsProvider.create();
    MessageReceiver receiver =
        (message, consumer) -> {
          consumer.ack();
          System.out.println("received " + message.getData().toStringUtf8());
        };
    Publisher publisher =
        Publisher.newBuilder(TopicName.of(args[0], args[1]))
            .setChannelProvider(transport)
            .setCredentialsProvider(credentials)
            .build();
    Subscriber subscriber =
        Subscriber.newBuilder(ProjectSubscriptionName.of(args[0], args[2]), receiver)
            .setChannelProvider(transport)
            .setCredentialsProvider(credentials)
            .build();
    subscriber.startAsync().awaitRunning();
    for (Scanner lines = new Scanner(System.in); lines.hasNextLine(); ) {
      ByteString data = ByteString.copyFromUtf8(lines.nextLine());
      publisher.publish(PubsubMessage.newBuilder().setData(data).build()).get();
    }
    subscriber.stopAsync().awaitTerminated();
    publisher.shutdown();
    channel.shutdown();
  }
}
