"""A TFLite model in ONNX's operators, between QuantizeLinear and DequantizeLinear where it is quantised.

Maps [images, rows, columns, channels] become [images, channels, rows, columns] inside; inputs and outputs stay as the
file has them, with a Transpose after or before. A kind of operator is one entry of `OPERATORS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.readers.tflite.file import FlatGraph, FlatOperator, FlatTensor, read_file

__all__ = ["Place", "as_onnx", "is_tflite", "places", "same_padding"]

OPSET = 17
FORMAT = 8
"""Version of ONNX's file format."""
QUANTISERS = ("QuantizeLinear", "DequantizeLinear")
TO_PLANES, FROM_PLANES = (0, 3, 1, 2), (0, 2, 3, 1)
"""Orders of the axes for a transposition."""
MAP = 4
"""Dimensions of a map."""
CLIPS: Mapping[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""Activations, as the bounds that they clip to."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where a tensor of the converted model is in the file, for a comparison.

    Members
    -------
    number : of the tensor.
    planes : whether its channels come first in the converted model.
    order : of the elements of each image, where they come in another one; None: in the file's.
    """

    number: int
    planes: bool = False
    order: NDArray[np.int64] | None = None

    def of(self, array: NDArray) -> NDArray:
        """The file's tensor, of one image or several, as the converted model has it."""
        if self.order is not None:
            return array[..., self.order]
        return array.transpose(TO_PLANES) if self.planes else array


def is_tflite(path: Path) -> bool:
    """Whether a file is a TFLite model by its name."""
    return path.suffix.lower() == ".tflite"


def as_onnx(path: Path) -> Any:
    """The model (`onnx.ModelProto`) of a TFLite file; raises `InputError`, in one line, for what is not read."""
    return _converted(path).model


def places(path: Path) -> dict[str, Place]:
    """Where the tensors of the converted model are in its file, by name."""
    return _converted(path).places


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """TensorFlow's padding `SAME` before and after: the odd one of an odd number is after."""
    whole = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return whole // 2, whole - whole // 2


@dataclass(frozen=True, eq=False)
class _Converted:
    model: Any
    places: dict[str, Place]


def _converted(path: Path) -> _Converted:
    graph = read_file(path)
    try:
        import onnx
    except ImportError:
        raise InputError(f"{path}: reading TFLite needs onnx ({how_to_install('onnx')})") from None
    conversion = _Conversion(path, graph, onnx)
    for at in graph.inputs:
        conversion.enter(at)
    for operator in graph.operators:
        conversion.operator(operator)
    return _Converted(conversion.model(), conversion.places)


class _Conversion:
    """The model as far as it is written.

    Members
    -------
    merged : paddings that are no tensors of the model, since their readers have them in their windows: what is
        padded, and by how many rows and columns.
    folded : numbers that operators make of constants.
    """

    def __init__(self, path: Path, graph: FlatGraph, onnx: Any) -> None:
        self.path, self.graph = path, graph
        self._onnx = onnx
        self._label = ""
        self._named: set[str] = set()
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._numbers: dict[int, str] = {}
        self.places: dict[str, Place] = {}
        self.merged: dict[int, tuple[int, NDArray[np.int64]]] = {}
        self.folded: dict[int, NDArray] = {}
        self._ends = {*graph.inputs, *graph.outputs}
        self.readers: dict[int, list[FlatOperator]] = {}
        for operator in graph.operators:
            for at in operator.inputs:
                self.readers.setdefault(at, []).append(operator)

    # --- tensors ---

    def tensor(self, at: int) -> FlatTensor:
        """A tensor by its number."""
        return self.graph.tensors[at]

    def shape(self, at: int) -> tuple[int, ...]:
        """The shape of a tensor, as the file has it."""
        return self.graph.tensors[at].shape

    def name(self, at: int) -> str:
        """A tensor as it is inside: of a map with its channels first."""
        name = self.tensor(at).name
        return f"{name}::planes" if at in self._ends and len(self.shape(at)) == MAP else name

    def values(self, at: int, what: str) -> NDArray:
        """The elements of a constant; raises `InputError` where it is none."""
        data = self._data(at) if at >= 0 else None
        if data is None:
            raise self.refusal(f"{what}: expected a constant")
        return data

    def _data(self, at: int) -> NDArray | None:
        return self.folded.get(at, self.tensor(at).data)

    def refusal(self, why: str) -> InputError:
        """What is said of the operator here."""
        operator = self._here
        return InputError(f"{self.path}: {operator.kind} {self.tensor(operator.outputs[0]).name}: {why}")

    def constant(self, name: str, values: Any, dtype: Any = None) -> str:
        """A constant; its name."""
        array = np.ascontiguousarray(np.asarray(values, dtype)).reshape(np.shape(values))
        self._constants[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def weights(self, at: int, values: NDArray, axis: int, what: str) -> str:
        """The numbers of a constant, elements in the order of ``values``, scales along ``axis``; the name."""
        tensor, name = self.tensor(at), self.tensor(at).name
        if tensor.quantisation is None:
            if values.dtype.kind != "f":
                raise self.refusal(f"{what}: expected scales")
            return self.constant(f"{name}::{self.made}::numbers", values, np.float32)
        given = tensor.quantisation
        scales, zeros = (given.scales, given.zeros) if given.scales.size > 1 else (given.scales[0], given.zeros[0])
        stored = self.constant(f"{name}::{self.made}", values)
        return self._dequantised(stored, scales, zeros, values.dtype, axis, f"{stored}::numbers")

    def biases(self, values: NDArray[np.int32], scales: NDArray[np.float32]) -> str:
        """The numbers of biases; the name."""
        stored = self.constant(f"{self.made}::biases", values)
        scale = scales if scales.size > 1 else scales[0]
        return self._dequantised(stored, scale, 0, values.dtype, 0, f"{stored}::numbers")

    @property
    def made(self) -> str:
        """The first output of the operator here."""
        return self.tensor(self._here.outputs[0]).name

    def numbers(self, at: int) -> str:
        """The numbers of a tensor, of a map with its channels first; the name."""
        if at not in self._numbers:
            self._numbers[at] = self._numbers_of(at)
        return self._numbers[at]

    def _numbers_of(self, at: int) -> str:
        tensor, name, values = self.tensor(at), self.name(at), self._data(at)
        if values is not None:
            if values.ndim == MAP:
                values = values.transpose(TO_PLANES)
            if tensor.quantisation is not None and tensor.quantisation.scales.size > 1:
                raise self.refusal("a constant operand: expected one scale")
            return self.weights(at, values, 0, "a constant operand")
        if tensor.quantisation is None:
            return name
        return self.dequantised(at, f"{name}::numbers")

    def dequantised(self, at: int, made: str) -> str:
        """A tensor of integers as numbers of the name ``made``."""
        tensor = self.tensor(at)
        assert tensor.quantisation is not None
        return self._dequantised(self.name(at), *tensor.quantisation.of_one, tensor.dtype, None, made)

    def _dequantised(self, stored: str, scale: Any, zero: Any, dtype: Any, axis: int | None, made: str) -> str:
        more = {} if axis is None or not np.ndim(scale) else {"axis": axis}
        self.add("DequantizeLinear", [stored, *self._parameters(made, scale, zero, dtype)], made, **more)
        return made

    def _parameters(self, name: str, scale: Any, zero: Any, dtype: Any) -> list[str]:
        scales = self.constant(f"{name}::scale", scale, np.float32)
        if np.dtype(dtype).itemsize > 1:  # biases have no zero point
            if np.any(zero):
                raise self.refusal("its biases: expected zero points of 0")
            return [scales]
        limits = np.iinfo(dtype)
        if np.any(zero < limits.min) or np.any(zero > limits.max):
            raise InputError(f"{self.path}: {name.partition('::')[0]}: a zero point outside of {dtype}")
        return [scales, self.constant(f"{name}::zero", zero, dtype)]

    # --- nodes ---

    def add(self, kind: str, inputs: Sequence[str], output: str, **settings: Any) -> str:
        """A new node; the name of its output. The first of an operator is called as what that makes."""
        name = "" if kind in QUANTISERS or self._label in self._named else self._label
        self._named.add(name)
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [output], name, **settings))
        return output

    def enter(self, at: int) -> None:
        """An input of the model, with its channels first."""
        self._label = self.tensor(at).name
        self._check_type(at, FlatOperator("input", (), (at,)))
        name = self.tensor(at).name
        if self.name(at) == name:
            self.places[name] = Place(at)
            return
        self._turned(at, name, self.name(at), TO_PLANES)
        self.places |= {name: Place(at), self.name(at): Place(at, planes=True)}

    def _turned(self, at: int, given: str, made: str, order: Sequence[int]) -> None:
        """A map with its axes in another order, quantised as it is."""
        quantisation, dtype = self.tensor(at).quantisation, self.tensor(at).dtype
        if quantisation is None:
            self.add("Transpose", [given], made, perm=order)
            return
        read = self._dequantised(given, *quantisation.of_one, dtype, None, f"{given}::read")
        self.add("Transpose", [read], f"{made}::turned", perm=order)
        parameters = self._parameters(f"{made}::made", *quantisation.of_one, dtype)
        self.add("QuantizeLinear", [f"{made}::turned", *parameters], made)

    def operator(self, operator: FlatOperator) -> None:
        """One operator; raises `InputError` for what is not read."""
        self._here, self._label = operator, self.tensor(operator.outputs[0]).name
        for at in operator.outputs:
            self._check_type(at, operator)
        write = OPERATORS.get(operator.kind)
        if write is None:
            raise self.refusal(f"expected one of {', '.join(OPERATORS)}")
        try:
            write(self, operator)
        except InputError:
            raise
        except (IndexError, KeyError, TypeError, ValueError):  # too few inputs, sizes that do not fit
            raise self.refusal("inputs or settings that the operator does not have") from None

    def _check_type(self, at: int, operator: FlatOperator) -> None:
        tensor = self.tensor(at)
        ends = operator.kind in ("QUANTIZE", "DEQUANTIZE", "input")
        kinds = ("float32", "int8", "uint8") if ends else ("float32", "int8")
        whole = tensor.quantisation is not None and tensor.quantisation.scales.size == 1
        if tensor.dtype not in kinds or whole != (tensor.dtype != "float32"):
            raise InputError(
                f"{self.path}: {operator.kind} {tensor.name}: expected {' or '.join(kinds)}, integers with a scale; "
                f"got {tensor.dtype}"
            )

    def finish(self, kind: str, inputs: Sequence[str], operator: FlatOperator, **settings: Any) -> None:
        """The last node of an operator, its own activation, and the quantiser."""
        (at,) = operator.outputs
        made = self.name(at)
        if operator.activation != "NONE" or self.tensor(at).quantisation is not None:
            made = f"{made}::{kind.lower()}"
        self.close(operator, self.add(kind, inputs, made, **settings))

    def close(self, operator: FlatOperator, given: str) -> None:
        """An operator's own activation of the numbers ``given``, and the quantiser."""
        (at,) = operator.outputs
        if operator.activation not in CLIPS:
            raise self.refusal(f"activation {operator.activation}: expected one of {', '.join(CLIPS)}")
        low, high = CLIPS[operator.activation]
        name, quantisation = self.name(at), self.tensor(at).quantisation
        if low is not None:
            given = self.clipped(given, low, high, name if quantisation is None else f"{name}::clipped")
        if quantisation is not None:
            parameters = self._parameters(f"{name}::made", *quantisation.of_one, self.tensor(at).dtype)
            self.add("QuantizeLinear", [given, *parameters], name)
        elif given != name:
            self.add("Identity", [given], name)
        self.places[name] = Place(at, planes=len(self.shape(at)) == MAP)

    def clipped(self, given: str, low: float, high: float | None, made: str) -> str:
        """A clip of numbers; its output."""
        if high is None and low == 0:
            return self.add("Relu", [given], made)
        bounds = [self.constant(f"{made}::low", low, np.float32)]
        if high is not None:
            bounds.append(self.constant(f"{made}::high", high, np.float32))
        return self.add("Clip", [given, *bounds], made)

    def pixels(self, at: int, to: str) -> str:
        """The numbers of a tensor in the file's order of elements, whatever its axes are called; the name."""
        shape, given = self.shape(at), self.numbers(at)
        if len(shape) < MAP or shape[3] == 1 or shape[1] * shape[2] == 1:
            return given
        return self.add("Transpose", [given], f"{to}::pixels", perm=FROM_PLANES)

    def reshaped(self, given: str, shape: Sequence[int], to: str, *, images: bool) -> str:
        """Elements in their order, in another shape; ``images``: its first size is the number of images."""
        sizes = self.constant(f"{to}::shape", [0 if images else shape[0], *shape[1:]] if shape else [], np.int64)
        return self.add("Reshape", [given, sizes], to)

    # --- the model ---

    def model(self) -> Any:
        """All of it, in shapes that are the file's."""
        helper = self._onnx.helper
        for at in self.graph.outputs:
            if self.name(at) != self.tensor(at).name and at not in self.graph.inputs:
                self._label = self.tensor(at).name
                self._turned(at, self.name(at), self.tensor(at).name, FROM_PLANES)
                self.places[self.tensor(at).name] = Place(at)
        graph = helper.make_graph(
            self._nodes, self.path.stem, [self._value(at) for at in self.graph.inputs],
            [self._value(at, shaped=False) for at in dict.fromkeys(self.graph.outputs)],
            list(self._constants.values()),
        )  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=FORMAT)
        self._check_shapes(made)
        for value, at in zip(made.graph.output, dict.fromkeys(self.graph.outputs), strict=True):
            value.CopyFrom(self._value(at))
        for value in (*made.graph.input, *made.graph.output):
            dims = value.type.tensor_type.shape.dim
            if len(dims) > 1 and dims[0].dim_value == 1:  # images are treated apart: TFLite takes them one by one
                dims[0].dim_param = "images"
        return made

    def _value(self, at: int, *, shaped: bool = True) -> Any:
        tensor = self.tensor(at)
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype))
        return self._onnx.helper.make_tensor_value_info(tensor.name, kind, tensor.shape if shaped else None)

    def _check_shapes(self, model: Any) -> None:
        """Raise `InputError` where what operators make has another shape than the file says."""
        try:
            known = self._onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
        except Exception as error:  # it raises what it likes
            said = " ".join(str(error).split())[:200]
            raise InputError(f"{self.path}: operators that do not fit what they read: {said}") from None
        for value in (*known.value_info, *known.output):
            place = self.places.get(value.name)
            if place is None:
                continue
            found = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
            wanted = self.shape(place.number)
            wanted = tuple(wanted[axis] for axis in TO_PLANES) if place.planes else wanted
            if found != wanted:
                sizes = ["x".join(map(str, one)) or "no dimensions" for one in (wanted, found)]
                raise InputError(f"{self.path}: {value.name}: its shape is {sizes[0]}, its operator makes {sizes[1]}")


