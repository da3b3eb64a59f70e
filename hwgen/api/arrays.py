"""Inputs and outputs of a network as files: .npy, and pictures as inputs."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwgen.api.pictures import Pixels, is_picture, read_picture
from hwgen.api.progress import note
from hwgen.golden.quantised.comparison import Beside
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Graph

__all__ = ["random_inputs", "read_inputs", "write_arrays"]


def read_inputs(graph: Graph, given: Sequence[str], pixels: Pixels | None = None) -> dict[str, NDArray]:
    """Arrays by the name of the input, from .npy files and pictures; several for one input are images of it.

    ``pixels``: what becomes of a picture's pixels; None: what is usual. Raises `InputError` for names and files that
    are none.
    """
    found: dict[str, list[NDArray]] = {}
    for one in given:
        name, equals, file = one.partition("=")
        if not equals or name not in graph.inputs:
            name, file = graph.inputs[0], one
            if len(graph.inputs) > 1:
                raise InputError(f"--input: expected NAME=FILE, with one of {', '.join(graph.inputs)}, got {one}")
        if name in found and name not in graph.apart:
            raise InputError(f"--input: expected one file for {name}, got several (one image: {graph.together})")
        if is_picture(file):
            array, line = read_picture(Path(file), graph.tensors[name], pixels)
            note(line)
        else:
            array = _read(Path(file))
        first = found.setdefault(name, [array])[0]
        if array is not first:
            if (array.dtype, array.shape[1:], array.ndim) != (first.dtype, first.shape[1:], first.ndim):
                raise InputError(f"{file}: expected images as those before it for input {name}: {_kind(first)} each, "
                                 f"got {_kind(array)}")  # fmt: skip
            found[name].append(array)
    missing = [name for name in graph.inputs if name not in found]
    if missing:
        raise InputError(f"--input: expected {missing[0]}=FILE, too")
    return {name: arrays[0] if len(arrays) == 1 else np.concatenate(arrays) for name, arrays in found.items()}


def _kind(array: NDArray) -> str:
    """The type and the shape of an image."""
    return f"{array.dtype} of {'x'.join(map(str, array.shape[1:])) or 'no dimensions'}"


def _read(path: Path) -> NDArray:
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or 'no array of numpy.save'}") from None
    except (ValueError, EOFError):
        raise InputError(f"{path}: expected an array that numpy.save wrote") from None
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path}: expected an array that numpy.save wrote, got several")
    return array


def random_inputs(graph: Graph, seed: int, images: int = 1) -> dict[str, NDArray]:
    """Normal numbers, or any integers, in the shapes and types of the inputs: at least this number of images, as many
    as the model takes at a time or a multiple of them."""
    batch = graph.batch or 1
    generator = np.random.default_rng(seed)
    found: dict[str, NDArray] = {}
    for name in graph.inputs:
        tensor = graph.tensors[name]
        shape = (batch * -(-images // batch), *tensor.shape[1:]) if name in graph.apart else tensor.shape
        dtype = np.dtype(tensor.dtype)
        if dtype.kind == "f":
            found[name] = generator.normal(size=shape).astype(dtype)
        else:
            limits = np.iinfo(np.int8 if dtype.kind == "i" else np.uint8)
            found[name] = generator.integers(limits.min, limits.max + 1, shape).astype(dtype)
    return found


def write_arrays(folder: Path, beside: Beside, *, tensors: bool) -> dict[str, str]:
    """Write the outputs, and all tensors to ``tensors`` in the folder; returns the outputs' files, relative to it."""
    files = _write(folder, "", beside.outputs)
    if tensors:
        _write(folder, "tensors/", beside.tensors)
    return files


def _write(folder: Path, place: str, arrays: Mapping[str, NDArray]) -> dict[str, str]:
    taken: set[str] = set()
    files = {name: f"{place}{safe_name(name, taken)}.npy" for name in arrays}
    for name, file in files.items():
        content = io.BytesIO()
        np.save(content, arrays[name])
        write_atomically(folder / file, content.getvalue())
    return files
