"""A network as a graph: operators, as a file has them, or integer nodes, with the tensors between them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Generic, TypeVar

import numpy as np

from hwgen.ir.network.kinds import Node, Operation
from hwgen.ir.network.tensors import OFFSET, Constants, Quantisation, Tensor

__all__ = ["Dataflow", "Graph", "Model", "Work"]


N = TypeVar("N", Operation, Node)


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataflow(Generic[N]):
    """Nodes in an order in which they can run, and the tensors between them.

    Members
    -------
    name : of the model.
    inputs, outputs : names of tensors, as the model has them.
    tensors : those whose shape is known, by name; of one image, where the model treats images apart.
    constants : tensors that do not depend on the inputs.
    batch : images that the model takes at a time; None if that is free.
    apart : inputs whose first axis has the images, which the model treats apart; another input is one, whole.
    together : why the first axis of an input that is longer than 1 has no images that are treated apart; else empty.
    """

    name: str
    nodes: tuple[N, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, Tensor]
    constants: Constants = field(default_factory=Constants)
    batch: int | None = 1
    apart: frozenset[str] = frozenset()
    together: str = ""

    @cached_property
    def producers(self) -> Mapping[str, N]:
        """The node that makes a tensor."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    @cached_property
    def readers(self) -> Mapping[str, Sequence[N]]:
        """The nodes that read a tensor."""
        found: dict[str, list[N]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                found.setdefault(name, []).append(node)
        return found

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor or constant; KeyError if it is not known."""
        tensor = self.tensors.get(name)
        return self.constants.shape(name) if tensor is None else tensor.shape

    def quantisation(self, name: str) -> Quantisation | None:
        """How a tensor is quantised; None if it is not, or is constant."""
        tensor = self.tensors.get(name)
        return None if tensor is None else tensor.quantisation


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(Dataflow[Operation]):
    """A network of operators, as its file has it.

    Members
    -------
    opset : version of the standard operators.
    fixed_point : whether its reference computes in fixed point, as TFLite's kernels do; else in float32.
    """

    opset: int
    fixed_point: bool = False

    def as_read(self, node: Operation) -> Quantisation | None:
        """How a DequantizeLinear reads a tensor; None for one that is not quantised."""
        own = self.quantisation(node.inputs[0])
        if own is None:
            return None
        scale = float(self.constants[node.inputs[1]].astype(np.float32).reshape(-1)[0])
        zero = int(self.constants[node.input(2)].reshape(-1)[0]) if node.input(2) else 0
        return Quantisation(scale, zero - OFFSET if own.unsigned else zero, own.unsigned)

    def known(self, name: str) -> tuple[int, ...] | None:
        """The shape of a tensor that has elements; None if it is not known."""
        shape = self.shape(name) if name in self.tensors or name in self.constants.arrays else None
        return None if shape is None or min(shape, default=1) < 1 else shape

    def values(self, name: str) -> Sequence[float]:
        """The elements of a constant; none if they are not known."""
        array = self.constants.arrays.get(name)
        return () if array is None else array.reshape(-1).tolist()

    def macs(self, node: Operation) -> int:
        """Multiply-accumulates of an operator."""
        shape = self.shape
        match node.operator:
            case "Conv" | "ConvTranspose":
                data = shape(node.outputs[0] if node.operator == "Conv" else node.inputs[0])
                return prod(shape(node.inputs[1])) * data[0] * prod(data[2:])
            case "Gemm" | "MatMul":
                return (
                    prod(shape(node.outputs[0])) * shape(node.inputs[0])[-2 if node.attributes.get("transA") else -1]
                )
        return 0


@dataclass(frozen=True, slots=True)
class Work:
    """Work of some nodes: multiply-accumulates, and bytes of what they read and write, parameters included."""

    nodes: int = 0
    macs: int = 0
    bytes: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph(Dataflow[Node]):
    """A quantised network of integer nodes, and of what the host runs."""

    def bytes_of(self, node: Node) -> int:
        """What a node reads and writes, parameters included; nothing for one that moves nothing."""
        if not node.moves:
            return 0
        return node.parameter_bytes + sum(self.tensors[name].bytes for name in (*node.inputs, *node.outputs))

    def work(self, nodes: Collection[str] | None = None) -> Work:
        """The work of all nodes, or of those of these names."""
        chosen = [node for node in self.nodes if nodes is None or node.name in nodes]
        return Work(len(chosen), sum(node.macs for node in chosen), sum(map(self.bytes_of, chosen)))

    def share(self, nodes: Collection[str]) -> tuple[float, float]:
        """The part of multiply-accumulates, and of bytes, that is of these nodes."""
        whole, part = self.work(), self.work(nodes)
        return part.macs / max(whole.macs, 1), part.bytes / max(whole.bytes, 1)
