"""Rules about the code itself: who may import whom, what the engine may touch, and tidiness."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

LOWER_ROOMS: dict[str, set[str]] = {
    "api": set(),
    "engine": {"api"},
    "schemas": {"api", "engine"},
    "service": {"api", "engine", "schemas"},
    "storage": {"api", "engine", "service"},
    "config": {"api", "engine", "service"},
    "transport": {"api", "engine", "service"},
    "console": {"api", "engine", "service"},
    "control": {"api", "engine", "service"},
    "server": {"api", "engine", "service", "storage", "config", "transport", "console", "control"},
    "cli": {"api", "config", "server"},
    "testing": {"api", "config", "server"},
    "__main__": {"cli"},
}
"""Room -> the rooms it may import; every other import inside the package goes upward."""

ENGINE_ROOMS = ["values", "filters", "log", "delivery", "resources", "operations"]
"""The engine's rooms: each may know those before it, but filters and the log not each other."""

ENGINE_FORBIDDEN = {
    "aiohttp", "asyncio", "concurrent", "grpc", "http", "logging", "multiprocessing", "os",
    "random", "secrets", "select", "signal", "socket", "ssl", "subprocess", "threading", "time",
    "urllib", "uuid", "uvloop",
}  # fmt: skip
CLOCK_CALLS = {"now", "utcnow", "today", "GetCurrentTime"}

LONGEST_FUNCTION_LINES = 70
LONGEST_MODULE_LINES = 400
LONGEST_LINE_COLUMNS = 100
REMINDERS = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b")


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


