"""The beginning of a quantised network as rows that pipelines run: what a node becomes, and why one does not.

A node becomes one row that stands for it. A product with weights is a convolution whose kernel is the whole map that
it reads. The beginning ends before the first node that no stage does as the integer reference has it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.network import RowData, row_output
from hwgen.golden.quantised.maps import average_counts
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network
from hwgen.ir.names import safe_name
from hwgen.ir.network import kinds
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node
from hwgen.ir.network.tensors import Int8
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.graph import Graph as StackGraph
from hwgen.search.pipeline.front import best_within, search_front

__all__ = ["Beginning", "beginnings_of", "rest_of", "solution_of"]

AGAIN = "what it would follow is read again by the host"
SHORTER = "the beginning was to end before it"

Sizes = tuple[int, int, int]
"""Channels, rows, columns of a map."""


@dataclass(frozen=True, eq=False)
class Beginning:
    """The nodes of a quantised network that run depth-first.

    Members
    -------
    network : their rows, connected.
    rows : the data of each row, by its name.
    tensors : the tensor of the graph that a map is, by the map's name: the input, then the rows; a map between the
        rows of one node is none.
    nodes : names of the nodes that they stand for, in order; views between them are not among them.
    ends : why the next node is not among them, with its name; None: all have a row.
    """

    network: Network
    rows: Mapping[str, RowData]
    tensors: Mapping[str, str]
    nodes: tuple[str, ...]
    ends: tuple[str, str] | None

    @property
    def made(self) -> tuple[str, ...]:
        """The tensors that it makes and does not read itself."""
        read = {name for row in self.network.layers for name in row.inputs}
        return tuple(tensor for name, tensor in self.tensors.items() if name in self.rows and name not in read)

    def sizes(self, name: str) -> Sizes:
        """Channels, rows, columns of a map, by its name."""
        source = self.network.connected_input()
        if name == source.name:
            return source.channels, source.height, source.width
        row = next(row for row in self.network.layers if row.name == name)
        return row.output_channels, row.output_height, row.output_width

    def maps(self, tensors: Mapping[str, NDArray]) -> dict[str, Int8]:
        """The maps [channels, rows, columns] of one image, by name, from the tensors of the integer reference."""
        found = {}
        for name in (self.network.connected_input().name, *self.rows):
            if name in self.tensors:
                found[name] = tensors[self.tensors[name]].reshape(self.sizes(name))
            else:
                row = next(row for row in self.network.layers if row.name == name)
                found[name] = row_output(row, self.rows[name], [found[one] for one in row.inputs])
        return found


def beginnings_of(graph: Graph) -> list[Beginning]:
    """The beginnings of a network of which nothing but outputs is read afterwards, the longest first.

    Raises `InputError` if there is none, with the first node that has no row and why.
    """
    reader = _Reader(graph)
    ends = reader.read()
    found: list[Beginning] = []
    for count in range(len(reader.rows), 0, -1):
        kept = reader.rows[:count]
        if kept[-1].last and reader.closed(kept):
            following = reader.rows[count].node.name if count < len(reader.rows) else None
            again = None if following is None else (following, SHORTER if found else AGAIN)
            found.append(reader.beginning(kept, again or ends))
    if found:
        return found
    if not reader.rows and ends is None:
        raise InputError(f"{graph.name}: expected nodes that a pipeline has stages for, got none")
    name, why = ends or (reader.rows[0].node.name, "what it makes is read again later, by the host")
    raise InputError(f"{graph.name}: no node of its beginning runs depth-first: {name}: {why}")


def rest_of(graph: Graph, beginning: Beginning) -> Graph:
    """The network after its beginning: what that makes are inputs, and what nothing makes any more is left out."""
    own = set(beginning.nodes)
    made = {node.output for node in graph.nodes if node.name in own} & set(beginning.made)
    known, nodes = {*graph.inputs, *graph.constants, *made}, list[Node]()
    for node in graph.nodes:
        if node.name not in own and known.issuperset(name for name in node.inputs if name):
            nodes.append(node)
            known.update(node.outputs)
    return replace(graph, nodes=tuple(nodes), inputs=(*graph.inputs, *sorted(made)))


def solution_of(beginning: Beginning, memory: int | None = None) -> Solution:
    """The stacks of least traffic with ``memory`` bytes on chip; None: with as much as they need.

    Raises `InputError` if they need more.
    """
    graph = StackGraph.of(beginning.network)
    front = search_front(graph)
    best = front.points[-1] if memory is None else best_within(front, memory)
    if best is None:
        raise InputError(f"--memory: expected at least {front.points[0].memory} bytes, got {memory}")
    return Solution(beginning.network, graph, tuple(best.stacks), best.weights, "scaled")


class _RefusedError(Exception):
    """A node that no stage does, and why."""


@dataclass(frozen=True, eq=False)
class _Row:
    """A node as a row, or a part of one: its name, its keys, its data; ``last``: it makes the node's output."""

    node: Node
    name: str
    keys: Mapping[str, Any]
    data: RowData
    last: bool = True


