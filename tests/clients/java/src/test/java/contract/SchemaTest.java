package contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assumptions.abort;

import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.api.gax.rpc.UnimplementedException;
import com.google.cloud.pubsub.v1.SchemaServiceClient;
import com.google.cloud.pubsub.v1.SchemaServiceSettings;
import com.google.common.collect.Iterables;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.Encoding;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Schema;
import com.google.pubsub.v1.SchemaSettings;
import com.google.pubsub.v1.Topic;
import com.google.pubsub.v1.ValidateMessageRequest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Topics whose messages must fit a schema. */
final class SchemaTest extends Bench {
  private static final String AVRO =
      """
      {"type": "record", "name": "State", "fields": [
        {"name": "name", "type": "string"}, {"name": "size", "type": "int"}]}""";
  private static final String REVISED =
      AVRO.replace("]}", ", {\"name\": \"motto\", \"type\": \"string\", \"default\": \"\"}]}");
  private static final String PROTOBUF =
      "syntax = \"proto3\"; message State { string name = 1; int32 size = 2; }";

  private SchemaServiceClient schemas;

  @BeforeEach
  void connectSchemas() throws Exception {
    schemas =
        closed(
            SchemaServiceClient.create(
                SchemaServiceSettings.newBuilder()
                    .setTransportChannelProvider(transport)
                    .setCredentialsProvider(NOBODY)
                    .build()));
  }

  // @spec SCH-20 SCH-40
  @Test
  void avroSchema() throws Exception {
    Schema schema = create(Schema.Type.AVRO, AVRO);
    assertEquals(AVRO, schemas.getSchema(schema.getName()).getDefinition());
    Schema broken = build(Schema.Type.AVRO, "{\"type\": \"nonsense\"}").build();
    refused(InvalidArgumentException.class, () -> schemas.validateSchema(parent(), broken));
    checkTopic(
        schema,
        Encoding.JSON,
        ByteString.copyFromUtf8("{\"name\": \"Ohio\", \"size\": 7}"),
        ByteString.copyFromUtf8("{\"name\": \"Ohio\", \"size\": \"seven\"}"));
    Schema revised = build(Schema.Type.AVRO, REVISED).setName(schema.getName()).build();
    assertNotEquals(
        schema.getRevisionId(), schemas.commitSchema(schema.getName(), revised).getRevisionId());
    assertEquals(
        2, Iterables.size(schemas.listSchemaRevisions(schema.getName()).iterateAll()));
    schemas.deleteSchema(schema.getName());
    refused(NotFoundException.class, () -> schemas.getSchema(schema.getName()));
  }

  // @spec PRO-02 SCH-40
  @Test
  void protobufSchema() throws Exception {
    Schema schema = create(Schema.Type.PROTOCOL_BUFFER, PROTOBUF);
    schemas.validateMessage(
        ValidateMessageRequest.newBuilder()
            .setParent(parent())
            .setName(schema.getName())
            .setMessage(ByteString.copyFromUtf8("{\"name\": \"Ohio\", \"size\": 7}"))
            .setEncoding(Encoding.JSON)
            .build());
    checkTopic(
        schema,
        Encoding.BINARY,
        ByteString.copyFromUtf8("\n\4Ohio\20\7"),
        ByteString.copyFromUtf8("\n\177Ohio"));
  }

  private static Schema.Builder build(Schema.Type type, String definition) {
    return Schema.newBuilder().setType(type).setDefinition(definition);
  }

  private Schema create(Schema.Type type, String definition) {
    try {
      return schemas.createSchema(parent(), build(type, definition).build(), "state");
    } catch (UnimplementedException error) {
      return abort("the server has no such schemas: " + error.getMessage());
    }
  }

  private void checkTopic(Schema schema, Encoding encoding, ByteString good, ByteString bad)
      throws Exception {
    String topic = topicName("topic");
    SchemaSettings settings =
        SchemaSettings.newBuilder().setSchema(schema.getName()).setEncoding(encoding).build();
    topics.createTopic(Topic.newBuilder().setName(topic).setSchemaSettings(settings).build());
    String name = subscription("subscription");
    refused(
        InvalidArgumentException.class,
        () -> publish(topic, PubsubMessage.newBuilder().setData(bad).build()));
    publish(topic, PubsubMessage.newBuilder().setData(good).build());
    PubsubMessage got = listen(name).next().message();
    assertEquals(good, got.getData());
    assertEquals(encoding.name(), got.getAttributesOrThrow("googclient_schemaencoding"));
    assertEquals(schema.getName(), got.getAttributesOrThrow("googclient_schemaname"));
    assertEquals(schema.getRevisionId(), got.getAttributesOrThrow("googclient_schemarevisionid"));
  }
}
