"""How tiles are spread over HWCs, and how busy these are."""

import pytest

from hwgen.ir.lanes import Lanes
from hwgen.search.cluster.spreading import busiest_iterations, grid_of, shares_of, spreads_of, utilisation
from hwgen.search.core.space import Target
from tests.model.cluster.nests import conv


def test_spreads() -> None:
    """Filters, both, rows: the same of 4 HWCs for each, as far as there is something to cut."""
    assert list(spreads_of({"m": 10, "c": 3, "y": 7, "x": 5}, 4)) == [{"y": 2}, {"m": 5, "y": 4}, {"m": 3}]
    assert list(spreads_of({"m": 10, "y": 1}, 4)) == [{"m": 3}]
    assert list(spreads_of({"m": 1, "y": 1}, 4)) == [{}]
    assert list(spreads_of({"m": 9, "y": 9}, 1)) == [{}]


def test_shares() -> None:
    assert shares_of(1) == [(1, 1)]
    assert shares_of(6) == [(1, 6), (2, 3), (3, 2), (6, 1)]


def test_how_busy() -> None:
    """Tiles of 10, 10 and 4 filters on two HWCs: shares of 5, 5 and 4, on 4 lanes two vectors, two and one."""
    layer, target = conv((24, 1, 3, 8), (1, 1)), Target(Lanes(m=4, x=8), hardware=True)
    steps = {"m": 10, "c": 1, "y": 3, "x": 8}
    assert busiest_iterations(layer, steps, {"m": 5}, target) == (2 + 2 + 1) * 3
    assert utilisation(layer, 15, 2, target) == pytest.approx(24 * 3 * 8 / (15 * 2 * 32))
    grid = grid_of(layer, steps, {"m": 5})
    assert grid["m"] == [(0, 5), (5, 10), (10, 15), (15, 20), (20, 24)]
    assert (grid["c"], grid["y"], grid["x"]) == ([(0, 1)], [(0, 3)], [(0, 8)])
