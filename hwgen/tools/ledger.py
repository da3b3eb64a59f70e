"""A file of results, one line each, written as soon as a result arrives, so that a killed process loses none."""

import errno
import fcntl
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hwgen.ir.document import sealed, unsealed

__all__ = ["Ledger"]


class Ledger:
    """A file of JSON lines, each with a ``key``; a later line takes the place of an earlier one with the same key.

    Lines are appended whole and reach the disk before `add` returns. What a killed process left of a line, or
    anything else that is no such line, counts as nothing; so does a line that was changed since, that has no digest,
    or whose counts are not what it says of them: that is told on standard error, until a later line has its key.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict[str, dict[str, Any]]:
        """The lines by key."""
        if not self.path.exists():
            return {}
        found: dict[str, dict[str, Any]] = {}
        changed: dict[str, str] = {}
        for number, line in enumerate(self.path.read_bytes().split(b"\n")[:-1], start=1):
            try:
                entry = _entry(line)
            except Changed as why:
                changed[why.key] = f"line {number}{why}"
                continue
            if entry is not None:
                found[entry["key"]] = entry
                changed.pop(entry["key"], None)
        for what in changed.values():
            self.tell(what)
        return found

    def tell(self, what: str) -> None:
        """Say on standard error what of the file counts as nothing."""
        line = " ".join(f"{self.path}: {what}".split())
        sys.stderr.write(f"{line}: not believed, made anew where it is wanted\n")

    def add(self, key: str, entry: Mapping[str, Any]) -> None:
        """Append one line; several processes may do so at the same time. An `OSError` names the file."""
        line = sealed({"key": key, **entry}, indent=None).encode()
        try:
            self._append(line)
        except OSError as error:  # of a full disk it does not say what was written
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def _append(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    line = b"\n" + line  # a torn line remains a line of its own, and is ignored
            written = file.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes were written")
            os.fsync(file.fileno())


class Changed(ValueError):
    """A line is a result, and not as it was written, or says of itself what is not so."""

    def __init__(self, data: Mapping[str, Any], why: str) -> None:
        names = [str(data[name]) for name in _NAMES if name in data]
        super().__init__(f" ({' '.join(names)}): {why}" if names else f": {why}")
        self.key: str = data["key"]


def _entry(line: bytes) -> dict[str, Any] | None:
    """The result in a line; None if there is none."""
    try:
        data = json.loads(line)
    except ValueError:
        return None
    if not isinstance(data, dict) or not isinstance(data.get("key"), str):
        return None
    try:
        entry: dict[str, Any] = unsealed(line)
    except ValueError as error:
        raise Changed(data, str(error)) from None
    if _contradicts(entry):
        raise Changed(data, "equal, and its counts differ")
    return entry


def _contradicts(entry: Mapping[str, Any]) -> bool:
    """Whether a result says of itself that all is well, while counts that it has are not the predicted ones."""
    entry = entry["value"] if isinstance(entry.get("value"), Mapping) else entry  # of a step
    well = entry["equal"] is True if "equal" in entry else entry.get("failures") == []
    pairs = [one for one in (entry, *entry.values()) if isinstance(one, Mapping) and set(one) >= _COUNTED]
    return well and any(
        isinstance(one["predicted"], Mapping) and one["predicted"] != one["measured"]
        for one in pairs
        if one not in [entry.get(name) for name in _TIMES]
    )


_NAMES = ("title", "configuration", "case", "network", "stack", "layer", "way")
"""What says which result a line is, where it has these."""
_COUNTED = {"predicted", "measured"}
_TIMES = ("cycles", "stalls", "busy", "energy")
"""What is measured and need not be as predicted."""
