"""Tiles of the input, by hand."""

import pytest

from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop
from hwgen.model.hwc.input_tiles import lines_touched, pieces_of, tiles_overlap
from tests.model.cluster.nests import conv

LAYER = conv((1, 1, 5, 7), (3, 2), (2, 3), (1, 0, 0, 1))


def test_pieces() -> None:
    loops = [Loop("y", 4), Loop("x", 3), Loop("y", 3)]
    assert pieces_of(9, loops, "y") == [(0, 3), (3, 4), (4, 7), (7, 8), (8, 9)]
    assert pieces_of(9, loops, "c") == [(0, 9)]


def test_lines() -> None:
    """Padding is none: 10 rows below one of padding; 19 columns before one of it."""
    assert lines_touched(LAYER, 0, (0, 2), (0, 3)) == {0, 1, 2, 3}
    assert lines_touched(LAYER, 1, (5, 7), (0, 2)) == {15, 16, 18, 19} - {LAYER.input_width}


@pytest.mark.parametrize(
    ("loops", "meet"),
    [
        ([Loop("y", 1)], True),  # of 3 rows, 2 apart
        ([Loop("k", 2), Loop("y", 1)], False),  # of 2 rows, then of one
        ([Loop("y", 2), Loop("k", 1)], False),  # rows 0 and 2, then 1 and 3, then 2 and 4
        ([Loop("y", 2), Loop("k", 2)], True),  # rows 0 to 3, then 2 and 4
        ([Loop("x", 2)], False),  # of 2 columns, 3 apart
        ([Loop("x", 2), Loop("l", 1)], False),
    ],
)
def test_whether_boxes_meet(loops: list[Loop], meet: bool) -> None:
    assert tiles_overlap(LAYER, loops, len(loops) - 1) == meet


def test_columns_meet_where_the_kernel_is_wider_than_its_stride() -> None:
    layer: Layer = conv((1, 1, 1, 4), (1, 4), (1, 2))
    assert tiles_overlap(layer, [Loop("x", 1)], 0)
    assert tiles_overlap(layer, [Loop("l", 2)], 0)
    assert not tiles_overlap(layer, [Loop("l", 1)], 0)
    assert tiles_overlap(layer, [Loop("x", 2), Loop("l", 2)], 1)
    assert not tiles_overlap(layer, [Loop("x", 1), Loop("l", 2)], 1)
