"""The run-time settings of the hardware that requantises: their widths, and their values for a requantisation."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.ir.document import InputError
from hwgen.ir.requantisation import (
    HALF_UP,
    HIGHEST,
    LOWEST,
    MULTIPLIER_BITS,
    Requantisation,
    RequantisationForm,
    Scale,
)

__all__ = [
    "CHANNEL_SHIFT_BITS",
    "HALF_UP",
    "HIGHEST",
    "LOWEST",
    "MULTIPLIER_BITS",
    "SCALED",
    "SHIFT",
    "bias_records",
    "clip_settings",
    "clip_values",
    "record_bytes",
    "records_content",
    "requantisation_of",
    "requantiser_settings",
    "scale_values",
    "scaled_requantisation",
    "scaled_values",
    "settings_for",
]


class RequantiserSetting(NamedTuple):
    """A setting: its name, its width in bits, and one sentence."""

    name: str
    width: int
    meaning: str


SHIFT = RequantiserSetting("shift", 5, "Bits that the sum is shifted right, with rounding")
SCALED = (
    RequantiserSetting("zero_in", 8, "Zero point of the input, which padding reads as; two's complement"),
    RequantiserSetting("zero_out", 8, "Zero point of the output, which is added to scaled sums; two's complement"),
    RequantiserSetting("low", 8, "Least output; two's complement"),
    RequantiserSetting("high", 8, "Largest output; two's complement"),
)
"""The settings where each output channel has a multiplier and a shift. Outputs have 8 bits."""
CHANNEL_SHIFT_BITS = 6
"""Bits of the shift in a channel's record."""
RECORD_BYTES: Mapping[RequantisationForm, int] = {"shift": SUM_BYTES, "scaled": SUM_BYTES + WORD_BYTES}


def record_bytes(form: RequantisationForm) -> int:
    """Bytes in memory of what an output channel brings along: its bias; where sums are scaled, a word more."""
    return RECORD_BYTES[form]


def bias_records(bias: NDArray[np.int32], scales: tuple[Scale, ...], form: RequantisationForm) -> NDArray[np.int8]:
    """The bytes in memory of what the output channels bring along, from biases [M].

    Where sums are scaled, a record is the bias, then a word with the multiplier from bit 0 and the shift from bit 16
    on, and whether it rounds twice in bit 22. ``scales`` : one for all channels, or one for each.
    """
    words = bias.astype("<i4").reshape(-1, 1)
    if form == "scaled":
        second = [
            scale.multiplier | (scale.shift | scale.twice << CHANNEL_SHIFT_BITS) << MULTIPLIER_BITS
            for scale in scales
        ]
        column = np.broadcast_to(np.array(second, "<i4"), len(words)).reshape(-1, 1)
        words = np.hstack([words, column])
    return np.ascontiguousarray(words).reshape(-1).view(np.int8)


