"""Inputs and outputs of a network: arrays, and files of them, .npy and pictures."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwgen.api.pictures import Pixels, is_picture, pixels_from, read_picture
from hwgen.api.progress import note
from hwgen.golden.quantised.comparison import Beside
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Graph

__all__ = ["GivenInputs", "Inputs", "random_inputs", "read_inputs", "write_arrays"]

Inputs = str | PathLike[str] | NDArray | Mapping[str, NDArray] | Sequence[str]
"""Inputs of a network: an array or a file; several by name, as a mapping of arrays or as ``NAME=FILE``."""


@dataclass(frozen=True, eq=False)
class GivenInputs:
    """Inputs of a network as they were given: files, arrays, or the seed of random ones.

    Members
    -------
    files : with names where there are several inputs.
    arrays : one, or several by name.
    seed : of random ones, where neither is given.
    pixels : what becomes of a picture's pixels; None: what is usual.
    """

    files: tuple[str, ...]
    arrays: NDArray | Mapping[str, NDArray] | None
    seed: int | None
    pixels: Pixels | None

    @classmethod
    def of(cls, given: Inputs | None, seed: int | None, mean: str | None, std: str | None) -> "GivenInputs":
        """The inputs of a run; raises `InputError` unless there are some or a seed."""
        files: tuple[str, ...] = ()
        arrays: NDArray | Mapping[str, NDArray] | None = None
        match given:
            case str() | PathLike():
                files = (str(given),)
            case None | np.ndarray() | Mapping():
                arrays = given
            case list() | tuple() if all(isinstance(one, str | PathLike) for one in given):
                files = tuple(map(str, given))
            case _:  # numbers as lists of lists
                arrays = np.asarray(given)
        if bool(files or arrays is not None) == (seed is not None):
            raise InputError("--input, --seed: expected one of them: --input FILE, or --seed N for random inputs")
        return cls(files, arrays, seed, pixels_from(mean, std, files))

    def where(self, model: Path) -> str:
        """Where they are from, for messages."""
        return self.files[0].rpartition("=")[2] if self.files else str(model)

    def of_network(self, graph: Graph, images: int = 1) -> dict[str, NDArray]:
        """Arrays by the name of the input; random ones of at least this number of images."""
        if self.files:
            return read_inputs(graph, self.files, self.pixels)
        if self.arrays is not None:
            return _by_name(graph, self.arrays)
        return random_inputs(graph, self.seed or 0, images)


def _by_name(graph: Graph, given: NDArray | Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Arrays by the name of the input."""
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in graph.inputs]
        if unknown or len(given) < len(graph.inputs):
            raise InputError(f"inputs: expected {', '.join(graph.inputs)}, got {', '.join(map(str, given))}")
        return {name: np.asarray(array) for name, array in given.items()}
    if len(graph.inputs) != 1:
        raise InputError(f"inputs: expected an array for each of {', '.join(graph.inputs)}, got one")
    return {graph.inputs[0]: np.asarray(given)}


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
