"""Operands of layers from files: ``LAYER.I.npy``, ``LAYER.W.npy`` and ``LAYER.bias.npy`` in a folder."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.layout import operand_type
from hwgen.export.hwc_program import OPERANDS
from hwgen.ir.document import InputError
from hwgen.ir.schedule import Schedule

__all__ = ["OPERAND_FILES", "Operands", "read_operands"]

Operands = dict[str, NDArray[np.signedinteger]]
"""Operands by the region that they are stored in: input, weights, bias."""

OPERAND_FILES = "Folder with LAYER.W.npy, LAYER.bias.npy and LAYER.I.npy; only the first is required."


def read_operands(folder: Path | None, schedule: Schedule) -> Operands:
    """The operands of a layer in a folder, or none; raises `InputError` for files that do not fit.

    Weights are expected; without a file the biases are zero, and without one there is no input.
    """
    if folder is None:
        return {}
    found = {}
    for region, short in OPERANDS.items():
        path = folder / f"{schedule.layer.name}.{short}.npy"
        dtype, shape = operand_type(schedule, region)
        if path.exists():
            found[region] = _read(path, dtype, shape)
        elif region == "bias":
            found[region] = np.zeros(shape, dtype)
        elif region == "weights":
            raise InputError(f"{path}: expected the weights {list(shape)}, found no such file")
    return found


def _read(path: Path, dtype: np.dtype[np.signedinteger], shape: tuple[int, ...]) -> NDArray[np.signedinteger]:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError(f"{path}: expected an array that numpy.save wrote") from None
    range_ = np.iinfo(dtype)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.shape != shape:
        got = f"{array.dtype} {list(array.shape)}" if isinstance(array, np.ndarray) else "several arrays"
        raise InputError(f"{path}: expected {dtype} {list(shape)}, got {got}")
    if array.size and not range_.min <= array.min() <= array.max() <= range_.max:
        raise InputError(f"{path}: expected {range_.min} to {range_.max}, got {array.min()} to {array.max()}")
    return array.astype(dtype)
