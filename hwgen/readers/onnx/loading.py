"""A quantised model from its file: of one image where it treats images apart, else of all that it takes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.readers.onnx.batch import NotApart, require_same, rows_apart
from hwgen.readers.onnx.file import load_file
from hwgen.readers.onnx.lifting import QUANTISERS, lifted
from hwgen.readers.onnx.model import Preparation, QuantisedModel, check_operators, input_parameters, malformed

__all__ = ["is_quantised", "load_quantised"]

USUAL = 17
"""The version of the standard operators that is taken where a model names none."""
SOME = 3
"""Images with which a model whose first size is free is shown to treat them apart."""
MAP = 2
"""Dimensions from which on the first may be that of images."""


def is_quantised(path: Path) -> bool:
    """Whether a file is a quantised model; raises `InputError` for what is no model."""
    return any(node.op_type in QUANTISERS for node in _lifted(path, load_file(path, weights=True)))


def _lifted(path: Path, whole: Any) -> list[Any]:
    """The nodes, with those on integers in the form of QuantizeLinear and DequantizeLinear."""
    with malformed(path):
        outputs = {value.name for value in whole.graph.output}
        return list(lifted(whole.graph.node, input_parameters(whole.graph), outputs))


def load_quantised(path: Path) -> QuantisedModel:
    """Read a file. Raises `InputError`, in one line, for what is no quantised model that can be imported."""
    whole = load_file(path, weights=True)
    check_operators(whole, path)
    parameters = input_parameters(whole.graph)
    nodes = _lifted(path, whole)
    if not any(node.op_type in QUANTISERS for node in nodes):
        raise InputError(
            f"{path}: expected a quantised model (QuantizeLinear and DequantizeLinear, or QLinearConv and the like), "
            "got one of floats (onnxruntime.quantization.quantize_static quantises it; hwgen layers reads it so)"
        )
    opset = max([one.version for one in whole.opset_import if one.domain in ("", "ai.onnx")], default=USUAL)

    def prepared(rows: Mapping[str, int] | None = None, count: int = 1) -> QuantisedModel:
        with malformed(path):
            return Preparation(path, whole, nodes, opset).model(parameters, rows, count)

    given = {tensor.name for tensor in whole.graph.initializer}
    firsts = {
        value.name: value.type.tensor_type.shape.dim[0]
        for value in whole.graph.input
        if value.name not in given and len(value.type.tensor_type.shape.dim) >= MAP
    }
    free = [name for name, dim in firsts.items() if not dim.HasField("dim_value")]
    sizes = {dim.dim_value for name, dim in firsts.items() if name not in free} - {1}
    if not free and not sizes:
        return replace(prepared(), apart=tuple(firsts))
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
        return replace(one, batch=batch, apart=tuple(batched))
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
