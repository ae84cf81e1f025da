"""What this emulator does not do: what it refuses, and what it only stores.

A feature that were accepted and then not honoured would let a test pass that fails against the
service. So whatever is not built is refused by name when a client asks for it; the rest of this
page is what has no effect on messages here and is therefore stored and shown, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from emulator.engine.values.errors import Unimplemented

if TYPE_CHECKING:
    from google.protobuf.message import Message

log = logging.getLogger("emulator")


class Feature(NamedTuple):
    """`where` is a resource's or service's full name, `what` a field path or a method."""

    where: str
    what: str
    name: str


_SUBSCRIBER = "google.pubsub.v1.Subscriber"
_TOPIC = "google.pubsub.v1.Topic"
_SUBSCRIPTION = "google.pubsub.v1.Subscription"

#: Everything that is refused with UNIMPLEMENTED, when it is called or set.
REFUSED = (
    Feature(_SUBSCRIBER, "ModifyPushConfig", "push delivery"),
    Feature(_SUBSCRIPTION, "push_config.push_endpoint", "push delivery"),
)

#: What is stored and shown, and changes nothing else.
STORED = (
    Feature(_TOPIC, "kms_key_name", "encryption keys"),
    Feature(_TOPIC, "message_storage_policy", "storage policies"),
    Feature(_TOPIC, "ingestion_data_source_settings", "ingestion"),
    Feature(_TOPIC, "message_transforms", "message transforms"),
    Feature(_TOPIC, "tags", "tags"),
    Feature(_SUBSCRIPTION, "bigquery_config", "BigQuery export"),
    Feature(_SUBSCRIPTION, "bigtable_config", "Bigtable export"),
    Feature(_SUBSCRIPTION, "cloud_storage_config", "Cloud Storage export"),
    Feature(_SUBSCRIPTION, "message_transforms", "message transforms"),
    Feature(_SUBSCRIPTION, "tags", "tags"),
)


def refusal(feature: Feature) -> Unimplemented:
    """The error that names the feature."""
    return Unimplemented(
        f"This emulator does not support {feature.name} yet ({feature.where}.{feature.what})."
    )


def check(resource: Message, mask: Collection[str] | None = None) -> None:
    """Refuse a resource that sets a field of `REFUSED`; log a line for each of `STORED`.

    With a `mask` only the fields that it names count.
    """
    for feature in REFUSED:
        if _concerns(feature, resource, mask):
            raise refusal(feature)
    for feature in STORED:
        if _concerns(feature, resource, mask):
            log.warning(
                "%s: %s is stored and shown, but has no effect here.",
                getattr(resource, "name", ""),
                feature.what,
            )


def _concerns(feature: Feature, resource: Message, mask: Collection[str] | None) -> bool:
    if feature.where != resource.DESCRIPTOR.full_name or not _is_set(resource, feature.what):
        return False
    field = feature.what.partition(".")[0]
    return mask is None or any(path.partition(".")[0] == field for path in mask)


def _is_set(message: Message, path: str) -> bool:
    first, _, rest = path.partition(".")
    if not any(field.name == first for field, _ in message.ListFields()):
        return False
    return _is_set(getattr(message, first), rest) if rest else True