@dataclass(eq=False)
class _Reader:
    """Rows for the nodes of a graph, one after the other.

    Members
    -------
    maps : names of maps, by tensor; a view of a map is that map.
    sizes : of the maps, by name.
    source : the tensor that all begins with.
    """

    graph: Graph
    rows: list[_Row] = field(default_factory=list)
    maps: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, Sizes] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    source: str = ""

    def read(self) -> tuple[str, str] | None:
        """Take nodes as long as they have rows. Returns the first one that has none, and why."""
        for node in self.graph.nodes:
            if isinstance(node, kinds.Dequantise) or not (self.rows or type(node) in _ROWS):
                continue  # the host makes what all begins with, and what it ends with
            try:
                self._take(node)
            except _RefusedError as refused:
                return node.name, str(refused)
        return None

    def _take(self, node: Node) -> None:
        if isinstance(node, kinds.View):
            if node.inputs[0] in self.maps:
                self.maps[node.output] = self.maps[node.inputs[0]]
            return
        make = _ROWS.get(type(node))
        if make is None:
            why = node.reason if isinstance(node, kinds.HostOperator) else f"a pipeline has no stage for {node.label}"
            raise _RefusedError(why)
        for name in node.inputs:
            if name in self.graph.constants:
                raise _RefusedError("it reads a map that is constant")
        if not self.rows:
            self._begin(node.inputs[0])
        for name in node.inputs:
            if name not in self.maps:
                raise _RefusedError(f"it reads {name}, which is not made before it, beside the network's first map")
        names = [self.maps[name] for name in node.inputs]
        if len(set(names)) < len(names):
            raise _RefusedError("it reads one map twice")
        parts = make(node, [self.sizes[name] for name in names])
        before = list[str]()
        for number, part in enumerate(parts[:-1]):
            if part is None:
                continue
            # An operand through its table; or what goes through a table afterwards.
            made, keys = part
            reads = [names[number]] if len(names) > 1 else names
            before.append(self._row(node, made, keys, reads, f"{node.name}_{number}", last=False))
            if len(names) > 1:
                names[number] = before[-1]
            else:
                names = [before[-1]]
        last = parts[-1]
        assert last is not None
        made, keys = last
        name = self._row(node, made, keys, names, node.name)
        self.maps[node.output] = name

    def _row(
        self, node: Node, made: Node, keys: dict[str, Any], names: list[str], called: str, *, last: bool = True
    ) -> str:
        """Add a row that reads these maps. Returns its name."""
        name = safe_name(called, self.taken)
        channels, height, width = _sizes(made.shape)
        keys = {"name": name, "inputs": names, "output_channels": channels, **keys}
        if "kernel" not in keys:
            keys |= {"output_height": height, "output_width": width}
        data = RowData(quantised=made)
        if isinstance(made, kinds.Convolution):
            data = RowData(made.weights, made.bias, made.requantisation, made)
        self.rows.append(_Row(node, name, keys, data, last))
        self.sizes[name] = (channels, height, width)
        return name

    def _begin(self, tensor: str) -> None:
        shape = self.graph.shape(tensor)
        if not 2 <= len(shape) <= 4 or shape[0] != 1:
            raise _RefusedError(f"it reads {tensor}, which is no map of one image")
        self.source = tensor
        name = safe_name(tensor, self.taken)
        self.maps[tensor], self.sizes[name] = name, _sizes(shape)

    def closed(self, kept: Sequence[_Row]) -> bool:
        """Whether of what these rows make only what none of them reads is read elsewhere."""
        names, own = {row.name for row in kept}, {row.node.name for row in kept}
        read = {name for row in kept for name in row.keys["inputs"]}
        others = [node for node in self.graph.nodes if node.name not in own and not isinstance(node, kinds.View)]
        wanted = [*self.graph.outputs, *(name for node in others for name in node.inputs)]
        return not any(self.maps.get(name) in names & read for name in wanted)

    def beginning(self, kept: Sequence[_Row], ends: tuple[str, str] | None) -> Beginning:
        """These rows as a network."""
        name = self.maps[self.source]
        channels, height, width = self.sizes[name]
        network = Network.from_data(
            {
                "format": 1,
                "kind": "network",
                "network": self.graph.name,
                "input": {"name": name, "channels": channels, "height": height, "width": width},
                "layers": [dict(row.keys) for row in kept],
            },
            self.graph.name,
        )
        last = [row for row in kept if row.last]
        tensors = {name: self.source, **{row.name: row.node.output for row in last}}
        return Beginning(
            network, {row.name: row.data for row in kept}, tensors, tuple(row.node.name for row in last), ends
        )


