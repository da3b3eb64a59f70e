"""The store of finished steps: one file for each, named by its key, complete or absent."""

import os
import time
from pathlib import Path
from typing import Any

from hwgen.ir.document import sealed, unsealed, write_atomically

__all__ = ["Store"]


class Store:
    """A folder that processes, on one machine or on several that share a file system, may use at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of a key; None if there is none, or none that is as it was written."""
        try:
            record = unsealed(self.file(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and record.get("key") == key else None

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Keep a record; it is on the disk when this returns."""
        write_atomically(self.file(key), sealed({**record, "key": key}, indent=None), durable=True)

    def begin(self, key: str, stage: str = "") -> None:
        """Note that a step is under way, and how far it is; not for the disk's sake, and lost without harm."""
        file = self._note(key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(f".{os.getpid()}")
            part.write_text(f"{time.time()} {stage}", encoding="utf-8")
            part.replace(file)
        except OSError:
            pass

    def end(self, key: str) -> None:
        """Note that a step is not under way any more."""
        self._note(key).unlink(missing_ok=True)

    def under_way(self, key: str) -> tuple[float, str] | None:
        """Seconds for which a step is at its stage, and that stage; None if it is not under way."""
        try:
            since, _, stage = self._note(key).read_text(encoding="utf-8").partition(" ")
            return max(0.0, time.time() - float(since)), stage
        except (OSError, ValueError):
            return None

    def _note(self, key: str) -> Path:
        return self.folder / "under-way" / key

    def file(self, key: str) -> Path:
        """The file of a key's record."""
        return self.folder / key[:2] / f"{key}.json"
