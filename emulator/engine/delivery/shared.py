"""What the parts of one backlog have in common."""

from __future__ import annotations

from emulator.engine.delivery.ages import NO_TIME_US, Ages
from emulator.engine.delivery.delivery import Delivery, Lane
from emulator.engine.delivery.delivery_rules import DeliveryRules
from emulator.engine.delivery.events import Recording
from emulator.engine.delivery.history import History
from emulator.engine.delivery.outcome import Available, Effect


class Shared:
    """`wake` is the effect to report when messages become available here.

    `effects` are those of the operation that runs. No message that was leased once, and is not
    settled, is older than `oldest_leased_us`, and none that waits in a lane than
    `oldest_pending_us`; `ages` has both, while some are of an age to expire.
    """

    __slots__ = (
        "ages",
        "effects",
        "history",
        "oldest_leased_us",
        "oldest_pending_us",
        "recording",
        "rules",
        "wake",
    )

    def __init__(self, wake: Available, recording: Recording) -> None:
        self.wake = wake
        self.recording = recording
        self.effects: list[Effect] = []
        self.rules = DeliveryRules()
        self.history: History | None = None
        self.ages: Ages[Delivery | Lane] | None = None
        self.oldest_leased_us = NO_TIME_US
        self.oldest_pending_us = NO_TIME_US

    @property
    def subscription(self) -> str:
        return self.wake.subscription
