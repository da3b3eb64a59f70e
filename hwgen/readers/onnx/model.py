"""A quantised model in one form: standard operators on numbers between quantisers, constants folded, shapes known."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.network.tensors import OFFSET, Quantisation
from hwgen.readers.onnx.constants import Constants, Integers, evaluate, joined
from hwgen.readers.onnx.file import one_line
from hwgen.readers.onnx.lifting import LIFTED, QUANTISERS
from hwgen.readers.onnx.operators import MOVEMENTS, OWN_DOMAINS, REFUSED, SAME

__all__ = ["Preparation", "QuantisedModel", "check_operators", "input_parameters", "malformed"]

OLDEST = 13
"""The oldest version of the standard operators that is read as it is."""
SMALL = 1024
"""Elements of a constant that shapes may follow from."""
KEEPING = {*MOVEMENTS, *SAME} - {"Pad", "Resize", "Upsample"}
"""Operators whose output has elements of the first input alone: of constant integers it is integers, too."""


@dataclass(frozen=True, eq=False)
class QuantisedModel:
    """A model of one image; of all that it takes, where it does not treat images apart.

    Members
    -------
    nodes : those that depend on the inputs, as ``onnx.NodeProto``, in an order in which they can run.
    shapes, dtypes : of all tensors; a dtype is numpy's name.
    quantised : the tensors of int8 and uint8 among those that depend on the inputs.
    batch : images that the file's model takes at a time; None if that is free.
    apart : inputs whose first axis has the images; none where they are not treated apart.
    together : why they are not, where an input has a first size other than 1; else empty.
    """

    path: Path
    nodes: Sequence[Any]
    constants: Constants
    inputs: Sequence[str]
    outputs: Sequence[str]
    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, str]
    quantised: Mapping[str, Quantisation]
    opset: int
    batch: int | None = 1
    apart: Collection[str] = ()
    together: str = ""


@contextmanager
def malformed(path: Path, node: Any = None) -> Iterator[None]:
    """What reading a node stumbles over that has too few inputs, or attributes of other types: `InputError`."""
    try:
        yield
    except InputError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        where = f"{path}: a node" if node is None else f"{path}: {node.op_type} {node.name}"
        raise InputError(f"{where}: inputs or attributes that the operator does not have") from None


def check_operators(whole: Any, path: Path) -> None:
    """Raise `InputError` for operators that are not known, or refused."""
    import onnx

    for node in whole.graph.node:
        named = f"{path}: {node.op_type} {node.name}".rstrip()
        if node.op_type in REFUSED:
            raise InputError(f"{named}: {REFUSED[node.op_type]}")
        if node.domain not in OWN_DOMAINS:
            raise InputError(f"{named}: an operator of {node.domain} that is not known")
        known = onnx.defs.has(node.op_type)
        if not known and node.op_type not in LIFTED:
            raise InputError(f"{named}: an operator that is not known")


def input_parameters(graph: Any) -> dict[str, tuple[str, str]]:
    """Scale and zero point of the inputs that are integers, as their first reader has them."""
    import onnx

    integers = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    wanted = {value.name for value in graph.input if value.type.tensor_type.elem_type in integers}
    found: dict[str, tuple[str, str]] = {}
    for node in graph.node:
        for at, name in enumerate(node.input):
            scaled = node.op_type == "DequantizeLinear" or node.op_type in LIFTED
            if name in wanted and name not in found and scaled and at + 1 < len(node.input):
                zero = node.input[at + 2] if at + 2 < len(node.input) else ""
                found[name] = (node.input[at + 1], zero)
    return found


class Preparation:
    """Constants, shapes and quantised tensors of a lifted model."""

    def __init__(self, path: Path, whole: Any, nodes: Sequence[Any], opset: int) -> None:
        import onnx

        self._onnx, self._path, self._whole, self._nodes, self._opset = onnx, path, whole, list(nodes), opset
        try:
            arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in whole.graph.initializer}
        except Exception as error:  # data that are shorter than their shape
            raise InputError(f"{path}: a constant cannot be read (is the file whole?): {one_line(error)}") from None
        self._constants = Constants(arrays)
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._dtypes: dict[str, str] = {}

    def model(
        self, parameters: Mapping[str, tuple[str, str]], rows: Mapping[str, int] | None = None, count: int = 1
    ) -> QuantisedModel:
        """The model.

        ``rows`` : of a model that treats ``count`` images apart, one image's rows of each tensor's first axis. This
        is then the model of one image.
        """
        self._fold()
        if rows:
            self._nodes = [self._of_one_image(node, rows, count) for node in self._nodes]
        for node in self._nodes:
            if node.op_type in QUANTISERS:
                self._scales(node)
        self._infer()
        self._fold()
        graph = self._whole.graph
        unknown = [name for node in self._nodes for name in node.output if name and name not in self._shapes]
        if unknown:
            raise InputError(f"{self._path}: the shape of {unknown[0]} cannot be inferred: expected fixed sizes")
        for node in self._nodes:
            self._check_sizes(node)
        return QuantisedModel(
            path=self._path,
            nodes=self._nodes,
            constants=self._constants,
            inputs=[one.name for one in graph.input if one.name not in self._constants],
            outputs=[one.name for one in graph.output],
            shapes=self._shapes,
            dtypes=self._dtypes,
            quantised=self._quantised(parameters),
            opset=self._opset,
        )

    def _check_sizes(self, node: Any) -> None:
        """Raise `InputError` for a Reshape to another number of elements, and a Resize to no certain size."""
        named = node.input[2] if node.op_type == "Resize" and len(node.input) > 2 else ""
        if named in self._constants and node.input[0] in self._shapes:
            scales = self._constants.value(named).reshape(-1)
            sizes = self._shapes[node.input[0]]
            axes = next((one.ints for one in node.attribute if one.name == "axes"), range(len(sizes)))[: scales.size]
            given = np.array([sizes[axis] for axis in axes])
            exact, rounded = given * scales.astype(np.float64), given.astype(np.float32) * scales.astype(np.float32)
            for size, scale, one, other in zip(given, scales, np.floor(exact), np.floor(rounded), strict=True):
                if one != other:
                    raise InputError(
                        f"{self._path}: Resize {node.name}: {size} times {scale:.9g} is {one:g} elements to ONNX and "
                        f"{other:g} to ONNX Runtime: expected sizes in place of scales"
                    )
        if node.op_type != "Reshape" or node.input[0] not in self._shapes:
            return
        before, made = self._shapes[node.input[0]], self._shapes[node.output[0]]
        if prod(before) != prod(made):
            change = " to ".join("x".join(map(str, shape)) for shape in (before, made))
            raise InputError(f"{self._path}: Reshape {node.name}: {change}: expected as many elements")

    def _of_one_image(self, node: Any, rows: Mapping[str, int], count: int) -> Any:
        """A node whose constant shape names the rows of one image in place of those of all."""
        if node.op_type not in ("Reshape", "Expand") or node.output[0] not in rows:
            return node
        if len(node.input) < 2 or node.input[1] not in self._constants:
            return node
        sizes, here = self._constants.value(node.input[1]).copy(), rows[node.output[0]]
        if not sizes.size or sizes[0] != here * count:
            return node
        sizes[0] = here
        copy, name = self._onnx.NodeProto(), f"{node.output[0]}::shape"
        copy.CopyFrom(node)
        copy.input[1] = name
        self._constants.arrays[name] = sizes
        return copy

    def _fold(self) -> None:
        """Take out all nodes that depend on no input."""
        left = []
        for node in self._nodes:
            if node.op_type == "Shape" and node.input[0] in self._shapes:
                self._keep(node, [np.array(self._shapes[node.input[0]], np.int64)])
            elif all(name in self._constants for name in node.input if name) and "Random" not in node.op_type:
                self._fold_node(node)
            else:
                left.append(node)
        self._nodes = left

    def _fold_node(self, node: Any) -> None:
        constants = self._constants
        if node.op_type == "DequantizeLinear" and "int" in constants.value(node.input[0]).dtype.name:
            constants.integers[node.output[0]] = self._integers(node)
            return
        outputs = [name for name in node.output if name]
        to_numbers = node.op_type == "Cast" and node.attribute[0].i == self._onnx.TensorProto.FLOAT
        if to_numbers and node.input[0] in constants.integers:
            constants.integers[outputs[0]] = constants.integers[node.input[0]]
            return
        try:
            named = {name: constants.value(name) for name in node.input if name}
            if node.op_type in KEEPING and node.input[0] in constants.integers:
                self._move(node, named, outputs)
                return
            self._keep(node, evaluate([node], named, outputs, self._opset))
            if node.op_type == "DequantizeLinear":
                constants.changed[outputs[0]] = f"are of {constants.value(node.input[0]).dtype.name}"
            elif node.op_type != "QuantizeLinear":
                self._still_integers(node, outputs)
        except Exception as error:
            raise InputError(
                f"{self._path}: {node.op_type} {node.name}: its constants cannot be computed: {one_line(error)}"
            ) from None

    def _move(self, node: Any, named: Mapping[str, NDArray], outputs: Sequence[str]) -> None:
        """Constant integers in another order; numbers where their scales no longer are along one axis."""
        constants = self._constants
        for name in outputs:

            def moved(array: NDArray, name: str = name) -> NDArray:
                return evaluate([node], {**named, node.input[0]: array}, [name], self._opset)[0]

            integers = constants.integers[node.input[0]].moved(moved)
            if integers is None:
                constants.arrays[name] = moved(named[node.input[0]])
                constants.changed[name] = "have scales along more than one axis"
            else:
                constants.integers[name] = integers

    def _still_integers(self, node: Any, outputs: Sequence[str]) -> None:
        """Note what became of constant integers that a node reads: integers where it puts them beside each other."""
        constants = self._constants
        read = [name for name in node.input if name in constants.integers or name in constants.changed]
        if not read:
            return
        if node.op_type == "Concat" and all(name in constants.integers for name in node.input):
            axis = next(one.i for one in node.attribute if one.name == "axis")
            found = joined([constants.integers[name] for name in node.input], axis)
            if found is not None:
                constants.integers[outputs[0]] = found
                return
        constants.changed |= dict.fromkeys(outputs, f"go through {node.op_type} after they are quantised")

    def _keep(self, node: Any, values: Sequence[NDArray]) -> None:
        outputs = [name for name in node.output if name]
        self._constants.arrays.update(zip(outputs, map(np.asarray, values), strict=True))

    def _integers(self, node: Any) -> Integers:
        """A DequantizeLinear of constants."""
        values, scales = self._constants.value(node.input[0]), self._scales(node)
        zeros = np.zeros(1, np.int64)
        if len(node.input) > 2 and node.input[2]:
            zeros = self._constants.value(node.input[2]).astype(np.int64).reshape(-1)
        axis = next((one.i for one in node.attribute if one.name == "axis"), 1)
        sizes = {scales.size, zeros.size} - {1}
        if sizes - {values.shape[axis] if -values.ndim <= axis < values.ndim else 1}:
            raise InputError(f"{self._path}: {node.input[1]}: expected one scale, or one for each channel")
        return Integers(values, scales, zeros, axis % max(values.ndim, 1))

    def _scales(self, node: Any) -> NDArray[np.float32]:
        """The scales of a quantiser; raises `InputError` unless they are constant and above 0."""
        name = node.input[1]
        if name not in self._constants:
            raise InputError(f"{self._path}: scale {name} is computed at run time: expected static scales")
        scales = self._constants.value(name).astype(np.float32).reshape(-1)
        if not scales.size or not np.all(np.isfinite(scales)) or np.any(scales <= 0):
            worst = f"{scales.min():g}" if scales.size else "none"
            raise InputError(f"{self._path}: scale {name}: expected scales above 0, got {worst}")
        return scales

    def _infer(self) -> None:
        """Shapes and types of all tensors; models of old versions become newer ones."""
        onnx = self._onnx
        try:
            skeleton = self._skeleton()
            if self._opset < OLDEST:
                skeleton = onnx.version_converter.convert_version(skeleton, OLDEST)
                self._opset = OLDEST
                self._nodes = list(skeleton.graph.node)
                self._constants.arrays.update(
                    {one.name: onnx.numpy_helper.to_array(one) for one in skeleton.graph.initializer}
                )
            known = onnx.shape_inference.infer_shapes(skeleton, data_prop=True, strict_mode=True).graph
        except Exception as error:  # it raises what it likes
            raise InputError(f"{self._path}: shapes cannot be inferred: {one_line(error)}") from None
        for value in (*known.input, *known.value_info, *known.output):
            kind = value.type.tensor_type
            if kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim):
                self._shapes[value.name] = tuple(dim.dim_value for dim in kind.shape.dim)
            if kind.elem_type:
                self._dtypes[value.name] = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name

    def _skeleton(self) -> Any:
        """The model for shape inference: large constants are inputs."""
        onnx, helper = self._onnx, self._onnx.helper
        graph = onnx.GraphProto(name="skeleton")
        read = {name for node in self._nodes for name in node.input}
        graph.input.extend(one for one in self._whole.graph.input if one.name not in self._constants)
        for name in sorted(read):
            if name in self._constants.integers:
                shape = self._constants.integers[name].values.shape
                graph.input.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
            elif name in self._constants.arrays:
                array = self._constants.arrays[name]
                if array.size <= SMALL:
                    graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
                else:
                    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                    graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
        graph.node.extend(self._nodes)
        for output in self._whole.graph.output:
            value = graph.output.add(name=output.name)
            value.type.tensor_type.elem_type = output.type.tensor_type.elem_type
        return onnx.ModelProto(
            ir_version=max(self._whole.ir_version, 8),
            graph=graph,
            opset_import=[helper.make_opsetid("", self._opset)],
        )

    def _quantised(self, parameters: Mapping[str, tuple[str, str]]) -> dict[str, Quantisation]:
        found = {}
        for name, (scale, zero) in parameters.items():
            node = self._onnx.helper.make_node("DequantizeLinear", [name, scale, *([zero] if zero else [])], [""])
            found[name] = self._quantisation(node, name)
        for node in self._nodes:
            if node.op_type == "QuantizeLinear":
                found[node.output[0]] = self._quantisation(node, node.output[0])
            elif node.op_type == "DequantizeLinear" and node.input[0] in found:
                self._quantisation(node, node.input[0])
        return found

    def _quantisation(self, node: Any, name: str) -> Quantisation:
        """Of a tensor, by a quantiser."""
        scales = self._scales(node)
        dtype = self._dtypes.get(name, "uint8")
        if dtype not in ("int8", "uint8"):
            raise InputError(f"{self._path}: {name} is quantised to {dtype}: expected int8 or uint8")
        if scales.size != 1:
            raise InputError(
                f"{self._path}: {name}: expected one scale for an activation, got {scales.size} "
                "(weights must be constant)"
            )
        zero = 0
        if len(node.input) > 2 and node.input[2]:
            if node.input[2] not in self._constants:
                raise InputError(f"{self._path}: zero point {node.input[2]} is computed at run time")
            zero = int(self._constants.value(node.input[2]).reshape(-1)[0])
        unsigned = dtype == "uint8"
        return Quantisation(float(scales[0]), zero - OFFSET if unsigned else zero, unsigned)
