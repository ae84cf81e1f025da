"""Push to a receiver that trusts nobody without a token."""

from __future__ import annotations

import base64
import json
import queue
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from contract import HANG_LIMIT_S, Names
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256
from google.api_core import exceptions
from google.cloud import pubsub_v1

AUDIENCE = "https://receiver.example.com"
ACCOUNT = "pusher@demo.iam.gserviceaccount.com"


class Receiver(ThreadingHTTPServer):
    """Keeps each request's headers and body; refuses the first, takes the others."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: queue.SimpleQueue[tuple[Any, bytes]] = queue.SimpleQueue()
        self.statuses = iter([500])
        self.url = f"http://127.0.0.1:{self.server_port}/push?token=t"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(next(self.server.statuses, 204))
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.requests.put((self.headers, body))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verified(token: str, keys: list[dict[str, str]]) -> dict[str, Any]:
    """The claims of a token signed by one of the keys."""
    signed, _, signature = token.rpartition(".")
    header, claims = (json.loads(decoded(part)) for part in signed.split("."))
    assert header["alg"] == "RS256"
    [key] = [each for each in keys if each["kid"] == header["kid"]]
    exponent, modulus = (int.from_bytes(decoded(key[name])) for name in ("e", "n"))
    public = RSAPublicNumbers(exponent, modulus).public_key()
    public.verify(decoded(signature), signed.encode(), PKCS1v15(), SHA256())
    return dict(claims)


# @spec PSH-10 PSH-50 PSH-51
def test_push_with_token(
    names: Names,
    topic: str,
    receiver: Receiver,
    endpoint: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    token = {"service_account_email": ACCOUNT, "audience": AUDIENCE}
    push = {"push_endpoint": receiver.url, "oidc_token": token}
    name = names.subscription()
    try:
        subscriber.create_subscription(request={"name": name, "topic": topic, "push_config": push})
    except exceptions.MethodNotImplemented as error:
        pytest.skip(f"the server does not push: {error.message}")
    sent = publisher.publish(topic, b"\x00\xff", color="red").result(HANG_LIMIT_S)
    requests = [receiver.requests.get(timeout=HANG_LIMIT_S) for _ in range(2)]  # 500, then 204
    for headers, body in requests:
        pushed = json.loads(body)
        assert pushed["subscription"] == name
        assert pushed["message"]["messageId"] == pushed["message"]["message_id"] == sent
        assert base64.b64decode(pushed["message"]["data"]) == b"\x00\xff"
        assert pushed["message"]["attributes"] == {"color": "red"}
        scheme, _, credentials = headers["Authorization"].partition(" ")
        assert scheme == "Bearer"
        with urllib.request.urlopen(f"http://{endpoint}/oauth2/v3/certs") as answer:
            claims = verified(credentials, json.load(answer)["keys"])
        assert (claims["aud"], claims["email"]) == (AUDIENCE, ACCOUNT)
        assert claims["email_verified"] is True
        assert claims["exp"] == claims["iat"] + 3600
    with pytest.raises(queue.Empty):
        receiver.requests.get(timeout=1.5)
