"""What this machine has for worker processes: processors that it may use, and memory that is free."""

import os
from multiprocessing import parent_process
from pathlib import Path

__all__ = ["free_memory", "processors"]


def processors() -> int:
    """The processors on which this process may run; one where it is itself one of several that work side by side."""
    if parent_process() is not None:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory(system: Path = Path("/")) -> int | None:
    """Bytes that further processes can have, of the machine and of this one's control group; None: not known."""
    found = [_available(system / "proc/meminfo"), _left(system / "sys/fs/cgroup")]
    return min((size for size in found if size is not None), default=None)


def _available(file: Path) -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in file.read_text(encoding="ascii").splitlines())
        return int(lines["MemAvailable"].split()[0]) << 10
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _left(group: Path) -> int | None:
    try:
        limit, used, stat = (
            (group / f"memory.{name}").read_text(encoding="ascii").strip() for name in ("max", "current", "stat")
        )
        cached = int(dict(line.split() for line in stat.splitlines())["inactive_file"])  # given back when asked for
        return None if limit == "max" else max(0, int(limit) - int(used) + cached)
    except (OSError, ValueError, KeyError):
        return None
