"""Request bodies: read whole, unpacked, and never more of them than is allowed (PUB-22, ERR-54)."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from emulator.engine.values import errors
from emulator.engine.values.errors import InvalidArgument

BODY_BYTES = 10_485_760  # PUB-22

_ZLIB, _GZIP = 15, 31
_PACKINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}
#: Packed parts that are strung together; each costs as much as a thousand bytes and can be empty.
_MEMBERS = 100
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class BodyTimeout(Exception):
    """Raised when a client does not send the whole body in time."""


async def read(request: web.BaseRequest, *, within_s: float) -> bytes:
    """Return the body as it was before it was packed.

    Raises INVALID_ARGUMENT for one that is too large, packed or not, or that cannot be unpacked,
    BodyTimeout for one that does not come, and ConnectionError when the client left.
    """
    take = _taker(request.headers.get("Content-Encoding", "").strip().lower())
    if request.content_length is not None and request.content_length > BODY_BYTES:
        raise errors.payload_too_large(BODY_BYTES)
    _say_continue(request)
    try:
        async with asyncio.timeout(within_s):
            return await _read(request, take)
    except TimeoutError as error:
        raise BodyTimeout from error
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise InvalidArgument("The request's body is not what its header says.") from error


async def _read(request: web.BaseRequest, take: Callable[[bytes], bytes]) -> bytes:
    parts, received, size = [], 0, 0
    async for chunk in request.content.iter_any():
        part = take(chunk)
        received += len(chunk)
        size += len(part)
        if max(received, size) > BODY_BYTES:
            raise errors.payload_too_large(BODY_BYTES)
        parts.append(part)
    parts.append(take(b""))
    return b"".join(parts)


def _say_continue(request: web.BaseRequest) -> None:
    if request.version < HttpVersion11:
        return  # it knows no answers but final ones
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(_CONTINUE)


def _taker(encoding: str) -> Callable[[bytes], bytes]:
    """Return what unpacks the chunks of a body and, called with none, sees that it ended."""
    if encoding in ("", "identity"):
        return bytes
    if encoding not in _PACKINGS:
        raise InvalidArgument(f"The request's Content-Encoding is not supported: {encoding}.")
    return Unpacker(encoding).take


class Unpacker:
    """Unpacks a stream to at most one byte more than is allowed, however much it holds."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._stream = zlib.decompressobj(_PACKINGS[encoding])
        self._room = BODY_BYTES + 1
        self.members = 1

    def take(self, chunk: bytes) -> bytes:
        """Unpack the next chunk; none at all says that it was the last."""
        try:
            part = self._unpacked(chunk) if chunk else b""
        except zlib.error as error:
            raise self._refusal() from error
        if not chunk and not self._stream.eof:
            raise self._refusal()
        return part

    def _unpacked(self, chunk: bytes) -> bytes:
        parts = []
        while chunk and self._room:
            if self._stream.eof:  # packed files may be strung together
                self._begin_member()
            part = self._stream.decompress(chunk, self._room)
            self._room -= len(part)
            parts.append(part)
            chunk = self._stream.unused_data
        return b"".join(parts)

    def _begin_member(self) -> None:
        if self.members == _MEMBERS:
            raise InvalidArgument(
                f"The request's body has more than {_MEMBERS} parts of {self._encoding} data."
            )
        self.members += 1
        self._stream = zlib.decompressobj(_PACKINGS[self._encoding])

    def _refusal(self) -> InvalidArgument:
        return InvalidArgument(f"The request's body is not {self._encoding} data.")
