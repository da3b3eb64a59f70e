"""Random data of quantised rows: each stands for a node of an integer graph, with its scales and zero points."""

from collections.abc import Sequence

import numpy as np

from cosim.pipeline.comparison import Int8, NetworkData, random_network_data, random_tables
from hwgen.golden.network import RowData, row_output, row_sums
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.network import kinds
from hwgen.ir.requantisation import ACTIVATIONS, HIGHEST, LOWEST, Requantisation, Scale
from hwgen.lower.pipeline.solution import Solution

__all__ = ["random_data", "random_quantised_data"]

SPREAD = 40.0
"""What most outputs stay below, in steps from the zero point."""


def random_data(solution: Solution, rng: np.random.Generator) -> NetworkData:
    """Data of a solution's network: of the form in which its pipelines make outputs of sums."""
    if solution.requantisation == "scaled":
        return random_quantised_data(solution.network, rng)
    return random_network_data(solution.network, rng)


def random_quantised_data(network: Network, rng: np.random.Generator) -> NetworkData:
    """Operands over their full range, -128 included; zero points of every map, scales of every output channel."""
    source = network.connected_input()
    inputs = rng.integers(LOWEST, HIGHEST + 1, (source.channels, source.height, source.width), dtype=np.int8)
    inputs.reshape(-1)[rng.integers(inputs.size)] = LOWEST
    rows, maps, zeros = dict[str, RowData](), {source.name: inputs}, {source.name: _zero(rng)}
    for node in network.layers:
        operands, before = [maps[name] for name in node.inputs], [zeros[name] for name in node.inputs]
        rows[node.name], zeros[node.name] = _row(node, operands, before, rng)
        maps[node.name] = row_output(node, rows[node.name], operands)
    return NetworkData(rows, maps)


def _zero(rng: np.random.Generator) -> int:
    """A zero point; now and then one of the ends."""
    if rng.random() < 0.3:
        return (0, LOWEST, HIGHEST)[int(rng.integers(3))]
    return int(rng.integers(LOWEST, HIGHEST + 1))


def _row(
    node: Node, operands: Sequence[Int8], before: Sequence[int], rng: np.random.Generator
) -> tuple[RowData, int]:
    """The data of a row, and the zero point of its output."""
    if node.operator.tables:
        return random_tables(node, rng), _zero(rng)
    if node.operator.weighted:
        return _weighted(node, operands, before[0], rng)
    if node.operator.requantises:
        return _added(node, before, rng)
    if node.pool == "avg":
        return _averaged(node, operands[0], before[0], rng)
    return RowData(), before[0]


def _weighted(node: Node, operands: Sequence[Int8], zero: int, rng: np.random.Generator) -> tuple[RowData, int]:
    shape = (node.output_channels, node.input_channels // node.groups, *node.kernel)
    weights = rng.integers(LOWEST, HIGHEST + 1, shape, dtype=np.int8)
    weights.reshape(-1)[rng.integers(weights.size)] = LOWEST
    sums = row_sums(node, RowData(weights), operands)
    spread = np.abs(sums).reshape(len(sums), -1).mean(axis=1) + 1.0
    bias = rng.normal(0.0, spread).astype(np.int32)
    scales = tuple(_scale(SPREAD / each, rng) for each in spread)
    zero_out, low, high = _output(node, rng)
    requantisation = Requantisation(scales, zero_in=zero, zero_out=zero_out, low=low, high=high)
    base = {"name": node.name, "inputs": node.inputs, "covers": (), "requantisation": requantisation, "bias": bias}
    made: kinds.Node
    if node.operator.flattens:
        made = kinds.Product(**base, shape=(1, len(bias)), weights=weights.reshape(len(bias), -1))
    else:
        made = kinds.Convolution(
            **base, shape=_shape(node), weights=weights, window=_window(node), groups=node.groups
        )
    return RowData(weights, bias, requantisation, made), zero_out


def _added(node: Node, before: Sequence[int], rng: np.random.Generator) -> tuple[RowData, int]:
    scales = Scale.common([float(rng.uniform(0.1, 1.2)) for _ in before])
    zero_out, low, high = _output(node, rng)
    made = kinds.Addition(
        name=node.name, inputs=node.inputs, covers=(), shape=_shape(node), scales=scales, zeros=tuple(before),
        zero_out=zero_out, low=low, high=high,
    )  # fmt: skip
    return RowData(quantised=made), zero_out


def _averaged(node: Node, operand: Int8, zero: int, rng: np.random.Generator) -> tuple[RowData, int]:
    area = node.kernel[0] * node.kernel[1]
    factor = float(rng.choice([1.0, rng.uniform(0.5, 4.0)])) / area
    zero_out, low, high = _output(node, rng)
    made = kinds.AveragePool(
        name=node.name, inputs=node.inputs, covers=(), shape=_shape(node), window=_window(node),
        counted=node.padding, scales={area: Scale.nearest(factor)}, zero_in=zero, zero_out=zero_out, low=low,
        high=high,
    )  # fmt: skip
    return RowData(quantised=made), zero_out


def _scale(factor: float, rng: np.random.Generator) -> Scale:
    """A scale near a factor; of some channels one that rounds twice, as TFLite's do."""
    scale = Scale.nearest(factor * float(rng.uniform(0.5, 2.0)))
    return scale.as_tflite() if rng.random() < 0.5 else scale


def _output(node: Node, rng: np.random.Generator) -> tuple[int, int, int]:
    """Zero point and bounds of a row's output: whole, or those of a clip."""
    zero = _zero(rng)
    low, high = LOWEST, HIGHEST
    if node.activation in ACTIVATIONS or rng.random() < 0.3:
        low = zero
    if rng.random() < 0.2:
        high = int(rng.integers(low, HIGHEST + 1))
    return zero, low, high


def _shape(node: Node) -> tuple[int, int, int, int]:
    return (1, node.output_channels, node.output_height, node.output_width)


def _window(node: Node) -> kinds.Window:
    return kinds.Window(node.kernel, node.stride, node.padding)
