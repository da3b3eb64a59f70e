"""The search on hierarchies against every nest of small layers, and its bound."""

from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.lanes import ONE_LANE
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Bits
from hwgen.search.hierarchy.bound import lower_bound
from hwgen.search.hierarchy.optimal import HierarchyResult, costs_of, search_hierarchy
from hwgen.search.hierarchy.tables import layer_tables
from hwgen.search.objectives.of_hierarchy import goal_of
from tests.random.hierarchy_brute_force import least_cost, small_case

QUICK = 3
CHUNKS, PER_CHUNK = 4, 80
SAME = 1e-9


def compare(seed: int, number: int) -> tuple[int, int]:
    """Search and bounds of random small layers against all nests.

    Returns how many were proven, and for how many the bound of all levels together is above that of levels alone.
    """
    rng = Random(seed)
    proven = better = 0
    for _ in range(number):
        layer, hierarchy = small_case(rng, rng.choice((1, 2, 2)))
        objective = rng.choice(("energy", "energy", "dram"))
        fills = objective == "energy" and rng.random() < 0.3
        least = least_cost(layer, hierarchy, objective, fills=fills)
        found = search_hierarchy(layer, hierarchy, objective, fills=fills, effort=0.3)
        where = (layer.model_dump(), hierarchy.as_data(), objective, fills)
        assert found.value == pytest.approx(least, rel=SAME), where
        assert found.bound <= least * (1 + SAME), where
        assert {type(found.value), type(found.bound), type(found.gap)} == {float}, where
        proven += found.gap == 0
        alone, together = bounds(layer, hierarchy, objective, 1.5 * least, fills=fills)
        assert max(alone, together) <= least * (1 + SAME), where
        better += together > alone * (1 + SAME)
    return proven, better


def bounds(layer: Layer, hierarchy: Hierarchy, objective: str, known: float, *, fills: bool) -> tuple[float, float]:
    """The bounds of every level alone and of all together, where only a nest of cost ``known`` is known."""
    goal = goal_of(hierarchy, objective, fills=fills)
    tables = layer_tables(layer, hierarchy.lanes or ONE_LANE, hierarchy.bits or Bits())
    costs, macs = costs_of(tables, hierarchy, goal), goal.mac * layer.macs
    return lower_bound(tables, costs) + macs, lower_bound(tables, costs, known - macs, 5_000) + macs


def test_search_finds_the_least_of_all_nests() -> None:
    assert compare(2016, QUICK)[0] >= QUICK // 2


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_search_finds_the_least_of_all_nests_of_many(chunk: int) -> None:
    proven, better = compare(chunk, PER_CHUNK)
    assert proven >= PER_CHUNK // 2
    assert better >= 1


def test_levels_together_are_bounded_more_tightly_than_alone() -> None:
    layer = Layer(name="cube", input_channels=12, output_channels=16, input_height=14, input_width=14, kernel=3)
    levels = [{"name": "dram"}, {"name": "sram", "bytes": 2000}, {"name": "reg", "bytes": 150}]
    hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": levels})
    found = search_hierarchy(layer, hierarchy, effort=0.05)
    alone, together = bounds(layer, hierarchy, "energy", found.value, fills=False)
    assert alone * 1.01 < together <= found.bound <= found.value


def test_a_stride_beyond_the_step_of_the_kernel() -> None:
    """Where I slides along the kernel it would be fetched anew: the search says so itself if the model differs."""
    rng = Random(4)
    for number in range(8):
        kernel, stride = (rng.randint(3, 6), rng.randint(1, 6)), (rng.randint(2, 4), rng.randint(1, 3))
        out = rng.randint(3, 9), rng.randint(1, 9)
        size = [(one - 1) * step + taps for one, step, taps in zip(out, stride, kernel, strict=True)]
        layer = Layer(
            name=f"strided_{number}", input_channels=rng.randint(1, 5), output_channels=rng.randint(1, 6),
            input_height=size[0], input_width=size[1], kernel=kernel, stride=stride,
        )  # fmt: skip
        levels = [{"name": "dram"}, {"name": "sram", "bytes": rng.choice((200, 900))}, {"name": "reg", "bytes": 60}]
        hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": levels})
        found = search_hierarchy(layer, hierarchy, effort=0.1)
        assert found.bound <= found.value


def _found(objective: str = "energy") -> HierarchyResult:
    layer, hierarchy = small_case(Random(5), 2)
    return search_hierarchy(layer, hierarchy, objective, effort=0.3)


def test_equal_input_gives_equal_output() -> None:
    assert _found().schedule == _found().schedule


def test_value_is_what_the_model_counts() -> None:
    found = _found("dram")
    served = sum(found.counts.served.operand_bytes(operand, "dram") for operand in ("I", "W", "O"))
    assert found.value == served
    assert _found().value == pytest.approx(_found().energy.total)


def test_unknown_objective() -> None:
    with pytest.raises(InputError, match="--objective: expected energy or a level"):
        _found("words")


def test_bytes_of_a_level_that_nothing_needs() -> None:
    layer, _ = small_case(Random(1), 1)
    levels = [{"name": "dram"}, {"name": "sram", "bytes": 64}, {"name": "reg", "bytes": 8}]
    hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": levels})
    found = search_hierarchy(layer, hierarchy, "sram", effort=0.1)
    assert (found.value, found.gap) == (0, 0)


def test_rows_in_a_cache_take_whole_lines() -> None:
    """Sixteen floats a line: columns of O by hand, I with a halo; a search with lines fits and costs no less."""
    layer = Layer(name="rows", input_channels=4, output_channels=8, input_height=6, input_width=58, kernel=3)
    bits = Bits(I=32, W=32, O=32, acc=32)
    tables = layer_tables(layer, ONE_LANE, bits, line=64)
    assert [tables.wide[step] for step in (1, 12, 16, 32, 40, 56)] == [16, 32, 16, 32, 48, 64]
    assert [tables.columns[0, 1, step] for step in (12, 14, 16, 56)] == [32, 32, 32, 64]
    plain = layer_tables(layer, ONE_LANE, bits)
    assert (tables.columns[:, 0] == plain.columns[:, 0]).all()
    assert [plain.wide[step] for step in (1, 12, 56)] == [1, 12, 56]
    levels = [{"name": "dram"}, {"name": "l1", "bytes": 2048}]
    cache = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": levels})
    without, lines = (search_hierarchy(layer, cache, bits=bits, effort=0.05, line=line) for line in (0, 64))
    assert without.bound <= lines.bound * (1 + 1e-9)
    assert without.value < lines.value
