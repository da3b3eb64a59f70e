"""Transposed convolutions in phases equal those by definition, in every element."""

import random
from typing import Any

import numpy as np
import pytest

from hwgen.golden.network import RowData, execute
from hwgen.golden.phases import data_in_phases, in_phases, phases_of
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.requantisation import Requantisation, Scale


def network(**row: Any) -> Network:
    """A convolution of 1 x 1, then a transposed one."""
    height, width, channels = row["input_height"], row["input_width"], row["input_channels"]
    size = {"input_height": height, "input_width": width, "output_height": height, "output_width": width}
    first = {"name": "first", "op": "conv", "inputs": ["input"], "input_channels": 2, "output_channels": channels,
             "kernel": [1, 1], **size}  # fmt: skip
    layers = [first, {"name": "up", "op": "deconv", "inputs": ["first"], **row}]
    source = {"name": "input", "channels": 2, "height": height, "width": width}
    return Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": layers})


def random_row(rng: random.Random) -> dict[str, Any]:
    """A transposed convolution whose outputs are whole squares."""
    stride, groups = rng.randint(1, 4), rng.choice([1, 1, 2])
    kernel = [rng.randint(1, 9) for _ in range(2)]
    given = [rng.randint(1, 6) for _ in range(2)]
    before = [rng.randint(0, size - 1) for size in kernel]
    after = [rng.randint(0, size - 1) for size in kernel]
    made = [(g - 1) * stride - b - a + k for g, b, a, k in zip(given, before, after, kernel, strict=True)]
    extra = [-m % stride for m in made]
    return {
        "input_channels": 2 * groups, "output_channels": 3 * groups, "groups": groups, "kernel": kernel,
        "stride": [stride, stride], "padding": [before[0], before[1], after[0], after[1]], "output_padding": extra,
        "input_height": given[0], "input_width": given[1],
        "output_height": made[0] + extra[0], "output_width": made[1] + extra[1],
    }  # fmt: skip


def random_data(node: Node, rng: np.random.Generator) -> RowData:
    """With a shift for each channel."""
    outputs, inputs = node.output_channels, node.input_channels // node.groups
    weights = rng.integers(-128, 128, (outputs, inputs, *node.kernel), dtype=np.int8)
    bias = rng.integers(-5000, 5000, outputs, dtype=np.int32)
    scales = tuple(Scale(shift=int(shift)) for shift in rng.integers(4, 11, outputs))
    return RowData(weights, bias, Requantisation(scales))


def test_phases_equal_the_definition() -> None:
    rng, numbers = random.Random(1), np.random.default_rng(1)
    seen = 0
    for _ in range(100):
        row = random_row(rng)
        if min(row["output_height"], row["output_width"]) < 1:
            continue
        plain = network(**row)
        try:
            made = in_phases(plain)
        except InputError:
            continue  # padding far beyond the input
        rows = {node.name: random_data(node, numbers) for node in plain.layers}
        inputs = numbers.integers(-128, 128, (2, row["input_height"], row["input_width"]), dtype=np.int8)
        expected = execute(plain, inputs, rows)["up"]
        np.testing.assert_array_equal(execute(made, inputs, data_in_phases(plain, rows))["up"], expected)
        seen += 1
    assert seen > 60


def test_a_transposed_convolution_by_hand() -> None:
    """An input of 1 at each of two pixels, stride 2: the kernel twice, added where it overlaps."""
    plain = network(
        input_channels=1, output_channels=1, kernel=[1, 3], stride=[2, 2], input_height=1, input_width=2,
        output_height=2, output_width=6, output_padding=[1, 1],
    )  # fmt: skip
    one = RowData(np.array([[[[1]], [[0]]]], np.int8))
    up = RowData(np.array([[[[1, 2, 4]]]], np.int8))
    inputs = np.array([[[1, 1]], [[0, 0]]], np.int8)
    made = execute(plain, inputs, {"first": one, "up": up})["up"]
    np.testing.assert_array_equal(made, [[[1, 2, 5, 2, 4, 0], [0, 0, 0, 0, 0, 0]]])
    phases = data_in_phases(plain, {"first": one, "up": up})[phases_of("up")]
    # of outputs 0, 2, 4 the weights 4 and 1 of the inputs before and at the same place; of 1, 3, 5 weight 2
    np.testing.assert_array_equal(phases.weights[:2, 0, 0], [[4, 1], [0, 2]])


def test_what_has_no_phases() -> None:
    up = {"input_channels": 1, "output_channels": 1, "kernel": [3, 3], "input_height": 4, "input_width": 4}
    with pytest.raises(
        InputError, match="up: output_height: expected a multiple of the stride for a deconv in phases, got 9"
    ):
        in_phases(network(**up, stride=[2, 2], output_height=9, output_width=9))
    with pytest.raises(InputError, match="up: stride: expected equal strides for a deconv in phases, got 2, 1"):
        in_phases(network(**up, stride=[2, 1], output_height=9, output_width=6))


def test_a_network_without_transposed_convolutions_stays() -> None:
    plain = network(input_channels=1, output_channels=1, kernel=[2, 2], stride=[2, 2], input_height=2, input_width=2,
                    output_height=4, output_width=4)  # fmt: skip
    assert in_phases(in_phases(plain)) == in_phases(plain)
