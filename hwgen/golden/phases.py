"""Transposed convolutions as convolutions: for each place in a square of outputs one, then a pixel shuffle.

A transposed convolution of stride s puts a weight k at output o where o + p = s i + k for an input i and a padding p.
The outputs s y + a, for one a of 0 to s - 1, see the weights k = a + p - s d of the inputs y + d: a convolution with
a kernel of its own. All s x s of them read the same windows, so they are the channels of one convolution, with zeros
where a kernel is smaller than the window, and a pixel shuffle puts its channels in their places.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hwgen.golden.network import RowData
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.operators import Reading
from hwgen.ir.requantisation import Requantisation

__all__ = ["data_in_phases", "in_phases", "phases_of"]


class _Window(NamedTuple):
    """Along an axis, the inputs y + first to y + first + size - 1 of the outputs s y to s y + s - 1, and padding."""

    first: int
    size: int
    before: int
    after: int


def phases_of(name: str) -> str:
    """The name of the convolution that makes the phases of a row."""
    return f"{name}_phases"


def in_phases(network: Network) -> Network:
    """The network with a convolution and a pixel shuffle for each transposed convolution.

    The shuffle has the row's name, the convolution its arithmetic. Raises `InputError` for strides that differ and
    for outputs that are not whole squares.
    """
    if not any(_transposed(node) for node in network.layers):
        return network
    rows: list[dict[str, Any]] = []
    for node in network.layers:
        row = node.model_dump(mode="json", exclude_unset=True)
        rows += _rows(node, row) if _transposed(node) else [row]
    said = {key: value for key, value in network.as_data().items() if key not in ("totals", "totals_by_part")}
    return Network.from_data({**said, "layers": rows})


def data_in_phases(network: Network, rows: Mapping[str, RowData]) -> dict[str, RowData]:
    """The data of `in_phases` of a network."""
    found: dict[str, RowData] = {}
    for node in network.layers:
        data = rows.get(node.name, RowData())
        if _transposed(node):
            found[phases_of(node.name)] = _phase_data(node, data)
        else:
            found[node.name] = data
    return found


def _transposed(node: Node) -> bool:
    return node.operator.reading(node) is Reading.TRANSPOSED


def _rows(node: Node, row: dict[str, Any]) -> list[dict[str, Any]]:
    step = _step(node)
    down, right = _window(node, 0), _window(node, 1)
    channels, height, width = (
        step * step * node.output_channels,
        node.output_height // step,
        node.output_width // step,
    )
    kept = ("requantisation", "activation", "batchnorm", "groups", "inputs")
    same: dict[str, Any] = {key: row[key] for key in kept if key in row}
    phases = {
        **same, "name": phases_of(node.name), "op": "conv",
        "input_channels": node.input_channels, "output_channels": channels,
        "input_height": node.input_height, "input_width": node.input_width,
        "output_height": height, "output_width": width, "kernel": [down.size, right.size],
        "stride": [1, 1], "padding": [down.before, right.before, down.after, right.after],
    }  # fmt: skip
    shuffle = {
        "name": node.name, "op": "pixel_shuffle", "inputs": [phases_of(node.name)], "factor": step,
        "input_channels": channels, "output_channels": node.output_channels,
        "input_height": height, "input_width": width,
        "output_height": node.output_height, "output_width": node.output_width,
    }  # fmt: skip
    return [phases, shuffle]


def _step(node: Node) -> int:
    """The stride: the side of a square of outputs."""
    step, other = node.stride
    if step != other:
        raise InputError(
            f"{node.name}: stride: expected equal strides for a {node.op} in phases, got {step}, {other}"
        )
    for key, size in (("output_height", node.output_height), ("output_width", node.output_width)):
        if size % step:
            raise InputError(
                f"{node.name}: {key}: expected a multiple of the stride for a {node.op} in phases, got {size}"
            )
    return step


def _window(node: Node, axis: int) -> _Window:
    step, kernel, pad = node.stride[axis], node.kernel[axis], node.padding[axis]
    given = (node.input_height, node.input_width)[axis]
    made = (node.output_height, node.output_width)[axis] // step
    first, last = -((kernel - 1 - pad) // step), (step - 1 + pad) // step
    after = made - given + last
    if first > 0 or after < 0:
        raise InputError(f"{node.name}: padding: expected no more than the kernel for a {node.op} in phases")
    return _Window(first, last - first + 1, -first, after)


def _phase_data(node: Node, data: RowData) -> RowData:
    """Output channel (m s + a) s + b: the phase a, b of output channel m."""
    step = _step(node)
    down, right = _window(node, 0), _window(node, 1)
    outputs, inputs = data.weights.shape[:2]
    weights = np.zeros((outputs, step, step, inputs, down.size, right.size), np.int8)
    for a in range(step):
        for b in range(step):
            for y, row in _taps(node, 0, down, a):
                for x, column in _taps(node, 1, right, b):
                    weights[:, a, b, :, y, x] = data.weights[:, :, row, column]
    squares = step * step
    return RowData(
        weights.reshape(outputs * squares, inputs, down.size, right.size),
        np.repeat(data.bias, squares),
        _repeated(data.requantisation, squares),
    )


def _repeated(requantisation: Requantisation, times: int) -> Requantisation:
    """The requantisation with the scale of every channel ``times`` times; one scale for all channels stays."""
    scales = requantisation.scales
    if len(scales) == 1:
        return requantisation
    return replace(requantisation, scales=tuple(scale for scale in scales for _ in range(times)))


def _taps(node: Node, axis: int, window: _Window, phase: int) -> Iterator[tuple[int, int]]:
    """Places in the window, and the weights that a phase has there."""
    for place in range(window.size):
        weight = phase + node.padding[axis] - node.stride[axis] * (window.first + place)
        if 0 <= weight < node.kernel[axis]:
            yield place, weight
