"""Streams whose clients do anything, and go in any way: nothing is lost, and every count holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.api import pubsub
from emulator.engine.delivery.delivery import Delivery
from emulator.engine.engine import Engine
from emulator.engine.values.durations import MILLISECOND_US, SECOND_US
from tests.property.invariants import check_engine
from tests.spec import spec

TOPIC, SUBSCRIPTION = "projects/p/topics/top", "projects/p/subscriptions/sub"
STREAMS = 3

numbers = st.integers(0, 40)
moves = st.one_of(
    st.tuples(st.just("publish"), st.sampled_from(["", "a", "b"]), st.integers(1, 4)),
    st.tuples(st.just("lease"), st.integers(0, STREAMS - 1), st.integers(1, 8)),
    st.tuples(st.just("nack"), st.lists(numbers, min_size=1, max_size=6), st.just(0)),
    st.tuples(st.just("extend"), st.lists(numbers, min_size=1), st.sampled_from([10, 60])),
    st.tuples(st.just("ack"), st.lists(numbers, min_size=1, max_size=3), st.just(0)),
    st.tuples(st.just("half-close"), st.integers(0, STREAMS - 1), st.booleans()),
    st.tuples(st.just("close"), st.integers(0, STREAMS - 1), st.just(0)),
    st.tuples(st.just("wait"), st.sampled_from([1, 100, 300, 5_000, 11_000]), st.just(0)),
)


class Play:
    """One engine, the streams that are open on it, and which messages were acked for certain."""

    def __init__(self, **fields: bool) -> None:
        self.engine, self.now = Engine(nonce=b"n"), 0
        self.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
        given = pubsub.Subscription(name=SUBSCRIPTION, topic=TOPIC, **fields)
        self.engine.subscriptions.create(given, now=0)
        self.streams = [self.open() for _ in range(STREAMS)]
        self.leases: list[tuple[str, str]] = []  # ack ids, and the message's
        self.published: set[str] = set()
        self.acked: set[str] = set()

    def open(self) -> int:
        request = pubsub.StreamingPullRequest(
            subscription=SUBSCRIPTION, stream_ack_deadline_seconds=60
        )
        return self.engine.streaming.open(request, now=self.now).value

    def ids(self, chosen: list[int]) -> list[str]:
        return [self.leases[-1 - n][0] for n in chosen if n < len(self.leases)]

    def note(self, leases: list[Delivery]) -> list[str]:
        got = [pubsub.PubsubMessage.FromString(d.message.encoded).message_id for d in leases]
        self.leases += zip((d.ack_id for d in leases), got, strict=True)
        return got

    def make(self, move: str, what: object, how: int) -> None:
        engine, now = self.engine, self.now
        if move == "publish":
            request = pubsub.PublishRequest(topic=TOPIC)
            for _ in range(how):
                request.messages.add(data=b"x", ordering_key=str(what))
            encoded = request.SerializeToString()
            self.published |= set(engine.publish(request, encoded, now=now).value)
        elif move == "wait":
            assert isinstance(what, int)
            self.now += what * MILLISECOND_US
        elif isinstance(what, list):
            self.answer(move, self.ids(what), how)
        else:
            assert isinstance(what, int)
            self.use(move, what, how)

    def answer(self, move: str, ids: list[str], seconds: int) -> None:
        if not ids:
            return
        if move == "ack":
            self.engine.acknowledge(SUBSCRIPTION, ids, now=self.now)
            by_id = dict(self.leases)
            self.acked |= {by_id[ack_id] for ack_id in ids}
        else:
            self.engine.modify_ack_deadline(SUBSCRIPTION, ids, seconds, now=self.now)

    def use(self, move: str, stream: int, how: int) -> None:
        holders, holder = self.engine.holders, self.streams[stream]
        if move == "lease":
            self.note(holders.lease(holder, how, now=self.now).value.leases)
        elif move == "half-close":
            holders.half_close(holder, is_sending=bool(how), now=self.now)
        else:
            holders.close(holder, now=self.now)
            self.streams[stream] = self.open()

    def catch_up(self) -> None:
        while self.engine.tick("p", now=self.now).value:
            pass


@spec("STR-05", "STR-14", "DLV-05", "DLV-06", "ORD-01")
@given(moves=st.lists(moves, max_size=40), is_ordered=st.booleans(), is_exactly_once=st.booleans())
def test_whatever_clients_do_nothing_is_lost(
    moves: list[tuple[str, object, int]], is_ordered: bool, is_exactly_once: bool
) -> None:
    play = Play(enable_message_ordering=is_ordered, enable_exactly_once_delivery=is_exactly_once)
    for move in moves:
        play.make(*move)
        check_engine(play.engine)
        play.catch_up()
        check_engine(play.engine)
    for stream in range(STREAMS):
        play.use("close", stream, 0)
    for _ in range(3):
        play.now += 601 * SECOND_US  # after any lease
        play.catch_up()
    left = play.engine.holders.pull(SUBSCRIPTION, 1_000, now=play.now).value.leases
    assert play.published - play.acked <= set(play.note(left))
