"""Cycles of a schedule by the exact model: of the layer, or quickly of a layer with fewer of the same tiles."""

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Schedule
from hwgen.model.hwc.cycles import cycles
from hwgen.model.nest.one_level import PerOperand

__all__ = ["cycles_of", "quick_cycles"]

TILES: tuple[dict[Dim, int], ...] = ({"m": 2, "y": 3, "x": 3}, {"m": 2, "y": 2, "x": 2}, {"m": 1, "y": 2, "x": 2},
                                     {"m": 1, "y": 1, "x": 2}, {"m": 1, "y": 1, "x": 1})  # fmt: skip
"""Tiles of the outermost loop over each dimension that are played: the first choice that is little enough work."""
ENOUGH = 1 << 17
"""Innermost iterations that are played at most, if fewer tiles can help."""


def cycles_of(schedule: Schedule, memories: PerOperand) -> int:
    """Cycles from the start write to the interrupt, on an HWC with these memories."""
    return cycles(schedule, memories).total


def quick_cycles(schedule: Schedule, memories: PerOperand, iterations: float) -> float:
    """An estimate: as many cycles for each innermost iteration as a layer of a few tiles takes.

    ``iterations``: those of the whole layer.
    """
    layer = schedule.layer
    for tiles in TILES:
        if layer.macs <= ENOUGH * schedule.lanes.product:
            break
        layer = _with_fewer_tiles(schedule, tiles)
    while layer.macs > ENOUGH * schedule.lanes.product and layer.groups == 1 and layer.input_channels > 8:
        layer = _changed(layer, input_channels=-(-layer.input_channels // 2))
    if layer == schedule.layer:
        return float(cycles_of(schedule, memories))
    few = cycles(schedule.model_copy(update={"layer": layer}), memories)
    return few.total / few.compute * iterations


def _with_fewer_tiles(schedule: Schedule, tiles: dict[Dim, int]) -> Layer:
    layer = schedule.layer
    sizes = dict(layer.extents)
    for dim, number in tiles.items():
        steps = [loop.step for loop in schedule.loops if loop.dim == dim and loop.step < sizes[dim]]
        if steps and (dim != "m" or layer.groups == 1):
            sizes[dim] = min(sizes[dim], number * steps[0])
    top, left, bottom, right = layer.padding
    heights = _input(sizes["y"], layer.kernel[0], layer.stride[0], top + bottom)
    widths = _input(sizes["x"], layer.kernel[1], layer.stride[1], left + right)
    return _changed(
        layer,
        output_channels=sizes["m"],
        output_height=sizes["y"],
        output_width=sizes["x"],
        input_height=min(heights, layer.input_height),
        input_width=min(widths, layer.input_width),
    )


def _changed(layer: Layer, **sizes: int) -> Layer:
    """The layer with other sizes; a copy would keep what it has computed of its own."""
    return Layer.model_validate(layer.model_dump() | sizes).run_as(layer)


def _input(outputs: int, kernel: int, stride: int, padding: int) -> int:
    """Rows or columns of the input that ``outputs`` rows or columns of the output read."""
    return max(1, (outputs - 1) * stride + kernel - padding)
