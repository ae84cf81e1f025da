import com.google.api.gax.core.CredentialsProvider;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.cloud.spring.pubsub.PubSubAdmin;
import com.google.cloud.spring.pubsub.core.PubSubTemplate;
import com.google.cloud.spring.pubsub.support.AcknowledgeablePubsubMessage;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** One round trip through Spring Cloud GCP's PubSubTemplate, set up by properties alone. */
@Configuration
@EnableAutoConfiguration
public class RoundTrip {
  /** Else it would look for Google's credentials. */
  @Bean
  CredentialsProvider nobody() {
    return NoCredentialsProvider.create();
  }

  public static void main(String[] args) throws Exception {
    SpringApplication application = new SpringApplication(RoundTrip.class);
    application.setDefaultProperties(
        Map.of(
            "logging.level.root", "warn",
            "spring.main.banner-mode", "off",
            "spring.cloud.gcp.project-id", "spring-" + UUID.randomUUID().toString().substring(0, 13),
            "spring.cloud.gcp.pubsub.emulator-host", System.getenv("PUBSUB_EMULATOR_HOST")));
    try (ConfigurableApplicationContext context = application.run(args)) {
      PubSubAdmin admin = context.getBean(PubSubAdmin.class);
      admin.createTopic("topic");
      admin.createSubscription("subscription", "topic");
      PubSubTemplate template = context.getBean(PubSubTemplate.class);
      template.publish("topic", "hello", Map.of("color", "red")).get();
      List<AcknowledgeablePubsubMessage> received = template.pull("subscription", 1, false);
      String text = received.get(0).getPubsubMessage().getData().toStringUtf8();
      if (!text.equals("hello")) {
        throw new AssertionError("received " + text);
      }
      template.ack(received).get();
      System.out.println("received " + text);
    }
  }
}
