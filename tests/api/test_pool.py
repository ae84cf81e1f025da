"""The private pool: lookups, REST options, and its classes' independence."""

import os
import subprocess
import sys
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, json_format, timestamp_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pool import DescriptorPool

from emulator.api import health, http, iam, pool, pubsub, rpc, schema, wkt
from emulator.api.http_rules import http_rule

REST = {
    "google.pubsub.v1.Publisher": {
        "CreateTopic": ("put", "/v1/{name=projects/*/topics/*}", "*"),
        "Publish": ("post", "/v1/{topic=projects/*/topics/*}:publish", "*"),
        "DeleteTopic": ("delete", "/v1/{topic=projects/*/topics/*}", ""),
    },
    "google.pubsub.v1.Subscriber": {
        "UpdateSnapshot": ("patch", "/v1/{snapshot.name=projects/*/snapshots/*}", "*"),
        "GetSubscription": ("get", "/v1/{subscription=projects/*/subscriptions/*}", ""),
    },
    "google.pubsub.v1.SchemaService": {
        "CreateSchema": ("post", "/v1/{parent=projects/*}/schemas", "schema"),
    },
    "google.iam.v1.IAMPolicy": {
        "SetIamPolicy": ("post", "/v1/{resource=**}:setIamPolicy", "*"),
    },
}


def method(service: str, name: str) -> MethodDescriptor:
    return pool.service(service).methods_by_name[name]


@pytest.mark.parametrize(
    ("service", "name", "expected"),
    [(service, name, rest) for service, names in REST.items() for name, rest in names.items()],
)
def test_http_rule_is_the_private_one(
    service: str, name: str, expected: tuple[str, str, str]
) -> None:
    rule = http_rule(method(service, name))
    assert isinstance(rule, http.HttpRule)
    verb, path, body = expected
    assert rule.WhichOneof("pattern") == verb
    assert getattr(rule, verb) == path
    assert rule.body == body


def test_http_rule_is_none_without_the_option() -> None:
    assert http_rule(method("google.pubsub.v1.Subscriber", "StreamingPull")) is None
    assert http_rule(method("grpc.health.v1.Health", "Check")) is None


def test_http_rule_keeps_additional_bindings() -> None:
    rule = http.HttpRule(
        get="/v1/{name=a/*}", additional_bindings=[http.HttpRule(post="/v1/b", body="*")]
    )
    assert http_rule(method_with(rule)) == rule


def method_with(rule: http.HttpRule) -> MethodDescriptor:
    """Return a method, of a pool that knows no annotations, that carries `rule`."""
    annotated = pool.message_class("google.protobuf.MethodOptions")()
    extension: Any = pool.POOL.FindExtensionByName("google.api.http")
    annotated.Extensions[extension].CopyFrom(rule)
    file = descriptor_pb2.FileDescriptorProto(name="one.proto", package="one", syntax="proto3")
    file.message_type.add(name="Nothing")
    declared = file.service.add(name="Service").method.add(name="Get")
    declared.input_type = declared.output_type = ".one.Nothing"
    declared.options.ParseFromString(annotated.SerializeToString())
    other = DescriptorPool()
    other.AddSerializedFile(file.SerializeToString())
    return other.FindServiceByName("one.Service").methods_by_name["Get"]


def test_services_have_their_methods() -> None:
    streaming = method("google.pubsub.v1.Subscriber", "StreamingPull")
    assert (streaming.client_streaming, streaming.server_streaming) == (True, True)
    assert streaming.input_type.full_name == "google.pubsub.v1.StreamingPullRequest"
    assert set(pool.service("grpc.health.v1.Health").methods_by_name) >= {"Check", "Watch"}


@pytest.mark.parametrize("lookup", [pool.message_class, pool.enum, pool.service])
def test_an_unknown_name_is_a_key_error(lookup: object) -> None:
    assert callable(lookup)
    with pytest.raises(KeyError):
        lookup("google.pubsub.v1.Nowhere")


def test_fields_use_the_classes_of_wkt() -> None:
    message = pubsub.PubsubMessage()
    assert type(message.publish_time) is wkt.Timestamp
    assert wkt.Timestamp.DESCRIPTOR is not timestamp_pb2.Timestamp.DESCRIPTOR
    message.publish_time.FromMilliseconds(1_500)
    assert message.publish_time.ToJsonString() == "1970-01-01T00:00:01.500Z"
    assert type(pubsub.Subscription().message_retention_duration) is wkt.Duration
    assert type(pubsub.UpdateTopicRequest().update_mask) is wkt.FieldMask
    assert type(iam.Binding().condition) is iam.Expr


def test_any_packs_error_details() -> None:
    packed = wkt.Any()
    packed.Pack(rpc.ErrorInfo(reason="TOPIC_NOT_FOUND", domain="pubsub.googleapis.com"))
    status = rpc.Status.FromString(
        rpc.Status(code=rpc.NOT_FOUND, details=[packed]).SerializeToString()
    )
    unpacked = rpc.ErrorInfo()
    assert status.details[0].Unpack(unpacked)
    assert unpacked.reason == "TOPIC_NOT_FOUND"
    assert status.details[0].type_url == "type.googleapis.com/google.rpc.ErrorInfo"


def test_enums_are_bound_with_their_values() -> None:
    assert schema.Encoding.Value("BINARY") == schema.BINARY == 2
    assert pubsub.Subscription.State.Name(pubsub.Subscription.ACTIVE) == "ACTIVE"
    assert rpc.Code.Name(rpc.NOT_FOUND) == "NOT_FOUND"
    assert health.HealthCheckResponse.SERVING == 1


def test_json_mapping_knows_the_private_well_known_types() -> None:
    topic = json_format.ParseDict({"messageRetentionDuration": "600s"}, pubsub.Topic())
    assert topic.message_retention_duration.seconds == 600
    assert json_format.MessageToDict(topic) == {"messageRetentionDuration": "600s"}


def test_unknown_fields_come_back() -> None:
    """A client newer than our interface files loses nothing."""
    newer = b"\x8a\xfa\x01\x03new"  # field 4001, three bytes
    assert pubsub.Topic.FromString(newer).SerializeToString() == newer


PURE = """
from google.protobuf.internal import api_implementation
assert api_implementation.Type() == "python"
from emulator.api import pool, pubsub, schema
from emulator.api.http_rules import http_rule
message = pubsub.PubsubMessage(data=b"x", attributes={"a": "b"})
assert pubsub.PubsubMessage.FromString(message.SerializeToString()) == message
method = pool.service("google.pubsub.v1.Publisher").methods_by_name["Publish"]
assert http_rule(method).post == "/v1/{topic=projects/*/topics/*}:publish"
assert schema.Schema.Type.Name(schema.Schema.AVRO) == "AVRO"
"""


def test_the_pure_python_runtime_will_do() -> None:
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    subprocess.run([sys.executable, "-c", PURE], check=True, env=environment, timeout=120)