# --- operators ---


def _map(conversion: _Conversion, at: int) -> tuple[int, int, int, int]:
    """The shape of a map; raises `InputError` for another tensor."""
    shape = conversion.shape(at)
    if len(shape) != MAP:
        raise conversion.refusal(f"expected a map of 4 dimensions, got {len(shape)}")
    return shape[0], shape[1], shape[2], shape[3]


def _window(
    conversion: _Conversion, operator: FlatOperator, kernel: Sequence[int], source: int, around: NDArray[np.int64]
) -> dict[str, Any]:
    """Attributes of a window over a map with constants around it: [rows, columns], each before and after."""
    pads = []
    for size, taps, stride, apart, more in zip(
        _map(conversion, source)[1:3], kernel, operator.stride, operator.dilation, around.tolist(), strict=True
    ):
        if min(taps, stride, apart) < 1:
            raise conversion.refusal("a window: expected sizes from 1 on")
        own = same_padding(size + sum(more), taps, stride, apart) if operator.same else (0, 0)
        pads.append((own[0] + more[0], own[1] + more[1]))
    found = {"kernel_shape": list(kernel), "strides": list(operator.stride), "pads": list(np.array(pads).T.ravel())}
    return found if operator.dilation == (1, 1) else {**found, "dilations": list(operator.dilation)}


