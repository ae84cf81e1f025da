"""TLS and plaintext on one port, told apart by the first byte."""

from __future__ import annotations

import logging
import socket
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from cryptography import x509

from emulator.cli.certificates import self_signed
from emulator.server import Options, TlsError
from emulator.testing import Emulator
from tests.wire import HANG_LIMIT_S, Wire, data

TOPIC, SUBSCRIPTION = "projects/demo/topics/topic", "projects/demo/subscriptions/sub"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls")
    self_signed(str(path), ["pubsub.example"])
    return path


@pytest.fixture
def emulator(folder: Path) -> Iterator[Emulator]:
    tls = (str(folder / "server.pem"), str(folder / "server-key.pem"))
    with Emulator(Options(hosts=("127.0.0.1",), port=0, tls=tls)) as running:
        yield running


def context(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "ca.pem"))


class SecureWire(Wire):
    """A client that speaks TLS alone."""

    def __init__(self, host_port: str, authority: bytes) -> None:
        super().__init__(host_port)
        self.channel.close()
        self.channel = grpc.secure_channel(host_port, grpc.ssl_channel_credentials(authority))


def test_grpc_is_served_with_and_without(emulator: Emulator, folder: Path) -> None:
    secure = SecureWire(f"localhost:{emulator.port}", (folder / "ca.pem").read_bytes())
    plain = Wire(emulator.host_port)
    secure.create(TOPIC, SUBSCRIPTION)
    plain.publish(TOPIC, b"plain", b"x" * 3_000_000)
    assert data(secure.pull(SUBSCRIPTION)) == [b"plain", b"x" * 3_000_000]
    secure.publish(TOPIC, b"secure")
    assert data(plain.pull(SUBSCRIPTION)) == [b"secure"]
    secure.close()
    plain.close()


def test_rest_is_served_with_and_without(emulator: Emulator, folder: Path) -> None:
    for url, trust in (
        (f"https://localhost:{emulator.port}", context(folder)),
        (f"http://{emulator.host_port}", None),
    ):
        assert urllib.request.urlopen(url, context=trust).read() == b"Ok\n"
        answer = urllib.request.urlopen(f"{url}/v1/projects/demo/topics", context=trust)
        assert answer.read() == b"{}\n"


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["h2"], "h2"), (["grpc-exp", "h2"], "h2"), (["h2", "http/1.1"], "http/1.1"), ([], None)],
)
def test_clients_of_rest_are_led_to_http_1(
    emulator: Emulator, folder: Path, offered: list[str], chosen: str | None
) -> None:
    """gRPC offers HTTP/2 alone; curl offers both, and its REST would not be found in HTTP/2."""
    trust = context(folder)
    if offered:
        trust.set_alpn_protocols(offered)
    with (
        socket.create_connection(("127.0.0.1", emulator.port), HANG_LIMIT_S) as sock,
        trust.wrap_socket(sock, server_hostname="127.0.0.1") as wrapped,
    ):
        assert wrapped.selected_alpn_protocol() == chosen


def test_a_client_that_does_not_trust_is_told_of_and_harms_nobody(
    emulator: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    url = f"https://localhost:{emulator.port}"
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(url, context=ssl.create_default_context())
    assert urllib.request.urlopen(f"http://{emulator.host_port}").read() == b"Ok\n"
    [line] = [each for each in caplog.messages if "TLS handshake failed" in each]
    assert "does the client trust the certificate's authority?" in line


def test_who_says_nothing_or_stops_halfway_keeps_nobody_waiting(emulator: Emulator) -> None:
    address = ("127.0.0.1", emulator.port)
    with socket.create_connection(address), socket.create_connection(address) as halfway:
        halfway.sendall(b"\x16\x03\x01")
        assert urllib.request.urlopen(f"http://{emulator.host_port}").read() == b"Ok\n"
        emulator.stop()  # and nor does it keep the server from stopping


def test_connections_with_tls_end_with_the_server(emulator: Emulator, folder: Path) -> None:
    with (
        socket.create_connection(("127.0.0.1", emulator.port), HANG_LIMIT_S) as sock,
        context(folder).wrap_socket(sock, server_hostname="127.0.0.1") as wrapped,
    ):
        wrapped.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wrapped.recv(100).startswith(b"HTTP/1.1 200")
        emulator.stop()
        while wrapped.recv(1000):
            pass


def test_files_that_are_no_certificate_are_refused(folder: Path) -> None:
    for certificate, key in (("none.pem", "none.pem"), ("server.pem", "ca-key.pem")):
        tls = (str(folder / certificate), str(folder / key))
        with pytest.raises(TlsError, match="cannot be used for TLS"):
            Emulator(Options(hosts=("127.0.0.1",), port=0, tls=tls)).start()


def test_the_authority_is_made_once_and_its_keys_are_for_its_owner(tmp_path: Path) -> None:
    self_signed(str(tmp_path), [])
    authority = (tmp_path / "ca.pem").read_bytes()
    first = (tmp_path / "server.pem").read_bytes()
    self_signed(str(tmp_path), ["other.example", "10.1.2.3", "0.0.0.0"])
    assert (tmp_path / "ca.pem").read_bytes() == authority
    certificate = x509.load_pem_x509_certificate((tmp_path / "server.pem").read_bytes())
    assert (tmp_path / "server.pem").read_bytes() != first
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", "other.example"} <= set(names.get_values_for_type(x509.DNSName))
    addresses = {str(each) for each in names.get_values_for_type(x509.IPAddress)}
    assert addresses == {"127.0.0.1", "::1", "10.1.2.3"}
    for name in ("ca-key.pem", "server-key.pem"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TlsError, match="No certificate can be made in"):
        self_signed(str(tmp_path / "file"), [])
