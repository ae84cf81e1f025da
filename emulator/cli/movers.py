"""What `export` and `apply` do, over REST."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from pathlib import Path

from emulator.cli import rest
from emulator.cli.names import NoProject, project
from emulator.config import document, export_gcloud, export_terraform, export_yaml
from emulator.config.applying import apply
from emulator.config.exporting import Export, export
from emulator.config.http_calls import Remote
from emulator.config.problems import ConfigError


def run_export(parsed: Namespace) -> int:
    """Print the export; return 1 with a line if it cannot be had."""
    try:
        projects = parsed.projects or [project(parsed.project)]
        client = rest.Client(rest.address(parsed.host_port))
        found = asyncio.run(export(Remote(client.send), projects))
        print(_written(found, parsed), end="")
    except NoProject as error:
        return _fail("export", error, 2)
    except Exception as error:
        return _fail("export", error, _status(error))
    return 0


def _written(found: Export, parsed: Namespace) -> str:
    if parsed.format == "terraform":
        return export_terraform.write(found, has_imports=parsed.with_imports)
    return export_gcloud.write(found) if parsed.format == "gcloud" else export_yaml.write(found)


def run_apply(parsed: Namespace) -> int:
    """Bring about what a file wants; return 1 with lines for what is wrong."""
    try:
        token = _token(parsed.access_token_file)
        client = rest.Client(parsed.endpoint or rest.address(None), token)
        resources = document.load(parsed.file)
        plan = asyncio.run(apply(resources, Remote(client.send), progress=_progress))
    except ConfigError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return 1
    except Exception as error:
        return _fail("apply", error, _status(error))
    print(plan.summary() or "no change")
    return 0


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _token(file: str | None) -> str | None:
    if file is None:
        return None
    return (sys.stdin.read() if file == "-" else Path(file).read_text()).strip()


def _status(error: Exception) -> int:
    """A refusal, a missing server or a file that cannot be read is a line; all else is a fault."""
    if isinstance(error, BrokenPipeError):
        raise error
    expected = (rest.Unreachable, OSError, ValueError)
    if not isinstance(error, expected) and not hasattr(error, "code"):
        raise error
    return 1


def _fail(name: str, error: Exception, status: int) -> int:
    print(f"pubsub-emulator {name}: {error}", file=sys.stderr)
    return status
