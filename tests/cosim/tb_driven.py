"""The cocotb test that drives a harness as a simulation in this process is driven: one job after the other.

Runs inside the simulator. ``HWGEN_JOBS`` names the folder with ``jobs.pickle``: what is put around the harness, the
function that runs a job on that, and the jobs; ``results.pickle`` is written there, too. `SimulatedHandles` is to the
harness there what `cosim.simulator.library` is to one in this process.
"""

import ctypes
import os
import pickle
from functools import reduce
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, FallingEdge, First, ReadWrite, RisingEdge
from cocotb.utils import get_sim_time
from numpy.typing import NDArray

from cosim.simulator.memory import FileMemory, MappedMemory, Memory

PERIOD = 10  # ns


class SimulatedHandles:
    """The variables of a module ``harness``, by name, its memory, and its clock ``clk``.

    The functions are for a thread that `cocotb.task.bridge` runs. Each begins and ends at a falling edge of the
    clock, when all variables are settled.

    Parameters
    ----------
    dut : the handle of the harness.
    """

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        library = ctypes.CDLL(None)
        mapped = hasattr(library, "harness_memory")
        self._memory: Memory = MappedMemory(library) if mapped else FileMemory(dut.files)
        self._handles: dict[tuple[str, str], Any] = {}

    async def begin(self) -> None:
        """Start the clock."""
        Clock(self._dut.clk, PERIOD, unit="ns", impl="gpi").start()
        await FallingEdge(self._dut.clk)

    def set(self, **values: int) -> None:
        """Drive variables of the harness."""
        resume(self._set)(values)

    def get(self, name: str, scope: str = "harness") -> int:
        """The value of a variable; `ValueError` if it is unknown."""
        return int(self._handle(scope, name).value)

    def counters(self, name: str, scope: str) -> NDArray[np.uint64]:
        """An array of counters; `ValueError` if one is unknown."""
        array = self._handle(scope, name)  # by index: simulators differ in what they call the first element
        return np.array([int(array[index].value) for index in range(len(array))], np.uint64)

    def run(self, cycles: int, *, until_finished: bool = False) -> int:
        """Run the clock, at most until ``finished`` rises if that is asked for; returns the number of cycles."""
        return resume(self._run)(cycles, until_finished)

    def write(self, words: NDArray[np.uint32]) -> None:
        """Put words at the beginning of the memory."""
        resume(self._memory.write)(words)

    def read(self, count: int) -> NDArray[np.uint32]:
        """A copy of the first words of the memory."""
        return resume(self._memory.read)(count)

    def _handle(self, scope: str, name: str) -> Any:
        """The handle of a variable in a scope such as ``harness.ports[3].port``."""
        if (scope, name) not in self._handles:
            path = scope.replace("[", ".").replace("]", "").split(".")[1:]
            self._handles[scope, name] = getattr(reduce(_within, path, self._dut), name)
        return self._handles[scope, name]

    async def _set(self, values: dict[str, int]) -> None:
        for name, value in values.items():
            getattr(self._dut, name).value = value
        await ReadWrite()

    async def _run(self, cycles: int, until_finished: bool) -> int:
        clock, finished = self._dut.clk, self._dut.finished
        before = get_sim_time("ns")
        if not until_finished:
            await ClockCycles(clock, cycles, FallingEdge)
        elif finished.value != 1:
            await First(RisingEdge(finished), ClockCycles(clock, cycles, FallingEdge))
            if clock.value == 1:
                await FallingEdge(clock)
        return round((get_sim_time("ns") - before) / PERIOD)


def _within(handle: Any, name: str) -> Any:
    """The part of a handle with a name or, in an array, with a number."""
    return handle[int(name)] if name.isdigit() else getattr(handle, name)


@cocotb.test()
async def run_jobs(dut: Any) -> None:
    """Every job."""
    folder = Path(os.environ["HWGEN_JOBS"])
    around, run, jobs = pickle.loads((folder / "jobs.pickle").read_bytes())
    handles = SimulatedHandles(dut)
    await handles.begin()
    device = around(handles)
    results = await bridge(lambda: [run(device, job) for job in jobs])()
    (folder / "results.pickle").write_bytes(pickle.dumps(results))
