"""Requantisation against numbers worked out by hand and in Python's unbounded integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwgen.golden.requantisation import requantise
from hwgen.ir.requantisation import UNCHANGED, Requantisation, Scale

REQUANTISED = [
    # sum, bias, shift, relu, output
    (5, 3, 0, False, 8),
    (5, 0, 1, False, 3),
    (-5, 0, 1, False, -2),
    (-6, 0, 2, False, -1),
    (7, 0, 2, False, 2),
    (-7, 2, 0, True, 0),
    (127, 1, 0, False, 127),
    (-128, -1, 0, False, -128),
    (-(1 << 31), 0, 24, False, -128),
    ((1 << 31) - 1, (1 << 31) - 1, 31, False, 2),
    (-(1 << 31), -(1 << 31), 31, False, -2),
    (-(1 << 31), -(1 << 31), 31, True, 0),
    ((1 << 31) - 1, 1, 31, False, 1),
    ((1 << 31) - 1, 1, 0, False, 127),
]


@pytest.mark.parametrize(("total", "bias", "shift", "relu", "output"), REQUANTISED)
def test_requantise_by_hand(total: int, bias: int, shift: int, relu: bool, output: int) -> None:
    sums, biases = np.full((1, 1, 1), total, np.int32), np.array([bias], np.int32)
    result = requantise(sums, biases, Requantisation.shifted(shift, relu=relu))
    assert (result.dtype, result.item()) == (np.int8, output)


@given(
    st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 31), st.booleans()
)
def test_requantise_in_unbounded_integers(total: int, bias: int, shift: int, relu: bool) -> None:
    value = (total + bias + (1 << shift >> 1)) // (1 << shift)
    value = max(value, 0) if relu else value
    sums, biases = np.full((1, 2, 2), total, np.int32), np.array([bias], np.int32)
    assert (requantise(sums, biases, Requantisation.shifted(shift, relu=relu)) == min(max(value, -128), 127)).all()


@pytest.mark.parametrize(("total", "relu", "output"), [(7, True, 6), (6, True, 6), (-3, True, 0), (-3, False, -3)])
def test_no_output_is_above_the_ceiling(total: int, relu: bool, output: int) -> None:
    sums, biases = np.full((1, 1, 1), total, np.int32), np.zeros(1, np.int32)
    assert requantise(sums, biases, Requantisation.shifted(relu=relu, ceiling=6)).item() == output
    with pytest.raises(ValueError, match=r"high: expected (0|-128) to 127, got 128"):
        requantise(sums, biases, Requantisation.shifted(relu=relu, ceiling=128))


def test_bias_belongs_to_the_output_channel() -> None:
    result = requantise(np.zeros((3, 2, 2), np.int32), np.array([1, 2, 3], np.int32), UNCHANGED)
    assert result[:, 0, 0].tolist() == result[:, 1, 1].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("total", "bias", "scale", "output"),
    [
        (10, 0, Scale(3, 1), 15),
        (5, 2, Scale(3, 1), 11),  # 21 / 2 = 10.5
        (-5, -2, Scale(3, 1), -10),  # -10.5 rounds up
        (1000, 0, Scale(1 << 15, 20), 31),  # 31.25
        ((1 << 31) - 1, (1 << 31) - 1, Scale((1 << 16) - 1, 47), 2),
        (-(1 << 31), -(1 << 31), Scale(1 << 16, 47), -2),
    ],
)
def test_a_multiplier_before_the_shift(total: int, bias: int, scale: Scale, output: int) -> None:
    sums, biases = np.full((1, 1, 1), total, np.int32), np.array([bias], np.int32)
    assert requantise(sums, biases, Requantisation((scale,))).item() == output


@given(
    st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 1 << 16),
    st.integers(0, 47), st.integers(-128, 127), st.integers(-128, 0), st.integers(0, 127),
)  # fmt: skip
def test_the_whole_form_in_unbounded_integers(
    total: int, bias: int, multiplier: int, shift: int, zero: int, low: int, high: int
) -> None:
    form = Requantisation((Scale(multiplier, shift),), zero_out=zero, low=low, high=high)
    value = ((total + bias) * multiplier + (1 << shift >> 1)) // (1 << shift) + zero
    sums, biases = np.full((1, 2, 1), total, np.int32), np.array([bias], np.int32)
    assert (requantise(sums, biases, form) == min(max(value, low), high)).all()


def test_a_scale_belongs_to_the_output_channel() -> None:
    form = Requantisation((Scale(shift=0), Scale(3, 1), Scale(shift=2)), zero_out=-1)
    result = requantise(np.full((3, 1, 2), 8, np.int32), np.zeros(3, np.int32), form)
    assert result.tolist() == [[[7, 7]], [[11, 11]], [[1, 1]]]


def test_the_table_comes_after_the_clip() -> None:
    form = Requantisation(low=-4, high=4, table=tuple(range(127, -129, -1)))
    result = requantise(np.array([[[-9, -4, 0, 3, 9]]], np.int32), np.zeros(1, np.int32), form)
    assert result.tolist() == [[[3, 3, -1, -4, -5]]]


def test_outputs_of_16_bits() -> None:
    sums = np.array([[[1 << 20, -(1 << 20), 300]]], np.int32)
    result = requantise(sums, np.zeros(1, np.int32), UNCHANGED, bits=16)
    assert (result.dtype, result.tolist()) == (np.int16, [[[32767, -32768, 300]]])
