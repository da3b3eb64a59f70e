"""ONNX models as layer sets: the convolution, fully connected and pooling nodes with their inferred sizes.

Needs the optional package ``onnx``. Only shapes are read, never weights. The rows are independent layers: what stands
between them (activations, normalisation, reshapes, joins) carries no weights and is left out.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.network import Network

__all__ = ["read_onnx"]

_POOLS = {"MaxPool": "max", "AveragePool": "avg", "GlobalMaxPool": "max", "GlobalAveragePool": "avg"}
_OPS = ("Conv", "ConvTranspose", "Gemm", "MatMul", *_POOLS)

Shapes = dict[str, tuple[int | None, ...]]


def read_onnx(path: Path) -> Network:
    """The layer set of one ONNX file; raises `InputError` in one line that names the node."""
    try:
        import onnx
        import onnx.shape_inference
    except ImportError:
        raise InputError(f"{path}: reading ONNX needs the package onnx (pip install hwgen[onnx])") from None
    try:
        model = onnx.shape_inference.infer_shapes(onnx.load(str(path), load_external_data=False))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except Exception as error:  # protobuf and shape inference raise what they like
        reason = " ".join(str(error).split())[:80]
        raise InputError(f"{path}: expected an ONNX model: {reason or type(error).__name__}") from None
    shapes = _shapes(model.graph)
    constants = _constants(model.graph)
    rows: list[dict[str, Any]] = []
    names: set[str] = set()
    for index, node in enumerate(model.graph.node):
        if node.op_type not in _OPS or (node.op_type == "MatMul" and node.input[1] not in constants):
            continue
        name = _unused_name(node.name or f"{node.op_type.lower()}_{index}", names)
        row = _row(node, shapes, f"{path}: {node.op_type} {name}")
        rows.append({"name": name, "inputs": [], **row})
    if not rows:
        raise InputError(f"{path}: the model has no convolution, fully connected or pooling node")
    data = {"format": 1, "kind": "layer_list", "network": path.stem, "source": path.name, "layers": rows}
    return Network.from_data(data, str(path))


def _shapes(graph: Any) -> Shapes:
    shapes: Shapes = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        shapes[value.name] = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in dims)
    for tensor in graph.initializer:
        shapes[tensor.name] = tuple(tensor.dims)
    return shapes


def _constants(graph: Any) -> set[str]:
    """Names of the tensors that do not depend on the model's input: initializers and what is computed from them."""
    constants = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if all(name in constants for name in node.input if name):
            constants.update(node.output)
    return constants


def _unused_name(wanted: str, names: set[str]) -> str:
    base = re.sub(r"[^A-Za-z0-9_.+-]", "_", wanted).lstrip(".+-")[:90] or "node"
    name, count = base, 1
    while name in names:
        count += 1
        name = f"{base}_{count}"
    names.add(name)
    return name


def _row(node: Any, shapes: Shapes, where: str) -> dict[str, Any]:
    given, made = _known(node.input[0], shapes, where), _known(node.output[0], shapes, where)
    if node.op_type in ("Gemm", "MatMul"):
        return _fc(given, made, where)
    if len(given) != 4:
        raise InputError(f"{where}: expected two spatial dimensions, got {len(given) - 2}")
    attributes = {attribute.name: attribute for attribute in node.attribute}
    kernel = _kernel(node, attributes, shapes, where)
    stride = list(attributes["strides"].ints) if "strides" in attributes else [1, 1]
    if any(dilation != 1 for dilation in _ints(attributes, "dilations")):
        raise InputError(f"{where}: dilations: expected 1, got {list(attributes['dilations'].ints)}")
    groups = attributes["group"].i if "group" in attributes else 1
    row: dict[str, Any] = {
        "op": "conv",
        "input_channels": given[1],
        "output_channels": made[1],
        "input_height": given[2],
        "input_width": given[3],
        "output_height": made[2],
        "output_width": made[3],
        "kernel": kernel,
        "stride": stride,
        "padding": _padding(attributes, given[2:], made[2:], kernel, stride),
        "groups": groups,
    }
    if node.op_type in _POOLS:
        row |= {"op": "pool", "pool": _POOLS[node.op_type], "global_pool": node.op_type.startswith("Global")}
    elif node.op_type == "ConvTranspose":
        row |= {"op": "deconv", "padding": _ints(attributes, "pads") or [0] * 4}
        row["output_padding"] = _ints(attributes, "output_padding") or [0, 0]
    elif groups > 1 and groups == given[1] == made[1]:
        row["op"] = "depthwise_conv"
    return row


def _known(name: str, shapes: Shapes, where: str) -> tuple[int, ...]:
    """The shape of one tensor; the batch (its first dimension) may be free, the rest must be known."""
    shape = shapes.get(name)
    if not shape:
        raise InputError(f"{where}: the shape of {name} cannot be inferred")
    fixed = tuple(dim for dim in shape[1:] if dim is not None)
    if len(fixed) != len(shape) - 1:
        raise InputError(f"{where}: the shape of {name} is not fixed; expected a model with fixed sizes")
    return (shape[0] or 1, *fixed)


def _ints(attributes: dict[str, Any], name: str) -> list[int]:
    return list(attributes[name].ints) if name in attributes else []


def _fc(given: tuple[int, ...], made: tuple[int, ...], where: str) -> dict[str, Any]:
    if len(given) != 2 or len(made) != 2:
        raise InputError(f"{where}: expected a matrix of one row per image, got {len(given)} dimensions")
    sizes = dict.fromkeys(("input_height", "input_width", "output_height", "output_width"), 1)
    return {"op": "fc", "input_channels": given[1], "output_channels": made[1], **sizes, "kernel": [1, 1]}


def _kernel(node: Any, attributes: dict[str, Any], shapes: Shapes, where: str) -> list[int]:
    if "kernel_shape" in attributes:
        return list(attributes["kernel_shape"].ints)
    if node.op_type.startswith("Global"):
        return list(_known(node.input[0], shapes, where)[2:])
    return list(_known(node.input[1], shapes, where)[2:])


def _padding(
    attributes: dict[str, Any], given: Iterable[int], made: Iterable[int], kernel: list[int], stride: list[int]
) -> list[int]:
    """Explicit (top, left, bottom, right) padding; automatic padding and ceil mode become unequal pads."""
    auto = attributes["auto_pad"].s.decode() if "auto_pad" in attributes else "NOTSET"
    pads = _ints(attributes, "pads") or [0] * 4
    for axis, (size, output) in enumerate(zip(given, made, strict=True)):
        needed = (output - 1) * stride[axis] + kernel[axis] - size
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            total = max(needed, 0)
            first = (total if auto == "SAME_UPPER" else total + 1) // 2
            pads[axis], pads[axis + 2] = first, total - first
        else:
            pads[axis + 2] = max(pads[axis + 2], needed - pads[axis])
    return pads
