"""Pages of lists in the order of names; a token is a position, not an item (LST-02..05)."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Iterable
from hashlib import blake2b

from emulator.engine.values import errors, limits

_DIGEST_BYTES = 6


class Pager:
    """Cuts pages for one engine; tokens of another engine, or of another list, are refused."""

    def __init__(self, nonce: bytes) -> None:
        self._nonce = nonce

    def page(
        self, names: Iterable[str], scope: str, page_size: int, page_token: str
    ) -> tuple[list[str], str]:
        """Return the names of one page of the list `scope`, and the token of the next or "".

        Raises ERR-28 and ERR-29.
        """
        if not 0 <= page_size <= limits.PAGE_SIZE_MAX:
            raise errors.out_of_bounds("page_size", page_size, 0, limits.PAGE_SIZE_MAX)
        after = self._position(scope, page_token) if page_token else ""
        in_order = sorted(names)
        start = bisect_right(in_order, after)
        stop = start + (page_size or limits.PAGE_SIZE_DEFAULT)
        found = in_order[start:stop]
        return found, self._token(scope, found[-1]) if stop < len(in_order) else ""

    def _token(self, scope: str, name: str) -> str:
        encoded = name.encode()
        return urlsafe_b64encode(self._digest(scope, encoded) + encoded).decode().rstrip("=")

    def _position(self, scope: str, token: str) -> str:
        try:
            content = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            digest, name = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if digest == self._digest(scope, name):
                return name.decode()
        except (binascii.Error, ValueError):
            pass
        raise errors.bad_page_token(token)

    def _digest(self, scope: str, name: bytes) -> bytes:
        text = scope.encode() + b"\0" + name
        return blake2b(text, digest_size=_DIGEST_BYTES, key=self._nonce).digest()
