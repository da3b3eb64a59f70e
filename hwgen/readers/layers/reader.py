"""ONNX models as layer sets: every node is taken as a row, ignored because it carries no work, or left out by name.

Rows are connected where the operators between them allow it; else the set is a layer list, and says why.
"""

import math
from collections import Counter
from pathlib import Path
from typing import Any

from hwgen.ir.coverage import Coverage, Ignored, LeftOut
from hwgen.ir.document import InputError, validated
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.operators import OPERATORS
from hwgen.readers.layers.connections import Broken, Connections
from hwgen.readers.layers.operators import TAKEN, ignored_group
from hwgen.readers.layers.rows import Refused, Row, Workless, row_of
from hwgen.readers.onnx.reader import load_model

__all__ = ["read_onnx"]

CONSTANT = "computed from constants"


def read_onnx(path: Path) -> Network:
    """The layer set of one ONNX file; raises `InputError` in one line if it has no layer that a row expresses."""
    reading = _Reading(load_model(path))
    return reading.network(path)


class _Reading:
    """The nodes of a model, one after the other."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._connections = Connections(model)
        self._rows: list[dict[str, Any]] = []
        self._left_out: list[LeftOut] = []
        self._ignored: Counter[tuple[str, str]] = Counter()
        self._broken: Broken | None = None
        for node in model.nodes:
            self._node(node)

    def _node(self, node: Operation) -> None:
        try:
            self._sort(node)
        except Refused as refused:
            self._leave_out(node, refused.reason, refused.macs)
        except (
            ArithmeticError,
            IndexError,
            KeyError,
            TypeError,
            ValueError,
        ):  # too few inputs, attributes of other types
            self._leave_out(node, "inputs or attributes that the operator does not have", None)

    def _leave_out(self, node: Operation, reason: str, macs: int | None) -> None:
        self._left_out.append(LeftOut(name=node.name, op=node.label, reason=f"{node.label}: {reason}", macs=macs))
        self._connections.end(node, Broken(f"{node.label} {node.name} is left out"))

    def _sort(self, node: Operation) -> None:
        """Take a node or ignore it; raises `Refused`."""
        if all(output in self._model.constants for output in node.outputs if output):
            self._ignored[node.label, CONSTANT] += 1
            return
        group = ignored_group(node.operator)
        if group is not None:
            self._ignore(node, group.why)
            return
        if node.operator in TAKEN and node.operator in ("Add", "Sum") and self._has_constant(node):
            self._ignore(node, "a bias: element-wise with a constant")
            return
        try:
            self._take(node, self._checked(node, row_of(node, self._model, self._connections.padded)))
        except Workless as reason:
            self._ignore(node, f"{reason}: no multiply-accumulates")

    def _has_constant(self, node: Operation) -> bool:
        return any(name in self._model.constants for name in node.inputs)

    def _ignore(self, node: Operation, why: str) -> None:
        self._ignored[node.label, why] += 1
        self._connections.passing(node)

    @staticmethod
    def _checked(node: Operation, row: Row) -> Row:
        """The row, if a table may have it."""
        try:
            validated(Node, {"name": node.name, **row}, "")
        except InputError as error:
            reason = str(error).removeprefix(": ")
            operation = OPERATORS[row["op"]]
            if operation.weighted:
                side = "output" if operation.schedulable else "input"
                channels = row["output_channels"] * row["input_channels"] // row.get("groups", 1)
                pixels = row.get("batch", 1) * row[f"{side}_height"] * row[f"{side}_width"]
                raise Refused(reason, channels * math.prod(row["kernel"]) * pixels) from None
            raise Workless(reason) from None
        return row

    def _take(self, node: Operation, row: Row) -> None:
        row = {"name": node.name, "inputs": [], **row, "onnx": node.label}
        read = self._connections.row(node, row)
        self._rows.append(row)
        if isinstance(read, Broken):
            self._broken = self._broken or read
        else:
            row["inputs"] = list(read)

    def network(self, path: Path) -> Network:
        """All rows: connected if they can be."""
        header: dict[str, Any] = {"network": path.stem, "source": path.name}
        if self._ignored:
            header["ignored"] = tuple(
                Ignored(op=op, count=count, why=why) for (op, why), count in self._ignored.items()
            )
        if self._left_out:
            header["left_out"] = tuple(self._left_out)
        if not self._rows:
            raise InputError(f"{path}: {self._nothing()}")
        reason = self._unconnected()
        if reason is None:
            try:
                return self._connected(header, path)
            except InputError as error:
                reason = str(error).removeprefix(f"{path}: ")
        rows = [{**row, "inputs": []} for row in self._rows]
        data = {"format": 1, "kind": "layer_list", **header, "not_connected": reason, "layers": rows}
        return Network.from_data(data, str(path))

    def _nothing(self) -> str:
        if self._left_out:
            return f"no node is a layer of a table: {Coverage('', (), tuple(self._left_out)).lost}"
        ignored = ", ".join(
            f"{count} {op}{f' ({why})' if op in TAKEN else ''}" for (op, why), count in self._ignored.items()
        )
        return f"expected a model with a convolution, product or pool, got {ignored}"

    def _unconnected(self) -> str | None:
        """Why the rows are no connected network; None if they may be one."""
        if self._left_out:
            first = self._left_out[0]
            return f"{first.name} is left out: {first.reason}"
        if self._broken is not None:
            return self._broken.reason
        read = [name for name in self._connections.features if any(name in row["inputs"] for row in self._rows)]
        if len(read) != 1:
            return f"expected one input, got {', '.join(read) or 'none'}"
        if self._connections.features[read[0]] is None:
            return f"input {read[0]} is no feature map"
        return None

    def _connected(self, header: dict[str, Any], path: Path) -> Network:
        name, shape = next(
            (name, shape)
            for name, shape in self._connections.features.items()
            if any(name in row["inputs"] for row in self._rows)
        )
        channels, height, width = shape or (0, 0, 0)
        entry = {"name": name, "channels": channels, "height": height, "width": width}
        data = {"format": 1, "kind": "network", **header, "input": entry, "layers": self._rows}
        return Network.from_data(data, str(path))
