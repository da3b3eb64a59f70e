"""The cocotb test that runs programs on a cluster, one after the other.

Runs inside the simulator. ``HWGEN_JOBS`` names the folder with ``jobs.pickle``, the cluster's parameters and jobs;
``results.pickle`` is written there, too. cocotb drives the clock and the variables of the harness, and reads its
counters; what is driven and read is in `run_cluster`, which drives a cluster in a library as well.
"""

import os
import pickle
from pathlib import Path
from typing import Any

import cocotb
from cocotb.task import bridge

from cosim.cluster.run import run_cluster
from cosim.cluster.simulated import SimulatedCluster
from cosim.sim.handles import SimulatedHandles


class ClusterHandles(SimulatedHandles, SimulatedCluster):
    """The cluster in this simulator."""

    def __init__(self, dut: Any, cluster: Any) -> None:
        super().__init__(dut)
        self.cluster = cluster


@cocotb.test()
async def run_programs(dut: Any) -> None:
    """Every job."""
    folder = Path(os.environ["HWGEN_JOBS"])
    cluster, jobs = pickle.loads((folder / "jobs.pickle").read_bytes())
    handles = ClusterHandles(dut, cluster)
    await handles.begin()
    results = await bridge(lambda: [run_cluster(handles, job) for job in jobs])()
    (folder / "results.pickle").write_bytes(pickle.dumps(results))