NOTHING = np.zeros((2, 2), np.int64)


def _convolution(conversion: _Conversion, operator: FlatOperator) -> None:
    given, kernel = operator.inputs[:2]
    source, around = conversion.merged.get(given, (given, NOTHING))
    values = conversion.values(kernel, "weights")  # [outputs, rows, columns, inputs], depthwise [1, rows, columns, m]
    if values.ndim != MAP:
        raise conversion.refusal(f"weights: expected 4 dimensions, got {values.ndim}")
    depthwise, channels = operator.kind == "DEPTHWISE_CONV_2D", _map(conversion, source)[3]
    scales = conversion.tensor(kernel).quantisation
    if scales is not None and scales.scales.size > 1 and scales.axis != (3 if depthwise else 0):
        raise conversion.refusal("weights: expected a scale for each output channel")
    turned = values.transpose(3, 0, 1, 2) if depthwise else values.transpose(TO_PLANES)
    groups = channels if depthwise else channels // turned.shape[1]
    inputs = [conversion.numbers(source), conversion.weights(kernel, turned, 0, "weights")]
    conversion.finish(
        "Conv", [*inputs, *_bias(conversion, operator, source, len(turned))], operator, group=groups,
        **_window(conversion, operator, turned.shape[2:], source, around),
    )  # fmt: skip


