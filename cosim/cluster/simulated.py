"""Simulated clusters: one in its harness, or a system of several."""

from dataclasses import dataclass

from cosim.simulator.harness import SimulatedHarness
from hwgen.arch.cluster import ClusterParameters
from hwgen.tools.toolchain import ToolError

__all__ = ["SimulatedCluster"]


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

    def transfer(self, address: int, value: int | None = None) -> tuple[int, bool]:
        """One access on the configuration port (a read without ``value``): data, and whether it was refused."""
        at = self.harness
        go = 1 - at.get("cfg_go")
        at.set(cfg_write=int(value is not None), cfg_address=address, cfg_data=value or 0, cfg_go=go)
        for _ in range(100):
            at.run(2)
            if at.get("cfg_served") == go:
                return at.get("cfg_answer"), bool(at.get("cfg_error"))
        raise ToolError(f"the cluster does not answer on its configuration port: {address:#x}")
