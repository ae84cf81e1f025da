"""What the official Go client nacks while it stops, the next subscriber gets: `make clients`."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from tests.clients.test_other_languages import LANGUAGES, built, missing
from tests.spec import spec
from tests.wire import LONG_LEASE_S, Names, Wire, data

COUNT = 50
KEYS = 10
#: How many messages it works at when it stops: of a key it takes one at a time.
AT_HAND: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (COUNT, {}),
    "ordered": (KEYS, {"enable_message_ordering": True}),
    "exactly once": (COUNT, {"enable_exactly_once_delivery": True}),
}

pytestmark = pytest.mark.slow_clients


@spec("STR-14", "DLV-03", "CLI-12")
@pytest.mark.parametrize("kind", AT_HAND)
def test_what_go_nacks_while_it_stops_reaches_the_next_subscriber(
    emulator: Emulator, kind: str
) -> None:
    if missing("go"):
        pytest.skip(f"not installed: {', '.join(missing('go'))}")
    at_hand, fields = AT_HAND[kind]
    names, wire = Names(f"go-stop-{kind.replace(' ', '-')}"), Wire(emulator.host_port)
    topic, subscription = names.topic("topic"), names.subscription("subscription")
    wire("CreateTopic", pubsub.Topic(name=topic))
    wire(
        "CreateSubscription",
        pubsub.Subscription(
            name=subscription, topic=topic, ack_deadline_seconds=LONG_LEASE_S, **fields
        ),
    )
    sent = [b"%02d" % number for number in range(COUNT)]
    for each in sent:
        message = {"data": each, "ordering_key": f"key-{int(each) % KEYS}"}
        wire("Publish", pubsub.PublishRequest(topic=topic, messages=[message]))
    with subprocess.Popen(
        [*LANGUAGES["go"].run, names.project, "topic", "subscription", str(at_hand)],
        cwd=built("go"),
        env={**os.environ, "PUBSUB_EMULATOR_HOST": emulator.host_port},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == "stopped\n"
            got = pull_all(wire, subscription)
        finally:
            client.kill()
    assert sorted(data(got)) == sent
    if kind == "ordered":
        of_keys = [[int(d) for d in data(got) if int(d) % KEYS == key] for key in range(KEYS)]
        assert of_keys == [sorted(of_key) for of_key in of_keys]
    wire.acknowledge(subscription, got)
    wire.close()


def pull_all(wire: Wire, subscription: str) -> list[pubsub.ReceivedMessage]:
    """Pull until all have come; a pull hangs no longer than the client's leases would run on."""
    got: list[pubsub.ReceivedMessage] = []
    while len(got) < COUNT:
        got += wire.pull(subscription)
    return got
