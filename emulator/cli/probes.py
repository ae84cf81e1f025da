"""Looks at what is behind an address: who listens there, and what he speaks."""

from __future__ import annotations

import socket
from enum import Enum

_TIMEOUT_S = 3.0
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_EMPTY_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
_SETTINGS_TYPE, _TLS_ALERT = 4, 0x15
_HEAD_BYTES = 9


class Speech(Enum):
    """What an HTTP/1 request is answered with."""

    EMULATOR = "an emulator"
    HTTP = "another HTTP server"
    TLS = "TLS"
    NOTHING = "nothing"
    OTHER = "something that is no HTTP"


def resolve(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    """Return the addresses of a host; raises OSError for one that has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def connects(address: str, port: int) -> str:
    """Return "" if somebody accepts a connection, or why not."""
    try:
        socket.create_connection((address, port), _TIMEOUT_S).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return ""


def speech(address: str, port: int) -> Speech:
    """Ask for `/`, which emulators answer with Ok."""
    request = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n"
    answer = _ask(address, port, request.encode(), 4096)
    if not answer:
        return Speech.NOTHING
    if answer[0] == _TLS_ALERT:
        return Speech.TLS
    if not answer.startswith(b"HTTP/"):
        return Speech.OTHER
    if b"plain HTTP request was sent to HTTPS" in answer or b"HTTP request to an HTTPS" in answer:
        return Speech.TLS
    head, _, body = answer.partition(b"\r\n\r\n")
    is_ok = b" 200 " in head.partition(b"\r\n")[0] + b" "
    # In one piece or in chunks.
    return Speech.EMULATOR if is_ok and b"Ok" in body.split() else Speech.HTTP


def speaks_http2(address: str, port: int) -> bool:
    """Tell whether gRPC's HTTP/2 is spoken without TLS."""
    answer = _ask(address, port, _PREFACE + _EMPTY_SETTINGS, _HEAD_BYTES)
    return len(answer) >= _HEAD_BYTES and answer[3] == _SETTINGS_TYPE


def _ask(address: str, port: int, request: bytes, most_bytes: int) -> bytes:
    """Send bytes; return the first that come, until they are enough or the end is reached."""
    answer = b""
    try:
        with socket.create_connection((address, port), _TIMEOUT_S) as sock:
            sock.sendall(request)
            while len(answer) < most_bytes and (part := sock.recv(most_bytes)):
                answer += part
    except OSError:
        pass
    return answer
