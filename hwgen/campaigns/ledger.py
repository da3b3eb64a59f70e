"""A file of results, one line each, written as soon as a result arrives, so that a killed process loses none."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Ledger"]


class Ledger:
    """A file of JSON lines, each with a ``key``; a later line takes the place of an earlier one with the same key.

    Lines are appended whole and reach the disk before `add` returns. What a killed process left of a line, or
    anything else that is no such line, counts as nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict[str, dict[str, Any]]:
        """The lines by key."""
        if not self.path.exists():
            return {}
        entries = (_entry(line) for line in self.path.read_bytes().split(b"\n")[:-1])
        return {entry["key"]: entry for entry in entries if entry is not None}

    def add(self, key: str, entry: Mapping[str, Any]) -> None:
        """Append one line; several processes may do so at the same time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"key": key, **entry}).encode() + b"\n"
        with self.path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    line = b"\n" + line  # a torn line remains a line of its own, and is ignored
            written = file.write(line)
            if written != len(line):
                raise OSError(f"{self.path}: only {written} of {len(line)} bytes were written")
            os.fsync(file.fileno())


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("key"), str) else None
