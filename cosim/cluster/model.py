"""A cluster as a device, and simulated clusters: one in its harness, or a system of several."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from cosim.device.device import DRAM, DRAM_SIZES, Device, lane_macros
from cosim.simulator.harness import SimulatedHarness
from cosim.simulator.registry import loaded
from hwgen.arch.cluster import ClusterParameters
from hwgen.export.cached import generated_cluster
from hwgen.tools.toolchain import ToolError

__all__ = ["FAST_COMPILED", "QUICK_COMPILED", "SimulatedCluster", "cluster_device", "load_cluster"]


@dataclass(frozen=True)
class SimulatedCluster:
    """Clusters in a harness: one in `cosim/harness/cluster.sv`, or a system in `cosim/harness/system/harness.sv`.

    Members
    -------
    cluster : parameters of each.
    clusters : how many a system has; None: it is one cluster alone.
    stalls : whether its memories can stall.
    """

    harness: SimulatedHarness
    cluster: ClusterParameters
    clusters: int | None = None
    stalls: bool = True

    def transfer(
        self, address: int, value: int | None = None, run: Callable[[int], object] | None = None
    ) -> tuple[int, bool]:
        """One access on the configuration port (a read without ``value``): data, and whether it was refused.

        ``run`` passes the cycles that it takes, if something is to be seen in them.
        """
        at = self.harness
        go = 1 - at.get("cfg_go")
        at.set(cfg_write=int(value is not None), cfg_address=address, cfg_data=value or 0, cfg_go=go)
        for _ in range(100):
            (run or at.run)(2)
            if at.get("cfg_served") == go:
                return at.get("cfg_answer"), bool(at.get("cfg_error"))
        raise ToolError(f"the cluster does not answer on its configuration port: {address:#x}")


FAST_COMPILED = ("-O1",)
"""Runs 3 % faster than one unit did with the flags of an HWC's, and compiles in half the time."""
QUICK_COMPILED = ("-Og",)
"""Compiles in 9 s where no optimisation takes 6 s, and needs a quarter of its 50 us a cycle (with four HWCs)."""


def cluster_device(cluster: ClusterParameters, dram_log2: int, verilog: str | None = None) -> Device:
    """A cluster with a DRAM; ``verilog`` is its text, if it is not made now."""
    ports = cluster.hwc.ports
    return Device(
        designs={"cluster.v": verilog or generated_cluster(cluster)},
        sources=(
            *("cluster.sv", "cluster_port.sv", "tcdm_watch.sv", "lane_watch.sv", "stalls.sv", "configuration.sv"),
            *DRAM,
        ),
        public="cluster.vlt",
        sizes={
            **DRAM_SIZES,
            "DataBits": cluster.axi_bits,
            "Hwcs": cluster.hwcs,
            "Vector": int(cluster.vector),
            "WidthVector": 8 * cluster.vector_shape.word_bytes,
            "DramLog2": dram_log2,
            "WidthI": ports.I,
            "WidthW": ports.W,
            "WidthO": ports.O,
        },
        macros=lane_macros(registers=cluster.hwc.lane_registers),
        loaded=True,
        quick=QUICK_COMPILED,
        fast=FAST_COMPILED,
    )


@cache
def load_cluster(
    cluster: ClusterParameters, *, dram_log2: int = 20, fast: bool = False, verilog: str | None = None
) -> SimulatedCluster:
    """The simulated cluster of these parameters in this process, built unless it is there.

    ``dram_log2`` is the size of its DRAM in 32-bit words, as a power of two; ``fast`` optimises for long runs;
    otherwise the build is quicker. ``verilog`` is its text, if it is not made now.
    """
    device = cluster_device(cluster, dram_log2, verilog)
    return SimulatedCluster(loaded(device, fast=fast), cluster)
