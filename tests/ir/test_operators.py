"""Operations of rows: sizes by hand, and what is read for a pixel."""

from typing import Any

import pytest

from hwgen.ir.layer_set import CONVOLUTIONS, Node
from hwgen.ir.operators import OPERATORS, Reading

SHAPE = {"input_channels": 4, "output_channels": 4, "input_height": 6, "input_width": 5, "kernel": [1, 1]}
SAME = {**SHAPE, "output_height": 6, "output_width": 5}


def node(op: str, **keys: Any) -> Node:
    return Node.model_validate({"name": "n", "op": op, **SAME, **keys})


def test_the_convolutions_are_those_that_a_schedule_is_made_for() -> None:
    assert CONVOLUTIONS == ("conv", "depthwise_conv", "fc")
    assert [name for name, one in OPERATORS.items() if one.weighted] == [*CONVOLUTIONS, "deconv"]
    assert [name for name, one in OPERATORS.items() if one.several_inputs] == ["add", "concat"]


def test_sizes() -> None:
    conv = node("conv", kernel=[3, 3], stride=[2, 1], padding=[1, 1, 1, 1], output_height=3)
    assert [conv.operator.output_size(conv, axis, size, 3, 2) for axis, size in ((0, 6), (1, 5), (0, 7))] == [3, 5, 4]
    with pytest.raises(ValueError, match="an input of 2 pixels is too small for its kernel of 5"):
        conv.operator.output_size(conv, 0, 2, 5, 2)
    shuffle = node("pixel_shuffle", factor=2, output_channels=1, output_height=12, output_width=10)
    assert shuffle.operator.output_size(shuffle, 0, 7, 1, 0) == 14
    deconv = node("deconv", kernel=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], output_padding=[1, 0],
                  output_height=12, output_width=9)  # fmt: skip
    assert [deconv.operator.output_size(deconv, axis, 6, 3, 2) for axis in (0, 1)] == [12, 11]
    assert (deconv.macs, conv.macs) == (4 * 4 * 9 * 6 * 5, 4 * 4 * 9 * 3 * 5)
    assert OPERATORS["concat"].channels_read([3, 2]) == 5
    assert OPERATORS["add"].channels_read([3, 3]) == 3


def test_what_is_read_for_a_pixel() -> None:
    whole = {"kernel": [6, 5], "pool": "max", "global_pool": True, "output_height": 1, "output_width": 1}
    pixel = {"input_height": 1, "input_width": 1, "output_height": 1, "output_width": 1}
    rows = {
        Reading.WINDOW: node("pool", pool="avg"),
        Reading.ACCUMULATED: node("pool", **whole),
        Reading.FLATTENED: node("fc", **pixel),
        Reading.PIXEL: node("concat"),
        Reading.SAME: node("lrn"),
    }
    for reading, row in rows.items():
        assert row.operator.reading(row) is reading
