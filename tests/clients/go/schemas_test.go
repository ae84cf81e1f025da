package contract

import (
	"testing"

	"cloud.google.com/go/pubsub/v2"
	apiv1 "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	avro = `{"type": "record", "name": "State", "fields": [
		{"name": "name", "type": "string"}, {"name": "size", "type": "int"}]}`
	revisedAvro = `{"type": "record", "name": "State", "fields": [
		{"name": "name", "type": "string"}, {"name": "size", "type": "int"},
		{"name": "motto", "type": "string", "default": ""}]}`
	protobuf = `syntax = "proto3"; message State { string name = 1; int32 size = 2; }`
)

func createSchema(
	b bench, kind pubsubpb.Schema_Type, definition string,
) (*apiv1.SchemaClient, *pubsubpb.Schema) {
	b.Helper()
	client, err := apiv1.NewSchemaClient(b.Context())
	must(b.T, err)
	b.Cleanup(func() { client.Close() })
	schema, err := client.CreateSchema(b.Context(), &pubsubpb.CreateSchemaRequest{
		Parent: "projects/" + b.project, SchemaId: "state",
		Schema: &pubsubpb.Schema{Type: kind, Definition: definition},
	})
	if status.Code(err) == codes.Unimplemented {
		b.Skipf("the server has no such schemas: %v", err)
	}
	must(b.T, err)
	return client, schema
}

// checkTopic publishes what fits the schema, and what does not.
func checkTopic(
	b bench, schema *pubsubpb.Schema, encoding pubsubpb.Encoding, good, bad string,
) {
	b.Helper()
	topic := b.topicName("topic")
	_, err := b.TopicAdminClient.CreateTopic(b.Context(), &pubsubpb.Topic{
		Name:           topic,
		SchemaSettings: &pubsubpb.SchemaSettings{Schema: schema.Name, Encoding: encoding},
	})
	must(b.T, err)
	name := b.subscription("subscription", nil)
	publisher := b.Publisher(topic)
	defer publisher.Stop()
	_, err = publisher.Publish(b.Context(), &pubsub.Message{Data: []byte(bad)}).Get(b.Context())
	wantCode(b.T, err, codes.InvalidArgument)
	b.publish(topic, &pubsub.Message{Data: []byte(good)})
	got := b.listen(name, nil, nil).next()
	if string(got.Data) != good ||
		got.Attributes["googclient_schemaencoding"] != encoding.String() ||
		got.Attributes["googclient_schemaname"] != schema.Name ||
		got.Attributes["googclient_schemarevisionid"] != schema.RevisionId {
		b.Fatalf("received %q with %v", got.Data, got.Attributes)
	}
}

// @spec SCH-20 SCH-40
func TestAvroSchema(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	client, schema := createSchema(b, pubsubpb.Schema_AVRO, avro)
	got, err := client.GetSchema(ctx, &pubsubpb.GetSchemaRequest{Name: schema.Name})
	must(t, err)
	if got.Definition != avro {
		t.Fatalf("got %q", got.Definition)
	}
	_, err = client.ValidateSchema(ctx, &pubsubpb.ValidateSchemaRequest{
		Parent: "projects/" + b.project,
		Schema: &pubsubpb.Schema{Type: pubsubpb.Schema_AVRO, Definition: `{"type": "nonsense"}`},
	})
	wantCode(t, err, codes.InvalidArgument)
	checkTopic(b, schema, pubsubpb.Encoding_JSON,
		`{"name": "Ohio", "size": 7}`, `{"name": "Ohio", "size": "seven"}`)
	committed, err := client.CommitSchema(ctx, &pubsubpb.CommitSchemaRequest{
		Name: schema.Name,
		Schema: &pubsubpb.Schema{
			Name: schema.Name, Type: pubsubpb.Schema_AVRO, Definition: revisedAvro,
		},
	})
	must(t, err)
	if committed.RevisionId == schema.RevisionId {
		t.Fatal("committed without a new revision")
	}
	revisions := 0
	list := client.ListSchemaRevisions(ctx, &pubsubpb.ListSchemaRevisionsRequest{Name: schema.Name})
	for _, err := range list.All() {
		must(t, err)
		revisions++
	}
	if revisions != 2 {
		t.Fatalf("%d revisions", revisions)
	}
	must(t, client.DeleteSchema(ctx, &pubsubpb.DeleteSchemaRequest{Name: schema.Name}))
	_, err = client.GetSchema(ctx, &pubsubpb.GetSchemaRequest{Name: schema.Name})
	wantCode(t, err, codes.NotFound)
}

// @spec PRO-02 SCH-40
func TestProtobufSchema(t *testing.T) {
	b := newBench(t)
	client, schema := createSchema(b, pubsubpb.Schema_PROTOCOL_BUFFER, protobuf)
	_, err := client.ValidateMessage(t.Context(), &pubsubpb.ValidateMessageRequest{
		Parent:     "projects/" + b.project,
		SchemaSpec: &pubsubpb.ValidateMessageRequest_Name{Name: schema.Name},
		Message:    []byte(`{"name": "Ohio", "size": 7}`),
		Encoding:   pubsubpb.Encoding_JSON,
	})
	must(t, err)
	checkTopic(b, schema, pubsubpb.Encoding_BINARY, "\x0a\x04Ohio\x10\x07", "\x0a\x7fOhio")
}
