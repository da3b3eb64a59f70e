"""An ONNX file as nodes with known shapes: quantised operators are what they stand for, constants are told apart.

Only shapes are read, and the few small constants that shapes and activations follow from; never weights.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.names import safe_name
from hwgen.readers.layers.operators import EQUIVALENTS
from hwgen.readers.onnx.file import load_file, one_line

__all__ = ["Model", "OnnxNode", "Shape", "load_model"]

Shape = tuple[int | None, ...]

SMALL = 1024
"""Elements of a constant whose values are kept."""
OLDEST_OPSET = 17
"""Taken where a model of quantised operators alone names no version of the standard ones."""
NEWER_IR = 4
"""From this version of the file format on an initializer need not be an input."""
DOMAINS = ("", "ai.onnx", "com.microsoft", "com.ms.internal.nhwc")


@dataclass(frozen=True)
class OnnxNode:
    """One node.

    Members
    -------
    name : its name, or one made of operator and position; safe in files, once in the model.
    label : its operator as the file has it.
    operator : the standard operator that it is; that of another domain is in ``label`` alone.
    inputs : data alone, without scales and zero points; an absent one is empty.
    """

    name: str
    label: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def ints(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """An attribute that is a list of integers."""
        return [int(one) for one in self.attributes.get(name, default)]

    def text(self, name: str, default: str) -> str:
        """An attribute that is a word."""
        value = self.attributes.get(name, default)
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True)
class Model:
    """The nodes of a model in order, and what is known of its tensors.

    Members
    -------
    inputs : tensors that are given from outside, with their shapes; the batch is 1 where it is free.
    outputs : tensors that are results.
    shapes : of all tensors; None for a size that is not known.
    constants : tensors that do not depend on the inputs.
    values : those of small constants, flat.
    """

    nodes: tuple[OnnxNode, ...]
    inputs: Mapping[str, Shape]
    outputs: frozenset[str]
    shapes: Mapping[str, Shape]
    constants: frozenset[str]
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def shape(self, tensor: str) -> tuple[int, ...] | None:
        """The shape of a tensor, if all of it is known."""
        shape = self.shapes.get(tensor)
        sizes = tuple(size for size in shape or () if size is not None and size > 0)
        return None if shape is None or len(sizes) < len(shape) else sizes

    def constant(self, node: OnnxNode) -> bool:
        """Whether a node computes nothing but constants."""
        return all(output in self.constants for output in node.outputs if output)

    @cached_property
    def readers(self) -> Mapping[str, tuple[OnnxNode, ...]]:
        """The nodes that read a tensor."""
        found: dict[str, list[OnnxNode]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                found.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}


def load_model(path: Path) -> Model:
    """Read a file. Raises `InputError`, in one line, for what is no model, or has sizes that are not fixed."""
    whole = load_file(path)
    import onnx
    import onnx.shape_inference

    try:
        nodes = tuple(_nodes(onnx, whole.graph))
        known = onnx.shape_inference.infer_shapes(_skeleton(onnx, whole, nodes), data_prop=True)
    except Exception as error:  # so does shape inference
        raise InputError(f"{path}: shapes cannot be inferred: {one_line(error)}") from None
    given = {tensor.name for tensor in whole.graph.initializer}
    constants, values = _constants(onnx, whole.graph, nodes)
    return Model(
        nodes=nodes,
        inputs={value.name: _shape(value, batch=True) for value in whole.graph.input if value.name not in given},
        outputs=frozenset(value.name for value in whole.graph.output),
        shapes={value.name: _shape(value) for value in (*known.graph.input, *known.graph.value_info,
                                                        *known.graph.output) if _has_shape(value)}
        | {tensor.name: tuple(tensor.dims) for tensor in whole.graph.initializer},
        constants=frozenset(constants),
        values=values,
    )  # fmt: skip


def _nodes(onnx: Any, graph: Any) -> Iterable[OnnxNode]:
    names = {value.name.casefold() for value in graph.input}
    for index, node in enumerate(graph.node):
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        label = node.op_type if node.domain in DOMAINS else f"{node.domain}.{node.op_type}"
        equivalent = EQUIVALENTS.get(label)
        inputs = list(node.input) if equivalent is None else equivalent.inputs(list(node.input))
        op = label if equivalent is None else equivalent.name
        name = safe_name(node.name or f"{node.op_type.lower()}_{index}", names)
        yield OnnxNode(name, label, op, tuple(inputs), tuple(node.output), attributes)


def _skeleton(onnx: Any, whole: Any, nodes: Sequence[OnnxNode]) -> Any:
    """The model for shape inference: standard operators, a batch of 1 where it is free, no large constants."""
    graph = onnx.GraphProto(name="skeleton")
    given = {tensor.name for tensor in whole.graph.initializer}
    for value in whole.graph.input:
        if value.name not in given:
            graph.input.append(value)
            dims = graph.input[-1].type.tensor_type.shape.dim
            if len(dims) and not dims[0].HasField("dim_value"):
                dims[0].dim_value = 1
    for tensor in whole.graph.initializer:
        if _elements(tensor) <= SMALL and not tensor.external_data:
            graph.initializer.append(tensor)
        else:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    for proto, node in zip(whole.graph.node, nodes, strict=True):
        copy = graph.node.add()
        copy.CopyFrom(proto)
        if node.label in EQUIVALENTS:
            copy.op_type, copy.domain = node.operator, ""
            del copy.input[:]
            copy.input.extend(node.inputs[:3] if node.operator == "Conv" else node.inputs)
    made = {output for node in nodes for output in node.outputs}
    foreign = {output for proto in whole.graph.node if proto.domain not in ("", "ai.onnx") for output in proto.output}
    graph.value_info.extend(value for value in whole.graph.value_info if value.name in foreign & made)
    skeleton = onnx.ModelProto(ir_version=max(whole.ir_version, NEWER_IR), graph=graph)
    skeleton.opset_import.extend(whole.opset_import)
    if not any(opset.domain in ("", "ai.onnx") for opset in whole.opset_import):
        skeleton.opset_import.append(onnx.helper.make_opsetid("", OLDEST_OPSET))
    return skeleton


def _constants(onnx: Any, graph: Any, nodes: Sequence[OnnxNode]) -> tuple[set[str], dict[str, Sequence[float]]]:
    """Tensors that do not depend on the inputs, and the values of the small ones among them."""
    constants = {tensor.name for tensor in graph.initializer}
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for proto, node in zip(graph.node, nodes, strict=True):
        if all(name in constants for name in proto.input if name):
            constants.update(node.outputs)
            if node.operator == "Constant" and "value" in node.attributes:
                tensors[node.outputs[0]] = node.attributes["value"]
    values: dict[str, Sequence[float]] = {}
    for name, tensor in tensors.items():
        if _elements(tensor) <= SMALL and not tensor.external_data and tensor.data_type != onnx.TensorProto.STRING:
            try:
                values[name] = onnx.numpy_helper.to_array(tensor).reshape(-1).tolist()
            except Exception:  # its data are not in the file, or of a type that is none
                continue
    return constants, values


def _elements(tensor: Any) -> int:
    count = 1
    for size in tensor.dims:
        count *= size
    return count


def _has_shape(value: Any) -> bool:
    return bool(value.type.tensor_type.HasField("shape"))


def _shape(value: Any, *, batch: bool = False) -> Shape:
    dims = value.type.tensor_type.shape.dim
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
    if batch and sizes and sizes[0] is None:
        sizes[0] = 1
    return tuple(sizes)
