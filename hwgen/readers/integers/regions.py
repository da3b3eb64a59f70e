"""Regions: the way from numbers between quantisers to integer nodes.

Each QuantizeLinear, with what stands before it up to the quantised tensors, becomes the nodes that compute its
integers from theirs.

An operator that anchors such a region is one class, found through `hwgen.readers.integers.reader.ANCHORS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import (
    Addition,
    Concatenation,
    Convolution,
    Lookup,
    Movement,
    Node,
    Operation,
    Product,
    Quantise,
    View,
)
from hwgen.ir.network.tensors import HIGHEST, LOWEST, Int8, Integers, Quantisation, Tensor
from hwgen.ir.requantisation import Scale
from hwgen.readers.integers.movement import flat_index, pad_value, padded_axis
from hwgen.readers.integers.tails import NotHardware, Tail
from hwgen.readers.onnx.protos import AFFINE, ELEMENTWISE, MOVEMENTS, SAME

__all__ = ["Anchor", "Region", "Source", "require_one_image"]


@dataclass(frozen=True, slots=True)
class Source:
    """A quantised tensor, with the scale and zero point that its reader gives it."""

    tensor: str
    quantisation: Quantisation


class Anchor(ABC):
    """How one operator on numbers becomes an integer node."""

    scales: ClassVar[bool] = False
    """Whether its sums may be multiplied by a factor for each channel."""

    def takes(self, region: "Region", node: Operation) -> bool:
        """Whether it is this operator at all that should anchor the region."""
        return True

    @abstractmethod
    def build(self, region: "Region", node: Operation, tail: Tail, output: str) -> None:
        """Emit the nodes; raises `NotHardware`."""


@dataclass
class Region:
    """The integer nodes in place of one QuantizeLinear.

    Members
    -------
    anchors : the registry.
    per_channel : builds a factor and an offset for each channel of a source.
    reasons : why numbers that the host quantises in between have no integer form.
    target : quantisation of the output.
    """

    model: Model
    anchors: dict[str, Anchor]
    per_channel: Callable[["Region", Source, tuple[int, ...], Tail, str], None]
    quantiser: Operation
    nodes: list[Node] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    constants: dict[str, Int8] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> Quantisation:
        """Quantisation of the output."""
        target = self.model.quantisation(self.quantiser.outputs[0])
        assert target is not None
        return target

    def build(self) -> None:
        """All nodes; raises `NotHardware`."""
        self.produce(self.quantiser.inputs[0], self.tail(), self.quantiser.outputs[0])

    def tail(self, *nodes: Operation) -> Tail:
        """Element-wise nodes that follow, down to the output."""
        return Tail(self.model, self.target, nodes)

    # --- what stands before a tensor ---

    def produce(self, tensor: str, tail: Tail, output: str) -> None:
        """Emit nodes so that ``output`` has the integers of the numbers ``tensor`` after ``tail``."""
        found = self._of_one_source(tensor)
        if found is not None:
            source, nodes = found
            self._lookup(source, tail.before(*nodes), self.model.shape(tensor), output)
            return
        node = self._producer(tensor)
        if node.operator in SAME:
            self.produce(node.inputs[0], tail.across(node.inputs[0], tensor), output)
            return
        if node.operator in MOVEMENTS:
            self._move(node, tensor, tail, output)
            return
        anchor = self.anchors.get(node.operator)
        if anchor is not None and anchor.takes(self, node):
            halves = tail.halves() if anchor.scales else None
            if halves is None:
                anchor.build(self, node, tail, output)
            else:
                self._rectified(anchor, node, halves, output)
            return
        variable = self.variable(node)
        if (node.operator in ELEMENTWISE or node.operator in AFFINE) and len(variable) == 1:
            if self.model.shape(variable[0]) != self.model.shape(tensor):
                raise NotHardware("a constant larger than the map")
            self.produce(variable[0], tail.before(node), output)
            return
        if node.operator in ("Mul", "Div") and len(variable) == 2:
            raise NotHardware(f"{node.operator} of two maps: hardware multiplies maps by constants alone")
        raise NotHardware(f"{node.operator}: no integer form")

    def _rectified(self, anchor: Anchor, node: Operation, halves: tuple[Tail, Tail, int], output: str) -> None:
        """A LeakyRelu or PRelu of sums that are not quantised before it: its two halves, and their sum."""
        above, below, middle = halves
        names = (f"{output}::above", f"{output}::below")
        made = len(self.nodes)
        anchor.build(self, node, below, names[1])
        parts = [
            replace(one, own_macs=0) if isinstance(one, Convolution | Product) else one for one in self.nodes[made:]
        ]
        forms = [one.requantisation for one in parts if isinstance(one, Convolution | Product)]
        if all((form.low, form.high) == (middle, middle) for form in forms):  # the output has nothing below 0
            del self.nodes[made:]
            for one in parts:
                del self.tensors[one.name]
            anchor.build(self, node, above, output)
            return
        self.nodes[made:] = parts
        anchor.build(self, node, above, names[0])
        self.emit(
            Addition(
                name=output,
                inputs=names,
                covers=self.covers(above, node),
                shape=self.shape(names[0]),
                scales=Scale.common([1.0, 1.0]),
                zeros=(middle, middle),
                zero_out=middle,
                low=LOWEST,
                high=HIGHEST,
            )
        )

    def quantised(self, tensor: str, tail: Tail, output: str) -> None:
        """The same for an operand; numbers that have no integer form are quantised by the host as they come."""
        made, reached = len(self.nodes), dict(self.tensors)
        try:
            self.produce(tensor, tail, output)
        except NotHardware as reason:
            if not tail.empty:
                raise
            del self.nodes[made:]
            self.tensors = reached
            self.reasons[tensor] = str(reason)
            covers = (self.quantiser.called,)
            shape = self.model.shape(tensor)
            self.emit(Quantise(name=output, inputs=(tensor,), covers=covers, shape=shape))

    def source(self, tensor: str) -> Source:
        """A quantised tensor whose numbers these are; moved elements are moved as integers first."""
        direct = self._dequantised(tensor)
        if direct is not None:
            return direct
        node = self._producer(tensor)
        if node.operator in SAME:
            return self.source(node.inputs[0])
        if node.operator not in MOVEMENTS or len(self.variable(node)) != 1:
            raise NotHardware(f"{node.operator} before it is not quantised")
        inner = self.source(node.inputs[0])
        name = f"{tensor}::moved"
        quantisation = inner.quantisation
        if name in self.tensors:
            return Source(name, quantisation)
        fill = int(quantisation.values(np.array(pad_value(node, self.model.constants)))) if _pads(node) else 0
        self._emit_move(node, tensor, inner.tensor, name, quantisation, fill)
        return Source(name, quantisation)

    def integers(self, tensor: str, role: str) -> Integers:
        """Constant integers with their scales."""
        found = self.model.constants.integers.get(tensor)
        if found is None:
            why = self.model.constants.changed.get(tensor, "are not quantised")
            raise NotHardware(f"{role} {why}")
        return found

    def shape(self, tensor: str) -> tuple[int, ...]:
        """The shape of a tensor of the model, or of one that a node here makes."""
        made = self.tensors.get(tensor)
        return self.model.shape(tensor) if made is None else made.shape

    def moved(
        self, source: Source, index: NDArray[np.int64], operator: str, name: str, covers: tuple[str, ...]
    ) -> Source:
        """Elements of a quantised tensor in another order; zero points where the index of `Movement` is -1."""
        quantisation = source.quantisation
        base = {"name": name, "inputs": (source.tensor,), "covers": covers, "shape": index.shape}
        same = np.array_equal(index.ravel(), np.arange(np.prod(self.shape(source.tensor))))
        node = (
            View(**base)  # type: ignore[arg-type]
            if same
            else Movement(**base, operator=operator, index=index, fill=quantisation.zero)  # type: ignore[arg-type]
        )
        self.emit(node, quantisation)
        return Source(name, quantisation)

    def variable(self, node: Operation) -> list[str]:
        """Inputs of a node that are not constant."""
        return [name for name in dict.fromkeys(node.inputs) if name and name not in self.model.constants]

    def _producer(self, tensor: str) -> Operation:
        node = self.model.producers.get(tensor)
        if node is None:
            raise NotHardware("an input of the model in numbers")
        return node

    def _dequantised(self, tensor: str) -> Source | None:
        node = self.model.producers.get(tensor)
        read = self.model.as_read(node) if node is not None and node.operator == "DequantizeLinear" else None
        return None if node is None or read is None else Source(node.inputs[0], read)

    def _of_one_source(self, tensor: str) -> tuple[Source, list[Operation]] | None:
        """The only quantised tensor that element-wise nodes make this one of, with scalars; and these nodes."""
        sources: dict[str, Source] = {}
        nodes: list[Operation] = []
        shape = self.model.shape(tensor)

        def follow(name: str) -> bool:
            source = self._dequantised(name)
            if source is not None:
                sources[source.tensor] = source
                return self.model.shape(name) == shape
            node = self.model.producers.get(name)
            if node is None or node.operator not in ELEMENTWISE:
                return False
            for one in node.inputs:
                if one and one in self.model.constants:
                    if self.model.constants[one].size != 1:
                        return False
                elif one and not follow(one):
                    return False
            if node not in nodes:
                nodes.append(node)
            return True

        if not follow(tensor) or len(sources) != 1 or len({one.quantisation for one in sources.values()}) != 1:
            return None
        return next(iter(sources.values())), nodes

    # --- nodes without an anchor ---

    def emit(self, node: Node, quantisation: Quantisation | None = None) -> None:
        """Add a node, and its output as a tensor."""
        self.nodes.append(node)
        self.tensors[node.output] = Tensor(node.output, node.shape, quantisation or self.target)

    def covers(self, tail: Tail, *nodes: Operation) -> tuple[str, ...]:
        """Names of nodes of the model."""
        return tuple(dict.fromkeys(node.called for node in (*nodes, *tail.nodes) if node.operator != "Identity"))

    def table(self, source: Source, tail: Tail) -> Int8 | None:
        """256 integers of the output for those of a source; None if they are the same."""
        table = tail.tables(source.quantisation)[0]
        return None if np.array_equal(table, np.arange(-128, 128)) else table

    def _lookup(self, source: Source, tail: Tail, shape: tuple[int, ...], output: str) -> None:
        covers = self.covers(tail) or (self.quantiser.called,)
        if not tail.scalar and tail.affine:
            self.per_channel(self, source, shape, tail, output)
            return
        channels = shape[1] if len(shape) > 1 else 1
        tables = tail.tables(source.quantisation, 1 if tail.scalar else channels)
        same = np.array_equal(tables[0], np.arange(-128, 128)) and len(tables) == 1
        base = {"name": output, "inputs": (source.tensor,), "covers": covers, "shape": shape}
        self.emit(View(**base) if same else Lookup(**base, tables=tables))  # type: ignore[arg-type]

    def _move(self, node: Operation, tensor: str, tail: Tail, output: str) -> None:
        """Elements are moved after they are quantised."""
        if len(self.variable(node)) != 1:
            raise NotHardware(f"{node.operator}: where elements go is computed")
        if not tail.scalar:
            raise NotHardware(f"{node.operator}: a constant for each channel after it")
        fill = 0
        if _pads(node):
            fill = int(tail.values(np.array([pad_value(node, self.model.constants)], np.float32))[0])
        source = self._dequantised(node.inputs[0])
        if source is not None and self.table(source, tail) is None:
            inner = source.tensor
        else:
            inner = f"{output}::before_{node.called}"
            self.quantised(node.inputs[0], tail.across(node.inputs[0], tensor), inner)
        self._emit_move(node, tensor, inner, output, self.target, fill)

    def _emit_move(
        self, node: Operation, tensor: str, inner: str, output: str, quantisation: Quantisation, fill: int
    ) -> None:
        shape = self.model.shape(tensor)
        try:
            index = flat_index(node, tensor, self.model)
        except (ValueError, KeyError, TypeError, RuntimeError, NotImplementedError) as error:
            raise NotHardware(f"{node.operator}: {' '.join(str(error).split())[:60]}") from None
        base = {"name": output, "inputs": (inner,), "covers": (node.called,), "shape": shape}
        given = self.model.shape(node.inputs[0])
        if index is None or (index.size == np.prod(given) and np.array_equal(index.ravel(), np.arange(index.size))):
            self.emit(View(**base), quantisation)  # type: ignore[arg-type]
            return
        around = padded_axis(index, given) if _pads(node) else None
        if around is not None:
            self._emit_padding(base, around, fill, quantisation)
            return
        self.emit(Movement(**base, operator=node.operator, index=index, fill=fill), quantisation)  # type: ignore[arg-type]

    def _emit_padding(
        self, base: dict[str, Any], around: tuple[int, int, int], fill: int, quantisation: Quantisation
    ) -> None:
        """A map between constants along one axis."""
        (inner,), output, shape = base["inputs"], base["name"], base["shape"]
        axis, *sizes = around
        parts = [f"{output}::before", inner, f"{output}::after"]
        for name, size in zip(parts[::2], sizes, strict=True):
            if size:
                self.constant(name, np.full((*shape[:axis], size, *shape[axis + 1 :]), fill, np.int8), quantisation)
        inputs = tuple(name for name in parts if name == inner or name in self.constants)
        self.emit(Concatenation(**{**base, "inputs": inputs}, axis=axis, tables=(None,) * len(inputs)), quantisation)

    def constant(self, name: str, values: NDArray[np.int8], quantisation: Quantisation) -> None:
        """A quantised tensor that does not depend on the inputs."""
        self.constants[name] = values
        self.tensors[name] = Tensor(name, values.shape, quantisation)


def require_one_image(shape: Sequence[int]) -> None:
    """Raise `NotHardware` for maps of several images: nodes of maps work on one."""
    if shape[0] != 1:
        raise NotHardware(f"{shape[0]} maps at a time, of a batch that is not taken apart")


def _pads(node: Operation) -> bool:
    return bool(node.operator == "Pad")
