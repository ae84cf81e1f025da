"""Ack ids: opaque names of single leases (ACK-01, ACK-02).

    {subscription's name, 4}{nonce and generation, 8}{serial, 9}{checksum, 4}      25 characters

The nonce changes with every start and reset of an engine, the generation with every creation of a
subscription, and the serial with every lease. So an id from before any of these is well formed
and *stale*; it does not name a newer lease. The name's digest does not change, so that an id of
another subscription is known as malformed (DLV-28) even then.

They are short because of exactly-once delivery: its failures name ids in the trailers of a call,
and clients that find an emulator by PUBSUB_EMULATOR_HOST take no more than gRPC's 8 KiB of these.
A batch of 100, as they send it, fits.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from binascii import crc_hqx
from hashlib import blake2b

_NAME = 4
_PREFIX = 12
_CHECK = 4
_LENGTH = 25
_MULTIPLIER = 0x9E37
_MASK = 0xFFFF
_PRIME = 65_521  # the largest below 2**16: every digit of a serial counts


class AckIdMint:
    """Makes the ack ids of one subscription and recognises its own."""

    def __init__(self, subscription: str, nonce: bytes, generation: int) -> None:
        epoch = nonce + generation.to_bytes(8, "big")
        self._prefix = _digest(subscription.encode(), 3) + _digest(epoch, 6)
        self._salt = _salt(self._prefix)
        self._serial = 0

    def issue(self) -> str:
        """Return a new id; no two are ever alike."""
        return self.issue_many(1)[0]

    def issue_many(self, count: int) -> list[str]:
        """Return `count` new ids."""
        first, prefix, salt = self._serial + 1, self._prefix, self._salt
        self._serial += count
        form = "%s%09x%04x"  # an f-string takes twice as long, and this is the hot path
        return [
            form % (prefix, serial, serial % _PRIME * _MULTIPLIER + salt & _MASK)
            for serial in range(first, first + count)
        ]

    def recognises(self, ack_id: str) -> bool:
        """Whether some engine once issued `ack_id` for a subscription of this name."""
        if len(ack_id) != _LENGTH or ack_id[:_NAME] != self._prefix[:_NAME]:
            return False
        try:
            serial = int(ack_id[_PREFIX:-_CHECK], 16)
            salt = _salt(ack_id[:_PREFIX])
        except ValueError:
            return False
        check = serial % _PRIME * _MULTIPLIER + salt & _MASK
        return ack_id[_PREFIX:] == f"{serial:09x}{check:04x}"


def _digest(source: bytes, size_bytes: int) -> str:
    return urlsafe_b64encode(blake2b(source, digest_size=size_bytes).digest()).decode()


def _salt(prefix: str) -> int:
    """Differs for any two prefixes that differ in one character."""
    return crc_hqx(prefix.encode("ascii"), 0)
