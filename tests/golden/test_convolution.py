"""The integer reference against a naive loop nest in Python's unbounded integers."""

import itertools
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwgen.golden import convolution as golden
from hwgen.golden.convolution import convolve, layer_output
from hwgen.ir.layer import LARGEST, Layer
from hwgen.ir.requantisation import Requantisation, Scale, safe_product_shift
from hwgen.readers.layer_sets import load_layer_set


def wrapped(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def folded_bias(bias: np.ndarray, weights: np.ndarray, zero_in: int) -> np.ndarray:
    """The bias that makes sums of the inputs as they are, padding read as ``zero_in``, what sums of their distances
    from the zero point are with the given bias. It wraps at 32 bits."""
    own = weights.reshape(len(weights), -1).astype(np.int64).sum(axis=1)
    return (bias.astype(np.int64) - zero_in * own).astype(np.int32)


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
    return Layer(
        name="l", input_channels=groups * channels, output_channels=groups * outputs, groups=groups,
        input_height=size[0], input_width=size[1], kernel=kernel, stride=stride, padding=padding,
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
    monkeypatch.setattr(golden, "COLUMN_BYTES", 1 << 17)
    assert np.array_equal(convolve(layer, inputs, weights), whole)


def row(products: int) -> Layer:
    """One output that is the sum of ``products`` products."""
    height = next(
        height for height in range(1, products + 1) if products % height == 0 and products // height <= LARGEST
    )
    return Layer(
        name="r", input_channels=products // height, output_channels=1, input_height=height, input_width=1,
        kernel=(height, 1),
    )  # fmt: skip


def filled(layer: Layer, value: int, kind: type[np.signedinteger] = np.int8) -> np.ndarray:
    """The input of such a layer, everywhere the same; with another axis in front its weights."""
    return np.full((layer.input_channels, layer.input_height, 1), value, kind)


@pytest.mark.parametrize("products", [1 << 17, (1 << 17) - 2, (1 << 18) + 6])
def test_sums_wrap_at_32_bits(products: int) -> None:
    layer = row(products)
    lowest = filled(layer, -128)
    assert convolve(layer, lowest, lowest[None]).item() == wrapped(products << 14)
    assert convolve(layer, lowest, filled(layer, 127)[None]).item() == wrapped(-128 * 127 * products)


@pytest.mark.parametrize(("products", "shift"), [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (1 << 16, 16)])
def test_the_safe_product_shift_is_the_least_without_overflow(products: int, shift: int) -> None:
    layer = row(products)
    lowest = filled(layer, -(1 << 15), np.int16)
    assert safe_product_shift(products, 16) == shift
    assert convolve(layer, lowest, lowest[None], shift).item() == products << 30 >> shift
    if shift:
        assert convolve(layer, lowest, lowest[None], shift - 1).item() != products << 30 >> (shift - 1)


def test_what_float64_cannot_sum_is_refused() -> None:
    layer = row((1 << 23) + (1 << 8))
    lowest = filled(layer, -(1 << 15), np.int16)
    with pytest.raises(ValueError, match="beyond exact float64 sums"):
        convolve(layer, lowest, lowest[None])


def test_images_of_a_batch_are_computed_one_by_one() -> None:
    layer = row(2).model_copy(update={"batch": 2})
    inputs, weights = np.array([[[[1]], [[2]]], [[[3]], [[4]]]], np.int8), np.array([[[[10]], [[1]]]], np.int8)
    bias, form = np.array([5], np.int32), Requantisation()
    assert layer_output(layer, inputs, weights, bias, form).tolist() == [[[[17]]], [[[39]]]]
    with pytest.raises(ValueError, match=r"inputs: expected signed integers of shape \(2, 2, 1, 1\)"):
        layer_output(layer, inputs[0], weights, bias, form)


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


def test_padding_reads_as_the_zero_point_of_the_input() -> None:
    layer = row(1).model_copy(update={"input_width": 1, "padding": (0, 1, 0, 1), "kernel": (1, 3)})
    inputs, weights = np.full((1, 1, 1), 5, np.int8), np.array([[[[1, 10, 100]]]], np.int8)
    assert convolve(layer, inputs, weights, zero_in=-2).tolist() == [[[-2 + 50 - 200]]]
    form = Requantisation.shifted(2, relu=True)
    assert layer_output(layer, inputs, weights, np.array([7], np.int32), form).tolist() == [[[14]]]  # 57 / 4
    form = Requantisation(zero_in=-2)
    assert layer_output(layer, inputs, weights, np.array([140], np.int32), form).tolist() == [[[-12]]]


@given(layers(), st.integers(0, 1 << 16), st.integers(-128, 127), st.integers(-128, 127), st.booleans())
@settings(max_examples=30)
def test_outputs_with_zero_points_are_those_of_distances_from_them(
    layer: Layer, seed: int, zero_in: int, zero_out: int, tabled: bool
) -> None:
    """The arithmetic of a quantised layer in unbounded integers: padding is at the zero point, so it adds nothing."""
    rng = np.random.default_rng(seed)
    inputs, weights = operands(layer, seed)
    own = rng.integers(-(1 << 20), 1 << 20, layer.output_channels).astype(np.int32)
    scales = tuple(
        Scale(int(rng.integers(1, 1 << 16)), int(rng.integers(20, 32))) for _ in range(layer.output_channels)
    )
    table = tuple(rng.integers(-128, 128, 256).tolist()) if tabled else None
    form = Requantisation(scales, zero_in=zero_in, zero_out=zero_out, low=-100, high=101, table=table)
    outputs = layer_output(layer, inputs, weights, folded_bias(own, weights, zero_in), form).reshape(-1)
    pixels = layer.output_height * layer.output_width
    for i, total in enumerate(naive(layer, inputs.astype(int) - zero_in, weights)):
        scale = scales[i // pixels]
        value = ((total + int(own[i // pixels])) * scale.multiplier + (1 << scale.shift >> 1)) // (1 << scale.shift)
        value = min(max(value + zero_out, -100), 101)
        assert outputs[i] == (value if table is None else table[value + 128])