def _bias(conversion: _Conversion, operator: FlatOperator, source: int, channels: int) -> list[str]:
    """The biases in numbers. TFLite adds them to the sums as they are: their scale is that of the products."""
    at = operator.inputs[2] if len(operator.inputs) > 2 else -1
    if at < 0:
        return []
    values = conversion.values(at, "biases")
    if values.shape != (channels,):
        raise conversion.refusal(f"biases: expected {channels}")
    data, kernel = (conversion.tensor(one).quantisation for one in (source, operator.inputs[1]))
    if values.dtype.kind == "f":
        return [conversion.constant(f"{conversion.made}::biases", values, np.float32)]
    if data is None or kernel is None or values.dtype != np.int32:
        raise conversion.refusal("biases: expected int32, beside integers")
    return [conversion.biases(values, data.scales[0] * kernel.scales)]


def _product(conversion: _Conversion, operator: FlatOperator) -> None:
    given, kernel = operator.inputs[:2]
    values, made = conversion.values(kernel, "weights"), conversion.made
    scales = conversion.tensor(kernel).quantisation
    if values.ndim != 2 or (scales is not None and scales.scales.size > 1 and scales.axis != 0):
        raise conversion.refusal("weights: expected a matrix, and a scale for each row")
    shape, wanted = conversion.shape(given), conversion.shape(operator.outputs[0])
    rows, left = divmod(prod(shape), values.shape[1])
    if left:
        raise conversion.refusal(f"weights of {values.shape[1]} columns do not fit its input")
    place = conversion.places.get(conversion.name(given))
    if place is not None and place.order is not None:
        values = values[:, place.order]
    data = conversion.pixels(given, made)
    if len(shape) != 2:
        data = conversion.reshaped(data, (rows, values.shape[1]), f"{made}::rows", images=rows == shape[0])
    inputs = [
        data,
        conversion.weights(kernel, values, 0, "weights"),
        *_bias(conversion, operator, given, len(values)),
    ]
    if wanted == (rows, len(values)):
        conversion.finish("Gemm", inputs, operator, transB=1)
        return
    product = conversion.add("Gemm", inputs, f"{made}::products", transB=1)
    _finish_view(conversion, operator, product, images=wanted[:1] == (rows,))


