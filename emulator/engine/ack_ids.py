"""Ack ids: opaque names of single leases (ACK-01, ACK-02).

    {subscription's name, 8}{engine's nonce, 8}{generation, 8}{serial, 12}{checksum, 8}     44
    characters

The nonce changes with every start and reset of an engine, the generation with every creation of a
subscription, and the serial with every lease. So an id from before any of these is well formed
and *stale*; it can never name a newer lease. The name's digest does not change, so that an id of
another subscription is known as malformed (DLV-28) even then.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64encode
from hashlib import blake2b

_DIGEST = 8
_PREFIX = 24
_SERIAL = 12
_CHECK = 8
_LENGTH = _PREFIX + _SERIAL + _CHECK
_MULTIPLIER = 0x9E3779B1
_MASK = 0xFFFFFFFF
_PRIME = 4_294_967_291  # the largest below 2**32: every digit of a serial counts


class AckIdMint:
    """Makes the ack ids of one subscription and recognises its own."""

    def __init__(self, subscription: str, nonce: bytes, generation: int) -> None:
        self._prefix = _digest(subscription) + _digest_bytes(nonce) + f"{generation:08x}"
        self._salt = _salt(self._prefix)
        self._serial = 0

    def issue(self) -> str:
        """Return a new id; no two are ever alike."""
        self._serial = serial = self._serial + 1
        return (
            f"{self._prefix}{serial:012x}{serial % _PRIME * _MULTIPLIER + self._salt & _MASK:08x}"
        )

    def recognises(self, ack_id: str) -> bool:
        """Whether some engine once issued `ack_id` for a subscription of this name."""
        if len(ack_id) != _LENGTH or ack_id[:_DIGEST] != self._prefix[:_DIGEST]:
            return False
        serial_text, check = ack_id[_PREFIX:-_CHECK], ack_id[-_CHECK:]
        try:
            serial = int(serial_text, 16)
        except ValueError:
            return False
        salt = _salt(ack_id[:_PREFIX])
        issued = f"{serial:012x}{serial % _PRIME * _MULTIPLIER + salt & _MASK:08x}"
        return issued == serial_text + check


def _digest(name: str) -> str:
    return _digest_bytes(name.encode())


def _digest_bytes(source: bytes) -> str:
    return urlsafe_b64encode(blake2b(source, digest_size=6).digest()).decode()


def _salt(prefix: str) -> int:
    return zlib.crc32(prefix.encode())
