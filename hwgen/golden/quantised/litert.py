"""LiteRT, which was TensorFlow Lite: it runs whole TFLite models, with its reference kernels, to compare with."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.readers.onnx.file import one_line
from hwgen.readers.tflite.conversion import places

__all__ = ["tflite_outputs"]


def tflite_outputs(
    path: Path, inputs: Mapping[str, NDArray], tensors: Collection[str], images: int
) -> dict[str, NDArray]:
    """What LiteRT makes of a model's inputs: the tensors of these names, outputs among them, of all images.

    The model runs once for each image. Tensors are as the converted model has them (`hwgen.readers.tflite`).
    """
    where = places(path)
    wanted = {name: where[name] for name in tensors if name in where}
    found: dict[str, list[NDArray]] = {name: [] for name in wanted}
    try:
        interpreter = _interpreter(path)
        for image in range(images):
            for name, array in inputs.items():
                one = array[image : image + 1] if images > 1 else array
                interpreter.set_tensor(where[name].number, np.ascontiguousarray(one))
            interpreter.invoke()
            for name, place in wanted.items():
                found[name].append(place.of(interpreter.get_tensor(place.number)))
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{path}: LiteRT does not run it: {one_line(error)}") from None
    return {name: np.concatenate(arrays) if arrays[0].ndim else arrays[0] for name, arrays in found.items()}


def _interpreter(path: Path) -> Any:
    try:
        from ai_edge_litert import interpreter
    except ImportError:
        raise InputError(f"{path}: running it needs ai-edge-litert ({how_to_install('tflite')})") from None
    made = interpreter.Interpreter(
        str(path),
        num_threads=1,
        experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    made.allocate_tensors()
    return made
