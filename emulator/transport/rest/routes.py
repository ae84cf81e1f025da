"""Finds the binding of a request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from emulator.engine.values.errors import NotFound
from emulator.transport.rest.bindings import Binding
from emulator.transport.rest.template import Path, parse_path


class Route(NamedTuple):
    """`values` are what the path says, by the field it says it of."""

    binding: Binding
    values: Mapping[tuple[str, ...], str]


class Routes:
    def __init__(self, bindings: Iterable[Binding]) -> None:
        self._by_shape: defaultdict[tuple[int, str], list[Binding]] = defaultdict(list)
        for binding in bindings:
            self._by_shape[binding.template.shape].append(binding)

    def find(self, method: str, raw_path: str) -> Route:
        """Return the route; a path that has none, or none by that method, is NOT_FOUND (RST-11).

        HEAD goes where GET does.
        """
        wanted = "GET" if method == "HEAD" else method
        for route in self._on(parse_path(raw_path)):
            if route.binding.method == wanted:
                return route
        raise NotFound(f"No such path: {method} {raw_path}")

    def methods(self, raw_path: str) -> list[str]:
        """Return the HTTP methods that a path can be asked with, which can be none."""
        found = {route.binding.method for route in self._on(parse_path(raw_path))}
        return sorted(found | {"HEAD"} if "GET" in found else found)

    def _on(self, path: Path) -> Iterator[Route]:
        for binding in self._by_shape.get((len(path.segments), path.verb), ()):
            values = binding.template.match(path.segments)
            if values is not None:
                yield Route(binding, values)
