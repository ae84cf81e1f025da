"""What browsers ask and must be told before a page may use the emulator (RST-42).

Only for requests that passed the guard (`web_guard.py`): their origin, if any, is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

_DAY_S = 86_400


def allow(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Let the page that sent the request read the response; never with credentials."""
    origin = request.headers.get("Origin")
    if origin is not None:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Vary"] = "Origin"


def preflight(request: web.BaseRequest, methods: Iterable[str]) -> web.StreamResponse:
    """Answer OPTIONS for a path that can be asked with `methods`."""
    response = web.Response()
    names = ",".join(sorted({*methods, "OPTIONS"}))
    response.headers["Allow"] = names
    if "Origin" in request.headers:
        response.headers["Access-Control-Allow-Methods"] = names
        response.headers["Access-Control-Max-Age"] = str(_DAY_S)
        wanted = request.headers.get("Access-Control-Request-Headers")
        if wanted is not None:
            response.headers["Access-Control-Allow-Headers"] = wanted
    return response
