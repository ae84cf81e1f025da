"""What a subscription's resource says about failures, in the engine's units (RTY-*, DLQ-*, EOD)."""

from __future__ import annotations

from typing import NamedTuple

from emulator.api import pubsub
from emulator.engine.values import durations, errors, limits


class Backoff(NamedTuple):
    """An exponential delay between two bounds, in microseconds (RTY-02)."""

    minimum_us: int
    maximum_us: int

    def delay_us(self, failures: int) -> int:
        """How long a message waits after its `failures`-th failure."""
        # Doubling more often than this passes any maximum there can be.
        doublings = min(failures - 1, 40)
        return min(self.minimum_us << doublings, self.maximum_us)


class DeliveryRules(NamedTuple):
    """`max_attempts` is 0 without a dead-letter policy; `policy` counts the policies there were."""

    is_exactly_once: bool = False
    backoff: Backoff | None = None
    max_attempts: int = 0
    policy: int = 0


def of(resource: pubsub.Subscription, before: DeliveryRules) -> DeliveryRules:
    """The rules of a resource that had the rules `before` until now."""
    max_attempts = 0
    if resource.HasField("dead_letter_policy"):
        max_attempts = resource.dead_letter_policy.max_delivery_attempts
    # DLQ-11: a policy that is added counts from then; one that is changed goes on counting.
    is_new = bool(max_attempts) and not before.max_attempts
    return DeliveryRules(
        is_exactly_once=resource.enable_exactly_once_delivery,
        backoff=_backoff(resource),
        max_attempts=max_attempts,
        policy=before.policy + is_new,
    )


def _backoff(resource: pubsub.Subscription) -> Backoff | None:
    if not resource.HasField("retry_policy"):
        return None
    policy = resource.retry_policy
    return Backoff(durations.to_us(policy.minimum_backoff), durations.to_us(policy.maximum_backoff))


def fill_in(resource: pubsub.Subscription) -> None:
    """Give policies the defaults that the service shows (SUB-09, SUB-11)."""
    if resource.HasField("retry_policy"):
        retry = resource.retry_policy
        if not retry.HasField("minimum_backoff"):
            retry.minimum_backoff.seconds = limits.BACKOFF_MIN_DEFAULT_S
        if not retry.HasField("maximum_backoff"):
            retry.maximum_backoff.seconds = limits.BACKOFF_MAX_DEFAULT_S
    if resource.HasField("dead_letter_policy"):
        dead_letter = resource.dead_letter_policy
        if not dead_letter.max_delivery_attempts:
            dead_letter.max_delivery_attempts = limits.DELIVERY_ATTEMPTS_MIN


def check(resource: pubsub.Subscription) -> None:
    """Raise INVALID_ARGUMENT for policies out of their bounds (SUB-09, SUB-11)."""
    if resource.HasField("dead_letter_policy"):
        _check_attempts(resource.dead_letter_policy.max_delivery_attempts)
    if resource.HasField("retry_policy"):
        _check_backoffs(resource.retry_policy)


def _check_attempts(attempts: int) -> None:
    low, high = limits.DELIVERY_ATTEMPTS_MIN, limits.DELIVERY_ATTEMPTS_MAX
    if attempts < low:
        raise errors.too_small("max_delivery_attempts", attempts, low)
    if attempts > high:
        raise errors.too_large("max_delivery_attempts", attempts, high)


def _check_backoffs(policy: pubsub.RetryPolicy) -> None:
    """The texts are ours, in the service's pattern."""
    longest = durations.from_seconds(limits.BACKOFF_LONGEST_S)
    for name in ("minimum_backoff", "maximum_backoff"):
        given = getattr(policy, name)
        if not 0 <= durations.total_ns(given) <= durations.total_ns(longest):
            text = durations.text(given)
            raise errors.out_of_bounds(name, text, "0s", durations.text(longest))
    minimum, maximum = policy.minimum_backoff, policy.maximum_backoff
    if durations.total_ns(minimum) > durations.total_ns(maximum):
        raise errors.too_small("maximum_backoff", durations.text(maximum), durations.text(minimum))