def _finish_view(conversion: _Conversion, operator: FlatOperator, given: str, *, images: bool) -> None:
    """The elements of the numbers ``given``, in the file's order, as the output."""
    at, made = operator.outputs[0], conversion.made
    shape = conversion.shape(at)
    if len(shape) == MAP and shape[3] > 1 and shape[1] * shape[2] > 1:
        view = conversion.reshaped(given, shape, f"{made}::view", images=images)
        conversion.finish("Transpose", [view], operator, perm=TO_PLANES)
        return
    sizes = [shape[axis] for axis in TO_PLANES] if len(shape) == MAP else list(shape)
    if images:
        sizes[0] = 0
    conversion.finish("Reshape", [given, conversion.constant(f"{made}::shape", sizes, np.int64)], operator)


def _reshape(conversion: _Conversion, operator: FlatOperator) -> None:
    given, made = operator.inputs[0], operator.outputs[0]
    before, after = conversion.shape(given), conversion.shape(made)
    if prod(before) != prod(after):
        raise conversion.refusal("expected as many elements as before")
    images = before[:1] == after[:1]
    readers = conversion.readers.get(made, [])
    products = all(one.kind == "FULLY_CONNECTED" and one.inputs[0] == made for one in readers)
    if (
        readers
        and products
        and made not in conversion.graph.outputs
        and len(before) == MAP
        and len(after) == 2
        and images
    ):
        # The products take the elements as they lie: their weights are put in that order.
        sizes = conversion.constant(f"{conversion.made}::shape", [0, after[1]], np.int64)
        conversion.finish("Reshape", [conversion.numbers(given), sizes], operator)
        order = np.arange(after[1]).reshape(before[1:]).transpose(2, 0, 1).ravel()
        conversion.places[conversion.name(made)] = Place(made, order=order)
        return
    _finish_view(conversion, operator, conversion.pixels(given, conversion.made), images=images)


