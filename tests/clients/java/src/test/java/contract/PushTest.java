package contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import com.google.api.gax.rpc.UnimplementedException;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.PushConfig;
import com.google.pubsub.v1.PushConfig.OidcToken;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.RSAPublicKeySpec;
import java.util.Base64;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Push to a receiver that trusts nobody without a token. */
final class PushTest extends Bench {
  private static final String AUDIENCE = "https://receiver.example.com";
  private static final String ACCOUNT = "pusher@demo.iam.gserviceaccount.com";
  private static final byte[] DATA = {0, -1};

  private record Request(String authorization, String body) {}

  private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
  private final AtomicBoolean refused = new AtomicBoolean();

  // @spec PSH-10 PSH-50 PSH-51
  @Test
  void pushWithToken() throws Exception {
    HttpServer receiver =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    receiver.createContext("/push", this::answer);
    receiver.start();
    closed(() -> receiver.stop(0));
    String topic = topic("topic");
    String url = "http://127.0.0.1:" + receiver.getAddress().getPort() + "/push?token=t";
    String name = subscribe(url);
    PubsubMessage message =
        PubsubMessage.newBuilder()
            .setData(ByteString.copyFrom(DATA))
            .putAttributes("color", "red")
            .build();
    String id = publish(topic, message).get(0);
    for (int attempt = 0; attempt < 2; attempt++) { // one is refused, one is taken
      Request request = requests.poll(HANG_LIMIT.toSeconds(), TimeUnit.SECONDS);
      assertNotNull(request, "nothing is pushed");
      check(request, name, id);
    }
    assertNull(requests.poll(3 * QUIET.toMillis(), TimeUnit.MILLISECONDS));
  }

  private void answer(HttpExchange exchange) throws java.io.IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(refused.compareAndSet(false, true) ? 500 : 204, -1);
    exchange.close();
    requests.add(new Request(exchange.getRequestHeaders().getFirst("Authorization"), body));
  }

  private String subscribe(String url) {
    OidcToken token =
        OidcToken.newBuilder().setServiceAccountEmail(ACCOUNT).setAudience(AUDIENCE).build();
    PushConfig push = PushConfig.newBuilder().setPushEndpoint(url).setOidcToken(token).build();
    try {
      return subscription("subscription", s -> s.setPushConfig(push));
    } catch (UnimplementedException error) {
      return abort("the server does not push: " + error.getMessage());
    }
  }

  private static void check(Request request, String subscription, String id) throws Exception {
    JsonObject body = JsonParser.parseString(request.body()).getAsJsonObject();
    JsonObject message = body.getAsJsonObject("message");
    assertEquals(subscription, body.get("subscription").getAsString());
    assertEquals(id, message.get("messageId").getAsString());
    assertEquals(id, message.get("message_id").getAsString());
    assertArrayEquals(DATA, Base64.getDecoder().decode(message.get("data").getAsString()));
    assertEquals("red", message.getAsJsonObject("attributes").get("color").getAsString());
    assertNotNull(request.authorization(), "no token");
    assertTrue(request.authorization().startsWith("Bearer "));
    JsonObject claims = verified(request.authorization().substring("Bearer ".length()));
    assertEquals(AUDIENCE, claims.get("aud").getAsString());
    assertEquals(ACCOUNT, claims.get("email").getAsString());
    assertTrue(claims.get("email_verified").getAsBoolean());
    assertEquals(claims.get("iat").getAsLong() + 3600, claims.get("exp").getAsLong());
  }

  /** The claims of a token that one of the server's own keys has signed. */
  private static JsonObject verified(String token) throws Exception {
    String[] parts = token.split("\\.");
    JsonObject header = part(parts[0]);
    assertEquals("RS256", header.get("alg").getAsString());
    Signature signature = Signature.getInstance("SHA256withRSA");
    signature.initVerify(key(header.get("kid").getAsString()));
    signature.update((parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
    assertTrue(signature.verify(Base64.getUrlDecoder().decode(parts[2])));
    return part(parts[1]);
  }

  private static JsonObject part(String encoded) {
    String text = new String(Base64.getUrlDecoder().decode(encoded), StandardCharsets.UTF_8);
    return JsonParser.parseString(text).getAsJsonObject();
  }

  private static PublicKey key(String id) throws Exception {
    URI uri = URI.create("http://" + ENDPOINT + "/oauth2/v3/certs");
    String set =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
            .body();
    for (JsonElement each : JsonParser.parseString(set).getAsJsonObject().getAsJsonArray("keys")) {
      JsonObject key = each.getAsJsonObject();
      if (key.get("kid").getAsString().equals(id)) {
        RSAPublicKeySpec numbers = new RSAPublicKeySpec(number(key, "n"), number(key, "e"));
        return KeyFactory.getInstance("RSA").generatePublic(numbers);
      }
    }
    throw new AssertionError("the server has no key " + id);
  }

  private static BigInteger number(JsonObject key, String name) {
    return new BigInteger(1, Base64.getUrlDecoder().decode(key.get(name).getAsString()));
  }
}
