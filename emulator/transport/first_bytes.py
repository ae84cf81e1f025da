"""What the first bytes of a connection tell about the protocol its client speaks."""

from __future__ import annotations

import enum

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_TLS_HANDSHAKE = b"\x16\x03"


class Speech(enum.Enum):
    """The protocol of a connection; UNDECIDED while more bytes are needed."""

    UNDECIDED = "undecided"
    HTTP2 = "HTTP/2"
    HTTP1 = "HTTP/1"
    TLS = "TLS"


def recognise(data: bytes) -> Speech:
    """Name the protocol that a connection beginning with `data` speaks."""
    if data.startswith(HTTP2_PREFACE):
        return Speech.HTTP2
    if data.startswith(_TLS_HANDSHAKE):
        return Speech.TLS
    if HTTP2_PREFACE.startswith(data) or _TLS_HANDSHAKE.startswith(data):
        return Speech.UNDECIDED
    return Speech.HTTP1
