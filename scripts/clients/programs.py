"""Programs that people run on Pub/Sub, one round trip each; not part of `make clients`."""

from __future__ import annotations

from pathlib import Path

from scripts.clients.languages import SUITES, Language, do, make_environment, npm_install

_MORE = SUITES / "more"


def _set_up_celery(build: Path) -> None:
    make_environment(build, _MORE / "celery" / "requirements.txt")


def _set_up_beam(build: Path) -> None:
    make_environment(build, _MORE / "beam" / "requirements.txt")


def _run_in_environment(build: Path, report: Path) -> tuple[str, ...]:
    return (str(build / ".venv" / "bin" / "python"), "round_trip.py")


def _set_up_rust(build: Path) -> None:
    do("cargo", "build", "--quiet", folder=build)


def _run_rust(build: Path, report: Path) -> tuple[str, ...]:
    return ("cargo", "run", "--quiet")


def _set_up_spring(build: Path) -> None:
    mvn = ("mvn", "--batch-mode", "--quiet")
    do(*mvn, "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath", folder=build)


def _run_spring(build: Path, report: Path) -> tuple[str, ...]:
    return ("java", "-cp", f"target/classes:{(build / 'classpath').read_text()}", "RoundTrip")


def _run_nest(build: Path, report: Path) -> tuple[str, ...]:
    return ("node", "round_trip.js")


PROGRAMS = (
    Language(
        name="more/rust",
        title="Rust",
        tools=("cargo",),
        client="google-cloud-pubsub",
        pins=("Cargo.toml", "src/main.rs"),
        version=r'google-cloud-pubsub = "=([^"]+)"',
        set_up=_set_up_rust,
        run=_run_rust,
        is_program=True,
    ),
    Language(
        name="more/beam",
        title="Beam",
        tools=(),
        client="apache-beam",
        pins=("requirements.txt",),
        version=r"apache-beam==(\S+)",
        set_up=_set_up_beam,
        run=_run_in_environment,
        is_program=True,
    ),
    Language(
        name="more/celery",
        title="Celery",
        tools=(),
        client="celery",
        pins=("requirements.txt",),
        version=r"celery==(\S+)",
        set_up=_set_up_celery,
        run=_run_in_environment,
        is_program=True,
    ),
    Language(
        name="more/spring",
        title="Spring",
        tools=("java", "mvn"),
        client="spring-cloud-gcp-starter-pubsub",
        pins=("pom.xml", "src/main/java/RoundTrip.java"),
        version=r"<artifactId>spring-cloud-gcp-starter-pubsub</artifactId>\s*<version>([^<]+)",
        set_up=_set_up_spring,
        run=_run_spring,
        is_program=True,
    ),
    Language(
        name="more/nest",
        title="Nest",
        tools=("node", "npm"),
        client="@nestjs/microservices",
        pins=("package.json", "package-lock.json"),
        version=r'"@nestjs/microservices": "([^"]+)"',
        set_up=npm_install,
        run=_run_nest,
        is_program=True,
    ),
)
