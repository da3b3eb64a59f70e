"""Random test data for a network, and all of its maps by the integer reference."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.network import RowData, row_output, row_requantisation, row_sums
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.requantisation import Requantisation, Scale

__all__ = ["NetworkData", "random_network_data"]

Int8 = NDArray[np.int8]


@dataclass(frozen=True)
class NetworkData:
    """Data of the rows, and the maps [C, H, W] that they make, the input included, by name."""

    rows: dict[str, RowData]
    maps: dict[str, Int8]


def random_network_data(network: Network, rng: np.random.Generator, *, draw_shifts: bool = False) -> NetworkData:
    """Operands over their full range, -128 included; each row requantises as it says.

    ``draw_shifts``: by random shifts instead, which leave most of the sums of these data between the clipping bounds.
    """
    source = network.input
    assert source is not None
    inputs = rng.integers(-128, 128, (source.channels, source.height, source.width), dtype=np.int8)
    inputs.reshape(-1)[rng.integers(inputs.size)] = -128
    rows: dict[str, RowData] = {}
    maps = {source.name: inputs}
    for node in network.layers:
        operands = [maps[name] for name in node.inputs]
        rows[node.name] = _row(node, operands, rng, draw_shifts=draw_shifts)
        maps[node.name] = row_output(node, rows[node.name], operands)
    return NetworkData(rows, maps)


def _row(node: Node, operands: list[Int8], rng: np.random.Generator, *, draw_shifts: bool) -> RowData:
    requantisation = row_requantisation(node)
    if not node.operator.weighted:
        if draw_shifts and node.operator.requantises:
            requantisation = _shifted(requantisation, int(rng.integers(0, 3)))
        return RowData(requantisation=requantisation)
    shape = (node.output_channels, node.input_channels // node.groups, *node.kernel)
    weights = rng.integers(-128, 128, shape, dtype=np.int8)
    weights.reshape(-1)[rng.integers(weights.size)] = -128
    spread = float(np.abs(row_sums(node, RowData(weights), operands)).mean()) + 1.0
    bias = rng.normal(0.0, spread, node.output_channels).astype(np.int32)
    if draw_shifts:
        shift = int(np.clip(round(np.log2(spread / 40.0)) + rng.integers(0, 2), 0, 31))
        requantisation = _shifted(requantisation, shift)
    return RowData(weights, bias, requantisation)


def _shifted(requantisation: Requantisation, shift: int) -> Requantisation:
    return replace(requantisation, scales=(Scale(shift=shift),))
