"""The reference of whole networks: each operation by hand, and its rounding against exact arithmetic."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest

from hwgen.golden.network import RowData, average_scale, execute, row_output, row_requantisation
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.requantisation import UNCHANGED, Requantisation


def shifted(shift: int, *, relu: bool = False) -> RowData:
    return RowData(requantisation=Requantisation.shifted(shift, relu=relu))


def node(op: str, channels: int = 1, size: int = 2, **keys: Any) -> Node:
    shape = {"input_channels": channels, "output_channels": channels, "input_height": size, "input_width": size,
             "output_height": size, "output_width": size, "kernel": [1, 1]}  # fmt: skip
    return Node.model_validate({"name": op, "op": op, **shape, **keys})


def int8(*values: object) -> np.ndarray:
    return np.array(values, np.int8)


def test_adds_round_half_up_and_saturate() -> None:
    a, b = int8([[100, -100], [3, -3]]), int8([[100, -100], [0, 0]])
    add = node("add")
    assert row_output(add, RowData(), [a, b]).tolist() == [[[127, -128], [3, -3]]]
    assert row_output(add, shifted(1), [a, b]).tolist() == [[[100, -100], [2, -1]]]
    assert row_output(add, shifted(1, relu=True), [a, b]).tolist() == [[[100, 0], [2, 0]]]
    assert row_output(add, shifted(2), [a, a, b]).tolist() == [[[75, -75], [2, -1]]]


def test_pools_know_padding_from_pixels() -> None:
    shape = {"kernel": [2, 2], "padding": [1, 1, 0, 0]}
    map_ = int8([[-5, -6], [-7, 9]])
    assert row_output(node("pool", pool="max", **shape), RowData(), [map_]).tolist() == [[[-5, -5], [-5, 9]]]
    # -5/4, -11/4; -12/4, -9/4
    assert row_output(node("pool", pool="avg", **shape), RowData(), [map_]).tolist() == [[[-1, -3], [-3, -2]]]


@pytest.mark.parametrize("area", [1, 2, 3, 4, 6, 9, 25, 49, 64, 196, 1024, 3136])
def test_averages_are_the_rounded_quotients(area: int) -> None:
    scale = average_scale(area)
    assert 1 << 15 <= scale.multiplier <= 1 << 16
    for total in {*range(-300, 300), -128 * area, 127 * area, *range(0, 127 * area, max(1, area // 3))}:
        exact = Fraction(total, area)
        made = (total * scale.multiplier + (1 << (scale.shift - 1))) >> scale.shift
        if area & (area - 1) == 0:
            assert made == floor(exact + Fraction(1, 2))
        else:
            assert abs(made - exact) <= Fraction(1, 2) + Fraction(1, 256)


def test_pixel_shuffle_puts_channels_side_by_side() -> None:
    shuffle = node("pixel_shuffle", channels=4, size=1, factor=2, output_channels=1, output_height=2, output_width=2)
    assert row_output(shuffle, RowData(), [int8([[1]], [[2]], [[3]], [[4]])]).tolist() == [[[1, 2], [3, 4]]]


def test_fc_reads_all_pixels_of_a_map_channel_by_channel() -> None:
    fc = node("fc", channels=8, size=1, output_channels=1)
    operand = int8([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    weights = int8([[[1]], [[2]], [[3]], [[0]], [[0]], [[0]], [[0]], [[-1]]]).reshape(1, 8, 1, 1)
    assert row_output(fc, RowData(weights, np.array([5], np.int32)), [operand]).tolist() == [[[1 + 4 + 9 - 8 + 5]]]


def test_a_network_row_by_row() -> None:
    rows = [
        {**node("conv", input_channels=1, output_channels=2).model_dump(exclude_unset=True), "inputs": ["input"]},
        {**node("concat", channels=3).model_dump(exclude_unset=True), "inputs": ["conv", "input"]},
    ]
    source = {"name": "input", "channels": 1, "height": 2, "width": 2}
    network = Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": rows})
    weights = RowData(int8([[[3]]], [[[-2]]]), np.array([1, 0], np.int32), Requantisation.shifted(1))
    maps = execute(network, int8([[1, 2], [3, -128]]), {"conv": weights})
    assert maps["concat"].tolist() == [[[2, 4], [5, -128]], [[-1, -2], [-3, 127]], [[1, 2], [3, -128]]]


def test_rows_requantise_as_they_say_or_as_follows_from_their_shape() -> None:
    assert row_requantisation(node("conv", activation="relu")) == Requantisation.shifted(6, relu=True)
    assert row_requantisation(node("conv", requantisation={"shift": 3, "ceiling": 9})).high == 9
    assert row_requantisation(node("add")) == UNCHANGED
    assert (
        row_requantisation(node("add", activation="relu", requantisation={"shift": 1}))
        == shifted(1, relu=True).requantisation
    )
    assert row_requantisation(node("pool", pool="max", activation="relu")).low == 0


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"activation: expected one of relu, relu6, .*, got tanh"):
        row_requantisation(node("conv", activation="tanh"))
    with pytest.raises(InputError, match="lrn: op: expected one that depth-first hardware has, got lrn"):
        row_output(node("lrn"), RowData(), [int8([[0, 0], [0, 0]])])
