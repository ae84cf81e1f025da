"""Answers in JSON, errors among them, as the platform gives them (RST-40, RST-50, RST-51)."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from emulator.engine.values.errors import Code, PubsubError
from emulator.transport.rest import json_output

#: RST-51.
STATUS = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}
_JSON_TYPE = "application/json; charset=UTF-8"


def json_response(value: Any, *, status: int = 200, is_pretty: bool = True) -> web.Response:
    """Return a response with a JSON body."""
    body = json_output.encode(value, is_pretty=is_pretty)
    return web.Response(status=status, body=body, headers={"Content-Type": _JSON_TYPE})


def error_response(error: PubsubError, *, is_pretty: bool = True) -> web.Response:
    """Return an error; `details` are there only if it has any."""
    status = STATUS[error.code]
    envelope = {"code": status, "message": error.message, "status": error.code.name}
    if error.details:
        details = [json_output.as_json(detail) for detail in error.details]
        return json_response(
            {"error": {**envelope, "details": details}}, status=status, is_pretty=is_pretty
        )
    return json_response({"error": envelope}, status=status, is_pretty=is_pretty)
