"""The service: every RPC by its path, to be called by whatever transport."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from emulator.schemas.compiling import Compiling
from emulator.service import features
from emulator.service.call import Call
from emulator.service.core import Core
from emulator.service.policies import Policies
from emulator.service.publisher import Publisher
from emulator.service.rpcs import RPCS, Rpc
from emulator.service.schemas import Schemas
from emulator.service.subscriber import Subscriber

if TYPE_CHECKING:
    from google.protobuf.message import Message

#: Takes a request and its call; returns the response, as a message or encoded. Raises PubsubError.
Handler = Callable[[Any, Call], "Message | bytes | Awaitable[Message | bytes]"]


class Service:
    """`handlers` has one for each of `RPCS`, those that are refused included."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._compiling = Compiling()
        faces = {
            "google.pubsub.v1.Publisher": Publisher(core),
            "google.pubsub.v1.Subscriber": Subscriber(core),
            "google.pubsub.v1.SchemaService": Schemas(core, self._compiling),
            "google.iam.v1.IAMPolicy": Policies(core),
        }
        self.handlers: dict[str, Handler] = {
            rpc.path: _handler(faces.get(rpc.service), rpc) for rpc in RPCS
        }

    def close(self) -> None:
        """End the core's business, and what is being compiled."""
        self.core.close()
        self._compiling.close()


def _handler(face: object, rpc: Rpc) -> Handler:
    for feature in features.REFUSED:
        if (feature.where, feature.what) == (rpc.service, rpc.name):
            return _refuser(feature)
    handler: Handler = getattr(face, _snake_case(rpc.name))
    return handler


def _refuser(feature: features.Feature) -> Handler:
    def refuse(request: Message, call: Call) -> bytes:
        raise features.refusal(feature)

    return refuse


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
