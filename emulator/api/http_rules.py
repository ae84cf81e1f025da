"""The `google.api.http` options of methods: how they are called over REST."""

from __future__ import annotations

from typing import Any, cast

from google.protobuf.descriptor import MethodDescriptor

from emulator.api.http import HttpRule
from emulator.api.pool import POOL, message_class

_METHOD_OPTIONS = message_class("google.protobuf.MethodOptions")
# Any: the type stubs know extensions of generated modules only.
_HTTP: Any = POOL.FindExtensionByName("google.api.http")


def http_rule(method: MethodDescriptor) -> HttpRule | None:
    """Return the `google.api.http` option of a method of the private pool, or None without one.

    protobuf parses options with the *default* pool's MethodOptions, which knows the option only
    when some client has loaded it; hence its bytes are parsed again with our own class.
    """
    options = _METHOD_OPTIONS.FromString(method.GetOptions().SerializeToString())
    if not options.HasExtension(_HTTP):
        return None
    return cast("HttpRule", options.Extensions[_HTTP])
