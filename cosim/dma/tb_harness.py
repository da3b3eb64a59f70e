"""The cocotb test that runs the DMA in its harness: ``HWGEN_JOBS`` names the folder with ``jobs.pickle``.

Runs inside the simulator; what is driven and read is in `run_dma`, which drives a DMA in a library as well.
"""

import os
import pickle
from pathlib import Path
from typing import Any

import cocotb
from cocotb.task import bridge

from cosim.dma.run import run_dma
from cosim.dma.simulated import SimulatedDma
from cosim.sim.handles import SimulatedHandles


class DmaHandles(SimulatedHandles, SimulatedDma):
    """The DMA in this simulator."""

    def __init__(self, dut: Any, parameters: Any) -> None:
        super().__init__(dut)
        self.parameters = parameters


@cocotb.test()
async def run_transfers(dut: Any) -> None:
    """Every job."""
    folder = Path(os.environ["HWGEN_JOBS"])
    parameters, jobs = pickle.loads((folder / "jobs.pickle").read_bytes())
    handles = DmaHandles(dut, parameters)
    await handles.begin()
    results = await bridge(lambda: [run_dma(handles, job) for job in jobs])()
    (folder / "results.pickle").write_bytes(pickle.dumps(results))
