"""Exports as a script of gcloud commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf import json_format

from emulator.api import wkt
from emulator.api.pool import POOL
from emulator.config.exporting import Export

#: Path of a field -> the flag that sets it. Flags without `=` are switches.
_TOPIC_FLAGS: Mapping[str, str] = {
    "labels": "--labels=",
    "message_retention_duration": "--message-retention-duration=",
    "message_storage_policy.allowed_persistence_regions":
        "--message-storage-policy-allowed-regions=",
    "message_storage_policy.enforce_in_transit": "--message-storage-policy-enforce-in-transit",
    "kms_key_name": "--topic-encryption-key=",
    "schema_settings.schema": "--schema=",
    "schema_settings.encoding": "--message-encoding=",
    "message_transforms": "--message-transforms-file=",
}  # fmt: skip
_PUSH, _BIGQUERY, _STORAGE = "push_config", "bigquery_config", "cloud_storage_config"
_SUBSCRIPTION_FLAGS: Mapping[str, str] = {
    "topic": "--topic=",
    "ack_deadline_seconds": "--ack-deadline=",
    "message_retention_duration": "--message-retention-duration=",
    "retain_acked_messages": "--retain-acked-messages",
    "labels": "--labels=",
    "enable_message_ordering": "--enable-message-ordering",
    "enable_exactly_once_delivery": "--enable-exactly-once-delivery",
    "filter": "--message-filter=",
    "expiration_policy.ttl": "--expiration-period=",
    "dead_letter_policy.dead_letter_topic": "--dead-letter-topic=",
    "dead_letter_policy.max_delivery_attempts": "--max-delivery-attempts=",
    "retry_policy.minimum_backoff": "--min-retry-delay=",
    "retry_policy.maximum_backoff": "--max-retry-delay=",
    "message_transforms": "--message-transforms-file=",
    f"{_PUSH}.push_endpoint": "--push-endpoint=",
    f"{_PUSH}.oidc_token.service_account_email": "--push-auth-service-account=",
    f"{_PUSH}.oidc_token.audience": "--push-auth-token-audience=",
    f"{_PUSH}.no_wrapper": "--push-no-wrapper",
    f"{_PUSH}.no_wrapper.write_metadata": "--push-no-wrapper-write-metadata",
    f"{_BIGQUERY}.table": "--bigquery-table=",
    f"{_BIGQUERY}.use_topic_schema": "--use-topic-schema",
    f"{_BIGQUERY}.use_table_schema": "--use-table-schema",
    f"{_BIGQUERY}.write_metadata": "--write-metadata",
    f"{_BIGQUERY}.drop_unknown_fields": "--drop-unknown-fields",
    f"{_BIGQUERY}.service_account_email": "--bigquery-service-account-email=",
    f"{_STORAGE}.bucket": "--cloud-storage-bucket=",
    f"{_STORAGE}.filename_prefix": "--cloud-storage-file-prefix=",
    f"{_STORAGE}.filename_suffix": "--cloud-storage-file-suffix=",
    f"{_STORAGE}.filename_datetime_format": "--cloud-storage-file-datetime-format=",
    f"{_STORAGE}.max_duration": "--cloud-storage-max-duration=",
    f"{_STORAGE}.max_bytes": "--cloud-storage-max-bytes=",
    f"{_STORAGE}.max_messages": "--cloud-storage-max-messages=",
    f"{_STORAGE}.avro_config": "--cloud-storage-output-format=avro",
    f"{_STORAGE}.avro_config.write_metadata": "--cloud-storage-write-metadata",
    f"{_STORAGE}.avro_config.use_topic_schema": "--cloud-storage-use-topic-schema",
    f"{_STORAGE}.service_account_email": "--cloud-storage-service-account-email=",
}
#: What is the same when it is not said.
_IMPLIED = (f"{_PUSH}.pubsub_wrapper", f"{_STORAGE}.text_config")


def write(export: Export) -> str:
    """Return the text of a script for bash."""
    lines = ["#!/usr/bin/env bash", "set -euo pipefail", *(f"# {text}" for text in export.remarks)]
    for project, resource in export.resources():
        lines += _command(resource, project)
    return "\n".join(lines) + "\n"


def _command(resource: Any, project: str) -> list[str]:
    kind = resource.DESCRIPTOR.name
    leaf = resource.name.rpartition("/")[2]
    words = ["gcloud", "pubsub", f"{kind.lower()}s", "create", leaf, f"--project={project}"]
    if kind == "Schema":
        type_name = resource.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number[
            resource.type
        ].name.lower().replace("_", "-")  # fmt: skip
        words += [f"--type={type_name}", f"--definition={resource.definition}"]
        return [shlex.join(words)]
    flags = _TOPIC_FLAGS if kind == "Topic" else _SUBSCRIPTION_FLAGS
    remarks, words_of_flags = [], []
    for path, value in _fields(resource, ""):
        if path in flags:
            words_of_flags.append(_flag(flags[path], path, value))
        elif path not in _IMPLIED and path != "name" and not _has_flags_below(path, flags):
            remarks.append(f"# {resource.name}: {path} cannot be given to gcloud")
    if kind == "Subscription" and _never_expires(resource):
        words_of_flags.append("--expiration-period=never")
    return [*remarks, " ".join([shlex.join(words), *words_of_flags])]


def _never_expires(subscription: Any) -> bool:
    policy = subscription.expiration_policy
    return subscription.HasField("expiration_policy") and not policy.HasField("ttl")


def _has_flags_below(path: str, flags: Mapping[str, str]) -> bool:
    return any(other.startswith(f"{path}.") for other in flags)


def _fields(message: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Every field that is set, messages before what is in them."""
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        if field.enum_type is not None:
            value = field.enum_type.values_by_number[value].name
        yield path, value
        kind = field.message_type
        is_object = kind is not None and not kind.full_name.startswith("google.protobuf.")
        if is_object and hasattr(value, "ListFields"):
            yield from _fields(value, f"{path}.")


def _flag(flag: str, path: str, value: Any) -> str:
    if not flag.endswith("="):
        return flag
    if path == "message_transforms":
        dicts = [json_format.MessageToDict(each, descriptor_pool=POOL) for each in value]
        return f"{flag}<(printf %s {shlex.quote(json.dumps(dicts))})"
    return flag + shlex.quote(_text(value))


def _text(value: Any) -> str:
    if isinstance(value, wkt.Duration):
        return str(value.ToJsonString())
    if hasattr(value, "items"):
        return ",".join(f"{key}={item}" for key, item in sorted(value.items()))
    if isinstance(value, str | int):
        return str(value).lower() if value in ("JSON", "BINARY") else str(value)
    return ",".join(value)
