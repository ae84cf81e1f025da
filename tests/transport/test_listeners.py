"""The listening sockets: addresses, the shared port, and refusals in one line."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from emulator.transport import listeners as listeners_module
from emulator.transport.listeners import (
    FREE_PORT_ATTEMPTS,
    ListenError,
    Listeners,
    PortInUse,
    open_listeners,
)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.fixture
def listen() -> Iterator[Callable[..., Listeners]]:
    """Open listeners that are closed after the test."""
    opened: list[Listeners] = []

    def opener(*hosts: str, port: int = 0) -> Listeners:
        opened.append(open_listeners(hosts, port))
        return opened[-1]

    yield opener
    for each in opened:
        each.close()


@pytest.fixture
def without_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the machine one without IPv6, as its sockets would tell."""
    bind = listeners_module._bind

    def bind_ipv4_only(endpoint: listeners_module._Endpoint, port: int) -> socket.socket:
        if endpoint.family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return bind(endpoint, port)

    monkeypatch.setattr(listeners_module, "_bind", bind_ipv4_only)


def reaches(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except OSError:
        return False
    return True


@needs_ipv6
def test_default_hosts_share_one_free_port() -> None:
    with closing(open_listeners()) as listeners:
        port = listeners.port
        assert port != 0
        assert listeners.addresses == (f"127.0.0.1:{port}", f"[::1]:{port}")
        assert {sock.getsockname()[1] for sock in listeners.sockets} == {port}
        assert reaches("127.0.0.1", port)
        assert reaches("::1", port)
        assert listeners.notes == ()


@needs_ipv6
@pytest.mark.parametrize(
    ("hosts", "addresses"),
    [
        (["localhost"], ["127.0.0.1", "[::1]"]),
        (["LOCALHOST", "127.0.0.1"], ["127.0.0.1", "[::1]"]),
        (["127.0.0.1"], ["127.0.0.1"]),
        (["[::1]"], ["[::1]"]),
        (["::1", "::1"], ["[::1]"]),
        (["0.0.0.0"], ["0.0.0.0"]),
        (["::"], ["0.0.0.0", "[::]"]),
        (["0.0.0.0", "127.0.0.1", "::1"], ["0.0.0.0", "[::1]"]),
        (["127.0.0.1", "::1", "::"], ["0.0.0.0", "[::]"]),
    ],
)
def test_addresses(
    listen: Callable[..., Listeners], hosts: list[str], addresses: list[str]
) -> None:
    listeners = listen(*hosts)
    assert listeners.addresses == tuple(f"{each}:{listeners.port}" for each in addresses)


@needs_ipv6
def test_unspecified_ipv6_host_is_reached_over_both(listen: Callable[..., Listeners]) -> None:
    port = listen("::").port
    assert reaches("127.0.0.1", port)
    assert reaches("::1", port)


@pytest.mark.parametrize("hosts", [("127.0.0.1", "::1"), ("localhost",)])
def test_machine_without_ipv6_is_served_on_ipv4(
    listen: Callable[..., Listeners],
    without_ipv6: None,
    caplog: pytest.LogCaptureFixture,
    hosts: tuple[str, ...],
) -> None:
    caplog.set_level(logging.INFO)
    listeners = listen(*hosts)
    assert listeners.addresses == (f"127.0.0.1:{listeners.port}",)
    assert [record.getMessage() for record in caplog.records] == list(listeners.notes)
    assert listeners.notes == ("This machine has no IPv6: listening on IPv4 only.",)


def test_ipv6_asked_for_alone_is_an_error_without_ipv6(without_ipv6: None) -> None:
    with pytest.raises(ListenError, match=r"^Cannot listen on \[::1\]:0: Address family"):
        open_listeners(["::1"], 0)


@needs_ipv6
@pytest.mark.parametrize("busy", ["127.0.0.1", "::1"])
def test_port_busy_on_one_host_is_refused(listen: Callable[..., Listeners], busy: str) -> None:
    port = listen(busy).port
    with pytest.raises(PortInUse) as refused:
        open_listeners(["127.0.0.1", "::1"], port)
    shown = f"[{busy}]" if ":" in busy else busy
    assert str(refused.value) == f"Cannot listen on {shown}:{port}: the port is in use"
    assert refused.value.errno == errno.EADDRINUSE
    assert isinstance(refused.value, OSError)
    other = "::1" if busy == "127.0.0.1" else "127.0.0.1"
    listen(other, port=port)  # what was opened before the refusal is closed again


@pytest.mark.parametrize(("first", "second"), [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "0.0.0.0")])
@pytest.mark.skipif(sys.platform != "linux", reason="other systems let both listen")
def test_port_busy_on_an_overlapping_address_is_refused(
    listen: Callable[..., Listeners], first: str, second: str
) -> None:
    port = listen(first).port
    with pytest.raises(PortInUse):
        open_listeners([second], port)


