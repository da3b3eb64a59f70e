"""Models of floats to quantised ones, by ``onnxruntime.quantization``."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

__all__ = ["quantise"]


class _Inputs(CalibrationDataReader):
    """What the model is calibrated with."""

    def __init__(self, inputs: Iterable[Mapping[str, NDArray]]) -> None:
        self._left = iter(inputs)

    def get_next(self) -> Any:
        """The next one, or None."""
        return next(self._left, None)


def quantise(model: Any, path: Path, inputs: Iterable[Mapping[str, NDArray]]) -> Path:
    """Write a model, quantised in QDQ form: static, int8 weights with a scale for each output channel, uint8 maps.

    Parameters
    ----------
    model : a model of floats, or its file.
    inputs : what it is calibrated with, by name; the ranges of the maps are the least and the greatest seen.
    """
    logging.getLogger().setLevel(logging.ERROR)  # it recommends a step that these models do not need
    quantize_static(
        str(model) if isinstance(model, Path) else model, str(path), _Inputs(inputs),
        per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
    )  # fmt: skip
    return path
