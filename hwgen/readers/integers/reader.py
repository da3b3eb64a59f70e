"""A quantised ONNX model as an integer graph: what has integer nodes is the hardware's, the rest the host's."""

from math import prod
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Dequantise, HostOperator, Node, Quantise
from hwgen.ir.network.tensors import OFFSET, Tensor
from hwgen.readers.integers.anchors import ANCHORS
from hwgen.readers.integers.regions import Region
from hwgen.readers.integers.sums import channel_convolution
from hwgen.readers.integers.tails import NotHardware
from hwgen.readers.onnx.lifting import QUANTISERS
from hwgen.readers.onnx.loading import load_quantised
from hwgen.readers.onnx.model import QuantisedModel, malformed
from hwgen.readers.onnx.operators import ACTIVE

__all__ = ["read_quantised"]

NOT_QUANTISED = "its output is not quantised"


def read_quantised(path: Path) -> Graph:
    """The integer graph of one ONNX file, in QDQ or QOperator form; raises `InputError` in one line for any other."""
    return _Reading(load_quantised(path)).graph()


class _Reading:
    """The nodes of a model, one after the other."""

    def __init__(self, model: QuantisedModel) -> None:
        self._model = model
        self._producers = {name: node for node in model.nodes for name in node.output if name}
        self._regions: dict[str, Region] = {}
        self._reasons: dict[str, str] = {}
        self._check_weights()
        for node in model.nodes:
            if node.op_type == "QuantizeLinear":
                self._quantiser(node)

    def _check_weights(self) -> None:
        """Raise `InputError` for weights that depend on the inputs, or do not fit what they are multiplied with."""
        model = self._model
        for node in model.nodes:
            if node.op_type in ACTIVE:
                with malformed(model.path, node):
                    self._check_weights_of(node)

    def _check_weights_of(self, node: Any) -> None:
        model = self._model
        where = f"{model.path}: {node.op_type} {node.name}: weights"
        if node.input[1] not in model.constants:
            raise InputError(f"{where} {node.input[1]} are not constant")
        if node.op_type == "Conv":
            channels, own = model.shapes[node.input[0]][1], model.constants.shape(node.input[1])[1]
            groups = next((one.i for one in node.attribute if one.name == "group"), 1)
            if own * groups != channels:
                raise InputError(f"{where} of {own} channels for {groups} groups of {channels // groups}")

    def _quantiser(self, node: Any) -> None:
        region = Region(self._model, self._producers, ANCHORS, channel_convolution, node)
        try:
            with malformed(self._model.path, self._producers.get(node.input[0], node)):
                region.build()
        except NotHardware as error:
            self._explain(node.input[0], str(error))
        else:
            self._regions[node.output[0]] = region
            self._reasons |= region.reasons

    def _explain(self, tensor: str, reason: str) -> None:
        """Why the nodes between the quantised tensors and this one are the host's; the first reason found is kept."""
        node = self._producers.get(tensor)
        if node is None or node.op_type in QUANTISERS or node.output[0] in self._reasons:
            return
        self._reasons[node.output[0]] = reason
        for name in node.input:
            self._explain(name, reason)

    def graph(self) -> Graph:
        """The nodes that the outputs depend on."""
        model = self._model
        needed = self._needed()
        nodes: list[Node] = []
        tensors = {name: self._tensor(name) for name in model.inputs}
        constants = {}
        for node in model.nodes:
            if not needed & set(node.output):
                continue
            region = self._regions.get(node.output[0])
            if region is None:
                with malformed(model.path, node):
                    nodes.append(self._host(node))
                tensors.update((name, self._tensor(name)) for name in node.output if name)
                continue
            known = {one.name for one in nodes}  # what is moved for several readers is moved once
            nodes += (one for one in region.nodes if one.name not in known)
            tensors |= region.tensors
            constants.update(region.constants)
        missing = [name for name in model.outputs if name not in tensors]
        if missing:
            raise InputError(f"{model.path}: output {missing[0]} does not depend on the inputs")
        return Graph(
            model.path.stem,
            tuple(nodes),
            tuple(model.inputs),
            tuple(model.outputs),
            tensors,
            constants,
            model.batch,
            frozenset(model.apart),
            model.together,
        )

    def _needed(self) -> set[str]:
        """Tensors that the outputs depend on."""
        needed = set(self._model.outputs)
        for node in reversed(self._model.nodes):
            if not needed & set(node.output):
                continue
            region = self._regions.get(node.output[0])
            if region is None:
                needed |= {name for name in node.input if name}
            else:
                needed |= {name for one in region.nodes for name in one.inputs}
        return needed

    def _tensor(self, name: str) -> Tensor:
        model = self._model
        return Tensor(name, model.shapes[name], model.quantised.get(name), model.dtypes.get(name, "float32"))

    def _host(self, node: Any) -> Node:
        """A node that the host runs."""
        model = self._model
        base: dict[str, Any] = {
            "name": node.output[0],
            "inputs": tuple(name for name in dict.fromkeys(node.input) if name and name not in model.constants),
            "outputs": tuple(name for name in node.output if name),
            "covers": (str(node.name or node.output[0]),),
            "shape": model.shapes[node.output[0]],
        }
        if node.op_type == "QuantizeLinear":
            return Quantise(**base)
        if node.op_type == "DequantizeLinear" and node.input[0] in model.quantised:
            zero = 0
            if len(node.input) > 2 and node.input[2]:
                zero = int(model.constants.value(node.input[2]).reshape(-1)[0])
            unsigned = model.quantised[node.input[0]].unsigned
            scale = float(model.constants.value(node.input[1]).reshape(-1)[0])
            return Dequantise(**base, scale=scale, zero=zero - OFFSET if unsigned else zero)
        return HostOperator(
            **base,
            operator=node.op_type,
            reason=self._reasons.get(node.output[0], NOT_QUANTISED),
            proto=node.SerializeToString(),
            constants={name: model.constants.value(name) for name in node.input if name in model.constants},
            opset=model.opset,
            work=self._macs(node),
        )

    def _macs(self, node: Any) -> int:
        """Multiply-accumulates of a node on numbers."""
        shapes, constants = self._model.shapes, self._model.constants

        def shape(name: str) -> tuple[int, ...]:
            return constants.shape(name) if name in constants else shapes[name]

        match node.op_type:
            case "Conv":
                return prod(shape(node.input[1])) * shape(node.output[0])[0] * prod(shape(node.output[0])[2:])
            case "ConvTranspose":
                return prod(shape(node.input[1])) * shape(node.input[0])[0] * prod(shape(node.input[0])[2:])
            case "Gemm" | "MatMul":
                turned = any(one.name == "transA" and one.i for one in node.attribute)
                return prod(shape(node.output[0])) * shape(node.input[0])[-2 if turned else -1]
        return 0
