"""Operators that move elements: where each element comes from, by running the operator on the numbers of places."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.readers.onnx.constants import Constants, evaluate
from hwgen.readers.onnx.model import QuantisedModel

__all__ = ["attributes", "flat_index", "pad_value", "padded_axis"]

SAME_ORDER = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


def attributes(node: Any) -> dict[str, Any]:
    """The attributes of a node by name."""
    import onnx

    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}


def pad_value(node: Any, constants: Constants) -> float:
    """The number that a Pad puts around a map."""
    named = len(node.input) > 2 and node.input[2]
    return float(constants.value(node.input[2]).reshape(-1)[0]) if named else 0.0


def flat_index(node: Any, output: str, model: QuantisedModel) -> NDArray[np.int64] | None:
    """For each element of the output the flat index of its element of the first input; -1 for the value of a Pad.

    None where the order stays. Raises ValueError for a form that is not known.
    """
    if node.op_type in SAME_ORDER:
        return None
    shape = model.shapes[node.input[0]]
    places = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    if node.op_type in ("Resize", "Upsample"):
        return _resized(node, output, model, places)
    given = {name: model.constants.value(name) for name in node.input[1:] if name}
    pads = node.op_type == "Pad"
    if pads:
        if np.any(model.constants.value(node.input[1]) < 0):
            raise ValueError("padding below 0, which cuts")
        places += 1
        if len(node.input) > 2 and node.input[2]:
            given[node.input[2]] = np.zeros((), np.int64)
    (index,) = evaluate([node], {node.input[0]: places, **given}, [output], model.opset)
    found: NDArray[np.int64] = np.asarray(index, np.int64).reshape(model.shapes[output]) - pads
    return found


def padded_axis(index: NDArray[np.int64], shape: Sequence[int]) -> tuple[int, int, int] | None:
    """The one axis along which an index of `flat_index` puts elements around a map, and how many before and after it.

    None for anything else.

    ``shape`` : of the map.
    """
    axes = [axis for axis, (size, made) in enumerate(zip(shape, index.shape, strict=True)) if size != made]
    if len(axes) != 1:
        return None
    (axis,) = axes
    others = tuple(other for other in range(index.ndim) if other != axis)
    inside = np.flatnonzero((index >= 0).any(axis=others))
    if inside.size != shape[axis]:
        return None
    first = int(inside[0])
    middle = index.take(range(first, first + inside.size), axis)
    if not np.array_equal(middle.ravel(), np.arange(middle.size)):
        return None
    return axis, first, index.shape[axis] - first - inside.size


def _resized(node: Any, output: str, model: QuantisedModel, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nearest elements, axis by axis."""
    import onnx

    settings = attributes(node)
    mode = settings.get("mode", b"nearest")
    if mode != b"nearest" or settings.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        raise ValueError(f"mode {mode.decode()}: expected nearest")
    made = model.shapes[output]
    keep = {
        name: settings[name]
        for name in ("mode", "nearest_mode", "coordinate_transformation_mode")
        if name in settings
    }
    scales = model.constants.value(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(0)
    axes = list(settings.get("axes", range(places.ndim)))
    for axis, (size, wanted) in enumerate(zip(places.shape, made, strict=True)):
        if size == wanted:
            continue
        given = {"x": np.arange(size, dtype=np.float32).reshape(1, 1, size)}
        if scales.size:
            given["scales"] = np.array([1, 1, scales[axes.index(axis)]], np.float32)
            one = onnx.helper.make_node("Resize", ["x", "", "scales"], ["y"], **keep)
        else:
            given["sizes"] = np.array([1, 1, wanted], np.int64)
            one = onnx.helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **keep)
        (nearest,) = evaluate([one], given, ["y"], model.opset)
        places = np.take(places, np.asarray(nearest, np.int64).reshape(-1), axis)
    return places
