"""An ONNX file as it is: read whole, or refused in one line."""

from pathlib import Path
from textwrap import shorten
from typing import Any

from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError, format_of, is_model

__all__ = ["load_file", "one_line"]

LONGEST = 400
"""Characters of an error of another library."""


def load_file(path: Path, *, weights: bool = False) -> Any:
    """The model (`onnx.ModelProto`), its own functions inlined; ``weights``: with the data that are in other files.

    Raises `InputError`, in one line, for what is no model, has no nodes, or has sizes that are not fixed.
    """
    try:
        with path.open("rb") as file:
            other = format_of(path.with_suffix(""), file.read(16))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if other is not None:
        raise InputError(f"{path}: expected an ONNX model, got {other}")
    try:
        import onnx
        import onnx.inliner
    except ImportError:
        raise InputError(f"{path}: reading ONNX needs onnx ({how_to_install('onnx')})") from None
    try:
        whole = onnx.load(str(path), load_external_data=weights)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except Exception as error:  # protobuf raises what it likes
        if not is_model(path):
            raise InputError(f"{path}: expected a model, a file whose name ends in .onnx or .tflite") from None
        raise InputError(f"{path}: expected an ONNX model (is the file whole?): {one_line(error)}") from None
    if not whole.graph.node:
        raise InputError(f"{path}: expected an ONNX model with nodes (is the file whole?)")
    _check_names(whole.graph, path)
    _check_inputs(whole.graph, path)
    if whole.functions:
        try:
            whole = onnx.inliner.inline_local_functions(whole)
        except Exception as error:
            raise InputError(f"{path}: its functions cannot be inlined: {one_line(error)}") from None
    return whole


def one_line(error: Exception) -> str:
    """What an error says, in one line; a long one ends in dots."""
    return shorten(str(error), LONGEST, placeholder=" ...") or type(error).__name__


def _check_names(graph: Any, path: Path) -> None:
    """Raise `InputError` for names that are no text: they are bytes then."""
    named = [one.name for one in (*graph.input, *graph.output, *graph.value_info, *graph.initializer)]
    for node in graph.node:
        named += [node.name, node.op_type, node.domain, *node.input, *node.output]
        named += [attribute.name for attribute in node.attribute]
    if any(isinstance(name, bytes) for name in named):
        raise InputError(f"{path}: expected an ONNX model (is the file whole?): a name is no text")


def _check_inputs(graph: Any, path: Path) -> None:
    """Raise `InputError` for an input with a free size other than the batch."""
    given = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if value.name not in given and axis > 0 and not dim.HasField("dim_value"):
                free = f" ({dim.dim_param})" if dim.dim_param else ""
                raise InputError(
                    f"{path}: input {value.name}: size {axis}{free} is free: expected fixed sizes but for the batch "
                    "(export it so, or set them with onnx.tools.update_model_dims)"
                )