def _sum(conversion: _Conversion, operator: FlatOperator) -> None:
    rank = max(len(conversion.shape(at)) for at in operator.inputs)
    inputs = []
    for at in operator.inputs:
        missing = rank - len(conversion.shape(at))
        numbers = conversion.numbers(at)
        if missing and rank == MAP:
            shape = (1,) * missing + conversion.shape(at)
            if prod(shape[:3]) > 1:
                raise conversion.refusal("operands of other dimensions than each other")
            sizes = conversion.constant(f"{conversion.made}::shape_{at}", [1, shape[3], 1, 1], np.int64)
            numbers = conversion.add("Reshape", [numbers, sizes], f"{conversion.made}::operand_{at}")
        inputs.append(numbers)
    conversion.finish("Add", inputs, operator)


def _pool(conversion: _Conversion, operator: FlatOperator) -> None:
    kind = "MaxPool" if operator.kind == "MAX_POOL_2D" else "AveragePool"
    _require_same_scale(conversion, operator, operator.inputs[:1])
    settings = _window(conversion, operator, operator.kernel, operator.inputs[0], NOTHING)
    conversion.finish(kind, [conversion.numbers(operator.inputs[0])], operator, **settings)


def _require_same_scale(conversion: _Conversion, operator: FlatOperator, inputs: Sequence[int]) -> None:
    """Raise `InputError` where TFLite would: its integer kernels move elements as they are."""
    made = conversion.tensor(operator.outputs[0]).quantisation
    for at in inputs:
        given = conversion.tensor(at).quantisation
        if (None if made is None else made.of_one) != (None if given is None else given.of_one):
            raise conversion.refusal("expected the scale and the zero point of its input")


def _mean(conversion: _Conversion, operator: FlatOperator) -> None:
    given, made = operator.inputs[0], operator.outputs[0]
    rank = len(conversion.shape(given))
    axes = sorted({int(axis) % rank for axis in conversion.values(operator.inputs[1], "axes").reshape(-1)})
    inside = sorted(TO_PLANES.index(axis) for axis in axes) if rank == MAP else axes
    remaining = [axis for axis in (TO_PLANES if rank == MAP else range(rank)) if axis not in axes]
    numbers = conversion.numbers(given)
    settings = {"axes": inside, "keepdims": int(operator.keeps)}
    if operator.keeps or remaining == sorted(remaining):
        conversion.finish("ReduceMean", [numbers], operator, **settings)
        return
    reduced = conversion.add("ReduceMean", [numbers], f"{conversion.tensor(made).name}::reduced", **settings)
    order = [remaining.index(axis) for axis in sorted(remaining)]
    conversion.finish("Transpose", [reduced], operator, perm=order)


