"""Operators without weights as integer nodes: sums of maps, pools, concatenation."""

from collections.abc import Sequence
from math import prod

import numpy as np

from hwgen.ir.network.fixed_point import Factor, average, equal_scale
from hwgen.ir.network.kinds import Addition, AveragePool, Concatenation, FixedMean, MaxPool, Operation, Window
from hwgen.ir.network.tensors import HIGHEST, LOWEST, Int8, Quantisation
from hwgen.ir.requantisation import Scale
from hwgen.readers.integers.regions import Anchor, Region, Source, require_one_image
from hwgen.readers.integers.tails import NotHardware, Tail
from hwgen.readers.windows import pair, said_padding, window_of

__all__ = ["AdditionAnchor", "AverageAnchor", "ConcatenationAnchor", "MaximumAnchor"]


class AdditionAnchor(Anchor):
    """Add and Sum, of maps of one shape; one may be a constant of integers."""

    def takes(self, region: Region, node: Operation) -> bool:
        integers = region.model.constants.integers
        return len(region.variable(node)) > 1 or any(name in integers for name in node.inputs)

    def build(self, region: Region, node: Operation, tail: Tail, output: str) -> None:
        shape = region.model.shape(node.outputs[0])
        operands = [self._operand(region, name, shape, output) for name in node.inputs]
        low, high = tail.clip
        try:
            scales = Scale.common([one.quantisation.scale / region.target.scale for one in operands])
        except ValueError as error:
            raise NotHardware(str(error)) from None
        region.emit(
            Addition(
                name=output,
                inputs=tuple(one.tensor for one in operands),
                covers=region.covers(tail, node),
                shape=shape,
                scales=scales,
                zeros=tuple(one.quantisation.zero for one in operands),
                zero_out=region.target.zero,
                low=low,
                high=high,
            )
        )

    @staticmethod
    def _operand(region: Region, name: str, shape: tuple[int, ...], output: str) -> Source:
        if name not in region.model.constants:
            if region.model.shape(name) != shape:
                raise NotHardware("maps of different shapes")
            return region.source(name)
        integers = region.integers(name, "its constant's elements")
        if integers.scales.size != 1 or integers.values.dtype.itemsize > 1:
            raise NotHardware("a constant with several scales, or wider than int8")
        unsigned = integers.values.dtype == np.uint8
        quantisation = Quantisation(float(integers.scales[0]), int(integers.zeros[0]) - 128 * unsigned, unsigned)
        constant = f"{output}::constant_{name}"
        values = quantisation.inside(np.broadcast_to(integers.values, shape))
        region.constant(constant, values, quantisation)
        return Source(constant, quantisation)


class ConcatenationAnchor(Anchor):
    """Concat, each operand with a scale of its own."""

    def build(self, region: Region, node: Operation, tail: Tail, output: str) -> None:
        shape = region.model.shape(node.outputs[0])
        if not tail.scalar:
            raise NotHardware("a constant for each channel after it")
        inputs, tables = [], []
        for at, name in enumerate(node.inputs):
            tensor, table = _with_table(region, name, tail.across(name, node.outputs[0]), f"{output}::operand{at}")
            inputs.append(tensor)
            tables.append(table)
        region.emit(
            Concatenation(
                name=output,
                inputs=tuple(inputs),
                covers=region.covers(tail, node),
                shape=shape,
                axis=int(node.attributes["axis"]) % len(shape),
                tables=tuple(tables),
            )
        )


def _with_table(region: Region, name: str, tail: Tail, output: str) -> tuple[str, Int8 | None]:
    """A quantised tensor and the table that makes integers of the output of its."""
    if name in region.model.constants:
        region.constant(output, tail.values(region.model.constants[name]), region.target)
        return output, None
    try:
        source = region.source(name)
    except NotHardware:
        region.quantised(name, tail, output)
        return output, None
    return source.tensor, region.table(source, tail)


class MaximumAnchor(Anchor):
    """MaxPool, GlobalMaxPool, and ReduceMax over height and width."""

    def build(self, region: Region, node: Operation, tail: Tail, output: str) -> None:
        if len([name for name in node.outputs if name]) > 1:
            raise NotHardware("its places are wanted, too")
        given, made = region.model.shape(node.inputs[0]), region.model.shape(node.outputs[0])
        window = _window(region, node, given, made)
        if not tail.scalar:
            raise NotHardware("a constant for each channel after it")
        tensor, table = _with_table(
            region, node.inputs[0], tail.across(node.inputs[0], node.outputs[0]), f"{output}::quantised"
        )
        if table is not None and np.any(np.diff(table.astype(np.int16)) < 0):
            raise NotHardware("what follows it falls")
        region.emit(
            MaxPool(
                name=output,
                inputs=(tensor,),
                covers=region.covers(tail, node),
                shape=made,
                window=window,
                table=table,
            )
        )


