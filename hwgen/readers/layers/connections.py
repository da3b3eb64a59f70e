"""Which rows of an ONNX model read which: the operators between them are folded into rows, or end the connection."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.operators import OPERATORS, Operator
from hwgen.readers.layers.operators import ACTIVATIONS, Passing, ignored_group
from hwgen.readers.layers.rows import Padding, Row, as_map

__all__ = ["Broken", "Connections"]

GATES = {"Sigmoid": "silu", "HardSigmoid": "hard_swish"}
"""x times these of x is one activation."""
RESULT = "a result of the model"


def _may_be_activated(operation: Operator) -> bool:
    """Whether a row may have an activation; not one that only puts maps beside each other."""
    return operation.requantises or not operation.several_inputs


@dataclass(frozen=True)
class Broken:
    """A tensor that is no row's map, and why."""

    reason: str


class Connections:
    """What each tensor is: the map of a row or of an input, or neither. Nodes are told in order."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._sources: dict[str, str | Broken] = {name: name for name in model.inputs}
        self._roots: dict[str, str] = {name: name for name in model.inputs}
        self._rows: dict[str, Row] = {}
        self.padded: dict[str, Padding] = {}
        """Zeros around a tensor: top, left, bottom, right."""
        self.features: dict[str, tuple[int, int, int] | None] = {
            name: as_map(self._model.known(name) or ()) for name in model.inputs
        }
        """Channels, height and width of each input; None if it is no map."""

    def row(self, node: Operation, row: Row) -> tuple[str, ...] | Broken:
        """A node has become a row: what it reads."""
        operation = OPERATORS[row["op"]]
        read: list[str] = []
        broken: Broken | None = None
        for tensor in node.inputs if operation.several_inputs else node.inputs[:1]:
            source = self._sources.get(tensor, Broken(f"{tensor} is a constant"))
            if tensor in self.padded and not (operation.windowed and operation.schedulable):
                source = Broken(f"{node.name} reads a padded map")
            if isinstance(source, Broken):
                broken = broken or source
            else:
                read.append(source)
        self._rows[node.name] = row
        self._roots[node.name] = node.outputs[0]
        self._sources[node.outputs[0]] = node.name
        if node.label == "FusedConv":
            self._fused(node, row)
        return broken or tuple(read)

    def passing(self, node: Operation) -> None:
        """A node is no row: its output is the map of the row before it, or none."""
        group = ignored_group(node.operator)
        kind = Passing.ENDS if group is None else group.passing
        if node.operator in ("Add", "Sum"):
            kind = Passing.SCALE
        source = self._sources.get(node.inputs[0]) if node.inputs else None
        found: str | None = None
        if kind is Passing.PADDING:
            found = self._pad(node)
        elif self._is_same(node):
            found = source if isinstance(source, str) else None
            if node.inputs[0] in self.padded:
                self.padded[node.outputs[0]] = self.padded[node.inputs[0]]
        elif node.operator == "Transpose":
            found = self._transposed_input(node)
        elif kind is Passing.ACTIVATION:
            found = self._activation(node)
        elif kind is Passing.SCALE:
            found = self._gate(node) or self._scale(node)
        reason = (
            "not all that reads its input" if kind is not Passing.ENDS else group.why if group else "in this form"
        )
        why = (
            source if isinstance(source, Broken) else Broken(f"no row expresses {node.label} {node.name} ({reason})")
        )
        self.end(node, why)
        if found is not None:
            self._sources[node.outputs[0]] = found

    def end(self, node: Operation, why: Broken) -> None:
        """What a node makes is no row's map."""
        self._sources.update(dict.fromkeys(node.outputs, why))

    def _is_same(self, node: Operation) -> bool:
        """Whether a node keeps elements and their order."""
        group = ignored_group(node.operator)
        if group is not None and group.passing is Passing.SAME:
            return True
        shape = self._model.known(node.inputs[0]) if node.operator == "Transpose" else None
        if shape is None:
            return False
        order = [axis for axis in self._order(node, len(shape)) if shape[axis] != 1]
        return order == sorted(order)

    @staticmethod
    def _order(node: Operation, rank: int) -> list[int]:
        return node.ints("perm", range(rank - 1, -1, -1))

    def _readers(self, tensor: str) -> set[str]:
        """Names of the nodes that read a tensor, also by way of nodes that change nothing."""
        found = {RESULT} if tensor in self._model.outputs else set()
        for node in self._model.readers.get(tensor, ()):
            found |= self._readers(node.outputs[0]) if self._is_same(node) else {node.name}
        return found

    def _row_before(self, node: Operation, tensor: str, *readers: str) -> str | None:
        """The row or input whose map a tensor is, if nothing but ``node`` and ``readers`` reads it."""
        source = self._sources.get(tensor)
        if not isinstance(source, str) or tensor in self.padded:
            return None
        return source if self._readers(self._roots[source]) == {node.name, *readers} else None

    def _folded(
        self, node: Operation, source: str | None, changes: Mapping[str, Any], may: Callable[[Operator], bool]
    ) -> str | None:
        """The row, with more keys, if it may have them."""
        row = self._rows.get(source or "")
        if source is None or row is None or "activation" in row or not may(OPERATORS[row["op"]]):
            return None
        row.update(changes)
        self._roots[source] = node.outputs[0]
        return source

    def _activation(self, node: Operation) -> str | None:
        source = self._row_before(node, node.inputs[0])
        return self._folded(node, source, {"activation": self._activation_name(node)}, _may_be_activated)

    def _activation_name(self, node: Operation) -> str:
        if node.operator == "Clip":
            low, high = (self._bound(node, index, key) for index, key in ((1, "min"), (2, "max")))
            if low == 0 and high in (None, 6):
                return "relu" if high is None else "relu6"
        return ACTIVATIONS[node.operator]

    def _bound(self, node: Operation, index: int, key: str) -> float | None:
        """A bound of a Clip: an attribute, or a constant input; None if there is none, or none that is known."""
        if key in node.attributes:
            value = float(node.attributes[key])
            return None if abs(value) > 1e30 else value
        tensor = node.inputs[index] if index < len(node.inputs) else ""
        if not tensor:
            return None
        values = self._model.values(tensor)
        return float(values[0]) if len(values) == 1 else float("nan")

    def _scale(self, node: Operation) -> str | None:
        """Batch normalisation, or arithmetic with a constant for each channel: after weights, or of an input."""
        others = [name for name in node.inputs if not self._is_scale(name)]
        if node.operator == "BatchNormalization":
            others = [node.inputs[0]]
        if len(others) != 1 or (node.operator == "Div" and others[0] != node.inputs[0]):
            return None
        source = self._row_before(node, others[0])
        if source is not None and source in self._model.inputs:
            self._roots[source] = node.outputs[0]
            return source
        changes = {"batchnorm": True} if node.operator == "BatchNormalization" else {}
        return self._folded(node, source, changes, lambda operation: operation.weighted)

    def _is_scale(self, tensor: str) -> bool:
        """Whether a tensor is one factor for all, or a constant for each channel."""
        shape = self._model.known(tensor)
        if shape is None:
            return False
        large = [size for size in shape if size != 1]
        return not large or (tensor in self._model.constants and len(large) == 1)

    def _gate(self, node: Operation) -> str | None:
        """x times a sigmoid of x."""
        if node.operator != "Mul" or len(node.inputs) != 2:
            return None
        for tensor, other in (node.inputs, node.inputs[::-1]):
            gate = self._model.producers.get(other)
            if gate is None or gate.operator not in GATES or self._readers(other) != {node.name}:
                continue
            source = self._row_before(node, tensor, gate.name)
            if source is not None and source == self._sources.get(gate.inputs[0]):
                return self._folded(node, source, {"activation": GATES[gate.operator]}, _may_be_activated)
        return None

    def _fused(self, node: Operation, row: Row) -> None:
        """A convolution with its activation, and perhaps a map that is added."""
        activation = node.attributes.get("activation", "")
        if activation:
            row["activation"] = ACTIVATIONS.get(activation, activation.lower())
        if len(node.inputs) > 3 and node.inputs[3]:
            self.end(node, Broken(f"{node.label} {node.name} adds another map"))

    def _transposed_input(self, node: Operation) -> str | None:
        """The model's input with its channels first."""
        source = self._row_before(node, node.inputs[0])
        if source is None or source not in self._model.inputs:
            return None
        self.features[source] = as_map(self._model.known(node.outputs[0]) or ())
        self._roots[source] = node.outputs[0]
        return source

    def _pad(self, node: Operation) -> str | None:
        """Zeros around height and width, which the convolution that follows may take as its own."""
        source, shape = self._sources.get(node.inputs[0]), self._model.known(node.inputs[0])
        pads = node.ints("pads")
        if len(node.inputs) > 1:
            pads = [int(one) for one in self._model.values(node.inputs[1])]
        fill = float(node.attributes.get("value", 0))
        if len(node.inputs) > 2 and node.inputs[2]:
            fill = float((*self._model.values(node.inputs[2]), float("nan"))[0])
        known = isinstance(source, str) and shape is not None and len(shape) in (3, 4) and len(pads) == 2 * len(shape)
        if not known or fill != 0 or node.attributes.get("mode", "constant") != "constant" or len(node.inputs) > 3:
            return None
        half = len(pads) // 2
        if any(pads[:2]) or any(pads[half : half + 2]) or min(pads) < 0 or node.inputs[0] in self.padded:
            return None
        before, after = pads[2:half], pads[half + 2 :]
        top, left = before if len(before) == 2 else (0, *before)
        bottom, right = after if len(after) == 2 else (0, *after)
        self.padded[node.outputs[0]] = (top, left, bottom, right)
        return source if isinstance(source, str) else None
