"""Operators with weights as integer nodes: convolutions, transposed ones, products, and a factor for each channel."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.kinds import Concatenation, Convolution, Operation, Product, Window
from hwgen.ir.network.tensors import HIGHEST, LOWEST, Int8, Integers
from hwgen.ir.requantisation import ROUNDINGS, Requantisation, Scale
from hwgen.readers.integers.arranged import Phases, arranged, phases
from hwgen.readers.integers.regions import Anchor, Region, Source, require_one_image
from hwgen.readers.integers.tails import NotHardware, Tail
from hwgen.readers.windows import pair, transposed_window, window_of

__all__ = ["ConvolutionAnchor", "ProductAnchor", "TransposedAnchor", "channel_convolution"]

Float64 = NDArray[np.float64]
MOST_BIAS = (1 << 31) - 1


@dataclass(frozen=True, eq=False)
class _Sums:
    """What requantises sums: weights[M, ...] as integers, one number for each of them, and biases in numbers."""

    weights: NDArray[np.int64]
    scales: Float64
    bias: Float64


@dataclass(frozen=True, eq=False)
class _Requantised:
    """Weights[M, ...] as whole numbers, perhaps beyond int8; biases and requantisation of a node.

    Members
    -------
    bias_loss : the most that a bias lost when it became a whole number of sums.
    """

    weights: NDArray[np.int64]
    bias: NDArray[np.int32]
    requantisation: Requantisation
    bias_loss: float

    def twice(self) -> "_Requantised":
        """The sum requantised as TFLite's convolutions are. Its products round once."""
        scales = tuple(scale.as_tflite() for scale in self.requantisation.scales)
        return replace(self, requantisation=replace(self.requantisation, scales=scales))

    def repeated(self, found: Phases) -> "_Requantised":
        """The sum with each channel once for each phase, and the phases' weights."""
        form, number = self.requantisation, found.number
        scales = form.scales if len(form.scales) == 1 else tuple(one for one in form.scales for _ in range(number))
        own, all_taps = (one.reshape(len(one), -1).sum(axis=1) for one in (found.weights, self.weights))
        bias = np.repeat(self.bias, number) + form.zero_in * (np.repeat(all_taps, number) - own)
        return _Requantised(found.weights, bias.astype(np.int32), replace(form, scales=scales), self.bias_loss)


def _weights(found: Integers, order: Sequence[int], channel_axis: int) -> tuple[NDArray[np.int64], Float64]:
    """Integers with their output channels first, and their scales."""
    if found.values.dtype.itemsize > 1:
        raise NotHardware(f"weights of {found.values.dtype}")
    if found.scales.size > 1 and found.axis != channel_axis:
        raise NotHardware("weights with a scale for each input channel")
    return found.shifted.transpose(order), found.scales.astype(np.float64)


def _bias(region: Region, names: Sequence[str], at: int, channels: int) -> Float64:
    """Biases in numbers, exact where they are integers with a scale; one for each index of the last axis."""
    if len(names) <= at or not names[at]:
        return np.zeros(channels)
    constants = region.model.constants
    if names[at] not in constants:
        raise NotHardware("biases are computed")
    integers = constants.integers.get(names[at])
    values = constants[names[at]].astype(np.float64) if integers is None else integers.exact
    rows = np.atleast_1d(values).reshape(-1, np.shape(values)[-1] if np.ndim(values) else 1)
    if rows.shape[1] not in (1, channels):
        raise NotHardware(f"biases of {rows.shape[1]} channels, expected {channels}")
    if np.any(rows != rows[0]):
        raise NotHardware("biases that are not the same for all rows")
    return np.broadcast_to(rows[0], (channels,)).copy()


