"""What a run needs of a simulated cluster, wherever the simulator is: in this process, or around cocotb."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.cluster import ClusterParameters
from hwgen.tools.toolchain import ToolError

__all__ = ["SimulatedCluster"]


class SimulatedCluster(Protocol):
    """A cluster in its harness, `cosim/harness/cluster.sv`: variables by name, memory and clock.

    Members
    -------
    cluster : its parameters.
    """

    cluster: ClusterParameters

    def set(self, **values: int) -> None:
        """Drive variables of the harness; the clock is low."""

    def get(self, name: str, scope: str = "harness") -> int:
        """The value of a variable."""
        ...

    def counters(self, name: str, scope: str = "harness.dram") -> NDArray[np.uint64]:
        """An array of counters."""
        ...

    def run(self, cycles: int, *, until_finished: bool = False) -> int:
        """Run the clock, at most until ``finished`` rises if that is asked for; returns the number of cycles."""
        ...

    def write(self, words: NDArray[np.uint32]) -> None:
        """Put words at the beginning of the DRAM."""

    def read(self, count: int) -> NDArray[np.uint32]:
        """A copy of the first words of the DRAM."""
        ...

    def transfer(self, address: int, value: int | None = None) -> tuple[int, bool]:
        """One access on the configuration port (a read without ``value``): data, and whether it was refused."""
        go = 1 - self.get("cfg_go")
        self.set(cfg_write=int(value is not None), cfg_address=address, cfg_data=value or 0, cfg_go=go)
        for _ in range(100):
            self.run(2)
            if self.get("cfg_served") == go:
                return self.get("cfg_answer"), bool(self.get("cfg_error"))
        raise ToolError(f"the cluster does not answer on its configuration port: {address:#x}")
