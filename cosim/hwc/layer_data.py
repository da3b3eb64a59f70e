"""Random test data for a layer, and what its output has to be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.layout import element_type
from hwgen.golden.convolution import layer_output, safe_product_shift
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import ACTIVATIONS, Requantisation

__all__ = ["LayerData", "expected_output", "random_data"]


@dataclass(frozen=True)
class LayerData:
    """What a layer computes with.

    Members
    -------
    inputs : int8 or int16 [C, H, W].
    weights : int8 or int16 [M, C/groups, R, S].
    bias : int32 [M].
    requantisation : how the sums become outputs.
    """

    inputs: NDArray[np.signedinteger]
    weights: NDArray[np.signedinteger]
    bias: NDArray[np.int32]
    requantisation: Requantisation

    @property
    def bits(self) -> int:
        """Width of an operand, and of an output."""
        return 8 * self.inputs.itemsize


def random_data(layer: Layer, rng: np.random.Generator, bits: int = 8) -> LayerData:
    """Operands over their full range, -128 included; a shift that leaves most outputs between the clipping bounds.

    Layers have any activation, or none, and some have a ceiling. A few biases are extremes: the sum with a bias must
    not wrap. Products of 16-bit operands are shifted so that no sum can overflow.
    """
    dtype, most = element_type(bits), 1 << (bits - 1)
    shape: tuple[int, ...] = (layer.input_channels, layer.input_height, layer.input_width)
    inputs = rng.integers(-most, most, shape, dtype=dtype)
    shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
    weights = rng.integers(-most, most, shape, dtype=dtype)
    for array in (inputs, weights):
        array.reshape(-1)[rng.integers(array.size)] = -most
    product_shift = safe_product_shift(layer, bits) if bits == 16 else 0
    terms = layer.channels_per_group * layer.kernel[0] * layer.kernel[1]
    spread = most * most / 3.0 / (1 << product_shift) * np.sqrt(terms)  # of a sum of products
    bias = rng.normal(0.0, spread, layer.output_channels).astype(np.int32)
    if rng.random() < 0.3:
        extremes = np.array([-(1 << 31), (1 << 31) - 1], np.int32)
        bias[rng.integers(layer.output_channels)] = rng.choice(extremes)
    shift = int(np.clip(round(np.log2(spread * 2.56 / most)) + rng.integers(-1, 2), 0, 31))
    kinds = (None, *{activation: name for name, activation in ACTIVATIONS.items()}.values())
    kind = kinds[rng.integers(len(kinds))]
    ceiling = int(rng.integers(most // 6, most - 1)) if rng.random() < 0.4 else most - 1
    requantisation = Requantisation.shifted(shift, ceiling=ceiling, product_shift=product_shift)
    return LayerData(inputs, weights, bias, requantisation.activated(kind, layer.name))


def expected_output(layer: Layer, data: LayerData) -> NDArray[np.signedinteger]:
    """The output [M, E, F], from the integer reference; its elements are as wide as the inputs'."""
    return layer_output(layer, data.inputs, data.weights, data.bias, data.requantisation)
