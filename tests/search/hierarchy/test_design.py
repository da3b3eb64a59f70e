"""The space of a design, and what is chosen from a table of energies."""

from itertools import pairwise

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.schedule import Bits
from hwgen.search.hierarchy.design import DesignSpace, Point, design_of, table_sizes


def sizes_of(budget: int, memories: int, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    space = DesignSpace(budget, memories, sizes, Lanes(m=16), Bits())
    return [tuple(level.total or 0 for level in one.inner) for one in space.hierarchies()]


def test_the_space_by_hand() -> None:
    assert table_sizes(9000) == (512, 2048, 8192)
    assert sizes_of(4096, 2, (512, 2048)) == [(512,), (2048,), (4096,)]
    # Two levels inside the DRAM: the outer one of an allowed size, or what is left beside the inner one.
    assert sizes_of(4096, 3, (512, 2048))[1:] == [(2048,), (2048, 512), (3584, 512), (4096,)]
    # 1024 is what 512 and 256 leave.
    assert (1024, 512, 256) in sizes_of(1792, 4, (256, 512))
    for stack in sizes_of(1 << 20, 4, table_sizes(1 << 20)):
        assert all(outer >= 2 * inner for outer, inner in pairwise(stack))
    with pytest.raises(InputError, match="a budget of 100 bytes: expected room for a level of 512 bytes"):
        sizes_of(100, 3, (512,))


def test_what_is_chosen() -> None:
    hierarchies = DesignSpace(1 << 16, 3, table_sizes(1 << 16), Lanes(m=16), Bits()).hierarchies()[:12]
    # Two layers: the first is best on hierarchy 2, the second on 5, both together on 4.
    first = [50.0, 40.0, 10.0, 20.0, 12.0, 30.0, 45.0, 46.0, 47.0, 48.0, 49.0, 51.0]
    second = [90.0, 60.0, 50.0, 40.0, 20.0, 10.0, 55.0, 56.0, 57.0, 58.0, 59.0, 95.0]
    points = [
        Point(hierarchy, energies, (energies[0] - 1, energies[1] - 2))
        for hierarchy, energies in zip(hierarchies, zip(first, second, strict=True), strict=True)
    ]
    found = design_of(points[::-1])
    assert found.best is points[4]
    assert (found.best.energy, found.bound, found.energy_of_own) == (32.0, 29.0, 20.0)
    assert found.gap == pytest.approx(3 / 29)
    assert [points.index(one) for one in found.own] == [2, 5]
    assert found.shortlisted is points[4]
    assert [points.index(one) for one in found.front] == [0, 1, 2, 4]
    assert [one.area for one in found.front] == sorted(one.area for one in found.front)


def test_no_hierarchy_may_be_among_the_ten_best_of_every_layer() -> None:
    hierarchies = DesignSpace(1 << 20, 3, table_sizes(1 << 20), Lanes(m=16), Bits()).hierarchies()[:20]
    points = [Point(one, (float(i), float(20 - i)), (0.0, 0.0)) for i, one in enumerate(hierarchies)]
    assert design_of(points).shortlisted is None
