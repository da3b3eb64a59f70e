"""Two small clusters on one DRAM: counts of each, the output of both, and what errors and resets leave behind."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cosim.cluster.model import SimulatedCluster
from cosim.cluster.run import run_clusters
from cosim.device.dram import Unwanted
from cosim.device.job import Job, Outcome
from cosim.device.judge import judge
from cosim.device.result import LayerResult
from cosim.simulator.verilator import FastVerilator
from cosim.system.model import load_system, system_device
from cosim.system.results import SystemTask, cosimulate_systems, prepare_system
from hwgen.arch.cluster import SystemParameters
from hwgen.arch.dram import Dram
from hwgen.arch.registers.control import error_of
from hwgen.arch.registers.errors import ClusterError, DmaError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.system.shares import Partition
from hwgen.tools.toolchain import Simulator
from tests.cosim.benches import systems_in_bench
from tests.cosim.cluster.test_bench import same
from tests.random.clusters import cluster_schedules
from tests.random.layers import hwc

TIMING = Dram(latency=20, miss_cycles=30, block_cycles=18.0)
MOST_ERROR, MEAN_ERROR = 0.012, 0.006
"""By which the cycles of such small programs may be predicted wrong: of any of them, in the mean of all. What is not
predicted are waits of an HWC with cycles to spare, for the DMA, which goes first: there are four banks for its loads,
its stores and three other ports."""
SLVERR, DECERR = 2, 3
TINY = 1
"""Which of the tiny random layers has two shares."""
SHARED: dict[Partition, tuple[int, ...]] = {"KS": (0, 1, 3), "OFM": (1, 2, 3)}
"""Which of the random layers have two shares."""


@cache
def hardware() -> Hardware:
    return hwc("rows_of_kernel").model_copy(update={"cluster": Cluster(hwcs=1, tcdm=1 << 14, banks=4, axi_bits=32)})


@cache
def cases() -> list[Schedule]:
    return cluster_schedules(hardware(), Random("two clusters"), 4)


def simulated(task: SystemTask) -> SimulatedCluster:
    return load_system(SystemParameters(task.program.programs[0].hardware, 2), dram_log2=18)


@cache
def at_full_rate(partition: Partition) -> list[LayerResult]:
    chosen = [cases()[number] for number in SHARED[partition]]
    return cosimulate_systems(chosen, hardware(), 2, partition, fast=False)


@pytest.mark.parametrize("partition", SHARED)
def test_counts_of_each_cluster_and_outputs(partition: Partition) -> None:
    chosen, free = [cases()[number] for number in SHARED[partition]], at_full_rate(partition)
    slow = cosimulate_systems(chosen, hardware(), 2, partition, fast=False, stalls=True, timing=TIMING)
    for one, other in zip(free, slow, strict=True):
        assert one.passed, one.failures
        assert other.passed, other.failures
        assert one.measured == other.measured  # row misses included
        assert one.cycles < other.cycles


def test_cycles_of_layers_with_two_shares() -> None:
    results = [one for partition in SHARED for one in at_full_rate(partition)]
    errors = [abs(one.predicted_cycles / one.cycles - 1) for one in results]
    assert max(errors) <= MOST_ERROR
    assert sum(errors) <= MEAN_ERROR * len(errors)


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)])
def test_cocotb_counts_what_the_run_loop_counts(simulator: Simulator, request: pytest.FixtureRequest) -> None:
    if simulator == "icarus":
        request.getfixturevalue("icarus")
    tiny = cluster_schedules(hardware(), Random("bench"), 3, most_macs=400)[TINY]
    tasks = [prepare_system(tiny, hardware(), 2, "OFM", stalls=stalls, timing=TIMING) for stalls in (False, True)]
    system = tasks[0].parameters
    benched = systems_in_bench(
        system, [task.job for task in tasks], simulator=simulator, dram_log2=14 if simulator == "icarus" else 18
    )
    for task, one in zip(tasks, benched, strict=True):
        same(one, run_clusters(simulated(task), task.job))
        assert judge(task.wanted, one, simulator).passed
    assert benched[1].cycles > benched[0].cycles


def test_cycles_of_clusters_that_do_one_thing_after_the_other() -> None:
    """With a DRAM that takes its time; those of a layer that is held up at no bank are right to the cycle."""
    chosen: list[tuple[int, Partition]] = [(0, "KS"), (3, "OFM"), (3, "KS"), (1, "OFM"), (1, "KS")]
    tasks = [
        prepare_system(cases()[number], hardware(), 2, partition, timing=TIMING, serial=True)
        for number, partition in chosen
    ]
    results = [judge(task.wanted, run_clusters(simulated(task), task.job)) for task in tasks]
    errors = [abs(one.predicted_cycles / one.cycles - 1) for one in results]
    assert all(one.passed for one in results)
    assert max(errors) <= MOST_ERROR, errors
    assert results[-1].predicted_cycles == results[-1].cycles


@pytest.mark.nightly
def test_the_harness_of_long_runs(tmp_path: Path) -> None:
    """Its memories cannot stall; compiling it is what takes long."""
    system = SystemParameters(prepare_system(cases()[1], hardware(), 2, "KS").program.programs[0].hardware, 2)
    FastVerilator().verilate(tmp_path, system_device(system, 18, slow=False))
    assert "slow_tcdm" not in (tmp_path / "system.v").read_text(encoding="utf-8")
    assert (tmp_path / "sim" / "Vtop_classes.mk").exists()


def test_everything_that_can_be_wrong_is_a_failure_of_its_cluster() -> None:
    task = prepare_system(cases()[1], hardware(), 2, "OFM")
    right = run_clusters(simulated(task), task.job)
    assert judge(task.wanted, right).passed
    first, second = right.units

    def failures(**changes: object) -> tuple[str, ...]:
        result = judge(task.wanted, replace(right, units=(first, replace(second, **changes))))  # type: ignore[arg-type]
        assert not result.passed
        return result.failures

    def register(name: str, value: int) -> tuple[str, ...]:
        return failures(registers={**second.registers, name: value})

    waits = second.waits["hwc0_i"]
    assert register("cycles", 7) == (f"cluster 1: register cycles: 7 cycles, outside {second.cycles}",)
    assert register("conflicts_hwc0_i", waits + 1) == (
        f"cluster 1: register conflicts_hwc0_i: {waits + 1} cycles, outside {waits}",
    )
    assert register("status", 0x904)[0].startswith("cluster 1: ended with status 0x904, fault_address ")
    assert failures(refused=("watchdog",)) == ("cluster 1: register watchdog: write refused",)
    stray = {**second.tcdm, ("hwc0_i", "W", False): (1, 4)}
    assert failures(tcdm=stray) == ("cluster 1: hwc0_i: 1 reads in the region of W, expected none",)
    weights = task.job.units[1].dram[1]
    where = f"the first at {weights.base:#x}, in the region of W"
    assert failures(unwanted=Unwanted(0, 2, weights.base)) == (
        f"cluster 1: DRAM: 2 beats read beyond what the program asks for, {where}",
    )
    lost = judge(task.wanted, replace(right, total={**right.total, "beats": right.total["beats"] + 1}))
    beats = right.total["beats"]
    assert lost.failures == (f"DRAM: {beats + 1} beats, at the clusters {beats}",)
    broken = judge(task.wanted, replace(right, violations={"cluster 1: load_0": 2}))
    assert broken.failures == ("cluster 1: load_0: 2 breaches of the protocol",)


def parts_of(result: Outcome, task: SystemTask) -> np.ndarray:
    """Bytes that may have changed: outputs and partial sums."""
    written = np.zeros(4 * len(result.memory), np.bool_)
    for region in (task.program.layout.output, task.program.layout.partial):
        written[region.base : region.base + region.size] = True
    return written


def run(task: SystemTask, **changes: object) -> Outcome:
    job: Job = replace(task.job, **changes)  # type: ignore[arg-type]
    result = run_clusters(simulated(task), job)
    assert not result.violations
    kept = ~parts_of(result, task)
    assert np.array_equal(result.memory.view(np.uint8)[kept], job.image.view(np.uint8)[kept])
    return result


@pytest.mark.parametrize(("channel", "error"), [("read", ClusterError.LOAD), ("write", ClusterError.STORE)])
def test_a_bus_error_stops_the_cluster_that_it_is_answered_to(channel: str, error: ClusterError) -> None:
    task = prepare_system(cases()[1], hardware(), 2, "KS")
    layout = task.program.programs[1].layout
    place = (layout.weights if channel == "read" else layout.output).base + 4
    result = run(task, axi_error=(channel, SLVERR, place))
    other, stopped = result.units
    assert other.done
    assert error_of(stopped.registers["status"]) == error
    assert stopped.registers["fault_detail"] & 0xFF == DmaError.AXI_SLAVE
    share = slice(0, task.program.shares[1].outputs)
    assert np.array_equal(task.program.output(result.memory)[share], task.expected[share])


def test_each_channel_to_the_dram_may_be_slow() -> None:
    """One channel at a time hardly ever ready: addresses and data of reads, addresses, data and answers of writes."""
    most = max(cases(), key=lambda case: case.layer.output_elements)
    task = prepare_system(most, hardware(), 2, "OFM", timing=TIMING)
    free = run(task)
    for channel in range(5):
        rates = tuple(224 if number == channel else 0 for number in range(5))
        slow = run(task, axi_stalls=rates)
        judged = judge(task.wanted, slow)
        assert judged.passed, (channel, judged.failures)
        assert slow.cycles > free.cycles or channel not in (1, 3), channel  # others may open before they are needed


def test_each_port_of_the_memories_may_be_slow() -> None:
    """Those of one cluster at a time, which takes longer; the other one does not wait for it."""
    task = prepare_system(cases()[1], hardware(), 2, "OFM")
    free, masters = run(task), len(task.program.programs[0].hardware.masters)
    for port in range(masters):
        slow = run(task, tcdm_stalls=tuple(250 if number == masters + port else 0 for number in range(2 * masters)))
        judged = judge(task.wanted, slow)
        assert judged.passed, (port, judged.failures)
        cycles = [one.cycles for one in slow.units]
        assert cycles[0] <= 1.05 * free.units[0].cycles
        assert cycles[1] > free.units[1].cycles, port


def test_an_error_that_all_clusters_meet_stops_all_and_the_next_run_is_right() -> None:
    """Clusters that share output rows out both read the first filter; the end of a program only its cluster."""
    task = prepare_system(cases()[1], hardware(), 2, "OFM", timing=TIMING)
    for number, one in enumerate(task.program.programs):
        place = one.layout.program + 4 * len(one.words) - 4
        stopped = run(task, axi_error=("read", DECERR, place), axi_stalls=(40, 40, 40, 40, 40))
        assert not stopped.timed_out
        assert error_of(stopped.units[number].registers["status"]) == ClusterError.PROGRAM
        assert stopped.units[1 - number].done
    both = run(task, axi_error=("read", SLVERR, task.program.layout.weights.base))
    assert not both.timed_out
    assert [error_of(one.registers["status"]) for one in both.units] == [ClusterError.LOAD, ClusterError.LOAD]
    assert judge(task.wanted, run(task)).passed


def test_a_reset_in_mid_layer_leaves_nothing_behind() -> None:
    task = prepare_system(cases()[2], hardware(), 2, "OFM", timing=TIMING)
    whole = run(task)
    for after in (whole.cycles // 3, whole.cycles // 2 + 7):
        stopped = run(task, reset_after=after)
        assert all(one.registers["status"] == 0 for one in stopped.units)
        again = run(task)
        assert judge(task.wanted, again).passed
        assert again.cycles == whole.cycles
