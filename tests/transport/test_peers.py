"""Calls are matched with the connections that they came by."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.testing import Emulator
from emulator.transport.peers import Client, Peers
from emulator.transport.relay import Relay
from tests.spec import spec
from tests.transport.stubs import FakeTransport
from tests.wire import Names, Wire

posix_only = pytest.mark.skipif(os.name != "posix", reason="has no unix sockets")


def relay() -> Relay:
    return Relay(FakeTransport(), lambda: None)


def outcomes(client: Client) -> list[str]:
    """What somebody hears at once who asks about a client."""
    heard: list[str] = []
    client.on_end(lambda: heard.append("ended"))
    client.guard(1, lambda: heard.append("abandoned"))
    client.forget(outcomes)
    return heard


@pytest.mark.parametrize(
    "upstream",
    [pytest.param("unix", marks=posix_only), ("127.0.0.1", 1)],
    ids=["unix socket", "port"],
)
def test_a_relay_is_found_by_its_name(tmp_path: Path, upstream: str | tuple[str, int]) -> None:
    if isinstance(upstream, str):
        upstream = str(tmp_path / upstream)
    peers = Peers()
    relays = [relay(), relay()]
    (first, first_name), (second, second_name) = [peers.enter(each, upstream) for each in relays]
    assert [peers.find(first_name), peers.find(second_name)] == relays
    assert list(tmp_path.iterdir()) == []
    peers.leave(first_name)
    assert outcomes(peers.find(first_name)) == ["ended", "abandoned"]
    assert peers.find(second_name) is relays[1]
    assert repr(peers) == "<Peers 1 connected>"
    first.close()
    second.close()


@posix_only
def test_a_connection_that_gets_no_name_is_served(tmp_path: Path) -> None:
    peers = Peers()
    sock, name = peers.enter(relay(), str(tmp_path / "none" / "grpc"))
    with sock:
        assert sock.family == socket.AF_UNIX
    assert len(peers) == 0
    client = peers.find(name)
    assert not client.has_ended
    assert outcomes(client) == []


@pytest.fixture
def strange_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary files lie where gRPC spells names otherwise than the system does."""
    folder = tempfile.mkdtemp(prefix="a b%é ")
    monkeypatch.setattr(tempfile, "tempdir", folder)
    yield
    monkeypatch.undo()
    shutil.rmtree(folder)


@spec("PUL-06")
@pytest.mark.usefixtures("strange_folder")
def test_grpc_tells_the_names(monkeypatch: pytest.MonkeyPatch, names: Names) -> None:
    found: list[Client] = []
    find = Peers.find

    def spy(self: Peers, peer: str) -> Client:
        found.append(find(self, peer))
        return found[-1]

    monkeypatch.setattr(Peers, "find", spy)
    with Emulator() as emulator:
        wires = [Wire(emulator.host_port) for _ in range(2)]
        wires[0].create(names.topic(), names.subscription())
        for wire in (*wires, *wires):
            wire.peek(names.subscription())
            assert isinstance(found[-1], Relay)
            assert not found[-1].has_ended
        assert found[0] is found[2] is not found[1] is found[3]
        for wire in wires:
            wire.close()
