"""ONNX files as graphs of operators: for shapes and work, or quantised, with all constants."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.network.tensors import Constants
from hwgen.readers.onnx.batch import NotApart, require_same, rows_apart
from hwgen.readers.onnx.folding import Folding, check_operators, input_parameters
from hwgen.readers.onnx.lifting import QUANTISERS, lifted, plain
from hwgen.readers.onnx.preparation import SMALL, Preparation, Source, malformed

__all__ = ["is_quantised", "load_model", "load_quantised"]

SOME = 3
"""Images with which a model whose first size is free is shown to treat them apart."""
MAP = 2
"""Dimensions from which on the first may be that of images."""


def load_model(path: Path) -> Model:
    """Read a file for shapes and work: operators are what they stand for, a free batch is 1, weights stay unread.

    Raises `InputError`, in one line, for what is no model, or has sizes that are not fixed.
    """
    source = Source.load(path)
    for first in source.firsts(1).values():
        if not first.HasField("dim_value"):
            first.dim_value = 1
    names = {value.name.casefold() for value in source.whole.graph.input}
    with malformed(path):
        preparation = Preparation(source, list(map(plain, source.nodes)), _few_constants(source))
        preparation.infer(strict=False)
        model = preparation.model()
        named = [node.called for node in source.nodes]
        nodes = tuple(
            replace(node, name=safe_name(name, names)) for node, name in zip(model.nodes, named, strict=True)
        )
        return replace(model, nodes=nodes)


def _few_constants(source: Source) -> Constants:
    """Tensors that do not depend on the inputs, and the elements of those that are small."""
    import onnx

    constants = Constants()

    def keep(tensor: Any, name: str) -> None:
        constants.unread.add(name)
        if prod(tensor.dims) > SMALL or tensor.external_data or tensor.data_type == onnx.TensorProto.STRING:
            return
        try:
            constants.arrays[name] = onnx.numpy_helper.to_array(tensor)
            constants.unread.discard(name)
        except Exception:  # its data are not in the file, or of a type that is none
            return

    for tensor in source.whole.graph.initializer:
        keep(tensor, tensor.name)
    for node in source.nodes:
        if all(name in constants for name in node.inputs if name):
            constants.unread.update(node.outputs)
            if node.operator == "Constant" and "value" in node.attributes:
                keep(node.attributes["value"], node.outputs[0])
    return constants


def is_quantised(path: Path) -> bool:
    """Whether a file is a quantised model; raises `InputError` for what is no model."""
    return any(node.operator in QUANTISERS for node in _lifted(Source.load(path, weights=True)))


def _lifted(source: Source) -> list[Operation]:
    """The operators, with those on integers in the form of QuantizeLinear and DequantizeLinear."""
    with malformed(source.path):
        return lifted(source.nodes, input_parameters(source), source.outputs)


def load_quantised(path: Path) -> Model:
    """Read a file for what it computes, constants folded: of one image, where the model treats images apart.

    Raises `InputError`, in one line, for what is no quantised model that can be imported.
    """
    source = Source.load(path, weights=True)
    check_operators(source)
    parameters, nodes = input_parameters(source), _lifted(source)
    if not any(node.operator in QUANTISERS for node in nodes):
        raise InputError(
            f"{path}: expected a quantised model (QuantizeLinear and DequantizeLinear, or QLinearConv and the like), "
            "got one of floats (onnxruntime.quantization.quantize_static, or TensorFlow's converter with a "
            "representative_dataset, quantises it; hwgen layers reads it so)"
        )

    def prepared(rows: Mapping[str, int] | None = None, count: int = 1) -> Model:
        with malformed(path):
            return Folding(source, nodes).folded(parameters, rows, count)

    firsts = source.firsts(MAP)
    free = [name for name, dim in firsts.items() if not dim.HasField("dim_value")]
    sizes = {dim.dim_value for name, dim in firsts.items() if name not in free} - {1}
    if not free and not sizes:
        return replace(prepared(), apart=frozenset(firsts))
    batch, count = (None, SOME) if free else (max(sizes), max(sizes))
    batched = free or [name for name, dim in firsts.items() if dim.dim_value == count]
    _set(firsts, batched, count)
    try:
        all_images = prepared()
        rows = rows_apart(all_images, batched, count)
        _set(firsts, batched, 1)
        one = prepared(rows, count)
        require_same(all_images, one, rows)
    except NotApart as reason:
        together = f"{reason}"
    except InputError as reason:  # of shapes that are only for one image, or for another number
        together = str(reason).removeprefix(f"{path}: ")
    else:
        return replace(one, batch=batch, apart=frozenset(batched))
    _set(firsts, batched, 1 if free else count)
    try:
        return replace(prepared(), together=together)
    except InputError:
        if not free:
            raise
        raise InputError(
            f"{path}: input {free[0]}: size 0 is free and no batch ({together}): expected a fixed size"
        ) from None


def _set(firsts: Mapping[str, Any], names: list[str], size: int) -> None:
    """Set the first size of inputs."""
    for name in names:
        firsts[name].dim_value = size
