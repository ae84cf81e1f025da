"""What a process has used: CPU time of all its threads, resident memory."""

import psutil


def cpu_s(pid: int | None = None) -> float:
    """Return the CPU seconds of a process since it began, of this one by default."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    return int(psutil.Process(pid).memory_info().rss)
