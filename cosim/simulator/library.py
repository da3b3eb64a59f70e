"""A harness that Verilator has made a shared library of (see `library.cpp`), simulated in this process."""

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwgen.tools.toolchain import ToolError

__all__ = ["SimulatedLibrary"]


class SimulatedLibrary:
    """The public variables of a module ``harness``, by name, and its clock ``clk``."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.model_variable.restype = ctypes.c_void_p
        self._library.model_run.restype = ctypes.c_int64
        self._library.model_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        self._views: dict[tuple[str, str], NDArray[np.uint8]] = {}

    def power_up(self, seed: int) -> None:
        """Make the model anew, every register at random; ``seed`` is at least 1."""
        self._library.model_power_up(ctypes.c_int32(seed))
        self._views.clear()

    def bytes_of(self, scope: str, name: str) -> NDArray[np.uint8]:
        """A variable as the simulator keeps it."""
        if (scope, name) not in self._views:
            size = ctypes.c_size_t()
            address = self._library.model_variable(f"TOP.{scope}".encode(), name.encode(), ctypes.byref(size))
            if not address:
                raise ToolError(f"the harness has no {scope}.{name}")
            self._views[scope, name] = np.ctypeslib.as_array((ctypes.c_uint8 * size.value).from_address(address))
        return self._views[scope, name]

    def set(self, **values: int) -> None:
        """Drive variables of the harness."""
        for name, value in values.items():
            view = self.bytes_of("harness", name)
            view[:] = np.frombuffer(value.to_bytes(len(view), "little"), np.uint8)
        self._library.model_settle()

    def get(self, name: str, scope: str = "harness") -> int:
        """The value of a variable."""
        return int.from_bytes(self.bytes_of(scope, name).tobytes(), "little")

    def run(self, cycles: int, *, until_finished: bool = False) -> int:
        """Run the clock, at most until ``finished`` rises if that is asked for; returns the number of cycles."""
        clock = self.bytes_of("harness", "clk").ctypes.data
        finished = self.bytes_of("harness", "finished").ctypes.data if until_finished else None
        return int(self._library.model_run(clock, finished, cycles))

    @property
    def memory(self) -> NDArray[np.uint32]:
        """The memory of the harness."""
        return self.bytes_of("harness", "memory").view(np.uint32)

    def write(self, words: NDArray[np.uint32]) -> None:
        """Put words at the beginning of the memory."""
        self.memory[: len(words)] = words

    def read(self, count: int) -> NDArray[np.uint32]:
        """A copy of the first words of the memory."""
        return self.memory[:count].copy()

    def counters(self, name: str, scope: str) -> NDArray[np.uint64]:
        """An array of counters."""
        return self.bytes_of(scope, name).view(np.uint64).copy()
