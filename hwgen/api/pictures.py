"""Pictures as inputs of a network: PNG and JPEG files, through Pillow."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.network.tensors import OFFSET, Tensor

__all__ = ["SUFFIXES", "Pixels", "is_picture", "pixels_from", "read_picture"]

SUFFIXES = (".png", ".jpg", ".jpeg")
MODES = {1: "L", 3: "RGB"}
"""Pillow's name for pixels of so many channels."""


@dataclass(frozen=True)
class Pixels:
    """What becomes of a pixel of 0 to 255 for an input of numbers: (pixel - mean) / std.

    Each is one number, or one for each channel.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (255.0,)

    @property
    def text(self) -> str:
        """The text as a formula."""
        mean, std = (", ".join(f"{one:g}" for one in values) for values in (self.mean, self.std))
        return f"(pixel - {mean}) / {std}"


def pixels_from(mean: str | None, std: str | None, given: Sequence[str] | None) -> Pixels | None:
    """The options' values; None if neither is given.

    ``given``: the inputs. Raises `InputError` for what are no numbers, and without a picture among the inputs.
    """
    if mean is None and std is None:
        return None
    if not any(map(is_picture, given or ())):
        raise InputError("--mean, --std: expected with a picture as --input")
    usual = Pixels()
    found = Pixels(_numbers("--mean", mean) or usual.mean, _numbers("--std", std) or usual.std)
    if 0 in found.std:
        raise InputError("--std: expected numbers other than 0, got 0")
    return found


def _numbers(option: str, text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        values = tuple(float(one) for one in text.split(","))
    except ValueError:
        values = ()
    if len(values) not in (1, 3) or not all(map(math.isfinite, values)):
        raise InputError(f"{option}: expected a number, or one for each of three channels, got {text}")
    return values


def is_picture(file: str) -> bool:
    """Whether the file's name is that of a picture."""
    return Path(file).suffix.lower() in SUFFIXES


def read_picture(path: Path, tensor: Tensor, pixels: Pixels | None) -> tuple[NDArray, str]:
    """A picture, scaled to an input's rows and columns, bilinearly, as one image; and what was done, as a line.

    The input is [1, channels, rows, columns] or [1, rows, columns, channels], of 1 channel (grey) or 3 (red, green,
    blue). Numbers are made as ``pixels`` says, uint8 is the pixel, int8 the pixel less 128. Raises `InputError` for
    other inputs and for files that cannot be read.
    """
    axis = next((at for at in (1, 3) if len(tensor.shape) == 4 and tensor.shape[at] in MODES), None)
    if axis is None:
        shape = "x".join(map(str, tensor.shape))
        raise InputError(f"{path}: a picture needs an input of images of 1 or 3 channels, {tensor.name} is {shape}")
    channels = tensor.shape[axis]
    rows, columns = (size for at, size in enumerate(tensor.shape) if at not in (0, axis))
    given, size = _scaled(path, MODES[channels], (columns, rows))
    values, how = _values(path, given.reshape(rows, columns, channels), tensor, pixels)
    line = f"{path}: {size[0]} x {size[1]} pixels scaled to {columns} x {rows}, {MODES[channels]}, {how}"
    return (values.transpose(2, 0, 1) if axis == 1 else values)[None], line


def _scaled(path: Path, mode: str, size: tuple[int, int]) -> tuple[NDArray[np.uint8], tuple[int, int]]:
    """Pixels of a picture, and the size that it had, width first."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise InputError(f"{path}: pictures need the package pillow (pip install pillow)") from None
    try:
        with Image.open(path) as opened:
            upright: Any = ImageOps.exif_transpose(opened)
            image = upright.convert(mode)
    except UnidentifiedImageError:
        raise InputError(f"{path}: expected a picture, PNG or JPEG") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None
    return np.asarray(image.resize(size, Image.Resampling.BILINEAR), np.uint8), image.size


def _values(path: Path, given: NDArray[np.uint8], tensor: Tensor, pixels: Pixels | None) -> tuple[NDArray, str]:
    """Pixels [rows, columns, channels] in the type of the input, and how."""
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "f":
        how = pixels or Pixels()
        if len(how.mean) > given.shape[2] or len(how.std) > given.shape[2]:
            raise InputError(f"{path}: --mean, --std: expected one number each for a grey picture, got three")
        return ((given - np.array(how.mean)) / np.array(how.std)).astype(dtype), how.text
    if pixels is not None:
        raise InputError(f"{path}: --mean, --std: {tensor.name} takes integers: expected none of them")
    if dtype == np.uint8:
        return given, "pixel"
    if dtype == np.int8:
        return (given.astype(np.int16) - OFFSET).astype(np.int8), f"pixel - {OFFSET}"
    raise InputError(f"{path}: a picture needs an input of numbers, uint8 or int8, {tensor.name} is {dtype}")
