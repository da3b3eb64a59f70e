"""A quantised model in one form: standard operators on numbers between quantisers, constants folded, shapes known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.network.tensors import OFFSET, Constants, Integers, Quantisation, joined
from hwgen.readers.onnx.file import one_line
from hwgen.readers.onnx.lifting import LIFTED, QUANTISERS
from hwgen.readers.onnx.preparation import Preparation, Source
from hwgen.readers.onnx.protos import MOVEMENTS, OWN_DOMAINS, REFUSED, SAME, evaluate, operation_of

__all__ = ["Folding", "check_operators", "input_parameters"]

OLDEST = 13
"""The oldest version of the standard operators that is read as it is."""
KEEPING = {*MOVEMENTS, *SAME} - {"Pad", "Resize", "Upsample"}
"""Operators whose output has elements of the first input alone: of constant integers it is integers, too."""


def check_operators(source: Source) -> None:
    """Raise `InputError` for operators that are not known, or refused."""
    import onnx

    for node in source.nodes:
        named = f"{source.path}: {node.operator} {node.name}".rstrip()
        if node.operator in REFUSED:
            raise InputError(f"{named}: {REFUSED[node.operator]}")
        if node.domain not in OWN_DOMAINS:
            raise InputError(f"{named}: an operator of {node.domain} that is not known")
        if not onnx.defs.has(node.operator) and node.operator not in LIFTED:
            raise InputError(f"{named}: an operator that is not known")


def input_parameters(source: Source) -> dict[str, tuple[str, str]]:
    """Scale and zero point of the inputs that are integers, as their first reader has them."""
    import onnx

    integers = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    wanted = {value.name for value in source.whole.graph.input if value.type.tensor_type.elem_type in integers}
    found: dict[str, tuple[str, str]] = {}
    for node in source.nodes:
        scaled = node.operator == "DequantizeLinear" or node.operator in LIFTED
        for at, name in enumerate(node.inputs):
            if name in wanted and name not in found and scaled and at + 1 < len(node.inputs):
                found[name] = (node.inputs[at + 1], node.input(at + 2))
    return found


class Folding(Preparation):
    """A lifted model with all of its constants."""

    def __init__(self, source: Source, nodes: Sequence[Operation]) -> None:
        import onnx

        try:
            arrays = {one.name: onnx.numpy_helper.to_array(one) for one in source.whole.graph.initializer}
        except Exception as error:  # data that are shorter than their shape
            raise InputError(
                f"{source.path}: a constant cannot be read (is the file whole?): {one_line(error)}"
            ) from None
        super().__init__(source, nodes, Constants(arrays))

    def folded(
        self, parameters: Mapping[str, tuple[str, str]], rows: Mapping[str, int] | None = None, count: int = 1
    ) -> Model:
        """The model.

        ``rows`` : of a model that treats ``count`` images apart, one image's rows of each tensor's first axis. This
        is then the model of one image.
        """
        self._fold()
        if rows:
            self._nodes = [self._of_one_image(node, rows, count) for node in self._nodes]
        for node in self._nodes:
            if node.operator in QUANTISERS:
                self._scales(node)
        self._renew()
        self.infer(strict=True)
        self._fold()
        unknown = [name for node in self._nodes for name in node.outputs if name and name not in self._tensors]
        if unknown:
            raise InputError(f"{self._path}: the shape of {unknown[0]} cannot be inferred: expected fixed sizes")
        for node in self._nodes:
            self._check_sizes(node)
        return self.model(self._quantised(parameters))

    def _renew(self) -> None:
        """Operators of old versions become newer ones."""
        onnx = self._onnx
        if self._opset >= OLDEST:
            return
        try:
            newer = onnx.version_converter.convert_version(self._skeleton(strict=True), OLDEST)
        except Exception as error:  # it raises what it likes
            raise InputError(f"{self._path}: shapes cannot be inferred: {one_line(error)}") from None
        self._opset, self._nodes = OLDEST, list(map(operation_of, newer.graph.node))
        self._constants.arrays |= {one.name: onnx.numpy_helper.to_array(one) for one in newer.graph.initializer}

    def _check_sizes(self, node: Operation) -> None:
        """Raise `InputError` for a Reshape to another number of elements, and a Resize to no certain size."""
        named = node.input(2) if node.operator == "Resize" else ""
        if named in self._constants and node.inputs[0] in self._tensors:
            scales = self._constants[named].reshape(-1)
            sizes = self._tensors[node.inputs[0]].shape
            axes = node.ints("axes", range(len(sizes)))[: scales.size]
            given = np.array([sizes[axis] for axis in axes])
            exact, rounded = given * scales.astype(np.float64), given.astype(np.float32) * scales.astype(np.float32)
            for size, scale, one, other in zip(given, scales, np.floor(exact), np.floor(rounded), strict=True):
                if one != other:
                    raise InputError(
                        f"{self._path}: Resize {node.name}: {size} times {scale:.9g} is {one:g} elements to ONNX and "
                        f"{other:g} to ONNX Runtime: expected sizes in place of scales"
                    )
        if node.operator != "Reshape" or node.inputs[0] not in self._tensors:
            return
        before, made = self._tensors[node.inputs[0]].shape, self._tensors[node.outputs[0]].shape
        if prod(before) != prod(made):
            change = " to ".join("x".join(map(str, shape)) for shape in (before, made))
            raise InputError(f"{self._path}: Reshape {node.name}: {change}: expected as many elements")

    def _of_one_image(self, node: Operation, rows: Mapping[str, int], count: int) -> Operation:
        """A node whose constant shape names the rows of one image in place of those of all."""
        if node.operator not in ("Reshape", "Expand") or node.outputs[0] not in rows:
            return node
        if len(node.inputs) < 2 or node.inputs[1] not in self._constants:
            return node
        sizes, here = self._constants[node.inputs[1]].copy(), rows[node.outputs[0]]
        if not sizes.size or sizes[0] != here * count:
            return node
        sizes[0] = here
        name = f"{node.outputs[0]}::shape"
        self._constants.arrays[name] = sizes
        return replace(node, inputs=(node.inputs[0], name, *node.inputs[2:]))

    def _fold(self) -> None:
        """Take out all nodes that depend on no input."""
        left = []
        for node in self._nodes:
            if node.operator == "Shape" and node.inputs[0] in self._tensors:
                self._keep(node, [np.array(self._tensors[node.inputs[0]].shape, np.int64)])
            elif all(name in self._constants for name in node.inputs if name) and "Random" not in node.operator:
                self._fold_node(node)
            else:
                left.append(node)
        self._nodes = left

    def _fold_node(self, node: Operation) -> None:
        constants = self._constants
        if node.operator == "DequantizeLinear" and "int" in constants[node.inputs[0]].dtype.name:
            constants.integers[node.outputs[0]] = self._integers(node)
            return
        outputs = [name for name in node.outputs if name]
        to_numbers = node.operator == "Cast" and node.attributes["to"] == self._onnx.TensorProto.FLOAT
        if to_numbers and node.inputs[0] in constants.integers:
            constants.integers[outputs[0]] = constants.integers[node.inputs[0]]
            return
        try:
            named = {name: constants[name] for name in node.inputs if name}
            if node.operator in KEEPING and node.inputs[0] in constants.integers:
                self._move(node, named, outputs)
                return
            self._keep(node, evaluate([node], named, outputs, self._opset))
            if node.operator == "DequantizeLinear":
                constants.changed[outputs[0]] = f"are of {constants[node.inputs[0]].dtype.name}"
            elif node.operator != "QuantizeLinear":
                self._still_integers(node, outputs)
        except Exception as error:
            raise InputError(
                f"{self._path}: {node.operator} {node.name}: its constants cannot be computed: {one_line(error)}"
            ) from None

    def _move(self, node: Operation, named: Mapping[str, NDArray], outputs: Sequence[str]) -> None:
        """Constant integers in another order; numbers where their scales no longer are along one axis."""
        constants = self._constants
        for name in outputs:

            def moved(array: NDArray, name: str = name) -> NDArray:
                return evaluate([node], {**named, node.inputs[0]: array}, [name], self._opset)[0]

            integers = constants.integers[node.inputs[0]].moved(moved)
            if integers is None:
                constants.arrays[name] = moved(named[node.inputs[0]])
                constants.changed[name] = "have scales along more than one axis"
            else:
                constants.integers[name] = integers

    def _still_integers(self, node: Operation, outputs: Sequence[str]) -> None:
        """Note what became of constant integers that a node reads: integers where it puts them beside each other."""
        constants = self._constants
        read = [name for name in node.inputs if name in constants.integers or name in constants.changed]
        if not read:
            return
        if node.operator == "Concat" and all(name in constants.integers for name in node.inputs):
            axis = node.attributes["axis"]
            found = joined([constants.integers[name] for name in node.inputs], axis)
            if found is not None:
                constants.integers[outputs[0]] = found
                return
        constants.changed |= dict.fromkeys(outputs, f"go through {node.operator} after they are quantised")

    def _keep(self, node: Operation, values: Sequence[NDArray]) -> None:
        outputs = [name for name in node.outputs if name]
        self._constants.arrays.update(zip(outputs, map(np.asarray, values), strict=True))

    def _integers(self, node: Operation) -> Integers:
        """A DequantizeLinear of constants."""
        values, scales = self._constants[node.inputs[0]], self._scales(node)
        named = node.input(2)
        zeros = self._constants[named].astype(np.int64).reshape(-1) if named else np.zeros(1, np.int64)
        axis = node.attributes.get("axis", 1)
        sizes = {scales.size, zeros.size} - {1}
        if sizes - {values.shape[axis] if -values.ndim <= axis < values.ndim else 1}:
            raise InputError(f"{self._path}: {node.inputs[1]}: expected one scale, or one for each channel")
        return Integers(values, scales, zeros, axis % max(values.ndim, 1))

    def _scales(self, node: Operation) -> NDArray[np.float32]:
        """The scales of a quantiser; raises `InputError` unless they are constant and above 0."""
        name = node.inputs[1]
        if name not in self._constants:
            raise InputError(f"{self._path}: scale {name} is computed at run time: expected static scales")
        scales = self._constants[name].astype(np.float32).reshape(-1)
        if not scales.size or not np.all(np.isfinite(scales)) or np.any(scales <= 0):
            worst = f"{scales.min():g}" if scales.size else "none"
            raise InputError(f"{self._path}: scale {name}: expected scales above 0, got {worst}")
        return scales

    def _quantised(self, parameters: Mapping[str, tuple[str, str]]) -> dict[str, Quantisation]:
        found = {}
        for name, (scale, zero) in parameters.items():
            found[name] = self._quantisation(Operation("DequantizeLinear", (name, scale, zero), ("",)), name)
        for node in self._nodes:
            if node.operator == "QuantizeLinear":
                found[node.outputs[0]] = self._quantisation(node, node.outputs[0])
            elif node.operator == "DequantizeLinear" and node.inputs[0] in found:
                self._quantisation(node, node.inputs[0])
        return found

    def _quantisation(self, node: Operation, name: str) -> Quantisation:
        """The quantisation of a tensor by a quantiser."""
        scales = self._scales(node)
        dtype = self._tensors[name].dtype if name in self._tensors else "uint8"
        if dtype not in ("int8", "uint8"):
            raise InputError(f"{self._path}: {name} is quantised to {dtype}: expected int8 or uint8")
        if scales.size != 1:
            raise InputError(
                f"{self._path}: {name}: expected one scale for an activation, got {scales.size} "
                "(weights must be constant)"
            )
        named = node.input(2)
        if named and named not in self._constants:
            raise InputError(f"{self._path}: zero point {named} is computed at run time")
        zero = int(self._constants[named].reshape(-1)[0]) if named else 0
        unsigned = dtype == "uint8"
        return Quantisation(float(scales[0]), zero - OFFSET if unsigned else zero, unsigned)
