"""A quantised network as an integer graph."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hwgen.ir.network.kinds import Node
from hwgen.ir.network.tensors import Int8, Tensor

__all__ = ["Graph", "Work"]


@dataclass(frozen=True, slots=True)
class Work:
    """Work of some nodes: multiply-accumulates, and bytes of what they read and write, parameters included."""

    nodes: int = 0
    macs: int = 0
    bytes: int = 0


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in an order in which they can run.

    Members
    -------
    name : of the model.
    inputs, outputs : names of tensors, as the model has them.
    tensors : all of them, by name; of one image.
    constants : quantised tensors that do not depend on the inputs.
    batch : images that the model takes at a time; None if that is free.
    apart : inputs whose first axis has the images, which the model treats apart; another input is one, whole.
    together : why the first axis of an input that is longer than 1 has no images that are treated apart; else empty.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, Tensor]
    constants: Mapping[str, Int8] = field(default_factory=dict)
    batch: int | None = 1
    apart: frozenset[str] = frozenset()
    together: str = ""

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
