"""What has been measured so far, and what could not be."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from scripts.bench.measurement import Measurement
from scripts.bench.programs import Kind


@dataclass(frozen=True)
class Failure:
    """A row that did not come to its end on one server."""

    row: str
    kind: Kind
    why: str


class Results:
    """Samples of every figure and server over the rounds."""

    def __init__(self) -> None:
        self.failures: list[Failure] = []
        self._samples: dict[tuple[str, Kind], list[Measurement]] = defaultdict(list)

    def add(self, kind: Kind, measured: dict[str, Measurement]) -> None:
        """Note the figures of one row."""
        for key, measurement in measured.items():
            self._samples[key, kind].append(measurement)

    def samples(self, key: str, kind: Kind) -> list[Measurement]:
        """Return all samples of a figure, in the order of the rounds."""
        return self._samples.get((key, kind), [])

    def median(self, key: str, kind: Kind) -> Measurement | None:
        """Return the medians of a figure's samples, None if it was not measured."""
        samples = self.samples(key, kind)
        if not samples:
            return None
        return Measurement(
            statistics.median(sample.value for sample in samples),
            _median([sample.cpu_us for sample in samples]),
            _median([sample.client_cores for sample in samples]),
        )

    def cpu_ratio(self, key: str) -> float | None:
        """Return our CPU per message divided by the other's, as the median over the rounds."""
        return _cpu_ratio(self.samples(key, "ours"), self.samples(key, "other"))

    def plain_cpu_ratio(self, plain: str, key: str) -> float | None:
        """Return our CPU per message of a plain figure divided by that of another, likewise."""
        return _cpu_ratio(self.samples(plain, "ours"), self.samples(key, "ours"))


def _cpu_ratio(over: list[Measurement], under: list[Measurement]) -> float | None:
    """Compare each round with itself: its servers ran within seconds of each other."""
    return _median(
        [
            first.cpu_us / second.cpu_us if first.cpu_us and second.cpu_us else None
            for first, second in zip(over, under, strict=False)
        ]
    )


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