class AverageAnchor(Anchor):
    """AveragePool, GlobalAveragePool, and ReduceMean over height and width."""

    def build(self, region: Region, node: Operation, tail: Tail, output: str) -> None:
        given, made = region.model.shape(node.inputs[0]), region.model.shape(node.outputs[0])
        window = _window(region, node, given, made)
        if window.dilation != (1, 1):
            raise NotHardware("a dilated average")
        source = region.source(node.inputs[0])
        low, high = tail.clip
        settings = node.attributes
        counted = (0, 0, 0, 0)
        if settings.get("count_include_pad", 0):
            counted = said_padding(settings) if settings.get("auto_pad", "NOTSET") == "NOTSET" else window.padding
        counts = _counts(pair(given[2:]), pair(made[2:]) if len(made) > 2 else (1, 1), window, counted)
        if region.model.fixed_point and node.operator == "ReduceMean":
            _fixed_mean(region, node, tail, source, output)
            return
        whole = region.model.fixed_point and source.quantisation == region.target
        factor = source.quantisation.scale / region.target.scale
        try:
            scales = {count: _whole_scale(count) if whole else Scale.nearest(factor / count) for count in counts}
        except ValueError as error:
            raise NotHardware(str(error)) from None
        region.emit(
            AveragePool(
                name=output,
                inputs=(source.tensor,),
                covers=region.covers(tail, node),
                shape=made,
                window=window,
                counted=counted,
                scales=scales,
                zero_in=0 if whole else source.quantisation.zero,
                zero_out=0 if whole else region.target.zero,
                low=low,
                high=high,
            )
        )


def _whole_scale(count: int) -> Scale:
    """The scale of a pool of TFLite, which divides the sum of the elements as they are, zero point and all."""
    return equal_scale(1 / count, np.arange(LOWEST * count, HIGHEST * count + 1), lambda sums: average(sums, count))[
        0
    ]


def _fixed_mean(region: Region, node: Operation, tail: Tail, source: Source, output: str) -> None:
    """A mean of TFLite: an average pool where that is equal, else with the kernel's own factor."""
    given, made = region.model.shape(node.inputs[0]), region.model.shape(node.outputs[0])
    count, zero_in, zero_out = prod(given[2:]), source.quantisation.zero, region.target.zero
    real = source.quantisation.scale / region.target.scale
    factor = Factor.of(real).by(count)
    covers, inputs = region.covers(tail, node), (source.tensor,)
    sums = np.arange((LOWEST - zero_in) * count, (HIGHEST - zero_in) * count + 1)
    try:
        scale, equal = equal_scale(real / count, sums, factor.times)
    except ValueError:
        equal = False
    if not equal:
        region.emit(
            FixedMean(
                name=output,
                inputs=inputs,
                covers=covers,
                shape=made,
                factor=factor,
                zero_in=zero_in,
                zero_out=zero_out,
            )
        )
        return
    region.emit(
        AveragePool(
            name=output, inputs=inputs, covers=covers, shape=made, window=Window(pair(given[2:])),
            counted=(0, 0, 0, 0), scales={count: scale}, zero_in=zero_in, zero_out=zero_out, low=LOWEST, high=HIGHEST,
        )
    )  # fmt: skip


def _window(region: Region, node: Operation, given: Sequence[int], made: Sequence[int]) -> Window:
    """The window of a pool, or of one over the whole map."""
    if not 3 <= len(given) <= 4:
        raise NotHardware("of what is no map")
    require_one_image(given)
    settings = node.attributes
    if node.operator.startswith("Reduce"):
        axes = list(settings.get("axes", ()))
        if len(node.inputs) > 1 and node.inputs[1]:
            axes = [int(one) for one in region.model.constants[node.inputs[1]].reshape(-1)]
        if sorted(axis % len(given) for axis in axes) != list(range(2, len(given))):
            raise NotHardware("not over height and width")
    if "kernel_shape" not in settings:
        return Window(pair(given[2:]))
    return window_of(settings, given, made, pair(settings["kernel_shape"]))


def _counts(sizes: tuple[int, int], outputs: tuple[int, int], window: Window, counted: Sequence[int]) -> set[int]:
    """Numbers of elements that count in a window."""
    ranges = []
    for axis in (0, 1):
        first, last = -counted[axis], sizes[axis] + counted[axis + 2]
        starts = np.arange(outputs[axis]) * window.stride[axis] - window.padding[axis]
        spans = np.minimum(starts + window.kernel[axis], last) - np.maximum(starts, first)
        ranges.append({int(one) for one in spans})
    return {rows * columns for rows in ranges[0] for columns in ranges[1]}
