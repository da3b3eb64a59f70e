"""A cluster that cocotb drives, under both simulators, counts what it counts in the run loop, in the same cycles."""

from dataclasses import fields, replace
from random import Random

import numpy as np
import pytest

from cosim.cluster.model import load_cluster
from cosim.cluster.preparation import ClusterTask, prepare_cluster
from cosim.cluster.run import run_clusters
from cosim.device.job import Outcome
from cosim.device.judge import judge
from hwgen.arch.dram import Dram
from hwgen.ir.schedule import Schedule
from hwgen.tools.toolchain import Simulator
from tests.cosim.benches import clusters_in_bench
from tests.cosim.cluster.test_faults import HARDWARE, PARAMETERS, SCHEDULE
from tests.random.clusters import cluster_schedules

TIMING = Dram(latency=20, miss_cycles=30, block_cycles=18.0)
DEPTHS: dict[Simulator, int] = {"verilator": 18, "icarus": 14}
"""log2 of the words of the DRAM: under Verilator as in other tests, which share the build; under Icarus enough."""


TINY = cluster_schedules(HARDWARE, Random("bench"), 3, most_macs=400)[2]
"""Its filters are spread over the HWCs."""
BATCH = cluster_schedules(HARDWARE, Random("batch"), 3, most_macs=200, images=True)[2]
SCHEDULES: dict[Simulator, list[Schedule]] = {"verilator": [TINY, BATCH, SCHEDULE], "icarus": [TINY, BATCH]}
"""The last one has partial sums that go to the DRAM and come back."""


def tasks(simulator: Simulator) -> list[ClusterTask]:
    """Each layer at full rate, and with stalls on every port and a slow DRAM."""
    return [
        prepare_cluster(schedule, HARDWARE, stalls=stalls, timing=TIMING if stalls else None)
        for schedule in SCHEDULES[simulator]
        for stalls in (False, True)
    ]


def same(one: Outcome, other: Outcome) -> None:
    """All but the seconds, and every word of the DRAM."""
    for field in fields(Outcome):
        if field.name == "memory":
            np.testing.assert_array_equal(one.memory, other.memory)
        elif field.name != "seconds":
            assert getattr(one, field.name) == getattr(other, field.name), field.name


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)])
def test_cocotb_counts_what_the_run_loop_counts(simulator: Simulator, request: pytest.FixtureRequest) -> None:
    if simulator == "icarus":
        request.getfixturevalue("icarus")
    given = tasks(simulator)
    assert {task.program.hardware for task in given} == {PARAMETERS}  # which other tests simulate as well
    jobs = [task.job for task in given]
    benched = clusters_in_bench(PARAMETERS, jobs, simulator=simulator, dram_log2=DEPTHS[simulator])
    looped = [run_clusters(load_cluster(PARAMETERS, dram_log2=DEPTHS["verilator"]), job) for job in jobs]
    for task, one, other in zip(given, benched, looped, strict=True):
        same(one, other)
        assert judge(task.wanted, one, simulator).passed
    assert benched[1].cycles > benched[0].cycles
    assert any(benched[0].only.waits.values())
    unit = benched[0].only
    more = replace(unit, registers={**unit.registers, "cycles": unit.cycles})
    wrong = replace(benched[0], units=(more,))
    (line,) = judge(given[0].wanted, wrong, simulator).failures
    assert line == f"register cycles: {benched[0].cycles} cycles, outside {benched[0].cycles - 1}"
