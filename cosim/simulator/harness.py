"""What a run needs of a harness, wherever the simulator is: in this process, or around cocotb."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["SimulatedHarness"]


class SimulatedHarness(Protocol):
    """A module ``harness`` without ports: variables by name, memory and clock."""

    def set(self, **values: int) -> None:
        """Drive variables of the harness; the clock is low."""

    def get(self, name: str, scope: str = "harness") -> int:
        """The value of a variable."""
        ...

    def counters(self, name: str, scope: str) -> NDArray[np.uint64]:
        """An array of counters."""
        ...

    def run(self, cycles: int, *, until_finished: bool = False) -> int:
        """Run the clock, at most until ``finished`` rises if that is asked for; returns the number of cycles."""
        ...

    def write(self, words: NDArray[np.uint32]) -> None:
        """Put words at the beginning of the memory."""

    def read(self, count: int) -> NDArray[np.uint32]:
        """A copy of the first words of the memory."""
        ...
