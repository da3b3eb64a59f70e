"""Verilog of HWCs, clusters and systems, kept between calls: making it takes seconds, reading it milliseconds."""

from dataclasses import asdict

from hwgen.arch.cluster import ClusterParameters, SystemParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.export.cluster import cluster_verilog
from hwgen.export.conversion import kept
from hwgen.export.hwc import verilog
from hwgen.export.system import system_verilog

__all__ = ["generated", "generated_cluster", "generated_system"]


def generated(parameters: HwcParameters, *, keep_init: bool = False) -> str:
    """The Verilog of one HWC; from the cache if the generator has made it before in the state that it is in.

    ``keep_init`` : with initial values of the registers.
    """
    if keep_init:
        return verilog(parameters, keep_init=True)
    return kept(asdict(parameters), lambda: verilog(parameters))


def generated_cluster(parameters: ClusterParameters, *, keep_init: bool = False) -> str:
    """The Verilog of a cluster, kept as `generated` keeps it."""
    if keep_init:
        return cluster_verilog(parameters, keep_init=True)
    return kept(asdict(parameters), lambda: cluster_verilog(parameters))


def generated_system(parameters: SystemParameters, *, keep_init: bool = False) -> str:
    """The Verilog of several clusters, kept as `generated` keeps it."""
    if keep_init:
        return system_verilog(parameters, keep_init=True)
    return kept(asdict(parameters), lambda: system_verilog(parameters))
