"""Names of cached results: digests of plain data and of the source files that made them."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

__all__ = ["digest_of", "sources_digest"]

SOURCES = (".py", ".sv", ".svh", ".vlt", ".cpp")


def digest_of(data: object) -> str:
    """A digest of plain data; equal data have equal digests."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


def sources_digest(paths: Iterable[Path]) -> str:
    """A digest of source files, and of those in folders; it does not depend on where they are."""
    state = hashlib.sha256()
    for path in paths:
        files = sorted(file for file in path.rglob("*") if file.suffix in SOURCES) if path.is_dir() else [path]
        for file in files:
            state.update(f"{file.name}\n".encode())
            state.update(file.read_bytes())
    return state.hexdigest()[:32]
