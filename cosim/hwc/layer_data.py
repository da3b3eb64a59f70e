"""Random test data for a layer, and what its output has to be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.layout import element_type
from hwgen.golden.convolution import layer_output
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import (
    ACTIVATIONS,
    MOST_SHIFT,
    MULTIPLIER_BITS,
    GivenRequantisation,
    Requantisation,
    Scale,
)
from hwgen.ir.schedule import Schedule

__all__ = [
    "LayerData",
    "expected_output",
    "random_data",
    "random_scales",
    "randomly_requantised",
    "requantisation_for",
]


@dataclass(frozen=True)
class LayerData:
    """What a layer computes with.

    Members
    -------
    inputs : int8 or int16 [C, H, W]; of a batch of several images [N, C, H, W].
    weights : int8 or int16 [M, C/groups, R, S].
    bias : int32 [M].
    """

    inputs: NDArray[np.signedinteger]
    weights: NDArray[np.signedinteger]
    bias: NDArray[np.int32]

    @property
    def bits(self) -> int:
        """Width of an operand, and of an output."""
        return 8 * self.inputs.itemsize


def random_data(layer: Layer, rng: np.random.Generator, bits: int = 8) -> LayerData:
    """Operands of the network's layer over their full range, -128 included.

    A few biases are extremes: the sum with a bias must not wrap.
    """
    layer = layer.of_network
    dtype, most = element_type(bits), 1 << (bits - 1)
    inputs = rng.integers(-most, most, layer.input_shape, dtype=dtype)
    shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
    weights = rng.integers(-most, most, shape, dtype=dtype)
    for array in (inputs, weights):
        array.reshape(-1)[rng.integers(array.size)] = -most
    products = layer.channels_per_group * layer.kernel[0] * layer.kernel[1]
    product_shift = layer.requantisation_at(bits).product_shift
    spread = most * most / 3.0 / (1 << product_shift) * np.sqrt(products)  # of a sum of products
    bias = rng.normal(0.0, spread / 2, layer.output_channels).astype(np.int32)
    if rng.random() < 0.3:
        extremes = np.array([-(1 << 31), (1 << 31) - 1], np.int32)
        bias[rng.integers(layer.output_channels)] = rng.choice(extremes)
    return LayerData(inputs, weights, bias)


def randomly_requantised(schedule: Schedule, rng: np.random.Generator) -> Schedule:
    """The same schedule for a layer that requantises otherwise: any activation, or none; some have a ceiling.

    The shift leaves most outputs of random data between the clipping bounds.
    """
    layer, bits = schedule.layer, schedule.bits.I
    most = 1 << (bits - 1)
    (usual,) = layer.requantisation_at(bits).scales
    kinds = (None, *{activation: name for name, activation in ACTIVATIONS.items()}.values())
    given = GivenRequantisation(
        shift=min(usual.shift + int(rng.integers(-1, 2)), 31) if usual.shift else 0,
        ceiling=int(rng.integers(most // 6, most - 1)) if rng.random() < 0.4 else None,
    )
    given = given.activated(kinds[rng.integers(len(kinds))])
    return schedule.model_copy(update={"layer": layer.requantised(given)})


def random_scales(layer: Layer, rng: np.random.Generator) -> Requantisation:
    """A requantisation of 8-bit operands with a scale for each output channel, and zero points.

    The scales leave most outputs of random data between the clipping bounds, but for a few extreme ones.
    """
    (usual,) = layer.requantisation_at(8).scales
    scales = []
    for _ in range(layer.output_channels):
        multiplier = int(rng.integers(1, 1 << int(rng.choice((MULTIPLIER_BITS, MULTIPLIER_BITS, 1, 5, 9)))))
        shift = multiplier.bit_length() - 1 + usual.shift + int(rng.integers(-1, 2))
        scales.append(Scale(multiplier, min(max(shift, 0), MOST_SHIFT)))
    extremes = (Scale(), Scale((1 << MULTIPLIER_BITS) - 1, MOST_SHIFT), Scale((1 << MULTIPLIER_BITS) - 1, 1))
    if rng.random() < 0.3:
        scales[rng.integers(len(scales))] = extremes[rng.integers(len(extremes))]
    zero_in, zero_out = (int(rng.choice((-128, 127, *rng.integers(-128, 128, 4)))) for _ in range(2))
    low, high = (int(one) for one in np.sort(rng.integers(-128, 128, 2)))
    return Requantisation(
        scales=tuple(scales),
        zero_in=zero_in,
        zero_out=zero_out,
        low=(-128, zero_out, low)[rng.integers(3)] if zero_out <= high else -128,
        high=high if rng.random() < 0.4 else 127,
    )


def requantisation_for(schedule: Schedule, seed: int, stream: int) -> Requantisation | None:
    """A random requantisation where sums are scaled; None: what the layer says."""
    if schedule.requantisation == "shift":
        return None
    return random_scales(schedule.layer, np.random.default_rng([seed, stream, 1]))


def expected_output(
    layer: Layer, data: LayerData, requantisation: Requantisation | None = None
) -> NDArray[np.signedinteger]:
    """The output [M, E, F] of the network's layer, of a batch [N, M, E, F], from the integer reference; its elements
    are as wide as the inputs'."""
    return layer_output(layer.of_network, data.inputs, data.weights, data.bias, requantisation)