# The package's own file stands above all rooms: it hands out the name `Emulator`.
ROOMS = [path for path in python_files("emulator") if path != ROOT / "emulator" / "__init__.py"]
ALL_CODE = python_files("emulator", "scripts", "tests")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the absolute dotted name of everything imported anywhere in a module of `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join((*parents, node.module or "")) if node.level else node.module
            yield from (f"{base}.{alias.name}".replace("..", ".") for alias in node.names)


def import_breaches(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Return the imports of `module` (its dotted name) that its room may not make."""
    room = module.split(".")[1]
    package = module if is_package else module.rpartition(".")[0]
    breaches = []
    for name in imported(ast.parse(source), package):
        parts = name.split(".")
        if parts[0] != "emulator" or name == "emulator.__version__":
            continue
        target = parts[1] if len(parts) > 1 else "emulator itself"
        is_internal = any(part.startswith("_") and part != "__init__" for part in parts[2:])
        if target != room and (target not in LOWER_ROOMS[room] or is_internal):
            breaches.append(name)
    return breaches


def impurities(source: str) -> list[str]:
    """Return what an engine module does that depends on more than its arguments."""
    tree = ast.parse(source)
    found = [name for name in imported(tree, "") if name.split(".")[0] in ENGINE_FORBIDDEN]
    found += [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in CLOCK_CALLS
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    ]
    return found


def long_functions(source: str) -> list[str]:
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION_LINES
    ]


#: What is asked of the engine and is no operation: it has no outcome.
QUESTIONS = {"next_deadline", "projects", "recording"}


def ways_around_the_gate(source: str) -> list[str]:
    """Return what a module does with an engine, but for handing an operation to `perform`."""
    tree = ast.parse(source)
    handed = {
        id(node.args[1])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "perform"
        and len(node.args) > 1
    }
    found = []
    allowed: set[int] = set()
    for node in ast.walk(tree):  # outer expressions come before their parts
        if not isinstance(node, ast.Attribute):
            continue
        if id(node) in handed or id(node) in allowed:
            allowed.add(id(node.value))
        if node.attr == "engine" and id(node) not in allowed:
            found.append(ast.unparse(node))
    return found


GATE = ROOT / "emulator" / "service" / "core.py"
OUTSIDE_THE_ENGINE = [path for path in ROOMS if path.relative_to(ROOT).parts[1] != "engine"]


@pytest.mark.parametrize("path", [p for p in OUTSIDE_THE_ENGINE if p != GATE], ids=relative)
def test_every_operation_passes_the_gate(path: Path) -> None:
    assert ways_around_the_gate(path.read_text()) == []


def test_the_gate_itself_does_so_too() -> None:
    tree = ast.parse(GATE.read_text())
    called = [
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value).startswith("self.engine")
    ]
    assert set(called) <= QUESTIONS


@pytest.mark.parametrize(
    "source",
    [
        "core.engine.topics.create(given, now=core.now(name))",
        "operation = core.engine.publish",
        "core.perform(name, core.engine.lease(name, 1, now=0))",
        "engine = self._core.engine",
        "core.perform(core.engine, name)",
    ],
)
def test_a_way_around_the_gate_is_found(source: str) -> None:
    assert len(ways_around_the_gate(source)) == 1


def test_the_gate_is_allowed() -> None:
    source = "core.perform(name, core.engine.topics.create, given)\nself.engine_room = 1"
    assert ways_around_the_gate(source) == []


def upward_in_the_engine(source: str, module: str) -> list[str]:
    """Return the imports of an engine's module that its room may not make, types included."""
    room = module.split(".")[2]
    if room not in ENGINE_ROOMS:
        return []  # the front door
    above = ENGINE_ROOMS[ENGINE_ROOMS.index(room) + 1 :]
    if room == "filters":
        above = [*above, "log"]
    if room == "log":
        above = [*above, "filters"]
    above += ["engine"]
    targets = [(name, name.split(".")) for name in imported(ast.parse(source), "")]
    return [
        name
        for name, parts in targets
        if parts[:2] == ["emulator", "engine"] and len(parts) > 2 and parts[2] in above
    ]


def import_circles(modules: dict[str, str]) -> list[set[str]]:
    """Return the groups of modules (name -> source) that know each other in a circle."""
    known: dict[str, set[str]] = {}
    for module, source in modules.items():
        known[module] = set()
        for name in imported(ast.parse(source), module.rpartition(".")[0]):
            while name and name not in modules:
                name = name.rpartition(".")[0]
            if name and name not in (module, "emulator"):
                known[module].add(name)
    within = {module: reachable(known, module) for module in known}
    circles = {
        frozenset(other for other in within[module] if module in within[other])
        for module in known
        if module in within[module]
    }
    return sorted((set(circle) for circle in circles), key=sorted)


def reachable(known: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    to_visit = list(known[start])
    while to_visit:
        module = to_visit.pop()
        if module not in found:
            found.add(module)
            to_visit += known[module]
    return found


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", python_files("emulator/engine"), ids=relative)
def test_the_engine_s_rooms_know_those_below(path: Path) -> None:
    if path.parent != ROOT / "emulator" / "engine":
        assert upward_in_the_engine(path.read_text(), dotted(path)) == []


def test_no_modules_know_each_other_in_a_circle() -> None:
    modules = {dotted(path): path.read_text() for path in python_files("emulator/engine")}
    assert import_circles(modules) == []


def test_a_circle_is_found() -> None:
    modules = {
        "emulator.a": "if TYPE_CHECKING:\n    from emulator.b import B",
        "emulator.b": "from emulator import c",
        "emulator.c": "def f():\n    import emulator.a",
        "emulator.d": "from emulator.a import A",
    }
    assert import_circles(modules) == [{"emulator.a", "emulator.b", "emulator.c"}]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("emulator.engine.log.message_log", "from emulator.engine.delivery import lanes"),
        ("emulator.engine.delivery.lanes", "from emulator.engine.resources.world import World"),
        ("emulator.engine.resources.topic", "from emulator.engine.engine import Engine"),
        ("emulator.engine.filters.parser", "import emulator.engine.log"),
    ],
)
def test_an_upward_import_in_the_engine_is_found(module: str, source: str) -> None:
    assert len(upward_in_the_engine(source, module)) == 1


@pytest.mark.parametrize(
    "path", [p for p in python_files("emulator/engine") if p.name != "errors.py"], ids=relative
)
def test_no_module_is_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST_MODULE_LINES


def test_a_delivery_changes_its_state_in_one_place() -> None:
    """The table of moves is asked each time."""
    writers = []
    for path in python_files("emulator/engine/delivery"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                targets = [
                    t for n in ast.walk(node) if isinstance(n, ast.Assign) for t in n.targets
                ]
                if any(isinstance(t, ast.Attribute) and t.attr == "state" for t in targets):
                    writers.append((path.name, node.name))
    assert sorted(writers) == [("delivery.py", "__init__"), ("delivery.py", "move")]


def test_a_lease_ends_in_one_place() -> None:
    enders = [
        (path.name, node.name)
        for path in python_files("emulator/engine/delivery")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) == "move"
        and ast.unparse(call.args[1]) == "LEASED"
    ]
    assert enders == [("leases.py", "end")]


@pytest.mark.parametrize("path", ROOMS, ids=relative)
def test_knowledge_flows_one_way(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    is_package = path.name == "__init__.py"
    assert import_breaches(path.read_text(), module, is_package=is_package) == []


@pytest.mark.parametrize("path", python_files("emulator/engine"), ids=relative)
def test_the_engine_is_pure(path: Path) -> None:
    assert impurities(path.read_text()) == []


@pytest.mark.parametrize("path", ALL_CODE, ids=relative)
def test_the_code_is_tidy(path: Path) -> None:
    source = path.read_text()
    assert long_functions(source) == []
    lines = source.splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE_COLUMNS] == []
    assert [line for line in lines if REMINDERS.search(line)] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("emulator.engine.lease", "from emulator.service import faults"),
        ("emulator.engine.lease", "def late():\n    import emulator.transport.port"),
        ("emulator.service.core", "from emulator.engine import _private"),
        ("emulator.service.core", "from ..transport import port"),
        ("emulator.service.core", "from .. import server"),
        ("emulator.transport.rest", "from emulator.control import clock"),
        ("emulator.cli.main", "from emulator.testing import Emulator"),
        ("emulator.server", "from emulator.cli import main"),
        ("emulator.api.pool", "from emulator import Emulator"),
        ("emulator.service.core", "import emulator"),
    ],
)
def test_an_upward_import_is_found(module: str, source: str) -> None:
    assert len(import_breaches(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("emulator.engine.lease", "from emulator.api import pubsub"),
        ("emulator.engine.lease", "from . import backlog, _heap"),
        ("emulator.service.core", "from ..engine import lease"),
        ("emulator.cli.main", "from emulator import __version__, server"),
        ("emulator.server", "from emulator.transport import port\nimport asyncio"),
    ],
)
def test_a_downward_import_is_allowed(module: str, source: str) -> None:
    assert import_breaches(source, module) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from os import environ",
        "import asyncio.events",
        "def f():\n    from random import choice",
        "from datetime import datetime\nx = datetime.now()",
        "import datetime\nx = datetime.datetime.utcnow()",
        "stamp.GetCurrentTime()",
    ],
)
def test_an_impurity_is_found(source: str) -> None:
    assert len(impurities(source)) == 1


def test_pure_code_is_allowed() -> None:
    source = "from datetime import timedelta\nimport heapq\nnow = 3\nlater = self.now + now\n"
    assert impurities(source) == []


def test_a_long_function_is_found() -> None:
    body = "    pass\n" * LONGEST_FUNCTION_LINES
    assert long_functions(f"def f():\n{body}") == ["f"]
    assert long_functions(f"def f():\n{body.removesuffix('    pass' + chr(10))}") == []