def test_restart_takes_the_port_of_lingering_connections(listen: Callable[..., Listeners]) -> None:
    listeners = listen("127.0.0.1")
    client = socket.create_connection(("127.0.0.1", listeners.port))
    accepted = wait_accept(listeners.sockets[0])
    accepted.close()  # the server's side ends first: its address lingers in TIME_WAIT
    assert client.recv(1) == b""
    client.close()
    listeners.close()
    assert listen("127.0.0.1", port=listeners.port).port == listeners.port


def wait_accept(listener: socket.socket) -> socket.socket:
    listener.settimeout(60)
    return listener.accept()[0]


@needs_ipv6
def test_free_port_is_chosen_again_where_another_host_has_it_busy(
    listen: Callable[..., Listeners], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = listen("::1").port
    bind = listeners_module._bind
    asked: list[int] = []

    def bind_busy_first(endpoint: listeners_module._Endpoint, port: int) -> socket.socket:
        if port == 0 and endpoint.family == socket.AF_INET:
            asked.append(port)
            return bind(endpoint, busy if len(asked) < 3 else 0)
        return bind(endpoint, port)

    monkeypatch.setattr(listeners_module, "_bind", bind_busy_first)
    assert listen("127.0.0.1", "::1").port != busy
    assert len(asked) == 3


@needs_ipv6
def test_search_for_a_free_port_ends(
    listen: Callable[..., Listeners], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = listen("::1").port
    bind = listeners_module._bind
    asked: list[int] = []

    def bind_busy(endpoint: listeners_module._Endpoint, port: int) -> socket.socket:
        asked.append(port)
        return bind(endpoint, busy)

    monkeypatch.setattr(listeners_module, "_bind", bind_busy)
    with pytest.raises(PortInUse):
        open_listeners(["127.0.0.1", "::1"], 0)
    assert asked.count(0) == FREE_PORT_ATTEMPTS + 1  # one more asks whether there is IPv6


@pytest.mark.parametrize("port", [-1, 65536, 100_000])
def test_port_out_of_range(port: int) -> None:
    with pytest.raises(ValueError, match=rf"^Port must be within 0 and 65535, not {port}$"):
        open_listeners(["127.0.0.1"], port)


def test_no_host() -> None:
    with pytest.raises(ValueError, match="No host"):
        open_listeners([], 0)


@pytest.mark.parametrize(
    "host", ["", "does-not-exist.invalid", "192.0.2.1", "a" * 80, "2001:db8::1"]
)
def test_host_that_cannot_be_listened_on_is_named_in_one_line(host: str) -> None:
    with pytest.raises(ListenError) as refused:
        open_listeners([host], 8085)
    text = str(refused.value)
    assert text.startswith("Cannot listen on ")
    assert host in text
    assert ":8085: " in text
    assert "\n" not in text
    assert not isinstance(refused.value, PortInUse)
