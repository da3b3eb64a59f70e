"""Random nodes of all kinds on the simulated vector unit: every access, every output, cycles within five percent."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cosim.cluster.model import load_cluster
from cosim.cluster.run import run_clusters
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dram import Dram
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.errors import ClusterError, VectorError
from hwgen.ir.lanes import Lanes
from tests.cosim.benches import clusters_in_bench
from tests.cosim.vector.nodes import VectorResult, VectorTask, judge_vector, prepare_vector
from tests.random.vectors import KINDS, vector_case

HWC = HwcParameters(
    ("m", "y", "x", "c", "k", "l", "m", "y", "x"), 4, 5, 3, 176, 80, 768, lanes=Lanes(m=4, c=4), position_bits=12,
    bias_words=64, scaled=True, cluster=True,
)  # fmt: skip
CLUSTER = ClusterParameters(HWC, hwcs=2, tcdm_bytes=1 << 14, vector=True)
"""The one on which `tests.cosim.network.test_on_cluster` runs networks, so that it is built once."""
TIMING = Dram(latency=20, miss_cycles=30, block_cycles=18.0)


def tasks(
    rng: Random, number: int, most: int, *, stalls: bool, cluster: ClusterParameters = CLUSTER
) -> list[VectorTask]:
    """Cases of all kinds."""
    cases = [vector_case(KINDS[n % len(KINDS)], rng, most) for n in range(number)]
    return [
        prepare_vector(
            case.node, case.operands, case.expected, cluster, seed=n, room=rng.choice((4096, 12288)), stalls=stalls,
            timing=TIMING if stalls else None,
        )
        for n, case in enumerate(cases)
    ]  # fmt: skip


def run(some: list[VectorTask], cluster: ClusterParameters = CLUSTER) -> list[VectorResult]:
    """All on one simulated cluster, which must pass."""
    model = load_cluster(cluster, dram_log2=18)
    results = [judge_vector(task, run_clusters(model, task.job)) for task in some]
    wrong = [f"{task.job.name}: {one.failures}" for task, one in zip(some, results, strict=True) if one.failures]
    assert not wrong, wrong
    return results


def test_nodes_are_exact_and_as_predicted() -> None:
    some = tasks(Random("nodes"), 14, 14, stalls=False)
    judge_cycles(some, run(some))


def judge_cycles(some: list[VectorTask], results: list[VectorResult]) -> None:
    """Of those in which the unit has work; what is copied is a matter of the DMA alone."""
    found = [(task, one.cycles) for task, one in zip(some, results, strict=True) if task.program.jobs]
    assert len(found) > len(some) // 2
    wrong = [(task.job.name, cycles, task.cycles) for task, cycles in found if abs(cycles / task.cycles - 1) > 0.05]
    assert not wrong, wrong


def test_stalls_change_no_count() -> None:
    free, stalled = (run(tasks(Random("stalls"), 7, 9, stalls=stalls)) for stalls in (False, True))
    for one, other in zip(free, stalled, strict=True):
        assert one.cycles < other.cycles
        for level in ("tcdm", "tcdm_dma"):
            assert one.measured.at(level) == other.measured.at(level)


@pytest.mark.nightly
def test_many_nodes_are_exact_and_as_predicted() -> None:
    some = tasks(Random("many"), 60, 30, stalls=False)
    judge_cycles(some, run(some))
    run(tasks(Random("many, stalled"), 60, 30, stalls=True))


@pytest.mark.parametrize(
    ("master", "code"), [("vector_i", VectorError.READ_BUS), ("vector_o", VectorError.WRITE_BUS)]
)
def test_an_error_at_its_port_stops_the_program_with_the_number_of_the_unit(master: str, code: VectorError) -> None:
    (task,) = tasks(Random("fault"), 1, 9, stalls=False)
    (job,) = task.program.jobs
    place = job.input if master == "vector_i" else job.output
    model = load_cluster(CLUSTER, dram_log2=18)
    outcome = run_clusters(model, replace(task.job, tcdm_error=(master, place)))
    assert outcome.only.error == ClusterError.HWC
    assert outcome.only.registers["fault_detail"] == code | CLUSTER.hwcs << 8
    assert outcome.only.registers["fault_address"] == place
    assert judge_vector(task, run_clusters(model, replace(task.job, reset=False))).failures == ()


@pytest.mark.icarus
def test_icarus_counts_the_same(icarus: None) -> None:
    some = tasks(Random("icarus"), 2, 5, stalls=True)
    for task, outcome in zip(
        some, clusters_in_bench(CLUSTER, [t.job for t in some], simulator="icarus"), strict=True
    ):
        other = run_clusters(load_cluster(CLUSTER, dram_log2=18), task.job)
        assert judge_vector(task, outcome).failures == ()
        assert (outcome.cycles, outcome.only.tcdm, outcome.only.dram) == (
            other.cycles,
            other.only.tcdm,
            other.only.dram,
        )


@pytest.mark.icarus
@pytest.mark.parametrize("elements", [*(pytest.param(n, marks=pytest.mark.nightly) for n in (2, 4)), 8])
def test_units_that_take_several_elements_are_exact_and_as_predicted(elements: int, icarus: None) -> None:
    """One node of each kind, without stalls and with them."""
    cluster = replace(CLUSTER, hwcs=1, vector_elements=elements)
    some = [
        *tasks(Random(f"{elements} free"), 7, 9, stalls=False, cluster=cluster),
        *tasks(Random(f"{elements} stalled"), 2, 5, stalls=True, cluster=cluster),
    ]
    outcomes = clusters_in_bench(cluster, [task.job for task in some], simulator="icarus")
    results = [judge_vector(task, outcome) for task, outcome in zip(some, outcomes, strict=True)]
    wrong = [f"{task.job.name}: {one.failures}" for task, one in zip(some, results, strict=True) if one.failures]
    assert not wrong, wrong
    judge_cycles(some[:7], results[:7])


@pytest.mark.nightly
@pytest.mark.parametrize("elements", [2, 4, 8])
def test_many_nodes_on_units_that_take_several_elements(elements: int) -> None:
    cluster = replace(CLUSTER, vector_elements=elements)
    some = tasks(Random(f"many on {elements}"), 60, 40, stalls=False, cluster=cluster)
    judge_cycles(some, run(some, cluster))
    run(tasks(Random(f"many on {elements}, stalled"), 30, 30, stalls=True, cluster=cluster), cluster)


def test_a_wrong_output_and_a_wrong_count_are_found() -> None:
    (task,) = tasks(Random("wrong"), 1, 5, stalls=False)
    outcome = run_clusters(load_cluster(CLUSTER, dram_log2=18), task.job)
    outcome.memory.view(np.int8)[task.output.base] ^= 1
    master, region, written = next(key for key in outcome.only.tcdm if key[0] == "vector_i")
    words, size = outcome.only.tcdm[master, region, written]
    more = replace(outcome.only, tcdm={**outcome.only.tcdm, (master, region, written): (words + 1, size + 4)})
    outcome = replace(outcome, units=(more,))
    failures = judge_vector(task, outcome).failures
    assert any("elements are wrong, the first at [c, y, x] = [0, 0, 0]" in line for line in failures)
    assert any(line.startswith("I read at tcdm:") for line in failures)
