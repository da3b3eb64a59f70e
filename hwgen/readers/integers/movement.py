"""Operators that move elements: where each element comes from, by running the operator on the numbers of places."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.network.tensors import Constants
from hwgen.readers.onnx.protos import evaluate

__all__ = ["flat_index", "pad_value", "padded_axis"]

SAME_ORDER = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


def pad_value(node: Operation, constants: Constants) -> float:
    """The number that a Pad puts around a map."""
    return float(constants[node.input(2)].reshape(-1)[0]) if node.input(2) else 0.0


def flat_index(node: Operation, output: str, model: Model) -> NDArray[np.int64] | None:
    """The flat index in the first input of each element of the output; -1 for the value of a Pad.

    None where the order stays. Raises ValueError for a form that is not known.
    """
    if node.operator in SAME_ORDER:
        return None
    shape = model.shape(node.inputs[0])
    places = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    if node.operator in ("Resize", "Upsample"):
        return _resized(node, output, model, places)
    given = {name: model.constants[name] for name in node.inputs[1:] if name}
    pads = node.operator == "Pad"
    if pads:
        if np.any(model.constants[node.inputs[1]] < 0):
            raise ValueError("padding below 0, which cuts")
        places += 1
        if node.input(2):
            given[node.input(2)] = np.zeros((), np.int64)
    (index,) = evaluate([node], {node.inputs[0]: places, **given}, [output], model.opset)
    found: NDArray[np.int64] = np.asarray(index, np.int64).reshape(model.shape(output)) - pads
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


def _resized(node: Operation, output: str, model: Model, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nearest elements, axis by axis."""
    settings = node.attributes
    mode = settings.get("mode", "nearest")
    if mode != "nearest" or settings.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise ValueError(f"mode {mode}: expected nearest")
    made = model.shape(output)
    keep = {
        name: settings[name]
        for name in ("mode", "nearest_mode", "coordinate_transformation_mode")
        if name in settings
    }
    scales = model.constants[node.input(2)] if node.input(2) else np.zeros(0)
    axes = list(settings.get("axes", range(places.ndim)))
    for axis, (size, wanted) in enumerate(zip(places.shape, made, strict=True)):
        if size == wanted:
            continue
        given = {"x": np.arange(size, dtype=np.float32).reshape(1, 1, size)}
        if scales.size:
            given["scales"] = np.array([1, 1, scales[axes.index(axis)]], np.float32)
            inputs: tuple[str, ...] = ("x", "", "scales")
        else:
            given["sizes"] = np.array([1, 1, wanted], np.int64)
            inputs = ("x", "", "", "sizes")
        (nearest,) = evaluate([Operation("Resize", inputs, ("y",), keep)], given, ["y"], model.opset)
        places = np.take(places, np.asarray(nearest, np.int64).reshape(-1), axis)
    return places
