"""What is known of an ONNX model's tensors before it runs: constants, shapes and types."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hwgen.ir.document import InputError
from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.network.tensors import Constants, Quantisation, Tensor
from hwgen.readers.onnx.file import load_file, one_line
from hwgen.readers.onnx.protos import STANDARD_DOMAINS, operation_of, proto_of
from hwgen.readers.tflite.conversion import as_onnx, is_tflite

__all__ = ["SMALL", "Preparation", "Source", "malformed"]

SMALL = 1024
"""Elements of a constant that shapes may follow from."""
USUAL = 17
"""The version of the standard operators that is taken where a model names none."""
OLDEST_FORMAT = 8
"""The version of the file format of models that are made here, at least."""


@contextmanager
def malformed(path: Path, node: Operation | None = None) -> Iterator[None]:
    """What reading a node stumbles over that has too few inputs, or attributes of other types: `InputError`."""
    try:
        yield
    except InputError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        where = f"{path}: a node" if node is None else f"{path}: {node.operator} {node.name}"
        raise InputError(f"{where}: inputs or attributes that the operator does not have") from None


@dataclass(frozen=True, eq=False)
class Source:
    """A model as its file has it.

    Members
    -------
    whole : the file (`onnx.ModelProto`); free sizes of its inputs may be set.
    nodes : its operators.
    fixed_point : whether it is a TFLite file, whose kernels compute in fixed point.
    """

    path: Path
    whole: Any
    nodes: tuple[Operation, ...]
    fixed_point: bool = False

    @classmethod
    def load(cls, path: Path, *, weights: bool = False) -> "Source":
        """Read a file; ``weights``: with the data that are in other files. Raises `InputError`, in one line."""
        flat = is_tflite(path)
        whole = as_onnx(path) if flat else load_file(path, weights=weights)
        with malformed(path):
            return cls(path, whole, tuple(map(operation_of, whole.graph.node)), flat)

    @property
    def opset(self) -> int:
        """Version of the standard operators."""
        versions = [one.version for one in self.whole.opset_import if one.domain in STANDARD_DOMAINS]
        return max(versions, default=USUAL)

    @cached_property
    def inputs(self) -> Sequence[Any]:
        """What is given from outside (`onnx.ValueInfoProto`)."""
        given = {tensor.name for tensor in self.whole.graph.initializer}
        return [value for value in self.whole.graph.input if value.name not in given]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of results."""
        return tuple(value.name for value in self.whole.graph.output)

    def firsts(self, rank: int) -> dict[str, Any]:
        """The first size of each input of at least ``rank`` dimensions: a message of ONNX that may be changed."""
        shapes = {value.name: value.type.tensor_type.shape.dim for value in self.inputs}
        return {name: dims[0] for name, dims in shapes.items() if len(dims) >= rank}


class Preparation:
    """Constants, shapes and types of the operators of a model."""

    def __init__(self, source: Source, nodes: Sequence[Operation], constants: Constants) -> None:
        import onnx

        self._onnx, self._source, self._path = onnx, source, source.path
        self._nodes, self._opset = list(nodes), source.opset
        self._constants, self._tensors = constants, dict[str, Tensor]()

    def infer(self, *, strict: bool) -> None:
        """Infer shapes and types of all tensors; ``strict``: refuse operators that do not fit what they read."""
        try:
            inferred = self._onnx.shape_inference.infer_shapes(
                self._skeleton(strict), data_prop=True, strict_mode=strict
            )
        except Exception as error:  # it raises what it likes
            raise InputError(f"{self._path}: shapes cannot be inferred: {one_line(error)}") from None
        known, dtype_of = inferred.graph, self._onnx.helper.tensor_dtype_to_np_dtype
        for value in (*known.input, *known.value_info, *known.output):
            kind = value.type.tensor_type
            if kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim):
                shape = tuple(dim.dim_value for dim in kind.shape.dim)
                dtype = dtype_of(kind.elem_type).name if kind.elem_type else "float32"
                self._tensors[value.name] = Tensor(value.name, shape, dtype=dtype)

    def model(self, quantised: Mapping[str, Quantisation] | None = None) -> Model:
        """The graph."""
        tensors = self._tensors
        for name, quantisation in (quantised or {}).items():
            if name in tensors:
                tensors[name] = replace(tensors[name], quantisation=quantisation)
        return Model(
            name=self._path.stem,
            nodes=tuple(self._nodes),
            inputs=tuple(value.name for value in self._source.inputs),
            outputs=self._source.outputs,
            tensors=tensors,
            constants=self._constants,
            opset=self._opset,
            fixed_point=self._source.fixed_point,
        )

    def _skeleton(self, strict: bool) -> Any:
        """The model for shape inference: large constants are inputs; ``strict``: with the types of its outputs."""
        onnx, helper, constants = self._onnx, self._onnx.helper, self._constants
        graph = onnx.GraphProto(name="skeleton", input=self._source.inputs)
        unread = {one.name: one for one in self._source.whole.graph.initializer if one.name in constants.unread}
        made = {name for node in self._nodes for name in node.outputs}
        for name in sorted({name for node in self._nodes for name in node.inputs} - made):
            if name in constants.integers:
                shape = constants.integers[name].values.shape
                graph.input.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
            elif name in constants.arrays:
                array = constants.arrays[name]
                if array.size <= SMALL:
                    graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
                else:
                    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                    graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
            elif name in unread:
                graph.input.append(helper.make_tensor_value_info(name, unread[name].data_type, unread[name].dims))
        for node in self._nodes:
            trimmed = 3 if node.label == "FusedConv" else None  # what is added is no input of a convolution
            graph.node.append(proto_of(replace(node, inputs=node.inputs[:trimmed])))
        foreign = {name for node in self._nodes if node.domain not in STANDARD_DOMAINS for name in node.outputs}
        graph.value_info.extend(one for one in self._source.whole.graph.value_info if one.name in foreign)
        for output in self._source.whole.graph.output if strict else ():
            value = graph.output.add(name=output.name)
            value.type.tensor_type.elem_type = output.type.tensor_type.elem_type
        others = [one for one in self._source.whole.opset_import if one.domain not in STANDARD_DOMAINS]
        return onnx.ModelProto(
            ir_version=max(self._source.whole.ir_version, OLDEST_FORMAT),
            graph=graph,
            opset_import=[helper.make_opsetid("", self._opset), *others],
        )
