"""The integer reference against a naive loop nest in Python's unbounded integers."""

import itertools
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwgen.golden import convolution as golden
from hwgen.golden.convolution import convolve, requantise, safe_product_shift
from hwgen.ir.layer import Layer
from hwgen.ir.network import load_layer_set


def wrapped(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def naive(layer: Layer, inputs: Any, weights: Any, product_shift: int = 0) -> list[int]:
    """Wraps at every step, as the accumulators of the hardware do."""
    extent = layer.extents
    top, left, _, _ = layer.padding
    sums = []
    for m, y, x in itertools.product(*(range(extent[dim]) for dim in ("m", "y", "x"))):
        total = 0
        for c, k, l in itertools.product(*(range(extent[dim]) for dim in ("c", "k", "l"))):  # noqa: E741
            row, column = y * layer.stride[0] + k - top, x * layer.stride[1] + l - left
            if 0 <= row < layer.input_height and 0 <= column < layer.input_width:
                channel = m // layer.outputs_per_group * layer.channels_per_group + c
                product = int(inputs[channel, row, column]) * int(weights[m, c, k, l])
                total = wrapped(total + product // (1 << product_shift))
        sums.append(total)
    return sums


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    groups, channels, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    padding = draw(st.tuples(*[st.integers(0, 3)] * 4))
    size = [draw(st.integers(max(1, kernel[axis] - padding[axis] - padding[axis + 2]), 8)) for axis in (0, 1)]
    output = [(size[a] + padding[a] + padding[a + 2] - kernel[a]) // stride[a] + 1 for a in (0, 1)]
    return Layer(
        name="l", input_channels=groups * channels, output_channels=groups * outputs, groups=groups,
        input_height=size[0], input_width=size[1], output_height=output[0], output_width=output[1],
        kernel=kernel, stride=stride, padding=padding,
    )  # fmt: skip


def operands(layer: Layer, start: int, dtype: Any = np.int8) -> tuple[Any, Any]:
    random = np.random.default_rng(start)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    inputs = random.integers(low, high, (layer.input_channels, layer.input_height, layer.input_width), dtype, True)
    shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
    return inputs, random.integers(low, high, shape, dtype, True)


@settings(max_examples=200)
@given(layers(), st.integers(0, 1 << 30), st.sampled_from([np.int8, np.int16]), st.integers(0, 12))
def test_equals_the_naive_nest(layer: Layer, start: int, dtype: Any, product_shift: int) -> None:
    inputs, weights = operands(layer, start, dtype)
    sums = convolve(layer, inputs, weights, product_shift)
    assert (sums.dtype, sums.shape) == (np.int32, tuple(layer.extents[dim] for dim in ("m", "y", "x")))
    assert sums.reshape(-1).tolist() == naive(layer, inputs, weights, product_shift)


def test_row_chunks_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = load_layer_set("mobilenet_v2:conv_first").convolutions()[0]
    assert layer.stride == (2, 2)
    inputs, weights = operands(layer, 1)
    whole = convolve(layer, inputs, weights)
    monkeypatch.setattr(golden, "_COLUMN_BYTES", 1 << 17)
    assert np.array_equal(convolve(layer, inputs, weights), whole)


def row(channels: int) -> Layer:
    return Layer(name="r", input_channels=channels, output_channels=1, input_height=1, input_width=1,
                 output_height=1, output_width=1, kernel=(1, 1))  # fmt: skip


@pytest.mark.parametrize("channels", [1 << 17, (1 << 17) - 1, (1 << 18) + 3])
def test_sums_wrap_at_32_bits(channels: int) -> None:
    lowest = np.full((channels, 1, 1), -128, np.int8)
    sums = convolve(row(channels), lowest, lowest.reshape(1, channels, 1, 1))
    assert sums.item() == wrapped(channels << 14)
    highest = np.full((1, channels, 1, 1), 127, np.int8)
    assert convolve(row(channels), lowest, highest).item() == wrapped(-128 * 127 * channels)


@pytest.mark.parametrize(("channels", "shift"), [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (1 << 16, 16)])
def test_the_safe_product_shift_is_the_least_without_overflow(channels: int, shift: int) -> None:
    lowest = np.full((channels, 1, 1), -(1 << 15), np.int16)
    weights = lowest.reshape(1, channels, 1, 1)
    assert safe_product_shift(row(channels), 16) == shift
    assert convolve(row(channels), lowest, weights, shift).item() == channels << 30 >> shift
    if shift:
        assert convolve(row(channels), lowest, weights, shift - 1).item() != channels << 30 >> (shift - 1)


def test_what_float64_cannot_sum_is_refused() -> None:
    channels = (1 << 23) + 1
    lowest = np.full((channels, 1, 1), -(1 << 15), np.int16)
    with pytest.raises(ValueError, match="beyond exact float64 sums"):
        convolve(row(channels), lowest, lowest.reshape(1, channels, 1, 1))


def test_wrong_operands_are_refused() -> None:
    layer = row(2)
    good = np.zeros((2, 1, 1), np.int8)
    with pytest.raises(ValueError, match=r"inputs: expected signed integers of shape \(2, 1, 1\), got uint8"):
        convolve(layer, good.astype(np.uint8), good.reshape(1, 2, 1, 1))
    with pytest.raises(ValueError, match=r"weights: .* of shape \(1, 2, 1, 1\), got int8 of \(2, 1, 1, 1\)"):
        convolve(layer, good, good.reshape(2, 1, 1, 1))


def test_full_size_layers_take_seconds() -> None:
    started = time.process_time()
    for layer in load_layer_set("stoutchinin_2019:alexnet").convolutions():
        inputs, weights = operands(layer, 2)
        sums = convolve(layer, inputs, weights)
        m, y, x = (extent - 1 for extent in sums.shape)
        top, left, _, _ = layer.padding
        total = 0
        for k, l in itertools.product(*map(range, layer.kernel)):  # noqa: E741
            i, j = y * layer.stride[0] + k - top, x * layer.stride[1] + l - left
            if i < layer.input_height and j < layer.input_width:
                total += int(inputs[:, i, j].astype(np.int64) @ weights[m, :, k, l].astype(np.int64))
        assert sums[m, y, x] == wrapped(total)
    assert time.process_time() - started < 60


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
    result = requantise(sums, biases, shift, relu=relu)
    assert (result.dtype, result.item()) == (np.int8, output)


@given(
    st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 31), st.booleans()
)
def test_requantise_in_unbounded_integers(total: int, bias: int, shift: int, relu: bool) -> None:
    value = (total + bias + (1 << shift >> 1)) // (1 << shift)
    value = max(value, 0) if relu else value
    sums, biases = np.full((1, 2, 2), total, np.int32), np.array([bias], np.int32)
    assert (requantise(sums, biases, shift, relu=relu) == min(max(value, -128), 127)).all()


@pytest.mark.parametrize(("total", "relu", "output"), [(7, True, 6), (6, True, 6), (-3, True, 0), (-3, False, -3)])
def test_no_output_is_above_the_ceiling(total: int, relu: bool, output: int) -> None:
    sums, biases = np.full((1, 1, 1), total, np.int32), np.zeros(1, np.int32)
    assert requantise(sums, biases, 0, relu=relu, ceiling=6).item() == output
    with pytest.raises(ValueError, match="ceiling: expected 0 to 127, got 128"):
        requantise(sums, biases, 0, relu=relu, ceiling=128)


def test_bias_belongs_to_the_output_channel() -> None:
    result = requantise(np.zeros((3, 2, 2), np.int32), np.array([1, 2, 3], np.int32), 0, relu=False)
    assert result[:, 0, 0].tolist() == result[:, 1, 1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("shift", [-1, 32])
def test_shifts_out_of_range_are_refused(shift: int) -> None:
    with pytest.raises(ValueError, match="shift: expected 0 to 31"):
        requantise(np.zeros((1, 1, 1), np.int32), np.zeros(1, np.int32), shift, relu=False)
