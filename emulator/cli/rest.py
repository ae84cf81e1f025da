"""REST for the command line: JSON over the standard library, nothing of protobuf or gRPC."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from emulator.cli.host_port import HostPort

_TIMEOUT_S = 120.0
VARIABLE = "PUBSUB_EMULATOR_HOST"


class Refused(Exception):
    """The server's answer was an error: `status` is like NOT_FOUND, `code` that of HTTP."""

    def __init__(self, code: int, status: str, message: str, details: Any = None) -> None:
        super().__init__(f"{status}: {message}")
        self.code, self.status, self.message = code, status, message
        self.details = details


class Unreachable(Exception):
    """Nobody answers at an address."""

    def __init__(self, where: str, reason: object) -> None:
        super().__init__(
            f"no emulator answers at {where} ({reason}); `pubsub-emulator doctor` finds out why"
        )


class Client:
    """One connection to `where`, a host and port or a URL; opened by the first call."""

    def __init__(self, where: str, access_token: str | None = None) -> None:
        url = urlsplit(where if "://" in where else f"http://{where}")
        self.where = where
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(url.hostname or "localhost", url.port, timeout=_TIMEOUT_S)
        self._headers = {"Content-Type": "application/json"}
        if access_token:
            self._headers["Authorization"] = f"Bearer {access_token}"

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return the JSON of an answer; raises Refused and Unreachable."""
        target = f"/v1/{quote(path, safe='/:~@')}"
        given = {name: value for name, value in query.items() if value not in (None, "")}
        if given:
            target += f"?{urlencode(given)}"
        return _decoded(*self.send(method, target, body))

    def send(self, method: str, target: str, body: Any = None) -> tuple[int, bytes]:
        """Return status and body; raises Unreachable."""
        content = b"" if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, target, content, self._headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Unreachable(self.where, _reason(error)) from error

    def pages(self, path: str, key: str, **query: Any) -> Iterator[Any]:
        """Yield the items of a list, page after page."""
        token = ""
        while True:
            answer = self.call("GET", path, pageToken=token, **query)
            yield from answer.get(key, ())
            token = answer.get("nextPageToken", "")
            if not token:
                return

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _decoded(code: int, content: bytes) -> Any:
    try:
        value = json.loads(content or b"{}")
    except ValueError:
        value = {}
    if code == 200:
        return value
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict):
        error = {"message": content[:200].decode("utf-8", "replace").strip() or "no reason given"}
    raise Refused(code, error.get("status", f"HTTP {code}"), error.get("message", ""),
                  error.get("details"))  # fmt: skip


def address(given: HostPort | None) -> str:
    """Where the emulator is: as told, else as PUBSUB_EMULATOR_HOST says; ValueError if it is wrong.

    A scheme before the variable's value, which clients do not take, does no harm here.
    """
    if given is not None:
        return given.for_clients()
    text = os.environ.get(VARIABLE, "").rpartition("://")[2].rstrip("/")
    return (HostPort.parse(text) if text else HostPort()).for_clients()


@contextlib.contextmanager
def connected(where: str) -> Iterator[Client]:
    """A client that is closed afterwards."""
    client = Client(where)
    try:
        yield client
    finally:
        client.close()