def _pad(conversion: _Conversion, operator: FlatOperator) -> None:
    given, made = operator.inputs[0], operator.outputs[0]
    rank = len(conversion.shape(given))
    widths = conversion.values(operator.inputs[1], "paddings").astype(np.int64)
    if widths.shape != (rank, 2) or np.any(widths < 0):
        raise conversion.refusal("paddings: expected two numbers from 0 on for each dimension")
    _require_same_scale(conversion, operator, [given])
    readers = conversion.readers.get(made, [])
    windows = all(one.kind in ("CONV_2D", "DEPTHWISE_CONV_2D") and one.inputs[0] == made for one in readers)
    plain = operator.kind == "PAD" and rank == MAP and not widths[[0, 3]].any()
    if plain and readers and windows and made not in conversion.graph.outputs and given not in conversion.merged:
        conversion.merged[made] = given, widths[1:3]
        return
    order = list(TO_PLANES) if rank == MAP else list(range(rank))
    inputs = [conversion.numbers(given), conversion.constant(f"{conversion.made}::widths", widths[order].T.ravel())]
    if operator.kind == "PADV2":
        inputs.append(_scalar(conversion, operator.inputs[2]))
    conversion.finish("Pad", inputs, operator)


def _scalar(conversion: _Conversion, at: int) -> str:
    """A constant of one element as a number."""
    tensor, value = conversion.tensor(at), conversion.values(at, "its constant").reshape(-1)
    scale, zero = (1.0, 0) if tensor.quantisation is None else tensor.quantisation.of_one
    number = (float(value[0]) - zero) * scale
    return conversion.constant(f"{conversion.made}::constant", number, np.float32)


def _concatenation(conversion: _Conversion, operator: FlatOperator) -> None:
    _require_same_scale(conversion, operator, operator.inputs)
    rank = len(conversion.shape(operator.outputs[0]))
    axis = operator.axis % rank
    inputs = [conversion.numbers(at) for at in operator.inputs]
    conversion.finish("Concat", inputs, operator, axis=TO_PLANES.index(axis) if rank == MAP else axis)


def _softmax(conversion: _Conversion, operator: FlatOperator) -> None:
    given = conversion.numbers(operator.inputs[0])
    if operator.beta != 1:
        factor = conversion.constant(f"{conversion.made}::beta", operator.beta, np.float32)
        given = conversion.add("Mul", [given, factor], f"{conversion.made}::scaled")
    rank = len(conversion.shape(operator.inputs[0]))
    conversion.finish("Softmax", [given], operator, axis=1 if rank == MAP else rank - 1)


def _rectified(conversion: _Conversion, operator: FlatOperator) -> None:
    numbers = conversion.numbers(operator.inputs[0])
    conversion.close(replace(operator, activation=operator.kind), numbers)


def _quantised(conversion: _Conversion, operator: FlatOperator) -> None:
    conversion.close(operator, conversion.numbers(operator.inputs[0]))


def _dequantised(conversion: _Conversion, operator: FlatOperator) -> None:
    (given,), (made,) = operator.inputs, operator.outputs
    tensor = conversion.tensor(given)
    if tensor.data is not None:  # weights that the file keeps in fewer bits
        quantisation = tensor.quantisation
        if quantisation is None:
            conversion.folded[made] = tensor.data.astype(np.float32)
            return
        sizes = [1] * tensor.data.ndim
        sizes[quantisation.axis] = quantisation.scales.size
        shifted = tensor.data.astype(np.int64) - quantisation.zeros.reshape(sizes)
        conversion.folded[made] = (shifted * quantisation.scales.reshape(sizes)).astype(np.float32)
        return
    if tensor.quantisation is None:
        raise conversion.refusal("expected integers with a scale")
    conversion.dequantised(given, conversion.name(made))
    conversion.places[conversion.name(made)] = Place(made, planes=len(tensor.shape) == MAP)


OPERATORS: dict[str, Callable[[_Conversion, FlatOperator], None]] = {
    "ADD": _sum,
    "AVERAGE_POOL_2D": _pool,
    "CONCATENATION": _concatenation,
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _convolution,
    "DEQUANTIZE": _dequantised,
    "EXPAND_DIMS": _reshape,
    "FULLY_CONNECTED": _product,
    "MAX_POOL_2D": _pool,
    "MEAN": _mean,
    "PAD": _pad,
    "PADV2": _pad,
    "QUANTIZE": _quantised,
    "RELU": _rectified,
    "RELU6": _rectified,
    "RELU_N1_TO_1": _rectified,
    "RESHAPE": _reshape,
    "SOFTMAX": _softmax,
    "SQUEEZE": _reshape,
}
"""Operators by kind."""
