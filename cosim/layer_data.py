"""Random test data for a layer, and what its output has to be."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.golden import convolve, requantise
from hwgen.ir.layer import Layer

__all__ = ["LayerData", "expected_output", "random_data"]


@dataclass(frozen=True)
class LayerData:
    """What a layer computes with.

    Members
    -------
    inputs : int8 [C, H, W].
    weights : int8 [M, C/groups, R, S].
    bias : int32 [M].
    shift : right shift of the sums, 0 to 31.
    relu : whether negative outputs become 0.
    ceiling : the largest output, 0 to 127.
    """

    inputs: NDArray[np.int8]
    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    shift: int
    relu: bool
    ceiling: int = 127

    def settings(self) -> dict[str, Any]:
        """What is not an array, as plain data."""
        return {"shift": self.shift, "relu": self.relu, "ceiling": self.ceiling}


def random_data(layer: Layer, rng: np.random.Generator) -> LayerData:
    """Operands over their full range, -128 included; a shift that leaves most outputs between the clipping bounds.

    Some layers have a ceiling. A few biases are extremes: the sum with a bias must not wrap.
    """
    inputs = rng.integers(-128, 128, (layer.input_channels, layer.input_height, layer.input_width), dtype=np.int8)
    shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
    weights = rng.integers(-128, 128, shape, dtype=np.int8)
    for array in (inputs, weights):
        array.reshape(-1)[rng.integers(array.size)] = -128
    spread = 5461.0 * np.sqrt(layer.channels_per_group * layer.kernel[0] * layer.kernel[1])  # of a sum of products
    bias = rng.normal(0.0, spread, layer.output_channels).astype(np.int32)
    if rng.random() < 0.3:
        extremes = np.array([-(1 << 31), (1 << 31) - 1], np.int32)
        bias[rng.integers(layer.output_channels)] = rng.choice(extremes)
    shift = int(np.clip(round(np.log2(spread / 50.0)) + rng.integers(-1, 2), 0, 31))
    relu = bool(rng.integers(2))
    ceiling = int(rng.integers(20, 127)) if rng.random() < 0.4 else 127
    return LayerData(inputs, weights, bias, shift, relu, ceiling)


def expected_output(layer: Layer, data: LayerData) -> NDArray[np.int8]:
    """The output [M, E, F], from the integer reference."""
    return requantise(
        convolve(layer, data.inputs, data.weights), data.bias, data.shift, relu=data.relu, ceiling=data.ceiling
    )
