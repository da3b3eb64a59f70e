"""Random small schedules of clusters on clusters of four HWCs: every access at both levels, and every output."""

from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random

import pytest

import hwgen.lower.cluster.program
from cosim.cluster.model import load_cluster
from cosim.cluster.preparation import ClusterTask, prepare_cluster
from cosim.cluster.results import cosimulate_clusters
from cosim.cluster.run import run_clusters
from cosim.device.device import dram_depth
from cosim.device.result import LayerResult
from hwgen.arch.commands import Opcode
from hwgen.arch.dram import Dram
from hwgen.arch.registers.errors import ClusterError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes, Ports
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.cluster.levels import normalised, over_loops, tile_depth
from hwgen.model.cluster.placement import TcdmPlacement, place, place_in
from hwgen.model.cluster.residence import Residence
from hwgen.search.cluster.fewest_cycles import search_fewest_cycles
from tests.random.clusters import cluster_schedules
from tests.random.layers import HWCS, hwc, order_from, random_layer

CLUSTERS = ("fig8", "everything")
SIMULATED = ("fig8", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("everything", "window")))
PORTS = {
    "fig8": Ports(I=64, O=128),
    "columns": Ports(W=64, O=64),
    "rows": Ports(I=128, W=256),
    "sixty_four": Ports(I=64, W=128, O=64),
}
"""Of all others 32 bits."""
CASES = 24
"""On each of them."""
TIMING = Dram(latency=20, miss_cycles=30, block_cycles=18.0)
MOST_ERROR, MEAN_ERROR = 0.06, 0.02
"""By which the cycles of such small programs may be predicted wrong: of any of them, in the mean of all."""


def hardware(name: str) -> Hardware:
    """On the one that every run simulates, HWCs read together; on the others each reads for itself.

    The cycles of tiny layers of 8 bits are compared; where only counts and outputs are, there are layers of 16 bits.
    """
    one = hwc(name)
    cluster, ports = Cluster(tcdm=1 << 16, multicast=name == "fig8"), PORTS.get(name, Ports())
    bits = 8 if name in CLUSTERS else one.operand_bits
    return one.model_copy(update={"operand_bits": bits, "ports": ports, "cluster": cluster})


@cache
def cases(name: str) -> list[Schedule]:
    return cluster_schedules(hardware(name), Random(f"other {name}"), CASES)


def check(results: list[LayerResult]) -> None:
    wrong = [f"{result.schedule.as_data()}: {result.failures}" for result in results if not result.passed]
    assert not wrong, wrong


def check_cycles(results: list[LayerResult]) -> None:
    errors = [abs(result.predicted_cycles / result.cycles - 1) for result in results]
    assert max(errors) <= MOST_ERROR
    assert sum(errors) <= MEAN_ERROR * len(errors)


@pytest.mark.parametrize("name", SIMULATED)
def test_counts_and_outputs_at_full_rate_and_with_random_stalls(name: str) -> None:
    free = cosimulate_clusters(cases(name), hardware(name), fast=False)
    check(free)
    check_cycles(free)
    every = 2 if name == "fig8" else 1  # of the one that every run simulates half of the cases
    stalled = cosimulate_clusters(cases(name)[::every], hardware(name), fast=False, stalls=True, timing=TIMING)
    check(stalled)
    for one, other in zip(free[::every], stalled, strict=True):
        assert one.measured == other.measured  # row misses included
        assert one.cycles < other.cycles


def test_operands_in_halves() -> None:
    """The same nests, with some operands in two halves: each tile is fetched anew."""
    rng, chosen, halved = Random("halves"), [], Counter[str]()
    for case in cases("fig8")[:12]:
        arrays = rng.sample(ARRAYS, rng.randint(1, 3))
        nest = tuple(
            replace(item, double="halves")
            if isinstance(item, Marker) and item.level == TCDM and item.arrays[0] in arrays
            else item
            for item in case.nest
        )
        schedule = case.model_copy(update={"nest": nest})
        if place(normalised(schedule, 4)).size <= 1 << 16:
            chosen.append(schedule)
            halved.update(array for array in ARRAYS if schedule.in_halves(array))
    assert min(halved[array] for array in ARRAYS) >= 4
    free = cosimulate_clusters(chosen, hardware("fig8"), fast=False)
    check(free)
    check_cycles(free)
    check(cosimulate_clusters(chosen, hardware("fig8"), fast=False, stalls=True, timing=TIMING))


