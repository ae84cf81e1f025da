"""Refusals as gRPC says them (ERR-91)."""

from __future__ import annotations

from functools import cache

import grpc

from emulator.api.rpc import Status
from emulator.engine.values.errors import Code, PubsubError

_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


def code_of(error: PubsubError) -> grpc.StatusCode:
    return _of_number(error.code)


@cache
def _of_number(code: Code) -> grpc.StatusCode:
    return _BY_NUMBER[int(code)]


def trailing_metadata(error: PubsubError) -> tuple[tuple[str, bytes], ...]:
    """The details, in a Status whose code and message are the call's own (EOD-04)."""
    if not error.details:
        return ()
    status = Status(code=int(error.code), message=error.message, details=error.details)
    return (("grpc-status-details-bin", status.SerializeToString()),)
