package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;

/** An address of the server whose connections break on order: see tests/clients/faults.py. */
final class Link implements AutoCloseable {
  private static final String FAULTS = System.getenv("FAULTS");
  private final HttpClient http = HttpClient.newHttpClient();
  private final String id;
  final String address;

  Link(String kind) throws Exception {
    assumeTrue(FAULTS != null, "FAULTS does not name a program that breaks connections");
    JsonObject opened = order("POST", kind);
    id = opened.get("id").getAsString();
    address = opened.get("address").getAsString();
  }

  /** Break what is open; return how much that was. */
  int breakAll(double silentSeconds) throws Exception {
    return order("POST", id + "/break?silent_s=" + silentSeconds).get("broken").getAsInt();
  }

  /** How much clients have sent. */
  int sentBytes() throws Exception {
    return order("GET", id).get("sent_bytes").getAsInt();
  }

  /** How many streams clients have opened. */
  int streams() throws Exception {
    return order("GET", id).get("streams").getAsInt();
  }

  @Override
  public void close() throws Exception {
    order("DELETE", id);
  }

  private JsonObject order(String method, String path) throws Exception {
    URI uri = URI.create("http://" + FAULTS + "/links/" + path);
    HttpRequest request = HttpRequest.newBuilder(uri).method(method, BodyPublishers.noBody()).build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    assertEquals(200, answer.statusCode());
    return JsonParser.parseString(answer.body()).getAsJsonObject();
  }
}
