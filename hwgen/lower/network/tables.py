"""Chains of nodes that compute element by element, channel by channel, as one table for each channel.

A batch normalisation that no convolution takes is a scaling of 1 x 1 and an addition of constants. Such a chain makes
of an element of 8 bits another one, by its channel alone: what it makes of each of the 256 values is a table, which
the integer reference of its nodes fills, so that every output is the chain's to the bit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np

from hwgen.arch.requantisation import LOWEST
from hwgen.golden.quantised.execution import REFERENCES
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Addition, Convolution, Lookup, Node, Window
from hwgen.ir.network.tensors import Int8
from hwgen.ir.requantisation import TABLE_ENTRIES
from hwgen.lower.network.layers import weighted

__all__ = ["LEAST_PLANE", "with_tables"]

LEAST_PLANE = 128
"""Elements of a channel from which on reading its table costs less than the passes that it saves."""
SQUARE = (16, 16)
"""Rows and columns that all entries of a table fill."""


def with_tables(graph: Graph) -> tuple[Graph, Mapping[str, tuple[str, ...]]]:
    """The graph with such chains as tables, and the names of the nodes that each table stands for, by its name.

    A chain has a node that only a vector unit runs, so that there are fewer passes over the map and none that it had
    not; and maps of `LEAST_PLANE` elements. Its last tensor is the table's; the others are not made. There are none
    where nothing with weights would be left.
    """
    chains = {chain[-1].name: chain for chain in _chains(graph)}
    inner = {node.name for chain in chains.values() for node in chain[:-1]}
    nodes = [
        _table(graph, chains[node.name]) if node.name in chains else node
        for node in graph.nodes
        if node.name not in inner
    ]
    stands_for = {name: tuple(node.name for node in chain) for name, chain in chains.items()}
    found = replace(graph, nodes=tuple(nodes))
    return (found, stands_for) if weighted(found) else (graph, {})


def _chains(graph: Graph) -> Iterator[list[Node]]:
    """The longest chains, each node in one of them at most."""
    taken: set[str] = set()
    for node in graph.nodes:
        chain: list[Node] = []
        one: Node | None = node
        while one is not None and one.name not in taken and _is_by_channel(graph, one):
            chain.append(one)
            readers = graph.readers.get(one.output, ())
            alone = len(readers) == 1 and one.output not in graph.outputs
            one = readers[0] if alone else None
        if len(chain) > 1 and any(not isinstance(one, Convolution) for one in chain):
            taken |= {one.name for one in chain}
            yield chain


def _is_by_channel(graph: Graph, node: Node) -> bool:
    """Whether an output depends on one element of its channel, and on the channel."""
    image, *axes = shape = node.shape
    if len(axes) != 3 or image != 1 or prod(axes[1:]) < LEAST_PLANE:  # channels, rows, columns
        return False
    match node:
        case Lookup():
            return True
        case Convolution():
            return node.window == Window((1, 1)) and node.groups == shape[1] and node.weights.shape[1] == 1
        case Addition():
            return len(node.inputs) == 2 and sum(_is_level(graph, name, shape) for name in node.inputs) == 1
    return False


def _is_level(graph: Graph, name: str, shape: tuple[int, ...]) -> bool:
    """Whether a map is constant, and in each channel the same everywhere."""
    if name not in graph.constants or graph.constants[name].shape != shape:
        return False
    return bool((graph.constants[name] == graph.constants[name][:, :, :1, :1]).all())


def _table(graph: Graph, chain: list[Node]) -> Lookup:
    """The chain as one node."""
    first, last = chain[0], chain[-1]
    shape = (1, first.shape[1], *SQUARE)
    values = np.arange(LOWEST, LOWEST + TABLE_ENTRIES).astype(np.int8).reshape(SQUARE)
    made: Int8 = np.broadcast_to(values, shape)
    (source,) = (name for name in first.inputs if name not in graph.constants)
    for before, node in pairwise([None, *chain]):
        assert node is not None
        inside = source if before is None else before.output
        operands = [
            made if name == inside else np.broadcast_to(graph.constants[name][:, :, :1, :1], shape)
            for name in node.inputs
        ]
        made = REFERENCES[type(node)](replace(node, shape=shape), operands)
    covers = tuple(dict.fromkeys(name for node in chain for name in node.covers))
    tables = np.ascontiguousarray(made.reshape(shape[1], TABLE_ENTRIES))
    return Lookup(
        name=last.name, inputs=(source,), outputs=last.outputs, covers=covers, shape=last.shape, tables=tables
    )
