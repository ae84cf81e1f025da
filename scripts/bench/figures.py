"""The lines of the table: what each figure means and what it must reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Against = Literal["google", "echo", "plain", "nothing"]


@dataclass(frozen=True)
class Goal:
    """At least (where more is better) or at most `factor` times the other's, or times 1.

    Against the plain figure it is CPU time that counts: plain ÷ this must be `factor` or more.
    """

    against: Against
    factor: float


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    key: str
    label: str
    unit: str
    is_more_better: bool = False
    goals: tuple[Goal, ...] = ()
    plain: str | None = None
    """Key of the figure that measures the same without this one's property."""

    def is_reached(self, goal: Goal, value: float, other: float) -> bool:
        """Tell whether a value reaches the goal, given the value of the one it is against."""
        limit = goal.factor * other
        return value >= limit if self.is_more_better else value <= limit


FIGURES = (
    Figure("start", "start to ready", "s", goals=(Goal("google", 1 / 2),)),
    Figure("memory", "memory just started", "MB", goals=(Goal("nothing", 70),)),
    Figure("publish_single_cold", "publish, 1 a call, cold", "calls/s", is_more_better=True),
    Figure(
        "publish_single",
        "publish, 1 a call, warm",
        "calls/s",
        is_more_better=True,
        goals=(Goal("echo", 0.8),),
    ),
    Figure("round_trip_p50", "one publish after another, p50", "ms"),
    Figure("round_trip_p99", "one publish after another, p99", "ms"),
    Figure(
        "publish_batch_cold",
        "publish, 100 a call, cold",
        "messages/s",
        is_more_better=True,
        goals=(Goal("google", 1),),
    ),
    Figure(
        "publish_batch",
        "publish, 100 a call, warm",
        "messages/s",
        is_more_better=True,
        goals=(Goal("google", 0.5),),
    ),
    Figure(
        "pull",
        "unary pull + ack, 100 a call",
        "messages/s",
        is_more_better=True,
        goals=(Goal("google", 1.2),),
    ),
    Figure("filtered", "pull + ack, filtered", "messages/s", is_more_better=True, plain="pull"),
    Figure(
        "ordered_10",
        "pull + ack, ordered, 10 keys",
        "messages/s",
        is_more_better=True,
        goals=(Goal("plain", 0.6),),
        plain="pull",
    ),
    Figure(
        "ordered_1000",
        "pull + ack, ordered, 1,000 keys",
        "messages/s",
        is_more_better=True,
        goals=(Goal("plain", 0.6),),
        plain="pull",
    ),
    Figure(
        "exactly_once", "pull + ack, exactly-once", "messages/s", is_more_better=True, plain="pull"
    ),
    Figure("rest_publish", "REST publish, 100 a call", "messages/s", is_more_better=True),
    Figure("rest_pull", "REST pull + ack, 100 a call", "messages/s", is_more_better=True),
    Figure("schema_plain", "publish of 62 bytes, 100 a call", "messages/s", is_more_better=True),
    Figure(
        "schema",
        "the same, against an Avro schema of 10 fields",
        "messages/s",
        is_more_better=True,
    ),
    Figure(
        "schema_check",
        "CPU that the schema costs ÷ fastavro's decoding",
        "×",
        goals=(Goal("nothing", 2),),
    ),
    Figure(
        "delivery_p50",
        "publish → delivery on a stream, p50",
        "ms",
        goals=(Goal("google", 1 / 40), Goal("echo", 2)),
    ),
    Figure("delivery_p99", "publish → delivery on a stream, p99", "ms"),
    Figure(
        "one_stream",
        "one stream, publish + deliver + ack",
        "messages/s",
        is_more_better=True,
        goals=(Goal("google", 30),),
    ),
    Figure(
        "five_streams",
        "five subscriptions, delivered",
        "messages/s",
        is_more_better=True,
        goals=(Goal("google", 15),),
    ),
    Figure(
        "backlog_cpu",
        "backlog of 1,000,000: CPU ÷ that at 10,000",
        "×",
        goals=(Goal("nothing", 1.25),),
    ),
    Figure(
        "backlog_memory",
        "backlog of 1,000,000: memory beyond payload",
        "bytes each",
        goals=(Goal("nothing", 500),),
    ),
    Figure(
        "backlog_pause",
        "backlog of 1,000,000: longest wait of a probe",
        "ms",
        goals=(Goal("nothing", 100),),
    ),
    Figure("backlog_pause_cpu", "the same, in CPU of the server", "ms"),
    Figure(
        "idle",
        "idle, 1,000 subscriptions, 200 streams",
        "% of a core",
        goals=(Goal("nothing", 0.5),),
    ),
    Figure("runs_memory", "3 × 200,000 published and acked: memory", "MB"),
    Figure("runs_growth", "3 × 200,000 published and acked: last growth", "MB"),
    Figure("extensions", "1,000 leases extended", "leases/s", is_more_better=True),
    Figure("extensions_growth", "1,000,000 extensions: growth in second half", "MB"),
)