def _sizes(shape: Sequence[int]) -> Sizes:
    """Channels, rows, columns of a map in any of its shapes: [1, C, H, W], [1, C, W], [1, C]."""
    channels, *rest = shape[1:]
    height, width = {2: tuple(rest), 1: (1, *rest), 0: (1, 1)}[len(rest)]
    return channels, height, width


def _whole(made: tuple[int, ...]) -> tuple[int, ...]:
    return (1, *_sizes(made))


# --- what nodes become ---

Part = tuple[Node, dict[str, Any]]
Made = Sequence[Part | None]
"""The node in the shapes of its row, and the row's keys beside names and channels; of several rows the last one makes
the node's output. Those before it are one for each operand, if that is not read as it is, or one that the last one
reads."""


def _convolution(node: kinds.Convolution, given: Sequence[Sizes]) -> Made:
    dense = kinds.undilated(node)
    made = replace(dense, shape=_whole(node.shape))
    channels = given[0][0]
    depthwise = node.groups == channels and node.groups > 1
    keys = {"op": "depthwise_conv" if depthwise else "conv", "groups": node.groups}
    return [(made, {**keys, **_window(dense.window, given[0], made.shape)})]


def _product(node: kinds.Product, given: Sequence[Sizes]) -> Made:
    if node.shape[:-1] != (1,) * (len(node.shape) - 1):
        raise _RefusedError("it multiplies several rows by its weights")
    channels, height, width = given[0]
    outputs, inputs = node.weights.shape
    if inputs != channels * height * width:
        raise _RefusedError(f"it reads {inputs} elements of a map of {channels} x {height} x {width}")
    made = kinds.Convolution(
        name=node.name, inputs=node.inputs, covers=node.covers, shape=(1, outputs, 1, 1),
        weights=np.ascontiguousarray(node.weights.reshape(outputs, channels, height, width)), bias=node.bias,
        requantisation=node.requantisation, window=kinds.Window((height, width)),
    )  # fmt: skip
    return [(made, {"op": "conv", **_window(made.window, given[0], made.shape)})]


