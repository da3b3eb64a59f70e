"""What a run needs of a simulated cluster."""

from typing import Protocol

from cosim.sim.harness import SimulatedHarness
from hwgen.arch.cluster import ClusterParameters
from hwgen.tools.toolchain import ToolError

__all__ = ["SimulatedCluster"]


class SimulatedCluster(SimulatedHarness, Protocol):
    """A cluster in its harness, `cosim/harness/cluster.sv`.

    Members
    -------
    cluster : its parameters.
    """

    cluster: ClusterParameters

    def transfer(self, address: int, value: int | None = None) -> tuple[int, bool]:
        """One access on the configuration port (a read without ``value``): data, and whether it was refused."""
        go = 1 - self.get("cfg_go")
        self.set(cfg_write=int(value is not None), cfg_address=address, cfg_data=value or 0, cfg_go=go)
        for _ in range(100):
            self.run(2)
            if self.get("cfg_served") == go:
                return self.get("cfg_answer"), bool(self.get("cfg_error"))
        raise ToolError(f"the cluster does not answer on its configuration port: {address:#x}")
