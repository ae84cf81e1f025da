"""A client of the REST face: JSON over HTTP/1.1 connections that are kept open."""

from __future__ import annotations

from types import TracebackType

import aiohttp

from scripts.bench import rest_requests
from scripts.bench.requests import SUBSCRIPTION, TOPIC

_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


class RestClient:
    """Calls of a few connections to one server; an answer that is not 2xx raises."""

    def __init__(self, address: str, connections: int) -> None:
        self._session = aiohttp.ClientSession(
            f"http://{address}",
            connector=aiohttp.TCPConnector(limit=connections),
            headers=_HEADERS,
            raise_for_status=True,
        )

    async def __aenter__(self) -> RestClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def publish(self, body: bytes) -> None:
        """Publish what `rest_requests.publish` has built."""
        await self._post(f"{TOPIC}:publish", body)

    async def pull(self, body: bytes) -> list[str]:
        """Pull as `rest_requests.pull` says; return the ack ids."""
        return rest_requests.ack_ids(await self._post(f"{SUBSCRIPTION}:pull", body))

    async def acknowledge(self, ack_ids: list[str]) -> None:
        """Acknowledge messages."""
        await self._post(f"{SUBSCRIPTION}:acknowledge", rest_requests.acknowledge(ack_ids))

    async def _post(self, call: str, body: bytes) -> bytes:
        async with self._session.post(f"/v1/{call}", data=body) as response:
            return await response.read()
