"""Chains of convolutions in 16-bit fixed point, in the arithmetic of an HWC, and the accuracy beside Table I.

A number is a whole number of 16 bits, in units of two to the power of minus its binary point. The paper does not
print where that is: readings stand side by side. Products are shifted right so that no sum of 32 bits overflows, sums
are shifted with rounding; what is beyond the range saturates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from cosim.device.result import LayerResult
from cosim.hwc.results import RunnableProgram, cosimulate_programs
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hardware_file import load_hardware
from hwgen.export.cached import generated
from hwgen.golden.convolution import layer_output
from hwgen.ir.builtin import named_file
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import GivenRequantisation, safe_product_shift
from hwgen.ir.schedule import Bits, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.papers.claims import Claim, between
from hwgen.papers.sousa.system import FILTERS, nest_of_core

__all__ = [
    "ONE_POINT",
    "POINT_EACH",
    "READINGS",
    "Accuracy",
    "ChainLayer",
    "FixedChain",
    "accuracy_claims",
    "recognised",
    "run_in_rtl",
]

BITS = 16
MOST = (1 << (BITS - 1)) - 1
POINT_EACH, ONE_POINT = "a binary point for each tensor", "one binary point for all tensors"
READINGS = (POINT_EACH, ONE_POINT)
TABLE_1 = (98.5, 100.0)
"""Percent of the images that the LeNet of Table I recognises, top-1 and top-5; in floats and in fixed point."""
PRINTED_TO = 0.1
"""Points by which two figures may differ that are printed alike, to a tenth."""
HARDWARE = "sousa_2022"

Floats = NDArray[np.float32]
Fixed = NDArray[np.int16]


@dataclass(frozen=True)
class ChainLayer:
    """A layer of a chain in floats.

    Members
    -------
    weights : [M, C/groups, R, S]. ``bias``: [M].
    relu : whether what is below zero becomes zero.
    pooled : whether the greatest of each 2 x 2 pixels is taken afterwards.
    """

    layer: Layer
    weights: Floats
    bias: Floats
    relu: bool
    pooled: bool


@dataclass(frozen=True)
class _FixedLayer:
    layer: Layer
    weights: Fixed
    bias: NDArray[np.int32]
    pooled: bool


@dataclass(frozen=True)
class FixedChain:
    """A chain in fixed point: bits after the binary point of its input, and its layers."""

    point: int
    layers: tuple[_FixedLayer, ...]

    @classmethod
    def of(cls, chain: Sequence[ChainLayer], largest: Sequence[float], reading: str) -> "FixedChain":
        """The chain in a reading of `READINGS`.

        ``largest`` : the largest absolute value of the input and of each layer's output, before pools.
        """
        maps = [_point(one) for one in largest]
        kernels = [_point(float(np.abs(one.weights).max())) for one in chain]
        if reading == ONE_POINT:
            common = min(*maps, *kernels)
            maps, kernels = [common] * len(maps), [common] * len(kernels)
        layers, point = [], maps[0]
        for one, kernel, after in zip(chain, kernels, maps[1:], strict=True):
            unit = point + kernel - _product_shift(one)
            if reading == POINT_EACH:
                after = min(after, unit)  # sums have no finer point
            layers.append(_fixed(one, kernel, unit, after))
            point = after
        return cls(maps[0], tuple(layers))

    def stages(self, image: Floats) -> Iterator[tuple[Fixed, Fixed]]:
        """Input [C, H, W] and output [M, E, F] of each layer, of one image."""
        given = _rounded(image, self.point)
        for one in self.layers:
            output = layer_output(one.layer, given, one.weights, one.bias).astype(np.int16)
            yield given, output
            given = _pool(output) if one.pooled else output

    def answers(self, images: Floats) -> NDArray[np.int64]:
        """What the last layer has for each image, [images, M]."""
        return np.array([[*self.stages(image)][-1][1].reshape(-1) for image in images], np.int64)


def _point(largest: float) -> int:
    """The most bits after the binary point with which the largest value still fits."""
    return floor(log2(MOST / largest))


def _rounded(values: Floats, point: int) -> Fixed:
    fixed: Fixed = np.clip(np.rint(values * 2.0**point), -MOST - 1, MOST).astype(np.int16)
    return fixed


def _product_shift(one: ChainLayer) -> int:
    """The least shift of products with which no sum overflows."""
    return safe_product_shift(int(np.prod(one.weights.shape[1:])), BITS)


def _fixed(one: ChainLayer, kernel: int, unit: int, after: int) -> _FixedLayer:
    """A layer whose weights, sums and outputs have these binary points."""
    if not 0 <= unit - after <= 31:
        raise ValueError(f"{one.layer.name}: expected a shift of 0 to 31, got {unit - after}")
    given = GivenRequantisation(shift=unit - after, relu=one.relu, product_shift=_product_shift(one))
    bias = np.rint(one.bias * 2.0**unit).astype(np.int32)
    return _FixedLayer(one.layer.requantised(given), _rounded(one.weights, kernel), bias, one.pooled)


def _pool(maps: Fixed) -> Fixed:
    corners = [maps[:, row::2, column::2] for row in (0, 1) for column in (0, 1)]
    greatest: Fixed = np.maximum.reduce(corners)
    return greatest


# --- in the RTL ---


def run_in_rtl(chain: FixedChain, images: Floats) -> list[LayerResult]:
    """Each layer of each image on one core of the paper's, in the simulator: counts, outputs, cycles."""
    hardware = load_hardware(named_file("hardware", HARDWARE)).model_copy(update={"cluster": None})
    programs: list[RunnableProgram] = []
    for image in images:
        for one, (given, _) in zip(chain.layers, chain.stages(image), strict=True):
            program = compile_layer(_nest(one.layer, hardware.lanes or Lanes(x=BITS)), hardware)
            words = program.image(given, one.weights, one.bias).astype(np.uint32)  # type: ignore[arg-type]
            content = {
                name: words[region.base // WORD_BYTES : region.end // WORD_BYTES].view(np.int8)
                for name, region in program.regions.items()
                if name in ("input", "weights", "bias")
            }
            programs.append(RunnableProgram(program, generated(program.parameters), len(programs), content))
    return cosimulate_programs(programs)


def _nest(layer: Layer, lanes: Lanes) -> Schedule:
    """The order of the core's loops; its lanes do half as many columns of 16 bits."""
    columns = lanes.x // 2
    nest = nest_of_core(layer.extents, FILTERS, columns)
    return Schedule(layer=layer, bits=Bits(I=BITS, W=BITS, O=BITS, acc=32), nest=tuple(nest), lanes=Lanes(x=columns))


# --- Table I ---


@dataclass(frozen=True)
class Accuracy:
    """The number of images whose first, and one of whose first five answers is right, in floats and fixed point."""

    reading: str
    images: int
    floats: tuple[int, int]
    fixed: tuple[int, int]

    @property
    def percent(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Top-1 and top-5 in floats, and the same in fixed point."""
        first, second = (
            (100 * one[0] / self.images, 100 * one[1] / self.images) for one in (self.floats, self.fixed)
        )
        return first, second


def recognised(answers: NDArray[np.generic], labels: NDArray[np.int64]) -> tuple[int, int]:
    """The number of images whose right answer is the first, and among the first five; of equal ones the first."""
    order = np.argsort(-answers.astype(np.float64), axis=1, kind="stable")
    hits = order == labels[:, None]
    return int(hits[:, 0].sum()), int(hits[:, :5].sum())


def accuracy_claims(found: Sequence[Accuracy], trained_on: int) -> list[Claim]:
    """Table I's LeNet beside one that was trained here, by reading.

    What is judged is fixed point less floats, of which the table has 0.0 points in both columns. The accuracy itself
    is that of other weights and other images.
    """
    top_1, top_5 = TABLE_1
    claims = []
    for one in found:
        floats, fixed = one.percent
        claims.append(
            Claim(
                "VI, Table I",
                f"LeNet: {top_1} % top-1 and {top_5:.0f} % top-5 in 32-bit floats on a CPU, and the same in 16-bit "
                "fixed point on the NMP",
                f"{floats[0]:.1f} and {floats[1]:.1f} % in floats, {fixed[0]:.1f} and {fixed[1]:.1f} % in fixed "
                "point",
                f"A LeNet trained here on {trained_on:,} digits of MNIST. Judged is fixed point less floats, to a "
                f"tenth of a point, as the table is printed; one of {one.images} images is "
                f"{100 / one.images:.1f} points. The other four networks need their weights and the images of "
                "ImageNet.",
                scope=f"1 of 5 networks, {one.images} digits that it never saw",
                parts=tuple(
                    between(f"{name}, fixed point less floats", after - before, -PRINTED_TO, PRINTED_TO, "points")
                    for name, before, after in zip(("top-1", "top-5"), floats, fixed, strict=True)
                ),
                reading=one.reading,
            )
        )
    return claims
