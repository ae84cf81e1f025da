import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.PubSubEmulatorContainer;
import org.testcontainers.containers.output.OutputFrame;
import org.testcontainers.containers.output.WaitingConsumer;
import org.testcontainers.containers.wait.strategy.LogMessageWaitStrategy;
import org.testcontainers.utility.DockerImageName;

/**
 * What the module's container does but for the container: runs a command, whose words are the
 * arguments, and has the module's own pattern found in its output by the module's own consumer.
 */
public final class Waits {
  public static void main(String[] words) throws Exception {
    DockerImageName image =
        DockerImageName.parse("pubsub-emulator:latest")
            .asCompatibleSubstituteFor("gcr.io/google.com/cloudsdktool/google-cloud-cli");
    PubSubEmulatorContainer container = new PubSubEmulatorContainer(image);
    System.out.println("command " + String.join(" ", container.getCommandParts()));
    Object strategy = read(GenericContainer.class, "waitStrategy", container);
    String pattern = (String) read(LogMessageWaitStrategy.class, "regEx", strategy);
    int times = (Integer) read(LogMessageWaitStrategy.class, "times", strategy);
    System.out.println("pattern " + pattern);

    Process process = new ProcessBuilder(words).start();
    WaitingConsumer consumer = new WaitingConsumer();
    Thread pump = new Thread(() -> pump(process, consumer));
    pump.setDaemon(true);
    pump.start();
    // As LogMessageWaitStrategy has it.
    consumer.waitUntil(
        frame -> frame.getUtf8String().matches("(?s)" + pattern), 60, TimeUnit.SECONDS, times);
    System.out.println("ready");
    process.destroy();
    System.out.println("status " + process.waitFor());
  }

  private static void pump(Process process, WaitingConsumer consumer) {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null; ) {
        byte[] bytes = (line + "\n").getBytes(StandardCharsets.UTF_8);
        consumer.accept(new OutputFrame(OutputFrame.OutputType.STDERR, bytes));
      }
    } catch (java.io.IOException error) {
      System.out.println("broken " + error);
    }
    consumer.accept(OutputFrame.END);
  }

  private static Object read(Class<?> type, String name, Object owner) throws Exception {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(owner);
  }
}
