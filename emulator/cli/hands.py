"""What the everyday commands do: REST calls, and their answers as tables or JSON."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping

from emulator.cli import rest
from emulator.cli.names import NoProject, full, project
from emulator.cli.publishing import publish
from emulator.cli.pulling import pull
from emulator.cli.rest import Client
from emulator.cli.table import print_json, print_table
from emulator.cli.times import timestamp


def run(name: str, parsed: Namespace) -> int:
    """Run a command; return 1 with a line if it was refused, 2 if it cannot be understood."""
    try:
        with rest.connected(rest.address(parsed.host_port)) as client:
            _COMMANDS[name](client, parsed)
    except BrokenPipeError:
        raise
    except (rest.Refused, rest.Unreachable, OSError) as error:
        print(f"pubsub-emulator {name}: {error}", file=sys.stderr)
        return 1
    except (NoProject, ValueError) as error:
        print(f"pubsub-emulator {name}: {error}", file=sys.stderr)
        return 2
    return 0


def _topics(client: Client, parsed: Namespace) -> None:
    parent = f"projects/{project(parsed.project)}"
    found = list(client.pages(f"{parent}/topics", "topics"))
    if parsed.json:
        print_json(found)
    else:
        columns = ("TOPIC", "RETENTION", "SCHEMA", "LABELS")
        print_table(columns, [_topic_row(topic) for topic in found])


def _topic_row(topic: Mapping[str, object]) -> tuple[object, ...]:
    settings = topic.get("schemaSettings")
    schema = settings.get("schema") if isinstance(settings, dict) else ""
    retention = topic.get("messageRetentionDuration")
    return _leaf(topic["name"]), retention, _leaf(schema), _labels(topic)


def _subscriptions(client: Client, parsed: Namespace) -> None:
    parent = f"projects/{project(parsed.project)}"
    found = list(client.pages(f"{parent}/subscriptions", "subscriptions"))
    if parsed.json:
        print_json(found)
    else:
        columns = ("SUBSCRIPTION", "TOPIC", "TO", "ACK DEADLINE", "FILTER", "LABELS")
        print_table(columns, [_subscription_row(each, parent) for each in found])


def _subscription_row(subscription: Mapping[str, object], parent: str) -> tuple[object, ...]:
    topic = str(subscription["topic"])
    return (
        _leaf(subscription["name"]),
        _leaf(topic) if topic.startswith(f"{parent}/") else topic,
        _destination(subscription),
        f"{subscription['ackDeadlineSeconds']}s",
        subscription.get("filter"),
        _labels(subscription),
    )


def _destination(subscription: Mapping[str, object]) -> object:
    """Where messages go: they are pulled, or delivered somewhere."""
    if subscription.get("detached"):
        return "detached"
    for kind in ("bigqueryConfig", "bigtableConfig", "cloudStorageConfig"):
        if kind in subscription:
            return kind.removesuffix("Config")
    config = subscription.get("pushConfig")
    return (isinstance(config, dict) and config.get("pushEndpoint")) or "pull"


def _labels(resource: Mapping[str, object]) -> str:
    labels = resource.get("labels")
    items = sorted(labels.items()) if isinstance(labels, dict) else []
    return ",".join(f"{key}={value}" for key, value in items)


def _leaf(name: object) -> str:
    return str(name or "").rpartition("/")[2]


def _seek(client: Client, parsed: Namespace) -> None:
    name = full(parsed.subscription, "subscriptions", parsed.project)
    if parsed.time is not None:
        body = {"time": timestamp(parsed.time)}
    else:
        body = {"snapshot": full(parsed.snapshot, "snapshots", parsed.project)}
    client.call("POST", f"{name}:seek", body)


def _reset(client: Client, parsed: Namespace) -> None:
    code, answer = client.send("POST", "/reset")
    if code != 200:
        raise rest.Refused(code, f"HTTP {code}", answer[:200].decode("utf-8", "replace"))


_COMMANDS: Mapping[str, Callable[[Client, Namespace], None]] = {
    "topics": _topics,
    "subscriptions": _subscriptions,
    "publish": publish,
    "pull": pull,
    "seek": _seek,
    "reset": _reset,
}
