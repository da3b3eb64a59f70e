"""A quantised ONNX model as an integer graph: what has integer nodes is the hardware's, the rest the host's."""

from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.network.graph import Graph, Model
from hwgen.ir.network.kinds import Dequantise, HostOperator, Node, Operation, Quantise
from hwgen.ir.network.tensors import Constants, Int8
from hwgen.readers.integers.maps import AdditionAnchor, AverageAnchor, ConcatenationAnchor, MaximumAnchor
from hwgen.readers.integers.regions import Anchor, Region
from hwgen.readers.integers.sums import ConvolutionAnchor, ProductAnchor, TransposedAnchor, channel_convolution
from hwgen.readers.integers.tails import NotHardware
from hwgen.readers.onnx.lifting import QUANTISERS
from hwgen.readers.onnx.preparation import malformed
from hwgen.readers.onnx.protos import ACTIVE
from hwgen.readers.onnx.reader import load_quantised

__all__ = ["read_quantised"]

ANCHORS: dict[str, Anchor] = {
    "Conv": ConvolutionAnchor(),
    "ConvTranspose": TransposedAnchor(),
    **dict.fromkeys(("Gemm", "MatMul"), ProductAnchor()),
    **dict.fromkeys(("Add", "Sum"), AdditionAnchor()),
    "Concat": ConcatenationAnchor(),
    **dict.fromkeys(("MaxPool", "GlobalMaxPool", "ReduceMax"), MaximumAnchor()),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "ReduceMean"), AverageAnchor()),
}
"""Which operators anchor a region of integer nodes, and how each of them is built."""
NOT_QUANTISED = "its output is not quantised"


def read_quantised(path: Path) -> Graph:
    """The integer graph of one ONNX file, in QDQ or QOperator form; raises `InputError` in one line for any other."""
    return _Reading(path, load_quantised(path)).graph()


class _Reading:
    """The nodes of a model, one after the other."""

    def __init__(self, path: Path, model: Model) -> None:
        self._path, self._model = path, model
        self._regions: dict[str, Region] = {}
        self._reasons: dict[str, str] = {}
        self._check_weights()
        for node in model.nodes:
            if node.operator == "QuantizeLinear" and node.outputs[0]:
                self._quantiser(node)

    def _check_weights(self) -> None:
        """Raise `InputError` for weights that depend on the inputs, or do not fit what they are multiplied with."""
        model = self._model
        for node in model.nodes:
            if node.operator in ACTIVE:
                with malformed(self._path, node):
                    self._check_weights_of(node)

    def _check_weights_of(self, node: Operation) -> None:
        model = self._model
        where = f"{self._path}: {node.operator} {node.name}: weights"
        if node.inputs[1] not in model.constants:
            raise InputError(f"{where} {node.inputs[1]} are not constant")
        if node.operator == "Conv":
            channels, own = model.shape(node.inputs[0])[1], model.constants.shape(node.inputs[1])[1]
            groups = node.attributes.get("group", 1)
            if own * groups != channels:
                raise InputError(f"{where} of {own} channels for {groups} groups of {channels // groups}")

    def _quantiser(self, node: Operation) -> None:
        region = Region(self._model, ANCHORS, channel_convolution, node)
        try:
            with malformed(self._path, self._model.producers.get(node.inputs[0], node)):
                region.build()
        except NotHardware as error:
            self._explain(node.inputs[0], str(error))
        else:
            self._regions[node.outputs[0]] = region
            self._reasons |= region.reasons

    def _explain(self, tensor: str, reason: str) -> None:
        """Why the nodes between the quantised tensors and this one are the host's; the first reason found is kept."""
        node = self._model.producers.get(tensor)
        if node is None or node.operator in QUANTISERS or node.outputs[0] in self._reasons:
            return
        self._reasons[node.outputs[0]] = reason
        for name in node.inputs:
            self._explain(name, reason)

    def graph(self) -> Graph:
        """The nodes that the outputs depend on."""
        model = self._model
        needed = self._needed()
        nodes: list[Node] = []
        tensors = {name: model.tensors[name] for name in model.inputs}
        constants: dict[str, Int8] = {}
        for node in model.nodes:
            if not needed & set(node.outputs):
                continue
            region = self._regions.get(node.outputs[0])
            if region is None:
                with malformed(self._path, node):
                    nodes.append(self._host(node))
                tensors.update((name, model.tensors[name]) for name in node.outputs if name)
                continue
            known = {one.name for one in nodes}  # what is moved for several readers is moved once
            nodes += (one for one in region.nodes if one.name not in known)
            tensors |= region.tensors
            constants.update(region.constants)
        missing = [name for name in model.outputs if name not in tensors]
        if missing:
            raise InputError(f"{self._path}: output {missing[0]} does not depend on the inputs")
        return Graph(
            name=model.name,
            nodes=tuple(nodes),
            inputs=model.inputs,
            outputs=model.outputs,
            tensors=tensors,
            constants=Constants(constants),
            batch=model.batch,
            apart=model.apart,
            together=model.together,
        )

    def _needed(self) -> set[str]:
        """Tensors that the outputs depend on."""
        needed = set(self._model.outputs)
        for node in reversed(self._model.nodes):
            if not needed & set(node.outputs):
                continue
            region = self._regions.get(node.outputs[0])
            if region is None:
                needed |= {name for name in node.inputs if name}
            else:
                needed |= {name for one in region.nodes for name in one.inputs}
        return needed

    def _host(self, node: Operation) -> Node:
        """A node that the host runs."""
        model = self._model
        base: dict[str, Any] = {
            "name": node.outputs[0],
            "inputs": tuple(name for name in dict.fromkeys(node.inputs) if name and name not in model.constants),
            "outputs": tuple(name for name in node.outputs if name),
            "covers": (node.called,),
            "shape": model.shape(node.outputs[0]),
        }
        if node.operator == "QuantizeLinear":
            return Quantise(**base)
        read = model.as_read(node) if node.operator == "DequantizeLinear" else None
        if read is not None:
            return Dequantise(**base, scale=read.scale, zero=read.zero)
        return HostOperator(
            **base,
            operation=node,
            reason=self._reasons.get(node.outputs[0], NOT_QUANTISED),
            constants={name: model.constants[name] for name in node.inputs if name in model.constants},
            opset=model.opset,
            work=model.macs(node),
        )
