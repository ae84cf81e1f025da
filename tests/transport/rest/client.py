"""HTTP clients with nothing between the test and the port but the standard library."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, NamedTuple

from tests.wire import HANG_LIMIT_S


class NoControl:
    """For a face whose emulator as a whole is not to be touched."""

    def reset(self) -> None:
        raise AssertionError

    def shutdown(self) -> None:
        raise AssertionError


class Answer(NamedTuple):
    """`json` is the decoded body, None where it has none; `headers` are by lower-case name."""

    status: int
    json: Any
    text: str
    headers: dict[str, str]

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.json["error"]
        return error


class Rest:
    """One connection that is kept; `rest("PUT", path, {...})` asks and returns the answer."""

    def __init__(self, host_port: str) -> None:
        self._connection = http.client.HTTPConnection(host_port, timeout=HANG_LIMIT_S)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """A body that is not bytes is sent as JSON; `x_y="z"` is the header `x-y: z`."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, content, named)
        response = self._connection.getresponse()
        text = response.read().decode()
        found = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, json.loads(text) if text else None, text, found)

    def close(self) -> None:
        self._connection.close()


class RawHttp:
    """A socket: what is sent is what the test says, byte for byte."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), HANG_LIMIT_S)
        self.reader = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ask(self, line: str, *headers: str, body: bytes = b"") -> tuple[int, bytes]:
        """Send one request; return status and body of the answer."""
        self.send("\r\n".join((f"{line} HTTP/1.1", "Host: a", *headers, "", "")).encode() + body)
        return self.answer(has_body=not line.startswith("HEAD"))

    def answer(self, *, has_body: bool = True) -> tuple[int, bytes]:
        """Read one answer."""
        status, headers = self.head()
        length = int(headers.get("content-length", "0")) if has_body else 0
        return status, self.reader.read(length)

    def head(self) -> tuple[int, dict[str, str]]:
        """Read an answer up to its body."""
        status = int(self.reader.readline().split()[1])
        headers: dict[str, str] = {}
        while line := self.reader.readline().decode().strip():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        return status, headers

    def close(self) -> None:
        self.reader.close()
        self._socket.close()
