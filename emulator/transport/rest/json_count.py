"""Counts what a JSON body holds before anything is made of it, and stops where it is too much."""

from __future__ import annotations

import re

from emulator.service.request_limits import limit_of, most_elements, too_many_elements
from emulator.transport.rest.json_fields import Descriptor, fields_of
from emulator.transport.rest.json_input import malformed

#: A text. The first form is much the faster one; it ends where no backslash is before the quote.
_TEXT = rb'(?:"[^"]*+"(?<!\\")|"(?:[^"\\]++|\\.)*+")'
#: What stands between two marks, texts included, then a mark; or a quote that no other closes, or
#: the end. It matches wherever it is tried, and tries nothing twice.
_MARK = re.compile(rb'(?:[^][{},"]++|' + _TEXT + rb')*+([][{},"]|\Z)', re.DOTALL)
_KEY = re.compile(rb'"([^"\\]*)"\s*:\s*\Z')
_KEY_BYTES = 300
#: Marks after which to look whether there are too many of something.
_ROUND = 20_000
#: Protobuf's own converter takes half of this.
_DEEPEST = 200


class JsonCount:
    """`descriptor` is that of the message that the body is; `marks` were looked at so far."""

    def __init__(self, body: bytes, descriptor: Descriptor) -> None:
        self._body = body
        self._descriptor = descriptor
        #: The lists and objects around the current place: where each begins, and its commas.
        self._around: list[list[int]] = []
        self.marks = 0

    def check(self) -> None:
        """Raise INVALID_ARGUMENT for a body with more elements than a request can have.

        JSON that is malformed is left for the parser, which does not come further than this.
        """
        body = self._body
        # Every element but the first follows a comma, or is the first of its list or object.
        if body.count(b",") + body.count(b"{") + body.count(b"[") > _ROUND:
            self._count()

    def _count(self) -> None:
        around, most = self._around, most_elements(self._descriptor)
        for found in _MARK.finditer(self._body):
            mark = found[1]
            if mark == b",":
                if around:
                    around[-1][1] += 1
            elif mark == b"{" or mark == b"[":
                around.append([found.start(1), 0])
                if len(around) > _DEEPEST:
                    raise malformed("Nested too deeply.")
            elif (mark == b"}" or mark == b"]") and around:
                around.pop()
            else:
                return
            self.marks += 1
            if self.marks % _ROUND == 0:
                self._look()
                if self.marks >= most:
                    raise too_many_elements(self._descriptor)

    def _look(self) -> None:
        """Raise if a field around the current place has more elements than it may have."""
        message = self._descriptor
        for start, commas in self._around[1:]:
            key = _KEY.search(self._body, max(start - _KEY_BYTES, 0), start)
            if key is None:
                continue  # an element of the list around it
            field = fields_of(message).get(key[1].decode("utf-8", "replace"))
            if field is None:
                return
            if (field.is_repeated or field.is_map) and commas >= limit_of(field.descriptor).most:
                raise limit_of(field.descriptor).refusal(None)
            if field.is_map or field.message is None:
                return
            message = field.message
