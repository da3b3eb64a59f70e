"""A system of clusters as a device."""

from functools import cache

from cosim.cluster.model import FAST_COMPILED, QUICK_COMPILED, SimulatedCluster
from cosim.device.device import DRAM, DRAM_SIZES, Device, lane_macros
from cosim.simulator.registry import loaded
from hwgen.arch.cluster import SystemParameters
from hwgen.export.cached import generated_system

__all__ = ["load_system", "system_device"]

MEMORY = "  cluster_tcdm tcdm ("
"""The memory's instance in the Verilog of a cluster."""


def system_device(system: SystemParameters, dram_log2: int, *, slow: bool) -> Device:
    """A system with a DRAM; ``slow``: with memories that can stall."""
    cluster, verilog = system.cluster, generated_system(system)
    sources = ("system/harness.sv", "system/axi_watch.sv", "tcdm_watch.sv", "lane_watch.sv", *DRAM)
    if slow:
        assert verilog.count(MEMORY) == 1
        shape = f"#(.Ports({len(cluster.masters)}), .Bits({32 * sum(cluster.words)}))"
        verilog = verilog.replace(MEMORY, f"  slow_tcdm {shape} tcdm (")
        sources = (*sources, "system/slow_tcdm.sv", "stalls.sv")
    ports = cluster.hwc.ports
    return Device(
        designs={"system.v": verilog},
        sources=sources,
        public="system/harness.vlt",
        sizes={
            **DRAM_SIZES,
            "Clusters": system.clusters,
            "DataBits": cluster.axi_bits,
            "Hwcs": cluster.hwcs,
            "DramLog2": dram_log2,
            "WidthI": ports.I,
            "WidthW": ports.W,
            "WidthO": ports.O,
            "Vector": int(cluster.vector),
            "WidthVector": 8 * cluster.vector_shape.word_bytes,
        },
        # A macro and no parameter: Verilator looks up names in other modules before it knows the parameters.
        macros=(*(("SLOW_TCDM",) if slow else ()), *lane_macros(registers=cluster.hwc.lane_registers)),
        loaded=True,
        quick=QUICK_COMPILED,
        fast=FAST_COMPILED,
    )


@cache
def load_system(
    system: SystemParameters, *, dram_log2: int = 20, fast: bool = False, slow: bool | None = None
) -> SimulatedCluster:
    """The simulated system of these parameters, built unless it is there; see `cosim.cluster.model.load_cluster`.

    ``slow`` : with memories that can stall; None: unless it is ``fast``.
    """
    slow = not fast if slow is None else slow
    device = system_device(system, dram_log2, slow=slow)
    return SimulatedCluster(loaded(device, fast=fast), system.cluster, system.clusters, stalls=slow)
