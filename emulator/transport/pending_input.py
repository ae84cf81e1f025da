"""What a client has sent, or done to its connection, that the event loop has not seen yet."""

from __future__ import annotations

import asyncio
import select
import socket

_HUNG_UP = (
    getattr(select, "POLLRDHUP", 0)  # Linux; macOS says POLLHUP
    | getattr(select, "POLLHUP", 0)
    | getattr(select, "POLLERR", 0)
    | getattr(select, "POLLNVAL", 0)
)


class PendingInput:
    """Looks at a connection's socket without reading it; sees nothing on systems without `poll`."""

    __slots__ = ("_poll", "_socket", "has_hung_up", "is_there")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.is_there = False
        """Whether there are bytes, or the end."""
        self.has_hung_up = False
        """Whether the end is there, after bytes or not."""
        self._socket = transport.get_extra_info("socket")
        self._poll = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            events = select.POLLIN | getattr(select, "POLLRDHUP", 0)
            self._poll.register(self._socket.fileno(), events)

    def look(self) -> None:
        """See how it is now."""
        events = self._poll.poll(0) if self._poll is not None else []
        self.is_there = bool(events)
        self.has_hung_up = bool(events) and bool(events[0][1] & _HUNG_UP)

    def take_error(self) -> int:
        """Return the error that the socket has met with and not told yet, 0 for none."""
        error: int = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return error