def _requantised(region: Region, sums: _Sums, source: Source, tail: Tail, axis: int, rank: int) -> _Requantised:
    """Weights, biases and requantisation of a node with sums."""
    channels = sums.weights.shape[0]
    affine, (low, high) = tail.split(channels, axis, rank)
    gain = np.where(affine.gain, affine.gain, 1)  # of a factor of 0 the offset is left
    of_sum = np.broadcast_to(sums.scales, (channels,)) * source.quantisation.scale
    signs, kept = np.sign(gain).astype(np.int64), affine.gain != 0
    weights = sums.weights * (signs * kept).reshape(-1, *[1] * (sums.weights.ndim - 1))
    exact = (sums.bias * kept + affine.offset / gain) / of_sum
    bias = np.rint(exact) * signs
    folded = bias - source.quantisation.zero * weights.reshape(channels, -1).sum(axis=1)
    if np.abs(folded).max() > MOST_BIAS:
        raise NotHardware("biases beyond 32 bits")
    factors = of_sum * np.abs(gain) / region.target.scale
    try:
        scales = tuple(Scale.nearest(float(factor)) for factor in factors)
    except ValueError as error:
        raise NotHardware(str(error)) from None
    requantisation = Requantisation(
        scales if len(set(scales)) > 1 else scales[:1],
        zero_in=source.quantisation.zero,
        zero_out=region.target.zero,
        low=low,
        high=high,
    )
    return _Requantised(weights, folded.astype(np.int32), requantisation, float(np.abs(exact - np.rint(exact)).max()))


def _in_bytes(weights: NDArray[np.int64]) -> list[Int8]:
    """int8 arrays whose sum is the weights: one where they fit, else one as near as int8 comes, and the rest."""
    parts: list[Int8] = []
    while weights.any() or not parts:
        part = np.clip(weights, LOWEST, HIGHEST)
        parts.append(part.astype(np.int8))
        weights = weights - part
    return parts


