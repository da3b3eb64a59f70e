"""Automatic padding of dilated windows, as numbers.

ONNX Runtime does not have it: it refuses such convolutions, and forgets the dilation of pools.
"""

from typing import Any

from hwgen.readers.onnx.protos import attributes_of
from hwgen.readers.windows import pair, window_of

__all__ = ["with_pads"]

WEIGHTS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3, "MaxPool": 0, "AveragePool": 0}
"""Operators with a window, and which input has its sizes where no attribute does."""


def with_pads(model: Any) -> Any:
    """The model (`onnx.ModelProto`) with ``pads`` in place of ``auto_pad`` wherever a window is dilated, in place."""
    import onnx

    found = []
    for node in model.graph.node:
        given = attributes_of(node)
        dilated = any(apart != 1 for apart in given.get("dilations", ()))
        if node.op_type in WEIGHTS and dilated and given.get("auto_pad", "").startswith("SAME"):
            found.append((node, given))
    shapes = _shapes(onnx, model) if found else {}
    for node, given in found:
        read, made = shapes.get(node.input[0]), shapes.get(node.output[0])
        kernel = given.get("kernel_shape") or (shapes.get(node.input[WEIGHTS[node.op_type]]) or ())[2:]
        if not read or not made or len(kernel) not in (1, 2) or len(read) != len(kernel) + 2:
            continue
        top, left, bottom, right = window_of(given, read, made, pair(kernel)).padding
        pads = [top, left, bottom, right] if len(kernel) == 2 else [left, right]
        kept = [one for one in node.attribute if one.name not in ("auto_pad", "pads")]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute("pads", pads)])
    return model


def _shapes(onnx: Any, model: Any) -> dict[str, list[int]]:
    """Shapes of tensors, of which only the first size may be free: it is 1 here."""
    found = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    graph = onnx.shape_inference.infer_shapes(model).graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if dims and all(dim.HasField("dim_value") for dim in dims[1:]):
            found[value.name] = [dims[0].dim_value or 1, *(dim.dim_value for dim in dims[1:])]
    return found
