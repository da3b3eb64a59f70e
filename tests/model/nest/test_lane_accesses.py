"""What lanes with registers access, against the literal walk and against a hierarchy with the lanes as a level."""

import pytest

from hwgen.ir.counts import Access, Key
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.level import level_named
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.cluster.levels import normalised, run_depth
from hwgen.model.energy import datapath_counts
from hwgen.model.nest.hierarchy_counts import counts_of
from hwgen.model.nest.lane_accesses import LaneLevel, with_output_at_reduction
from hwgen.model.nest.one_level import predict
from hwgen.model.nest.ranges import Nest
from hwgen.model.nest.traffic import Held, new_groups
from tests.oracles.lane_walk import walk_lanes
from tests.random.cluster_nests import cluster_cases
from tests.random.nests import cases

WAYS = (("I", "read"), ("W", "read"), ("O", "read_partial"), ("O", "write_partial"), ("O", "write"))


def with_registers(schedule: Schedule) -> Schedule:
    return schedule.model_copy(update={"lane_registers": True})


def local_words(accesses: dict[Key, Access]) -> dict[tuple[str, str], int]:
    return {(operand, way): access.words for (level, operand, way), access in accesses.items() if level == "local"}


def runs_on_an_hwc(schedule: Schedule) -> bool:
    """A tile of the input is of one group of channels there."""
    lowest, beyond, _ = new_groups(Nest(schedule), Held.at(schedule, "I"))
    return bool((beyond - lowest <= 1).all())


@pytest.mark.parametrize("number", [200, pytest.param(4000, marks=pytest.mark.nightly)])
def test_vectors_are_those_of_the_walk(number: int) -> None:
    stays = set()
    for schedule in filter(runs_on_an_hwc, cases(31, number)):
        runnable = with_output_at_reduction(schedule)
        (walked,) = walk_lanes(runnable)
        found = local_words(predict(with_registers(schedule)).counts.accesses)
        assert found == {way: walked[way] for way in WAYS}, schedule.as_data()
        depth = len(runnable.loops)
        stays |= {array for array, at in LaneLevel(schedule).depths.items() if at < depth}
    assert stays == set(ARRAYS)


def test_vectors_of_each_hwc_are_those_of_the_walk() -> None:
    for schedule, hwcs in cluster_cases(32, 120):
        if not runs_on_an_hwc(schedule):
            continue
        found = predict_cluster(with_registers(schedule), hwcs)
        nest = normalised(schedule, hwcs)
        walked = walk_lanes(LaneLevel(nest, run_depth(nest)).nest.schedule, hwcs, run_depth(nest))
        for counts, one in zip(found.hwcs, walked, strict=True):
            assert local_words(counts.accesses) == {way: one[way] for way in WAYS}, schedule.as_data()
        together = local_words(found.counts.accesses)
        assert together == {way: sum(one[way] for one in walked) for way in WAYS}


def test_nothing_is_counted_without_registers() -> None:
    schedule = next(iter(cases(33, 1)))
    assert {level for level, _, _ in predict(schedule).counts.accesses} == {"tcdm"}


LAYER = Layer(
    name="whole", input_channels=8, output_channels=12, input_height=5, input_width=6, kernel=3
)  # no padding, and channels that divide by the lanes
LANES = Lanes(m=4, c=4)
THREE = Hierarchy.from_data({
    "format": 1, "kind": "hierarchy", "name": "three",
    "levels": [{"name": "tcdm"}, {"name": "local", "bytes": 1 << 20}, {"name": "lanes", "bytes": 64}],
})  # fmt: skip


@pytest.mark.parametrize(
    ("order", "stays", "once"),
    [
        # 3 groups of output channels in 2 tiles, 2 of input channels, 12 pixels, 9 taps: 648 operations.
        ("m y x O c IW k l c m", "I", {"I": 2 * 12 * 2 * 9, "W": 648, "O": 648}),
        ("m c O IW k l c m x y", "W", {"I": 648, "W": 3 * 2 * 9, "O": 648}),
        ("m y x m y x O c IW k l", "O", {"I": 648, "W": 648, "O": 3 * 12}),
    ],
)
def test_the_lanes_are_a_level_of_a_hierarchy(order: str, stays: ArrayName, once: dict[str, int]) -> None:
    """Where every vector is full, its bytes are those that the level outside serves a level of the lanes."""
    schedule = with_registers(_schedule(order))
    level = LaneLevel(schedule)
    assert [array for array, depth in level.depths.items() if depth < len(schedule.loops)] == [stays]
    nest, loops = list[Loop | Marker](), 0
    for item in schedule.nest:
        if isinstance(item, Loop) and loops == level.depths[stays]:
            nest.append(Marker((stays,), level_named("lanes")))
        nest.append(item)
        loops += isinstance(item, Loop)
    marked = counts_of(schedule.model_copy(update={"nest": tuple(nest)}), THREE).served
    served, vector = datapath_counts(schedule), {"I": LANES.c, "W": LANES.product, "O": LANES.m}
    for (array, way), flow in level.flows().items():
        assert served["local", array, way].bytes == marked["local", array, way].bytes
        assert served["local", array, way].elements == flow.access.words * vector[array]
    written = level.flows()["O", "write"].access.words + level.flows()["O", "write_partial"].access.words
    read = {array: level.flows()[array, "read"].access.words for array in ("I", "W")}  # type: ignore[index]
    assert {**read, "O": written} == once


def _schedule(order: str) -> Schedule:
    steps, nest = dict(LAYER.extents), list[Loop | Marker]()
    last = {word: index for index, word in enumerate(order.split())}
    for index, word in enumerate(order.split()):
        if word.isupper():
            nest.append(Marker(tuple(word)))  # type: ignore[arg-type]
            continue
        steps[word] = LANES.along(word) if index == last[word] else min(steps[word], 8)  # type: ignore[index, arg-type]
        nest.append(Loop(word, steps[word]))  # type: ignore[arg-type, index]
    return Schedule(layer=LAYER, nest=tuple(nest), lanes=LANES)


def test_energy_of_the_local_memories_is_less() -> None:
    schedule = _schedule("m y x m y x O c IW k l")
    without, with_them = datapath_counts(schedule), datapath_counts(with_registers(schedule))
    assert with_them["local", "I", "read"].bytes == without["local", "I", "read"].bytes
    partial = without["local", "O", "read_partial"].elements
    assert partial == 12 * 12 * (18 - 1)  # a read of a sum for each operation but the first
    assert with_them["local", "O", "read_partial"].elements == 0
