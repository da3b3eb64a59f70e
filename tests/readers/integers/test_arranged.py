"""Convolutions on arranged maps, and phases of transposed ones, against the sums of their definition."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hwgen.ir.layer import MAX_KERNEL, MAX_STRIDE
from hwgen.ir.network.kinds import Window
from hwgen.readers.integers.arranged import arranged, phases

Array = NDArray[np.int64]


def convolved(given: Array, weights: Array, window: Window, groups: int, outputs: tuple[int, int]) -> Array:
    """Sums, tap by tap; what is around the map is 0."""
    own, each = given.shape[0] // groups, len(weights) // groups
    top, left, *_ = window.padding
    sums = np.zeros((len(weights), *outputs), np.int64)
    for m, y, x, k, l in np.ndindex(len(weights), *outputs, *window.kernel):  # noqa: E741
        row = y * window.stride[0] + k * window.dilation[0] - top
        column = x * window.stride[1] + l * window.dilation[1] - left
        if 0 <= row < given.shape[1] and 0 <= column < given.shape[2]:
            first = m // each * own
            sums[m, y, x] += weights[m, :, k, l] @ given[first : first + own, row, column]
    return sums


def transposed(given: Array, weights: Array, window: Window, groups: int, outputs: tuple[int, int]) -> Array:
    """Each pixel of the input added to what its kernel reaches."""
    own, each = given.shape[0] // groups, len(weights) // groups
    top, left, *_ = window.padding
    sums = np.zeros((len(weights), *outputs), np.int64)
    for m, y, x, k, l in np.ndindex(len(weights), *given.shape[1:], *window.kernel):  # noqa: E741
        row = y * window.stride[0] + k * window.dilation[0] - top
        column = x * window.stride[1] + l * window.dilation[1] - left
        if 0 <= row < outputs[0] and 0 <= column < outputs[1]:
            first = m // each * own
            sums[m, row, column] += weights[m, :, k, l] @ given[first : first + own, y, x]
    return sums


def moved(given: Array, index: Array) -> Array:
    """The elements that a `Movement` has, with 0 around them."""
    found: Array = np.where(index < 0, 0, given.reshape(-1)[index])[0]
    return found


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "padding", "groups"),
    [
        ((3, 3), (5, 5), (1, 1), (1, 1), 1), ((3, 2), (7, 1), (2, 3), (1, 2), 2),
        ((13, 13), (1, 1), (1, 1), (6, 6), 1),
        ((3, 3), (1, 2), (12, 6), (12, 6), 4), ((1, 25), (1, 3), (1, 1), (0, 12), 2),
        ((9, 15), (6, 1), (1, 1), (4, 0), 1),
        ((2, 12), (5, 2), (1, 1), (0, 3), 1),
    ],
)  # fmt: skip
def test_a_window_that_is_too_large(
    kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, int], groups: int
) -> None:
    rng = np.random.default_rng(4)
    given, weights = rng.integers(-9, 9, (4, 25, 26)), rng.integers(-9, 9, (4, 4 // groups, *kernel))
    down, across = (
        (size + 2 * pad - (taps - 1) * apart - 1) // step + 1
        for size, pad, taps, apart, step in zip((25, 26), padding, kernel, dilation, stride, strict=True)
    )
    window = Window(kernel, stride, (*padding, *padding), dilation)
    found = arranged(weights, window, groups, given.shape, (down, across))
    assert found is not None
    reach = [(taps - 1) * apart + 1 for taps, apart in zip(found.window.kernel, found.window.dilation, strict=True)]
    assert max(reach) <= MAX_KERNEL
    assert max(found.window.stride) <= MAX_STRIDE
    wanted = convolved(given, weights, window, groups, (down, across))
    made = convolved(moved(given, found.index), found.weights, found.window, groups, (down, across))
    np.testing.assert_array_equal(made, wanted)


def test_a_window_that_fits_or_never_will() -> None:
    weights = np.ones((2, 2, 11, 3), np.int64)
    assert arranged(weights, Window((11, 3), (4, 1)), 1, (2, 30, 9), (5, 7)) is None
    weights = np.ones((2, 2, 1, 56), np.int64)
    assert arranged(weights, Window((1, 56), (1, 5)), 1, (2, 1, 99), (1, 9)) is None  # 12 taps, 5 apart


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "padding", "groups"),
    [
        ((3, 3), (2, 2), (1, 1), (1, 0), 1), ((4, 2), (2, 3), (1, 1), (0, 0), 2), ((3, 3), (3, 2), (2, 1), (2, 1), 4),
        ((3, 1), (1, 1), (1, 1), (1, 0), 1), ((2, 2), (5, 4), (1, 1), (1, 1), 1),
    ],
)  # fmt: skip
def test_the_phases_of_a_transposed_convolution(
    kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, int], groups: int
) -> None:
    rng = np.random.default_rng(5)
    given, weights = rng.integers(-9, 9, (4, 5, 4)), rng.integers(-9, 9, (4, 4 // groups, *kernel))
    rows, columns = (
        step * (size - 1) + (taps - 1) * apart + 2 - pad  # one more than the last window reaches
        for step, size, taps, apart, pad in zip(stride, (5, 4), kernel, dilation, padding, strict=True)
    )
    window = Window(kernel, stride, (*padding, 0, 0), dilation)
    found = phases(weights, window, (5, 4), (rows, columns))
    assert found.number == stride[0] * stride[1]
    assert found.plain.stride == found.plain.dilation == (1, 1)
    channels, *sizes = found.shape
    assert channels == 4 * found.number
    of_all = convolved(given, found.weights, found.plain, groups, (sizes[0], sizes[1]))
    np.testing.assert_array_equal(
        moved(of_all, found.index), transposed(given, weights, window, groups, (rows, columns))
    )