def records_content(
    content: NDArray[np.int8], form: RequantisationForm
) -> tuple[NDArray[np.int32], tuple[Scale, ...]]:
    """The biases and the scales in the bytes of `bias_records`; no scales where they are not in memory."""
    words = content.view("<i4").reshape(-1, record_bytes(form) // WORD_BYTES)
    return words[:, 0].astype(np.int32), tuple(_scale_of(int(word)) for word in words[:, 1:].reshape(-1))


def _scale_of(word: int) -> Scale:
    """The scale in the second word of a record."""
    shift, twice = (
        (word >> MULTIPLIER_BITS) % (1 << CHANNEL_SHIFT_BITS),
        word >> (MULTIPLIER_BITS + CHANNEL_SHIFT_BITS),
    )
    return Scale(word % (1 << MULTIPLIER_BITS), shift, bool(twice))


def clip_settings(bits: int = 8) -> tuple[RequantiserSetting, ...]:
    """The bounds of an output of this width in bits."""
    return (
        RequantiserSetting("relu", 1, "Negative outputs become zero"),
        RequantiserSetting("ceiling", bits - 1, "Largest output, or the bound of a clipped ReLU"),
    )


def requantiser_settings(form: RequantisationForm, bits: int = 8) -> tuple[RequantiserSetting, ...]:
    """The settings of hardware that does so much with sums, its widest outputs of this width in bits."""
    return SCALED if form == "scaled" else (SHIFT, *clip_settings(bits))


def settings_for(
    requantisation: Requantisation, where: str, bits: int = 8, *, shifts_products: bool = False
) -> dict[str, int]:
    """Values of `SHIFT` and of `clip_settings`; raises `InputError` for what the hardware does not do."""
    if requantisation.product_shift and not shifts_products:
        raise InputError(f"{where}: product_shift: this hardware does not shift products")
    return {**scale_values(requantisation, where), **clip_values(requantisation, where, bits)}


def scale_values(requantisation: Requantisation, where: str) -> dict[str, int]:
    """The value of `SHIFT`; raises `InputError` for a scale that is no shift, or not the same for all channels."""
    scale, *others = requantisation.scales
    if others:
        raise InputError(f"{where}: scales: the hardware has one for all output channels, got {1 + len(others)}")
    if scale.multiplier != 1:
        raise InputError(f"{where}: multiplier: the hardware scales sums by a shift alone, got {scale.multiplier}")
    if scale.shift >= 1 << SHIFT.width:
        raise InputError(f"{where}: shift: expected below {1 << SHIFT.width}, got {scale.shift}")
    return {SHIFT.name: scale.shift}


def clip_values(requantisation: Requantisation, where: str, bits: int = 8) -> dict[str, int]:
    """Values of `clip_settings`; raises `InputError` for other bounds than the hardware has."""
    if requantisation.zero_in or requantisation.zero_out:
        raise InputError(f"{where}: zero points: the hardware has none but 0")
    if requantisation.table is not None:
        raise InputError(f"{where}: table: the hardware has none for activations")
    try:
        low, high = requantisation.bounds(bits)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    if low not in (0, -(1 << (bits - 1))) or high < 0:
        raise InputError(f"{where}: clip: the hardware clips from {-(1 << (bits - 1))} or 0 on to 0 or more")
    return {"relu": int(low == 0), "ceiling": high}


def scaled_values(requantisation: Requantisation, where: str) -> dict[str, int]:
    """Values of `SCALED`; raises `InputError` for what the hardware does not do, in the channels' scales, too."""
    for scale in requantisation.scales:
        if scale.multiplier >= 1 << MULTIPLIER_BITS:
            most = (1 << MULTIPLIER_BITS) - 1
            raise InputError(f"{where}: multiplier: expected at most {most}, got {scale.multiplier}")
    if requantisation.product_shift:
        raise InputError(f"{where}: product_shift: this hardware does not shift products")
    if requantisation.table is not None:
        raise InputError(f"{where}: table: the hardware has none for activations")
    try:
        low, high = requantisation.bounds(8)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    points = {"zero_in": requantisation.zero_in, "zero_out": requantisation.zero_out}
    for name, value in points.items():
        if not LOWEST <= value <= HIGHEST:
            raise InputError(f"{where}: {name}: expected {LOWEST} to {HIGHEST}, got {value}")
    return {name: value & 0xFF for name, value in {**points, "low": low, "high": high}.items()}


def scaled_requantisation(values: Mapping[str, int], scales: tuple[Scale, ...]) -> Requantisation:
    """What settings of these values do, with the scales of the channels: the inverse of `scaled_values`."""
    zero_in, zero_out, low, high = ((values[one.name] ^ 0x80) - 0x80 for one in SCALED)
    return Requantisation(scales, zero_in=zero_in, zero_out=zero_out, low=low, high=high)


def requantisation_of(values: Mapping[str, int]) -> Requantisation:
    """What settings of these values do: the inverse of `settings_for`; with a ``multiplier`` if they have one."""
    scale = Scale(values.get("multiplier", 1), values[SHIFT.name])
    return Requantisation((scale,), low=0 if values["relu"] else None, high=values["ceiling"])
