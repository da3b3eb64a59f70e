"""Halide kernels do the nests that schedules say, and compute the convolution."""

from typing import Any

import numpy as np
import pytest

from hwgen.ir.document import InputError
from hwgen.ir.schedule import Schedule
from hwgen.papers.yang.halide_kernel import Split, halide_kernel, nest_order

LAYER = {"name": "tiny", "op": "conv", "input_channels": 5, "output_channels": 6, "input_height": 15,
         "input_width": 13, "output_height": 7, "output_width": 11, "kernel": [3, 3], "stride": [2, 1]}  # fmt: skip
NEST: list[Any] = [{"m": 4}, {"y": 3}, {"buffer": ["W"]}, {"x": 8}, {"k": 3}, {"c": 2}, {"m": 1}, {"y": 1}, {"x": 4},
                   {"c": 1}, {"k": 1}, {"l": 1}]  # fmt: skip
"""Most steps do not divide what they split; that of k = 3 makes one iteration."""


def schedule_of(layer: dict[str, Any], lanes: dict[str, int]) -> Schedule:
    return Schedule.from_data({"format": 1, "kind": "schedule", "layer": layer, "nest": NEST, "lanes": lanes})


def convolved(inputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The convolution of LAYER, one place of the window after another."""
    found = np.zeros((6, 7, 11), np.float32)
    for k in range(3):
        for l in range(3):  # noqa: E741 - the kernel's column
            found += np.einsum("mc,cyx->myx", weights[:, :, k, l], inputs[:, k : k + 13 : 2, l : l + 11])
    return found


def test_loops_of_one_iteration_are_left_out_and_the_others_keep_their_order() -> None:
    order = nest_order(schedule_of(LAYER, {"x": 4}))
    assert [(split.dim, split.step) for split in order] == [
        ("m", 4), ("y", 3), ("x", 8), ("c", 2), ("m", 1), ("y", 1), ("x", 4), ("c", 1), ("k", 1), ("l", 1),
    ]  # fmt: skip
    assert [split for split in order if split.dim == "y"] == [Split("y", 0, 3), Split("y", 1, 1)]


def test_a_kernel_computes_the_convolution() -> None:
    pytest.importorskip("halide", reason="the package halide is not installed (pip install 'hwgen[cpu]')")
    random = np.random.default_rng(1)
    inputs = random.integers(-3, 4, (5, 15, 13)).astype(np.float32)
    weights = random.integers(-3, 4, (6, 5, 3, 3)).astype(np.float32)
    found = halide_kernel(schedule_of(LAYER, {"x": 4})).convolve(inputs, weights)
    assert np.array_equal(found, convolved(inputs, weights))


def test_what_a_kernel_is_not_made_for_is_refused() -> None:
    with pytest.raises(
        InputError, match="layer tiny: a Halide kernel is made for one group, one image and no padding"
    ):
        halide_kernel(schedule_of({**LAYER, "input_height": 14, "padding": [1, 0, 0, 0]}, {"x": 4}))
    with pytest.raises(InputError, match="layer tiny: lanes: a Halide kernel has lanes along x only"):
        halide_kernel(schedule_of(LAYER, {"x": 4, "m": 2}))
