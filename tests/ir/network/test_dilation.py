"""Dilated kernels as dense ones: the sums are the same."""

from dataclasses import replace

import numpy as np
import pytest

from hwgen.golden.quantised.sums import convolution
from hwgen.ir.network.kinds import Convolution, Window, undilated, zero_share
from hwgen.ir.requantisation import Requantisation, Scale


def dilated(kernel: tuple[int, int], dilation: tuple[int, int], groups: int) -> Convolution:
    rng = np.random.default_rng(3)
    weights = rng.integers(-127, 128, (4, 4 // groups, *kernel)).astype(np.int8)
    window = Window(kernel, (2, 1), (1, 2, 0, 1), dilation)
    return Convolution(
        name="y", inputs=("x",), outputs=("y",), covers=(), shape=(1, 4, 3, 4), weights=weights, window=window,
        bias=np.arange(4, dtype=np.int32), groups=groups,
        requantisation=Requantisation((Scale(shift=9),), zero_in=-3),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "dilation", "groups", "dense", "zeros"),
    [((2, 3), (3, 2), 1, (4, 5), 0.7), ((3, 1), (2, 4), 4, (5, 1), 0.4), ((3, 3), (1, 1), 2, (3, 3), 0.0)],
)
def test_the_outputs_are_the_same(
    kernel: tuple[int, int], dilation: tuple[int, int], groups: int, dense: tuple[int, int], zeros: float
) -> None:
    node = dilated(kernel, dilation, groups)
    operand = np.random.default_rng(5).integers(-128, 128, (1, 4, 9, 9)).astype(np.int8)
    other = undilated(node)
    assert (other.window, zero_share(node)) == (
        replace(node.window, kernel=dense, dilation=(1, 1)),
        pytest.approx(zeros),
    )
    made = convolution(other, operand)
    assert len(np.unique(made)) > 8
    np.testing.assert_array_equal(made, convolution(node, operand))
