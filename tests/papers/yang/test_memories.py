"""Memories and blocking chosen together: sizes that are needs, budgets, and our search on the same memories."""

from itertools import pairwise

import pytest

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS
from hwgen.model.nest.hierarchy_counts import counts_of
from hwgen.papers.yang.memories import BITS, MemorySpace, fitted_memories
from hwgen.search.hierarchy.optimal import SAME, search_hierarchy

LAYER = Layer(name="cube", input_channels=12, output_channels=16, input_height=14, input_width=14, kernel=3)
SPACE = MemorySpace(2, Lanes.parse("m4c4"), 128)
BUDGETS = (600, 3000)


def test_the_best_memories_are_as_large_as_the_schedule_needs() -> None:
    found = fitted_memories(LAYER, SPACE, BUDGETS, effort=0.1)
    for budget, runs in zip(BUDGETS, found, strict=True):
        assert [one.energy for one in runs] == sorted(one.energy for one in runs)
        for one in runs:
            need = counts_of(one.schedule, one.hierarchy).need_bytes
            for level in one.hierarchy.inner:
                assert all(need[level.name][operand] <= (level.size_for(operand) or 0) for operand in ARRAYS)
            assert one.bytes <= budget
            assert one.schedule.bits == BITS
        best = runs[0]
        need = counts_of(best.schedule, best.hierarchy).need_bytes
        assert best.bytes == sum(need[level.name].total for level in best.hierarchy.inner)
        on_the_same = search_hierarchy(LAYER, best.hierarchy, effort=0.02)
        assert on_the_same.bound <= best.energy * (1 + SAME)
    assert all(later[0].energy <= before[0].energy for before, later in pairwise(found))
    # Memories of the same room that are not made for the schedule cost no less.
    given = Hierarchy.from_data({
        "format": 1, "kind": "hierarchy", "name": "given", "width": SPACE.width, "lanes": SPACE.lanes.as_data(),
        "levels": [{"name": "dram"}, {"name": "sram", "bytes": {"I": 1600, "W": 800, "O": 600}}],
        "bits": BITS.model_dump(),
    })  # fmt: skip
    assert found[-1][0].energy <= search_hierarchy(LAYER, given, effort=0.02).value


def test_budgets_ascend_and_are_no_drams() -> None:
    for budgets in ((200, 100), (1 << 25,)):
        with pytest.raises(ValueError, match="ascending budgets"):
            fitted_memories(LAYER, SPACE, budgets)