def _repeated(
    region: Region, source: Source, copies: int, axis: int, groups: int, output: str, covers: tuple[str, ...]
) -> Source:
    """The input with all channels of each group ``copies`` times."""
    shape, name = region.shape(source.tensor), f"{output}::repeated"
    if groups > 1:
        places = np.arange(prod(shape), dtype=np.int64).reshape(1, groups, 1, -1, *shape[2:])
        index = np.broadcast_to(places, (1, groups, copies, *places.shape[3:]))
        return region.moved(source, index.reshape(1, -1, *shape[2:]), "Concat", name, covers)
    made = list(shape)
    made[axis] *= copies
    region.emit(
        Concatenation(
            name=name,
            inputs=(source.tensor,) * copies,
            covers=covers,
            shape=tuple(made),
            axis=axis % len(shape),
            tables=(None,) * copies,
        ),
        source.quantisation,
    )
    return Source(name, source.quantisation)


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a node is put.

    Members
    -------
    covers : the nodes of the model that it stands for.
    """

    region: Region
    covers: tuple[str, ...]
    output: str
    shape: tuple[int, ...]


def _emit_convolution(
    place: _Place, made: _Requantised, source: Source, window: Window, groups: int, macs: int | None = None
) -> None:
    """A convolution that an HWC runs, where there is one: on an arranged map, or with its input channels repeated.

    ``macs`` : of the model's operator; None: as the weights have them.
    """
    region, output, covers, shape = place.region, place.output, place.covers, place.shape
    weights = made.weights
    own = weights.size * prod(shape[2:]) if macs is None else macs
    given = region.shape(source.tensor)
    other = arranged(weights, window, groups, (given[1], *pair(given[2:])), pair(shape[2:]))
    if other is not None:
        weights, window = other.weights, other.window
        index = other.index if len(shape) == 4 else other.index[:, :, 0]
        source = region.moved(source, index, "Conv", f"{output}::arranged", covers)
    parts = _in_bytes(weights)
    if len(parts) > 1:
        source = _repeated(region, source, len(parts), 1, groups, output, covers)
    node = Convolution(
        name=output,
        inputs=(source.tensor,),
        covers=covers,
        shape=shape,
        weights=np.concatenate(parts, axis=1),
        bias=made.bias,
        requantisation=made.requantisation,
        bias_loss=made.bias_loss,
        window=window,
        groups=groups,
    )
    region.emit(node if node.all_macs == own else replace(node, own_macs=own))


class ConvolutionAnchor(Anchor):
    """Conv of one or two dimensions."""

    scales = True

    def build(self, region: Region, node: Operation, tail: Tail, output: str) -> None:
        settings, shape = node.attributes, region.model.shape(node.outputs[0])
        source = region.source(node.inputs[0])
        values, scales = _weights(region.integers(node.inputs[1], "weights"), range(len(shape)), 0)
        if not 3 <= len(shape) <= 4:
            raise NotHardware(f"a convolution of {len(shape) - 2} dimensions")
        require_one_image(shape)
        sums = _Sums(_planes(values), scales, _bias(region, node.inputs, 2, shape[1]))
        made = _requantised(region, sums, source, tail, 1, len(shape))
        if region.model.fixed_point:
            made = made.twice()
        kernel = pair(made.weights.shape[2:])
        window = window_of(settings, region.model.shape(node.inputs[0]), shape, kernel)
        groups = int(settings.get("group", 1))
        _emit_convolution(_Place(region, region.covers(tail, node), output, shape), made, source, window, groups)


class TransposedAnchor(Anchor):
    """ConvTranspose of one or two dimensions."""

    scales = True

    def build(self, region: Region, node: Operation, tail: Tail, output: str) -> None:
        settings, shape = node.attributes, region.model.shape(node.outputs[0])
        source, given = region.source(node.inputs[0]), region.model.shape(node.inputs[0])
        if not 3 <= len(shape) <= 4:
            raise NotHardware(f"a convolution of {len(shape) - 2} dimensions")
        require_one_image(shape)
        groups = int(settings.get("group", 1))
        integers = region.integers(node.inputs[1], "weights")
        values, scales = _weights(integers, range(integers.values.ndim), 1)
        rows, columns, *kernel = _planes(values).shape
        turned = _planes(values).reshape(groups, rows // groups, columns, *kernel).swapaxes(1, 2)
        scales = np.tile(scales, groups) if scales.size > 1 else scales
        sums = _Sums(
            turned.reshape(groups * columns, rows // groups, *kernel), scales, _bias(region, node.inputs, 2, shape[1])
        )
        made = _requantised(region, sums, source, tail, 1, len(shape))
        window = transposed_window(settings, given, shape, pair(kernel))
        found = phases(made.weights, window, pair(given[2:]), pair(shape[2:]))
        covers, name = region.covers(tail, node), output if found.number == 1 else f"{output}::phases"
        channels, *sizes = found.shape
        place = _Place(region, covers, name, (1, channels, *sizes[4 - len(shape) :]))
        macs = made.weights.size * prod(given[2:])
        _emit_convolution(place, made.repeated(found), source, found.plain, groups, macs)
        if found.number > 1:
            index = found.index if len(shape) == 4 else found.index[:, :, 0]
            region.moved(Source(name, region.target), index, "ConvTranspose", output, covers)


class ProductAnchor(Anchor):
    """MatMul with constant weights, and Gemm."""

    scales = True

    def build(self, region: Region, node: Operation, tail: Tail, output: str) -> None:
        constants = region.model.constants
        if node.inputs[1] not in constants:
            if node.inputs[0] not in constants:
                raise NotHardware("both factors are computed")
            _from_the_left(region, node, tail, output)
            return
        found = region.integers(node.inputs[1], "weights")
        batch = found.values.shape[:-2]
        if found.values.ndim < 2:
            raise NotHardware("weights of 1 dimension")
        if prod(batch) > 1:
            _batched(region, node, found, tail, output)
            return
        if batch:
            flat = found.moved(lambda array: array.reshape(array.shape[-2:]))
            assert flat is not None  # sizes of 1 are gone
            found = flat
        settings, shape = node.attributes, region.model.shape(node.outputs[0])
        turned = bool(settings.get("transB", 0))
        values, scales = _weights(found, (0, 1) if turned else (1, 0), 0 if turned else 1)
        alpha, beta = settings.get("alpha", 1.0), settings.get("beta", 1.0)
        bias = _bias(region, node.inputs, 2, values.shape[0]) * beta
        source, covers = region.source(node.inputs[0]), region.covers(tail, node)
        if settings.get("transA", 0):
            places = np.arange(prod(region.shape(source.tensor)), dtype=np.int64)
            index = places.reshape(region.shape(source.tensor)).T
            source = region.moved(source, index, "Transpose", f"{output}::turned", covers)
        sums = _Sums(values * int(np.sign(alpha)), scales * (abs(alpha) or 1.0), bias)
        made = _requantised(region, sums, source, tail, -1, len(shape))
        parts = _in_bytes(made.weights)
        if len(parts) > 1:
            source = _repeated(region, source, len(parts), -1, 1, output, covers)
        region.emit(
            Product(
                name=output,
                inputs=(source.tensor,),
                covers=covers,
                shape=shape,
                weights=np.concatenate(parts, axis=1),
                bias=made.bias,
                requantisation=made.requantisation,
                bias_loss=made.bias_loss,
                own_macs=None if len(parts) == 1 else values.size * (prod(shape) // shape[-1]),
            )
        )


def _from_the_left(region: Region, node: Operation, tail: Tail, output: str) -> None:
    """A product with weights on the left: a convolution of 1 x 1 whose channels are rows, and its pixels columns."""
    settings, shape = node.attributes, region.model.shape(node.outputs[0])
    found = region.integers(node.inputs[0], "weights")
    if found.values.ndim != 2 or settings.keys() & {"transA", "transB"} or len(node.inputs) > 2:
        raise NotHardware("weights on the left of a Gemm, or of several matrices")
    values, scales = _weights(found, (0, 1), 0)
    source, covers = region.source(node.inputs[1]), region.covers(tail, node)
    given = region.shape(source.tensor)
    if len(given) < 2:
        raise NotHardware("a vector with weights on the left")
    *outer, depth, columns = given
    count, rows = prod(outer), len(values)
    places = np.arange(prod(given), dtype=np.int64).reshape(count, depth, columns).swapaxes(0, 1)
    index = places.reshape(1, depth, 1, count * columns)
    source = region.moved(source, index, "Transpose", f"{output}::turned", covers)
    sums = _Sums(values[:, :, None, None], scales, np.zeros(rows))
    made, name = _requantised(region, sums, source, tail, -2, len(shape)), f"{output}::map"
    place = _Place(region, covers, name, (1, rows, 1, count * columns))
    _emit_convolution(place, made, source, Window((1, 1)), 1)
    back = np.arange(prod(shape), dtype=np.int64).reshape(rows, count, columns).swapaxes(0, 1)
    region.moved(Source(name, region.target), back.reshape(shape), "Transpose", output, covers)


def _batched(region: Region, node: Operation, found: Integers, tail: Tail, output: str) -> None:
    """A product with another matrix for each index of the outer axes: a convolution of 1 x 1 with a group for each.

    Channels of the map are index and column, pixels are rows.
    """
    shape = region.model.shape(node.outputs[0])
    *outer, rows, columns = shape
    depth, count = found.values.shape[-2], prod(outer)

    def grouped(array: NDArray) -> NDArray:
        """[outer and columns, depth] of [outer, depth, columns]."""
        return np.broadcast_to(array, (*outer, depth, columns)).swapaxes(-1, -2).reshape(count * columns, depth)

    turned = found.moved(grouped)
    if turned is None:
        raise NotHardware("weights of several matrices, with scales along more than one axis")
    if not tail.scalar:
        raise NotHardware("a constant for each column after a product with several matrices")
    values, scales = _weights(turned, (0, 1), 0)
    source, covers = region.source(node.inputs[0]), region.covers(tail, node)
    given = region.shape(source.tensor)
    if len(given) < 2:
        raise NotHardware("a vector with several matrices")
    places = np.arange(prod(given), dtype=np.int64).reshape(given)
    index = np.broadcast_to(places, (*outer, rows, depth)).reshape(count, rows, depth).swapaxes(1, 2)
    source = region.moved(source, index.reshape(1, count * depth, 1, rows), "Transpose", f"{output}::turned", covers)
    sums = _Sums(values[:, :, None, None], scales, np.zeros(len(values)))
    made, name = _requantised(region, sums, source, tail, 1, 4), f"{output}::groups"
    _emit_convolution(
        _Place(region, covers, name, (1, count * columns, 1, rows)), made, source, Window((1, 1)), count
    )
    back = np.arange(prod(shape), dtype=np.int64).reshape(count, columns, rows).swapaxes(1, 2)
    region.moved(Source(name, region.target), back.reshape(shape), "Transpose", output, covers)


def channel_convolution(region: Region, source: Source, shape: tuple[int, ...], tail: Tail, output: str) -> None:
    """A factor and an offset for each channel, alone: a depthwise convolution of 1 x 1.

    The bias is a whole number of sums, so its weight decides how near that comes to the offset: any from 64 to 127,
    the first, from the nearest on, with which all 256 inputs give what the numbers give.
    """
    if not 3 <= len(shape) <= 4:
        raise NotHardware("a factor for each channel of what is no map")
    require_one_image(shape)
    channels = shape[1]
    affine, _ = tail.split(channels, 1, len(shape))
    wanted = tail.tables(source.quantisation, channels)
    order = _by_nearness(affine.offset / np.where(affine.gain, affine.gain, 1) / source.quantisation.scale)
    chosen = order[0].copy()
    best = np.full(channels, wanted.shape[1] + 1)
    for weights in order:
        sums = _Sums(weights.reshape(-1, 1, 1, 1), 1 / weights, np.zeros(channels))
        wrong = _wrong(_requantised(region, sums, source, tail, 1, len(shape)), wanted)
        better = wrong < best
        chosen[better], best[better] = weights[better], wrong[better]
        if not best.any():
            break
    sums = _Sums(chosen.reshape(-1, 1, 1, 1), 1 / chosen, np.zeros(channels))
    made = _requantised(region, sums, source, tail, 1, len(shape))
    _emit_convolution(_Place(region, region.covers(tail), output, shape), made, source, Window((1, 1)), channels)


def _by_nearness(offsets: Float64) -> NDArray[np.int64]:
    """[choice, channel] weights, first those whose multiple of the offset is nearest to a whole number."""
    choices = np.arange(64, HIGHEST + 1)[:, None]
    off = np.abs(np.rint(offsets * choices) - offsets * choices) / choices
    order: NDArray[np.int64] = choices[np.argsort(off, axis=0, kind="stable"), 0]
    return order


def _wrong(made: _Requantised, wanted: Int8) -> NDArray[np.int64]:
    """How many of the 256 inputs give another output than wanted, by channel."""
    requantisation = made.requantisation
    codes = np.arange(LOWEST, HIGHEST + 1)
    found = made.weights.reshape(-1, 1) * codes + made.bias[:, None]
    scales = requantisation.scales
    shifts = np.array([scale.shift for scale in scales])[:, None]
    products = found * np.array([scale.multiplier for scale in scales])[:, None]
    found = ROUNDINGS[requantisation.rounding].shifted(products, shifts) + requantisation.zero_out
    clipped = np.clip(found, *requantisation.bounds(8))
    wrong: NDArray[np.int64] = np.count_nonzero(clipped != wanted, axis=1)
    return wrong


def _planes(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weights of one dimension as those of one row."""
    return values[:, :, None, :] if values.ndim == 3 else values
