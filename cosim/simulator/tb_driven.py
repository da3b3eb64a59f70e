"""The cocotb test that drives a harness as a simulation in this process is driven: one job after the other.

Runs inside the simulator. ``HWGEN_JOBS`` names the folder with ``jobs.pickle``: what is put around the harness, the
function that runs a job on that, and the jobs; ``results.pickle`` is written there, too.
"""

import os
import pickle
from pathlib import Path
from typing import Any

import cocotb
from cocotb.task import bridge

from cosim.simulator.handles import SimulatedHandles


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