@pytest.mark.parametrize("name", SIMULATED)
def test_cycles_with_a_dram_that_takes_its_time(name: str) -> None:
    check_cycles(cosimulate_clusters(cases(name), hardware(name), fast=False, timing=TIMING))


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "requantisers"), [("two_tiles", 1), ("squares", 4)])
def test_clusters_that_scale_the_sums_of_channels(name: str, requantisers: int) -> None:
    update = {"operand_bits": 8, "requantisation": "scaled", "requantisers": requantisers}
    scaling = hardware(name).model_copy(update=update)
    schedules = cluster_schedules(scaling, Random(f"scaled {name}"), CASES)
    free = cosimulate_clusters(schedules, scaling, fast=False)
    check(free)
    check_cycles(free)
    check(cosimulate_clusters(schedules, scaling, fast=False, stalls=True, timing=TIMING))


@pytest.mark.parametrize("held", [3, 2])
def test_groups_of_which_an_hwc_takes_a_part_of_the_channels(held: int) -> None:
    """A tile of I holds ``held`` channels of each of the two groups, of which an HWC computes with one at a time."""
    layer = Layer(
        name="grouped", input_channels=6, output_channels=4, input_height=5, input_width=18, kernel=3, padding=1,
        groups=2,
    )  # fmt: skip
    tiles = (Marker(("I",), TCDM), Marker(("O",), TCDM), Loop("c", held), Marker(("W",), TCDM))
    slices = (Loop("k", 2), Loop("c", 1), Loop("y", 2, over="hwc"))
    local = iter((2, 1, 16, 1, 1, 1, 1, 1))
    order = [item if isinstance(item, Marker) else Loop(item, next(local)) for item in hardware("fig8").order or ()]
    schedule = cases("fig8")[0].model_copy(update={"layer": layer, "nest": (*tiles, *slices, *order)})
    check(cosimulate_clusters([schedule], hardware("fig8"), fast=False))


def test_each_schedule_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    schedules, compiled = cases("fig8")[:2], []

    def counted(schedule: Schedule, tcdm: int, residence: Residence) -> TcdmPlacement:
        compiled.append(schedule.layer.name)
        return place_in(schedule, tcdm, residence)

    monkeypatch.setattr(hwgen.lower.cluster.program, "place_in", counted)
    check(cosimulate_clusters(schedules, hardware("fig8"), fast=False))
    assert compiled == [schedule.layer.name for schedule in schedules]


def test_the_layers_of_a_set_run_on_one_cluster() -> None:
    """As the search finds their schedules for it, of fewest cycles: no cluster of their own is built."""
    machine, rng = hardware("fig8"), Random("a set on one cluster")
    timed, runs = (judge_of(machine, timed=timed) for timed in (True, False))
    layers = [random_layer(rng, f"layer_{number}", 20_000) for number in range(4)]
    found = [search_fewest_cycles(layer, machine, timed=timed, runs=runs).schedule for layer in layers]
    (parameters,) = {prepare_cluster(case, machine).program.hardware for case in cases("fig8")}
    assert {prepare_cluster(schedule, machine).program.hardware for schedule in found} == {parameters}
    results = cosimulate_clusters(found, machine, fast=False)
    check(results)
    assert all(abs(one.predicted_cycles / one.cycles - 1) <= MOST_ERROR for one in results)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(HWCS) - set(CLUSTERS)))
def test_every_order_of_the_loops_on_a_cluster(name: str) -> None:
    results = cosimulate_clusters(cases(name), hardware(name), fast=False, stalls=True, timing=TIMING)
    check(results)


def test_the_cases_reach_every_corner() -> None:
    seen: Counter[str] = Counter()
    for name in ("fig8",):  # what every run simulates
        for case in cases(name):
            program = prepare_cluster(case, hardware(name)).program
            loops, tiles = program.schedule.loops, program.placement.walk.tiles
            outer = loops[: tile_depth(program.schedule)]
            sizes = {tuple(high - low for low, high in tile) for tile in tiles}
            turning = sum(step < extent for step, extent in steps(program.schedule, len(outer)))
            seen["two loops with edge tiles"] += turning >= 2 and len(sizes) >= 2
            seen["partial sums that leave the TCDM"] += any(stay.new for stay in program.placement.O.stays)
            seen["inputs that slide"] += any(stay.new not in ((), stay.touch) for stay in program.placement.I.stays)
            slices = "".join(loops[index].dim for index in over_loops(program.schedule)) or "none"
            seen[f"slices over {slices}"] += 1
            seen["eight tiles"] += len(tiles) >= 8
            seen["all rings wrap"] += all(
                program.placement[array].stays[-1].high > program.placement[array].size for array in ARRAYS
            )
    assert min(seen.values()) >= 3, seen
    assert {"slices over m", "slices over y", "slices over my", "slices over ym"} <= set(seen)


def spared(task: ClusterTask) -> dict[str, int]:
    """The words of each operand that are not read at the TCDM, since HWCs read them together: as predicted."""
    alone = predict_cluster(task.program.schedule, task.program.cluster.hwcs).counts
    return {array: alone["tcdm", array, "read"].words - task.counts["tcdm", array, "read"].words for array in ARRAYS}


