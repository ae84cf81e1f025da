"""Durations in the words of errors."""

import pytest

from emulator.api.wkt import Duration
from emulator.engine.values import durations
from tests.spec import spec


@spec("ERR-93")
@pytest.mark.parametrize(
    ("seconds", "nanos", "text"),
    [
        (0, 0, "0s"),
        (1, 0, "1s"),
        (59, 0, "59s"),
        (60, 0, "1m"),
        (61, 0, "1m1s"),
        (599, 0, "9m59s"),
        (599, 500_000_000, "9m59.5s"),
        (599, 999_999_999, "9m59.999999999s"),
        (600, 0, "10m"),
        (3_600, 0, "1h"),
        (3_601, 0, "1h1s"),
        (3_660, 0, "1h1m"),
        (86_399, 0, "23h59m59s"),
        (86_400, 0, "24h"),
        (2_678_400, 0, "744h"),
        (2_678_400, 1, "744h0.000000001s"),
        (0, 1_000_000, "0.001s"),
        (-1, 0, "-1s"),
        (-90, -500_000_000, "-1m30.5s"),
    ],
)
def test_durations_are_spelt_in_hours_minutes_and_seconds(
    seconds: int, nanos: int, text: str
) -> None:
    assert durations.text(Duration(seconds=seconds, nanos=nanos)) == text


@pytest.mark.parametrize(
    ("duration", "time_us"),
    [
        (Duration(seconds=10), 10_000_000),
        (Duration(nanos=1_999), 1),
        (Duration(seconds=2_678_400, nanos=999_999_999), 2_678_400_999_999),
    ],
)
def test_durations_are_cut_to_microseconds(duration: Duration, time_us: int) -> None:
    assert durations.to_us(duration) == time_us


def test_times_become_timestamps() -> None:
    stamp = durations.to_timestamp(1_700_000_000_123_456)
    assert (stamp.seconds, stamp.nanos) == (1_700_000_000, 123_456_000)
