"""What a subscription's resource may say, and what the server fills in (SUB-*)."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.api import pubsub
from emulator.api.wkt import Duration
from emulator.engine.delivery import delivery_rules
from emulator.engine.values import durations, errors, field_masks, labels, limits, wellformed
from emulator.engine.values.copying import copied

_EXPORTS = ("bigquery_config", "bigtable_config", "cloud_storage_config")
_OUTPUT_ONLY = (
    "state",
    "detached",
    "topic_message_retention_duration",
    "analytics_hub_subscription_info",
)
_MASKABLE = field_masks.Maskable(
    kind="Subscription",
    hint="push_config",
    mutable={  # UPD-06
        "push_config",
        "bigquery_config",
        "bigtable_config",
        "cloud_storage_config",
        "ack_deadline_seconds",
        "retain_acked_messages",
        "message_retention_duration",
        "labels",
        "expiration_policy",
        "dead_letter_policy",
        "retry_policy",
        "enable_exactly_once_delivery",
        "message_transforms",
    },
)


def delivery_types(resource: pubsub.Subscription) -> list[str]:
    """The ways in which the service itself delivers; none for a pull subscription (SUB-03)."""
    types = [export for export in _EXPORTS if resource.HasField(export)]
    if resource.push_config.push_endpoint:
        types.append("push_config")
    return types


def complete(given: pubsub.Subscription) -> pubsub.Subscription:
    """Return the resource that creating `given` makes, with the server's defaults (SUB-13).

    Raises INVALID_ARGUMENT for values that a subscription cannot have.
    """
    resource = copied(given)
    resource.ClearField("tags")  # TAG-01: input only
    for field in _OUTPUT_ONLY:
        resource.ClearField(field)
    if resource.enable_exactly_once_delivery and not resource.ack_deadline_seconds:
        resource.ack_deadline_seconds = limits.EXACTLY_ONCE_ACK_DEADLINE_DEFAULT_S
    _fill_in(resource)
    check(resource)
    return resource


def updated(
    current: pubsub.Subscription, given: pubsub.Subscription, paths: Iterable[str]
) -> pubsub.Subscription:
    """Return what updating `current` by a mask makes; raise INVALID_ARGUMENT for a bad one."""
    resource = field_masks.updated(current, given, paths, _MASKABLE)
    _fill_in(resource)
    check(resource)
    return resource


def _fill_in(resource: pubsub.Subscription) -> None:
    resource.state = pubsub.Subscription.State.ACTIVE
    resource.push_config.SetInParent()
    _fill_in_exports(resource)
    delivery_rules.fill_in(resource)
    if not resource.ack_deadline_seconds:
        is_file = resource.HasField("cloud_storage_config")
        resource.ack_deadline_seconds = (
            limits.ACK_DEADLINE_CLOUD_STORAGE_S if is_file else limits.ACK_DEADLINE_DEFAULT_S
        )
    if not resource.HasField("expiration_policy"):
        resource.expiration_policy.ttl.seconds = limits.EXPIRATION_DEFAULT_S
    if not resource.HasField("message_retention_duration"):
        resource.message_retention_duration.CopyFrom(_default_retention(resource))


def _default_retention(resource: pubsub.Subscription) -> Duration:
    """Seven days, or the time to live where that is shorter (SUB-06)."""
    policy = resource.expiration_policy
    default = durations.from_seconds(limits.RETENTION_DEFAULT_S)
    if policy.HasField("ttl") and durations.to_us(policy.ttl) < durations.to_us(default):
        return policy.ttl
    return default


def _fill_in_exports(resource: pubsub.Subscription) -> None:
    """Show exports as the service shows working ones; nothing is written anywhere."""
    if resource.HasField("bigquery_config"):
        resource.bigquery_config.state = pubsub.BigQueryConfig.State.ACTIVE
    if resource.HasField("bigtable_config"):
        resource.bigtable_config.state = pubsub.BigtableConfig.State.ACTIVE
    if resource.HasField("cloud_storage_config"):
        config = resource.cloud_storage_config
        config.state = pubsub.CloudStorageConfig.State.ACTIVE
        if not config.WhichOneof("output_format"):
            config.text_config.SetInParent()  # GCS-07
        if not config.HasField("max_duration"):
            config.max_duration.seconds = limits.CLOUD_STORAGE_FILE_DEFAULT_S


def check(resource: pubsub.Subscription) -> None:
    """Raise INVALID_ARGUMENT if a value of a completed resource is out of its bounds."""
    wellformed.check(resource)
    types = delivery_types(resource)
    if len(types) > 1:
        # SUB-03; the text is ours.
        raise errors.invalid_argument(f"more than one delivery type: {', '.join(sorted(types))}")
    _check_ack_deadline(resource.ack_deadline_seconds)
    if resource.enable_exactly_once_delivery and types:
        # SUB-12; the text is ours.
        raise errors.invalid_argument("enable_exactly_once_delivery needs a pull subscription")
    delivery_rules.check(resource)
    labels.check(resource.labels)
    check_retention(resource.message_retention_duration)
    _check_expiration(resource)


def _check_ack_deadline(seconds: int) -> None:
    low, high = limits.ACK_DEADLINE_MIN_S, limits.ACK_DEADLINE_MAX_S
    if not low <= seconds <= high:
        raise errors.bad_ack_deadline(seconds, low, high)


def check_retention(duration: Duration) -> None:
    """Raise ERR-22 unless `duration` is from 10 minutes to 31 days (SUB-05, TOP-04)."""
    low = durations.from_seconds(limits.RETENTION_MIN_S)
    high = durations.from_seconds(limits.RETENTION_MAX_S)
    if not durations.total_ns(low) <= durations.total_ns(duration) <= durations.total_ns(high):
        raise errors.out_of_bounds(
            "message retention duration",
            durations.text(duration),
            durations.text(low),
            durations.text(high),
        )


def _check_expiration(resource: pubsub.Subscription) -> None:
    policy = resource.expiration_policy
    if not policy.HasField("ttl"):
        return  # SUB-07: never expires
    low = durations.from_seconds(limits.EXPIRATION_MIN_S)
    if durations.total_ns(policy.ttl) < durations.total_ns(low):
        raise errors.too_small(
            "expiration duration", durations.text(policy.ttl), durations.text(low)
        )
    retention = resource.message_retention_duration
    if durations.total_ns(policy.ttl) < durations.total_ns(retention):
        # SUB-06; the text is unsettled.
        raise errors.too_small(
            "expiration duration", durations.text(policy.ttl), durations.text(retention)
        )