def test_hwcs_that_read_together_read_fewer_words() -> None:
    """That they read as many as predicted, and that the outputs are right, is tested above."""
    seen: Counter[str] = Counter()
    for case in cases("fig8"):
        task = prepare_cluster(case, hardware("fig8"))
        fewer = spared(task)
        assert fewer["O"] == 0
        told = any(command.opcode is Opcode.MULTICAST for command in task.program.commands)
        assert told == any(fewer.values())
        seen += Counter(array for array, words in fewer.items() if words > 0)
    assert min(seen["I"], seen["W"]) >= 4


def test_an_error_of_one_who_reads_for_others_stops_all_of_them() -> None:
    """None waits for those that have stopped; and the next program runs as if nothing had been."""
    tasks = [prepare_cluster(case, hardware("fig8")) for case in cases("fig8")]
    task = next(task for task in tasks if spared(task)["W"] > 0)
    model = load_cluster(task.program.hardware, dram_log2=dram_depth(len(task.job.image)), fast=False)
    weights = task.program.placement.W
    first = weights.physical(weights.stays[0].low)
    outcome = run_clusters(model, replace(task.job, tcdm_error=("hwc0_w", first)))
    assert ClusterError(outcome.only.error) is ClusterError.HWC
    assert outcome.irq == (True, False)
    assert not outcome.violations
    assert run(task)


def steps(schedule: Schedule, loops: int) -> list[tuple[int, int]]:
    """Step and what it cuts, of the first loops."""
    left, result = dict(schedule.layer.extents), []
    for loop in schedule.loops[:loops]:
        result.append((loop.step, left[loop.dim]))
        left[loop.dim] = loop.step
    return result


def run(task: ClusterTask) -> bool:
    model = load_cluster(task.program.hardware, dram_log2=dram_depth(len(task.job.image)), fast=False)
    outcome = run_clusters(model, task.job)
    return outcome.done and bool((task.program.output(outcome.memory) == task.expected).all())


def test_a_program_without_its_tokens_goes_wrong() -> None:
    """What holds the HWCs back until their operands are there, and stores until outputs are."""
    tasks = [prepare_cluster(case, hardware("fig8"), timing=TIMING) for case in cases("fig8")[:3]]
    assert all(map(run, tasks))
    assert not any(run(_without_tokens(task)) for task in tasks if len(task.program.placement.walk.tiles) > 1)


def _without_tokens(task: ClusterTask) -> ClusterTask:
    program = task.program
    bare = [
        replace(command, takes=frozenset(), posts=frozenset()) if command.opcode is not Opcode.END else command
        for command in program.commands
    ]
    program = replace(program, commands=tuple(bare))
    image = task.job.image.copy()
    image[program.layout.program // 4 :][: len(program.words)] = program.words
    return replace(task, program=program, job=replace(task.job, image=image))


def test_nothing_overlaps_in_the_serial_program() -> None:
    chosen = cases("fig8")[:8]
    serial = cosimulate_clusters(chosen, hardware("fig8"), fast=False, serial=True, timing=TIMING)
    check(serial)
    beside = cosimulate_clusters(chosen, hardware("fig8"), fast=False, timing=TIMING)
    assert sum(result.cycles for result in serial) > 1.1 * sum(result.cycles for result in beside)


@pytest.mark.nightly
def test_cycles_where_the_banks_are_busy_all_the_time() -> None:
    """Twelve ports of HWCs and those of the DMA at four banks, which make the work nearly twice as long."""
    layer = Layer(
        name="busy", input_channels=3, output_channels=8, input_height=96, input_width=96, kernel=3, stride=2,
        padding=(0, 0, 1, 1),
    )  # fmt: skip
    nest = (
        *(Marker(ARRAYS, TCDM), Loop("x", 7), Loop("y", 12, "hwc"), Loop("m", 8), Loop("y", 3), Loop("x", 7)),
        *(Marker(("O",)), Loop("c", 3), Marker(("I",)), Loop("k", 1), Marker(("W",)), Loop("l", 1)),
        *(Loop("m", 8), Loop("y", 1), Loop("x", 1)),
    )
    lanes = Lanes(m=8, c=8)
    busy = Hardware(
        name="busy",
        lanes=lanes,
        budget=4096,
        buffers={"I": 1024, "W": 512, "O": 2560},
        order=order_from("m y x O c I k W l m y x"),
        requantisation="scaled",
        cluster=Cluster(hwcs=4, tcdm=1 << 17, banks=4),
    )
    schedule = Schedule(layer=layer, nest=nest, lanes=lanes, bias_words=64, requantisation="scaled")
    (result,) = cosimulate_clusters([schedule], busy, fast=False)
    check([result])
    assert result.predicted_cycles == pytest.approx(result.cycles, rel=0.03)
