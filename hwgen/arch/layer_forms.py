"""Operands of a layer as the layer has them that is run in its place, and back: see `hwgen.ir.layer.Form`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Layer

__all__ = ["network_inputs", "network_weights", "run_inputs", "run_weights"]

Elements = NDArray[np.signedinteger]


def run_weights(layer: Layer, weights: Elements) -> Elements:
    """The weights [M, C, R, S] of the layer that is run, C the channels of its groups.

    ``weights`` [M, C/groups, R, S] : as the network has them. Groups that are run at once have zeros between them.
    Columns that pass through a window are in place of channels, the last one first, and zeros after them.
    """
    if layer.form.column_window:
        found = np.zeros((layer.output_channels, layer.channels_per_group, *layer.weight_kernel), weights.dtype)
        found[:, : weights.shape[3], :, 0] = weights[:, 0, :, ::-1].transpose(0, 2, 1)
        return found
    rows, columns = layer.kernel
    down, across = _taps(layer)
    split = weights.reshape(*weights.shape[:2], down, rows, across, columns).transpose(0, 1, 2, 4, 3, 5)
    taken = np.ascontiguousarray(split).reshape(weights.shape[0], -1, rows, columns)
    if layer.form.groups_at_once == 1:
        return taken
    found = np.zeros((layer.output_channels, layer.channels_per_group, rows, columns), weights.dtype)
    np.put_along_axis(found, _channels(layer), taken, axis=1)
    return found


def network_weights(layer: Layer, weights: Elements) -> Elements:
    """The weights as the network has them; the inverse of `run_weights`."""
    own, (rows, columns), (down, across) = layer.of_network, layer.kernel, _taps(layer)
    if layer.form.column_window:
        return np.ascontiguousarray(weights[:, :columns, :, 0].transpose(0, 2, 1)[:, None, :, ::-1])
    if layer.form.groups_at_once > 1:
        weights = np.take_along_axis(weights, _channels(layer), axis=1)
    split = weights.reshape(own.output_channels, -1, down, across, rows, columns).transpose(0, 1, 2, 4, 3, 5)
    return np.ascontiguousarray(split).reshape(own.output_channels, -1, *own.kernel)


def run_inputs(layer: Layer, inputs: Elements, zero: int = 0) -> Elements:
    """The input [C, H, W] of the layer that is run, of a batch [N, C, H, W]; ``inputs`` is the network's.

    Where taps are channels it is laid out: of each channel of the network a copy for each tap. ``zero`` : the zero
    point, which padding reads as.
    """
    if layer.form.taps_as_channels is None:
        return inputs
    if layer.batch > 1:
        return np.stack([run_inputs(layer.of_images(1), one, zero) for one in inputs])
    shape = (layer.input_channels, layer.input_height, layer.input_width)
    found = np.full(shape, zero, inputs.dtype)
    for channels, there, here in _copies(layer):
        found[channels, there[0][:, None], there[1]] = inputs[:, here[0][:, None], here[1]]
    return found


def network_inputs(layer: Layer, inputs: Elements) -> Elements:
    """The input as the network has it, 0 where no output depends on it; the inverse of `run_inputs`."""
    if layer.form.taps_as_channels is None:
        return inputs
    own = layer.of_network
    found = np.zeros((own.input_channels, own.input_height, own.input_width), inputs.dtype)
    for channels, there, here in _copies(layer):
        found[:, here[0][:, None], here[1]] = inputs[channels, there[0][:, None], there[1]]
    return found


Lines = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows and columns."""


def _copies(layer: Layer) -> Iterator[tuple[slice, Lines, Lines]]:
    """The taps that are channels: the channels of each, where its copies are, and what they are copies of."""
    own, (down, across) = layer.of_network, _taps(layer)
    sizes = (own.input_height, own.input_width)
    for tap in range(down * across):
        there, here = [], []
        for axis, number in enumerate((tap // across, tap % across)):
            lines = np.arange((layer.input_height, layer.input_width)[axis])
            first = number - own.padding[axis]
            starts = lines * own.stride[axis] + first if _laid_out(layer)[axis] else lines
            inside = (starts >= 0) & (starts < sizes[axis])
            there.append(lines[inside])
            here.append(starts[inside])
        yield slice(tap, None, down * across), (there[0], there[1]), (here[0], here[1])


def _laid_out(layer: Layer) -> tuple[bool, bool]:
    """Whether the rows, the columns of the kernel are channels."""
    taps = layer.form.taps_as_channels
    return taps in ("rows", "window"), taps in ("columns", "window")


def _taps(layer: Layer) -> tuple[int, int]:
    """How many rows and columns of the kernel are channels; 1 where they are not."""
    rows, columns = _laid_out(layer)
    kernel = layer.of_network.kernel
    return kernel[0] if rows else 1, kernel[1] if columns else 1


def _channels(layer: Layer) -> NDArray[np.intp]:
    """The channel of the layer that is run for each weight of the network's, [M, C/groups, 1, 1]."""
    own = layer.of_network
    group = np.arange(own.output_channels) // own.outputs_per_group % layer.form.groups_at_once
    channels = group[:, None] * own.channels_per_group + np.arange(own.channels_per_group)
    return channels[:, :, None, None]
