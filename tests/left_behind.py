"""What programs may leave behind when they end: processes."""

import time
from pathlib import Path

__all__ = ["ended"]


def ended(process: int, seconds: float = 10.0) -> bool:
    """Whether a process is gone within some seconds, or only waits for its parent to notice."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
