"""Notes of processes on the steps that they have under way."""

import os
import time
from pathlib import Path

__all__ = ["Notes"]


class Notes:
    """A folder of notes that processes may use at the same time; they are lost without harm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, key: str, stage: str = "") -> None:
        """Note that a step is under way, and how far it is."""
        try:
            part = self.folder / f"{key}.{os.getpid()}"
            part.write_text(f"{time.time()} {stage}", encoding="utf-8")
            part.replace(self.folder / key)
        except OSError:
            pass

    def end(self, key: str) -> None:
        """Note that a step is not under way any more."""
        (self.folder / key).unlink(missing_ok=True)

    def under_way(self, key: str) -> tuple[float, str] | None:
        """Seconds for which a step is at its stage, and that stage; None if it is not under way."""
        try:
            since, _, stage = (self.folder / key).read_text(encoding="utf-8").partition(" ")
            return max(0.0, time.time() - float(since)), stage
        except (OSError, ValueError):
            return None
