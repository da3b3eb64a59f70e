"""The strings of Yang et al. 2016: buffers against Table 2, packing by hand, the best string against other ways."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hwgen.ir.lanes import ONE_LANE
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Bits
from hwgen.model.nest.hierarchy_counts import counts_of, require_fit
from hwgen.papers.yang.strings import best_string, buffers_of, pack, strings, tiles_of
from hwgen.search.hierarchy.optimal import costs_of, objective_value, search_hierarchy
from hwgen.search.hierarchy.tables import layer_tables
from hwgen.search.objectives.of_hierarchy import goal_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LAYER = Layer(name="cube", input_channels=8, output_channels=16, input_height=14, input_width=14, kernel=3)
BITS = Bits(I=16, W=16, O=16, acc=16)


def _hierarchy(*sizes: int) -> Hierarchy:
    inner = [{"name": f"level{number}", "bytes": size} for number, size in enumerate(sizes)]
    data = {
        "format": 1,
        "kind": "hierarchy",
        "name": "h",
        "bits": BITS.model_dump(),
        "levels": [{"name": "dram"}, *inner],
    }
    return Hierarchy.from_data(data)


def test_strings_are_all_orders_of_eight_parts_with_four_pairs_in_order() -> None:
    found = strings()
    assert len(found) == len({tuple(one.tolist()) for one in found}) == 2520  # 8! / 2^4
    assert all(sorted(one.tolist()) == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6] for one in found)


def test_tiles_are_halved() -> None:
    tiles = tiles_of(layer_tables(LAYER, ONE_LANE, BITS))
    assert sorted(set(tiles[:, 1].tolist())) == [1, 2, 4, 8, 16]
    assert sorted(set(tiles[:, 3].tolist())) == [1, 2, 3, 6, 12]
    assert len(tiles) == 5 * 4 * 5 * 5
    assert (tiles[:, [0, 5, 6]] == 1).all()


def test_buffers_are_those_of_table_2() -> None:
    """The string FwFh X0Y0 C0 K0 C1 X1Y1 K1 with 6 x 6 outputs, 4 and 2 channels in a tile, by hand."""
    tables = layer_tables(LAYER, ONE_LANE, BITS)
    costs = costs_of(tables, _hierarchy(4000), goal_of(_hierarchy(4000), "energy", fills=False))
    loops = np.array([1, 0, 3, 4, 2, 1, 2, 3, 4, 5, 6])  # outermost first
    full = [1, 16, 8, 12, 12, 3, 3]

    def found(tile: list[int]) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        steps = np.array([full] * 12)
        for row, axis in enumerate(loops.tolist()):
            steps[row + 1 :, axis] = 1 if axis in loops[:row] else tile[axis]
        number, rows = np.zeros(3, np.int64), np.zeros((3, 12), np.int64)
        rooms, moved, accesses = np.zeros((3, 12)), np.zeros((3, 12)), np.zeros((3, 12))
        buffers_of(costs, loops, steps, number, rows, rooms, moved, accesses)
        return number, rows, rooms, moved, accesses

    number, rows, rooms, moved, accesses = found([1, 4, 2, 6, 6, 1, 1])
    assert number.tolist() == [4, 2, 3]
    # I: (6 + 3 - 1)^2 for two channels outside K0; outside K1 all of it.
    assert rooms[0, :2].tolist() == [2 * 14 * 14 * 8, 2 * 8 * 8 * 2]
    # W: outside X1 all input channels of 4 output channels; outside X0 one of each.
    assert rows[1, :2].tolist() == [2, 7]
    assert rooms[1, :2].tolist() == [2 * 9 * 4 * 8, 2 * 9]
    # O: a tile outside C1, then one output channel of it outside C0, then one sum.
    assert rooms[2, :3].tolist() == [2 * 4 * 36, 2 * 36, 2]
    # Every weight goes once into the outer buffer, and from there into the inner one for each of four tiles.
    assert moved[1, 0] == 2 * 16 * 8 * 9
    assert accesses[1, 0] == 4 * 16 * 8 * 9
    # Sums leave the tile once; the next buffer brings them back for each other tile of channels.
    assert moved[2, 0] == 2 * 16 * 144
    assert accesses[2, 0] == (2 * 4 - 1) * 16 * 144
    # With whole rows the loop over columns adds the outer buffer of W; with whole columns, too, none of these does.
    assert found([1, 4, 2, 12, 6, 1, 1])[1][1, 0] == 3
    assert found([1, 4, 2, 12, 12, 1, 1])[1][1, 0] == 7


def _packed(caps: list[list[float]], shared: list[bool]) -> list[list[int]]:
    number = np.array([2, 1, 1])
    rooms = np.array([[100.0, 10.0], [30.0, 0.0], [40.0, 0.0]])
    accesses = np.array([[50.0, 900.0], [700.0, 0.0], [800.0, 0.0]])
    choice = np.zeros((len(caps), 3), np.int64)
    pack(number, rooms, accesses, np.array(caps), np.array(shared), choice)
    return list(choice.tolist())


def test_packing_goes_outward_with_the_first_buffer_that_does_not_fit() -> None:
    """In the order of accesses I's inner buffer (10), O's (40), W's (30), I's outer one (100)."""
    none = [-1, -1, -1]
    # 60 bytes: I and O fit, W does not; I's outer one follows W outward.
    assert _packed([[0] * 3, [200] * 3, [60] * 3], [True] * 3) == [none, [0, 0, -1], [1, -1, 0]]
    # 41 bytes: O does not fit, and W, which would have, follows it.
    assert _packed([[0] * 3, [200] * 3, [41] * 3], [True] * 3) == [none, [0, 0, 0], [1, -1, -1]]
    # One level for all: the outer buffer of I takes the place of the inner one.
    assert _packed([[0] * 3, [170] * 3], [True] * 2) == [none, [0, 0, 0]]
    assert _packed([[0] * 3, [169] * 3], [True] * 2) == [none, [1, 0, 0]]
    # Memories of their own: each operand for itself.
    assert _packed([[0] * 3, [100, 29, 40]], [False] * 2) == [none, [0, -1, 0]]


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [(2000,), (2000, 150)])
def test_placing_takes_no_more_than_packing_and_ours_no_more_than_both(sizes: tuple[int, ...]) -> None:
    hierarchy = _hierarchy(*sizes)
    values = []
    for packs in (False, True):
        schedule, cost = best_string(LAYER, hierarchy, packs=packs)
        require_fit(counts_of(schedule, hierarchy), hierarchy, "cube")
        values.append(objective_value(schedule, hierarchy, "energy"))
        assert values[-1] == pytest.approx(cost + LAYER.macs * hierarchy.mac_energy)
    found = search_hierarchy(LAYER, hierarchy, effort=0.1)
    assert found.bound <= found.value <= values[0] <= values[1] <= 2 * found.value