def _addition(node: kinds.Addition, given: Sequence[Sizes]) -> Made:
    made = replace(node, shape=_whole(node.shape))
    if set(given) != {_sizes(made.shape)}:
        raise _RefusedError("it adds maps of different sizes")
    return [(made, {"op": "add"})]


def _average(node: kinds.AveragePool, given: Sequence[Sizes]) -> Made:
    made = replace(node, shape=_whole(node.shape))
    keys = _pool("avg", made.window, given[0], made.shape)
    _, counts = average_counts(made, np.zeros((1, *given[0]), np.int8))
    area = node.window.kernel[0] * node.window.kernel[1]
    if counts.min() != area or counts.max() != area:
        raise _RefusedError(f"windows at its borders have fewer elements that count than {area}")
    return [(made, keys)]


def _largest(node: kinds.MaxPool, given: Sequence[Sizes]) -> Made:
    made = replace(node, shape=_whole(node.shape), table=None)
    pool = made, _pool("max", made.window, given[0], made.shape)
    return [pool] if node.table is None else [pool, _through(node, node.table[None], made.shape)]


def _concatenation(node: kinds.Concatenation, given: Sequence[Sizes]) -> Made:
    if node.axis != 1:
        raise _RefusedError(f"it joins maps along axis {node.axis}, not their channels")
    before = [
        None if table is None else _through(node, table[None], (1, *sizes))
        for table, sizes in zip(node.tables, given, strict=True)
    ]
    joined = replace(node, shape=_whole(node.shape), tables=(None,) * len(node.tables))
    return [*before, (joined, {"op": "concat"})]


def _lookup(node: kinds.Lookup, given: Sequence[Sizes]) -> Made:
    return [_through(node, node.tables, _whole(node.shape))]


def _through(node: Node, tables: Int8, shape: tuple[int, ...]) -> Part:
    """A row whose elements go through these tables: one, or one for each channel."""
    made = kinds.Lookup(name=node.name, inputs=node.inputs[:1], covers=node.covers, shape=shape, tables=tables)
    return made, {"op": "lookup", "groups": len(tables)}


_ROWS: Mapping[type[Node], Callable[[Any, Sequence[Sizes]], Made]] = {
    kinds.Convolution: _convolution,
    kinds.Product: _product,
    kinds.Addition: _addition,
    kinds.AveragePool: _average,
    kinds.MaxPool: _largest,
    kinds.Concatenation: _concatenation,
    kinds.Lookup: _lookup,
}
"""What each kind of node becomes; raises `_RefusedError` for what no stage does."""


def _pool(kind: str, window: kinds.Window, given: Sizes, shape: tuple[int, ...]) -> dict[str, Any]:
    if window.dilation != (1, 1):
        raise _RefusedError("its window is dilated")
    keys = _window(window, given, shape)
    whole = window.kernel == given[1:] and shape[2:] == (1, 1) and not any(keys["padding"])
    return {"op": "pool", "pool": kind, **keys, **({"global_pool": True} if whole else {})}


def _window(window: kinds.Window, given: Sizes, shape: tuple[int, ...]) -> dict[str, Any]:
    """The keys of a window: its padding is what it reads outside of the map, no more."""
    padding, sizes = [*window.padding[:2], 0, 0], shape[2:]
    for axis, (kernel, stride) in enumerate(zip(window.kernel, window.stride, strict=True)):
        size, before = given[1 + axis], window.padding[axis]
        after = (sizes[axis] - 1) * stride + kernel - before - size
        padding[2 + axis] = max(after, 0)
        if before < 0 or after <= -stride:
            raise _RefusedError("its windows leave out a border of the map")
        if before >= kernel or after >= kernel:
            raise _RefusedError("its padding is as large as its kernel")
    return {"kernel": list(window.kernel), "stride": list(window.stride), "padding": padding}
