"""Rows of ONNX nodes: the sizes of the layer that a node is, or why it is none."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.readers.layers.operators import REFUSED
from hwgen.readers.windows import lifted, pair, said_padding, transposed_window, window_of

__all__ = ["Refused", "Row", "Workless", "as_map", "row_of"]

Row = dict[str, Any]
"""The keys of a row of a table, without name and inputs."""
Padding = tuple[int, int, int, int]
Sizes = tuple[int, ...]


class Refused(Exception):
    """A node with work that no row expresses. ``macs``: its multiply-accumulates; None if not known."""

    def __init__(self, reason: str, macs: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.macs = reason, macs


class Workless(Exception):
    """A node without work, in a form that no row expresses."""


def row_of(node: Operation, model: Model, padded: Mapping[str, Padding]) -> Row:
    """The row of a node whose operator may be taken.

    ``padded``: zeros that stand around tensors, which become padding of a convolution. Raises `Refused`, `Workless`.
    """
    if node.operator in REFUSED:
        raise Refused(REFUSED[node.operator], _recurrent_macs(node, model))
    if node.operator not in _ROWS:
        raise Refused("an operator that is not known: whether it carries work cannot be said")
    return _ROWS[node.operator](node, model, padded.get(node.inputs[0], (0, 0, 0, 0)))


def _recurrent_macs(node: Operation, model: Model) -> int | None:
    """MACs of a recurrent layer: both of its weight tensors once for each step and image."""
    if node.operator not in ("LSTM", "GRU", "RNN"):
        return None
    shapes = [model.known(tensor) for tensor in node.inputs[:3]]
    if len(shapes) < 3 or any(shape is None or len(shape) != 3 for shape in shapes):
        return None
    given, weights, recurrent = (shape or () for shape in shapes)
    return given[0] * given[1] * (math.prod(weights) + math.prod(recurrent))


def as_map(shape: Sequence[int]) -> tuple[int, int, int] | None:
    """Channels, height and width of each image in a tensor; None if it has none. One dimension has the height 1."""
    match tuple(shape):
        case (_, channels):
            return channels, 1, 1
        case (_, channels, width):
            return channels, 1, width
        case (_, channels, height, width):
            return channels, height, width
    return None


def _shapes(node: Operation, model: Model, *tensors: str) -> list[Sizes]:
    found = []
    for tensor in tensors:
        shape = model.known(tensor)
        if shape is None:
            raise Refused(f"the shape of {tensor} cannot be inferred")
        found.append(shape)
    return found


def _images(batch: int) -> Row:
    """The key for several images."""
    return {"batch": batch} if batch > 1 else {}


def _sizes(given: Sequence[int], made: Sequence[int]) -> Row:
    """The keys for a map that is read and one that is made, of one or two dimensions."""
    (input_height, input_width), (output_height, output_width) = pair(given[2:]), pair(made[2:])
    return _images(given[0]) | {
        "input_channels": given[1],
        "output_channels": made[1],
        "input_height": input_height,
        "input_width": input_width,
        "output_height": output_height,
        "output_width": output_width,
    }


def _convolution(node: Operation, model: Model, padded: Padding) -> Row:
    given, weights, made = _shapes(node, model, node.inputs[0], node.inputs[1], node.outputs[0])
    transposed = node.operator == "ConvTranspose"
    macs = math.prod(weights) * math.prod((given if transposed else made)[2:]) * given[0]
    _check_convolution(node, model, given, weights, macs)
    kernel, stride = pair(node.ints("kernel_shape") or weights[2:]), lifted(node.ints("strides"), 1)
    groups = int(node.attributes.get("group", 1))
    row = {**_sizes(given, made), "op": "conv", "kernel": [*kernel], "stride": [*stride], "groups": groups}
    if transposed:
        pads = transposed_window(node.attributes, given, made, kernel).padding
        if min(pads[0] + pads[2], pads[1] + pads[3]) < 0:
            raise Refused("an output that is larger than its input gives", None)
        extra = lifted(node.ints("output_padding"), 0)
        return row | {"op": "deconv", "padding": [*pads], "output_padding": [*extra]}
    row["padding"] = _padding(node, given, made, kernel)
    if any(padded):
        top, left, bottom, right = padded
        row["padding"] = [own + more for own, more in zip(row["padding"], padded, strict=True)]
        row["input_height"] -= top + bottom
        row["input_width"] -= left + right
    if groups > 1 and groups == given[1] == made[1]:
        row["op"] = "depthwise_conv"
    return row


def _check_convolution(node: Operation, model: Model, given: Sizes, weights: Sizes, macs: int) -> None:
    """Raise `Refused` for a convolution that no row expresses."""
    if not 3 <= len(given) <= 4:
        raise Refused(f"a convolution of {len(given) - 2} dimensions, expected 1 or 2", macs)
    if node.inputs[1] not in model.constants:
        raise Refused("weights that the model computes", macs)
    dilations = node.ints("dilations")
    if any(one != 1 and size != 1 for one, size in zip(dilations, weights[2:], strict=False)):
        raise Refused(f"dilations {dilations}, expected 1", macs)
    if node.attributes.get("channels_last"):
        raise Refused("channels last, expected channels first", macs)


def _padding(node: Operation, given: Sizes, made: Sizes, kernel: tuple[int, int]) -> list[int]:
    """Top, left, bottom, right; automatic padding and ceil mode become unequal pads."""
    top, left, *after = window_of(node.attributes, given, made, kernel).padding
    automatic = str(node.attributes.get("auto_pad", "")).startswith("SAME")
    said = (0, 0) if automatic else said_padding(node.attributes)[2:]
    return [top, left, *map(max, after, said)]


def _product(node: Operation, model: Model, padded: Padding) -> Row:
    """A product with weights on either side: the other's rows or columns are pixels; a group for each matrix."""
    first, second, made = _shapes(node, model, *node.inputs[:2], node.outputs[0])
    first = first[::-1] if node.attributes.get("transA") else first
    second = second[::-1] if node.attributes.get("transB") else second
    macs = math.prod(made) * first[-1] if first else None
    constant = [name in model.constants for name in node.inputs[:2]]
    if not any(constant):
        raise Refused("a product of two computed matrices", macs)
    left = constant[0]
    weights, read = (first, second) if left else (second, first)
    if min(len(weights), len(read) + (not left)) < 2:
        raise Refused("a product with a vector, expected matrices", macs)
    outputs, summed = weights[-2:] if left else weights[:-3:-1]
    groups, images = math.prod(weights[:-2]), math.prod(made[:-2])
    height, width = 1, made[-1] if left else math.prod(made[-2:-1])
    if not left and groups == 1 and len(made) == 4:
        images, height = made[0], made[1]
    sizes = {"input_channels": groups * summed, "output_channels": groups * outputs, "input_height": height,
             "input_width": width, "output_height": height, "output_width": width, "groups": groups}  # fmt: skip
    operation = "fc" if height * width * groups == 1 else "conv"
    return {"op": operation, **_images(images // groups), **sizes, "kernel": [1, 1]}


def _image(node: Operation, model: Model, *tensors: str) -> list[Sizes]:
    """Shapes of feature maps, of one or two dimensions, for an operator without work."""
    found = []
    for tensor in tensors:
        shape = model.known(tensor)
        if shape is None or as_map(shape) is None:
            raise Workless(f"{tensor} is no feature map")
        found.append(shape)
    return found


def _pool(node: Operation, model: Model, padded: Padding) -> Row:
    given, made = _image(node, model, node.inputs[0], node.outputs[0])
    if any(one != 1 for one in node.ints("dilations")) or node.attributes.get("channels_last"):
        raise Workless("a dilated pool, or channels last")
    kernel = lifted(node.ints("kernel_shape"), 1)
    if node.operator.startswith("Global") or (kernel == pair(given[2:]) and not any(said_padding(node.attributes))):
        return _global_pool(node, given)
    keys = {"kernel": [*kernel], "stride": [*lifted(node.ints("strides"), 1)]}
    padding = _padding(node, given, made, kernel)
    return {**_sizes(given, made), "op": "pool", "pool": _kind(node), **keys, "padding": padding}


def _global_pool(node: Operation, given: Sizes) -> Row:
    row = _sizes(given, (given[0], given[1], *[1] * (len(given) - 2)))
    kernel = [row["input_height"], row["input_width"]]
    return row | {"op": "pool", "pool": _kind(node), "global_pool": True, "kernel": kernel}


def _kind(node: Operation) -> str:
    return "max" if "Max" in node.operator else "avg"


def _reduction(node: Operation, model: Model, padded: Padding) -> Row:
    (given,) = _image(node, model, node.inputs[0])
    axes = node.ints("axes")
    if len(node.inputs) > 1 and node.inputs[1]:
        axes = [int(one) for one in model.values(node.inputs[1])]
    if len(given) < 3 or sorted(axis % len(given) for axis in axes) != list(range(2, len(given))):
        raise Workless("not over height and width")
    return _global_pool(node, given)


def _sum(node: Operation, model: Model, padded: Padding) -> Row:
    shapes = _image(node, model, *node.inputs)
    if len(set(shapes)) != 1 or len(shapes) < 2:
        raise Workless("not of maps of one shape")
    return {"op": "add", **_same(shapes[0])}


def _same(shape: Sizes) -> Row:
    channels, height, width = as_map(shape) or (0, 0, 0)
    sizes = {"input_channels": channels, "output_channels": channels, "input_height": height, "input_width": width,
             "output_height": height, "output_width": width, "kernel": [1, 1]}  # fmt: skip
    return _images(shape[0]) | sizes


def _concatenation(node: Operation, model: Model, padded: Padding) -> Row:
    shapes = _image(node, model, *node.inputs)
    (made,) = _image(node, model, node.outputs[0])
    axis = int(node.attributes.get("axis", 1))
    if axis % len(made) != 1 or len(shapes) < 2 or any(name in model.constants for name in node.inputs):
        raise Workless("not of feature maps along the channels")
    return {"op": "concat", **_same(made)}


def _normalisation(node: Operation, model: Model, padded: Padding) -> Row:
    (given,) = _image(node, model, node.inputs[0])
    return {"op": "lrn", **_same(given), "size": int(node.attributes.get("size", 1))}


def _shuffle(node: Operation, model: Model, padded: Padding) -> Row:
    given, made = _image(node, model, node.inputs[0], node.outputs[0])
    return {"op": "pixel_shuffle", **_sizes(given, made), "kernel": [1, 1],
            "factor": int(node.attributes.get("blocksize", 1))}  # fmt: skip


_ROWS: dict[str, Callable[[Operation, Model, Padding], Row]] = {
    "Conv": _convolution,
    "ConvTranspose": _convolution,
    **dict.fromkeys(("Gemm", "MatMul"), _product),
    **dict.fromkeys(("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"), _pool),
    **dict.fromkeys(("ReduceMean", "ReduceMax"), _reduction),
    **dict.fromkeys(("Add", "Sum"), _sum),
    "Concat": _concatenation,
    "LRN": _normalisation,
    "DepthToSpace": _shuffle,
}
"""A function for each operator that may become a row; those of `hwgen.readers.layers.operators.TAKEN`."""
