"""A program that pulls until it is killed: `waiting_puller.py HOST:PORT SUBSCRIPTION`.

It writes a line for each answer with messages.
"""

import sys

from emulator.api import pubsub
from tests.wire import Wire


def main(host_port: str, subscription: str) -> None:
    wire = Wire(host_port)
    request = pubsub.PullRequest(subscription=subscription, max_messages=1_000)
    while True:
        if wire("Pull", request, timeout_s=None).received_messages:
            print("got messages", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
