"""A schedule as a Halide kernel: its loop nest as splits and an order, in float32.

Markers become nothing: on a processor the caches decide what is held, and the nest makes it small. Tensors are
planar, as in Caffe: I [channel][row][column], W [m][c][k][l], O [m][row][column]; all strides but the
smallest are the caller's.
Halide is imported when a kernel is made, since the package is optional.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwgen.ir.document import InputError
from hwgen.ir.layer import DIMS, REDUCTION_DIMS, Dim
from hwgen.ir.schedule import Schedule

if TYPE_CHECKING:
    import halide

__all__ = ["KERNEL", "Kernel", "halide_kernel", "nest_order"]

KERNEL = "blocked_convolution"
"""The C function: ``int blocked_convolution(halide_buffer_t *input, *weights, *output)``, 0 if all went well."""
TARGET = "x86-64-linux-sse41"
"""What Yang et al. measured on (Westmere) has. Valgrind takes long for fused multiply-adds and knows no AVX-512."""

MOST_UNROLLED = 16
"""Iterations of the innermost loops that are written out, so that sums stay in registers across them."""


@dataclass(frozen=True)
class Split:
    """A loop over parts of ``step`` of what is left of ``dim``, numbered ``index`` among those of the dimension."""

    dim: Dim
    index: int
    step: int


def nest_order(schedule: Schedule) -> list[Split]:
    """The loops that iterate, outermost first. Loops of one iteration are left out."""
    left: dict[Dim, int] = dict(schedule.layer.loop_extents)
    found: list[Split] = []
    for loop in schedule.loops:
        if loop.step < left[loop.dim]:
            index = sum(split.dim == loop.dim for split in found)
            found.append(Split(loop.dim, index, loop.step))
            left[loop.dim] = loop.step
    return found


@dataclass(frozen=True)
class Kernel:
    """The Halide function and its two inputs, with sizes bound to the layer's; ``output_sizes``: x, y, m."""

    function: "halide.Func"
    inputs: "halide.ImageParam"
    weights: "halide.ImageParam"
    output_sizes: tuple[int, int, int]

    def convolve(self, inputs: Any, weights: Any) -> Any:
        """Compiled now, for this machine: float32 arrays in, the output as a float32 array."""
        import halide as hl
        import numpy as np

        self.inputs.set(hl.Buffer(inputs))
        self.weights.set(hl.Buffer(weights))
        return np.asarray(self.function.realize(list(self.output_sizes)))

    def write_library(self, stem: Path) -> None:
        """``stem.a`` and ``stem.h``: `KERNEL` with Halide's runtime."""
        import halide as hl

        self.function.compile_to_static_library(str(stem), [self.inputs, self.weights], KERNEL, hl.Target(TARGET))


def halide_kernel(schedule: Schedule) -> Kernel:
    """The kernel of one schedule; raises `InputError` for what it is not made for.

    Each loop of the nest is one split of Halide, the last part cut where it would reach over the end
    (``GuardWithIf``); all loops together are put in the order of the nest; lanes along ``x`` are one vector.
    """
    layer = schedule.layer
    if layer.groups != 1 or layer.batch != 1 or any(layer.padding):
        raise InputError(f"layer {layer.name}: a Halide kernel is made for one group, one image and no padding")
    if schedule.lanes.product != schedule.lanes.along("x"):
        raise InputError(f"layer {layer.name}: lanes: a Halide kernel has lanes along x only, got {schedule.lanes}")
    import halide as hl

    down, right = layer.stride
    extents = layer.loop_extents
    inputs, weights = hl.ImageParam(hl.Float(32), 3, "input"), hl.ImageParam(hl.Float(32), 4, "weights")
    sizes = (layer.input_width, layer.input_height, layer.input_channels)
    for axis, size in enumerate(sizes):
        inputs.dim(axis).set_bounds(0, size)
    of_weights: tuple[Dim, ...] = ("l", "k", "c", "m")
    for axis, dim in enumerate(of_weights):
        weights.dim(axis).set_bounds(0, extents[dim])
    x, y, m = hl.Var("x"), hl.Var("y"), hl.Var("m")
    sums = hl.RDom([(0, extents["l"]), (0, extents["k"]), (0, extents["c"])], "r")
    l, k, c = sums.x, sums.y, sums.z  # noqa: E741 - the kernel's column
    function = hl.Func(KERNEL)
    function[x, y, m] = hl.f32(0)
    function[x, y, m] += inputs[x * right + l, y * down + k, c] * weights[l, k, c, m]
    of_outputs: tuple[Dim, ...] = ("x", "y", "m")
    for axis, dim in enumerate(of_outputs):
        function.output_buffer().dim(axis).set_bounds(0, extents[dim])
    _block(function.update(), schedule, {"m": m, "c": c, "y": y, "x": x, "k": k, "l": l})
    return Kernel(function, inputs, weights, (extents["x"], extents["y"], extents["m"]))


def _block(stage: Any, schedule: Schedule, variables: dict[Dim, Any]) -> None:
    """Split and order the loops of a stage as the nest says."""
    import halide as hl

    inner, outermost_first = dict(variables), list[Any]()
    for split in nest_order(schedule):
        kind = hl.RVar if split.dim in REDUCTION_DIMS else hl.Var
        outer, rest = (kind(f"{split.dim}{split.index}{part}") for part in ("o", "i"))
        stage.split(inner[split.dim], outer, rest, split.step, hl.TailStrategy.GuardWithIf)
        outermost_first.append(outer)
        inner[split.dim] = rest
    innermost_first = [inner["x"], *(inner[dim] for dim in DIMS if dim != "x"), *reversed(outermost_first)]
    stage.reorder(*innermost_first)
    if schedule.lanes.along("x") > 1:
        stage.vectorize(inner["x"])
    unrolled = 1
    for loop, iterations in zip(reversed(outermost_first), reversed(_iterations(schedule)), strict=True):
        unrolled *= iterations
        if unrolled > MOST_UNROLLED:
            break
        stage.unroll(loop)


def _iterations(schedule: Schedule) -> list[int]:
    """Iterations of each loop of `nest_order`, the most of any execution."""
    left: dict[Dim, int] = dict(schedule.layer.loop_extents)
    found = []
    for split in nest_order(schedule):
        found.append(-(-left[split.dim] // split.step))
        left[split.dim] = split.step
    return found
