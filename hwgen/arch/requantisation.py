"""The run-time settings of the hardware that requantises: their widths, and their values for a requantisation."""

from collections.abc import Mapping
from typing import NamedTuple

from hwgen.ir.document import InputError
from hwgen.ir.requantisation import Requantisation, Scale

__all__ = [
    "SHIFT",
    "RequantiserSetting",
    "clip_settings",
    "clip_values",
    "requantisation_of",
    "scale_values",
    "settings_for",
]


class RequantiserSetting(NamedTuple):
    """A setting: its name, its width in bits, and one sentence."""

    name: str
    width: int
    meaning: str


SHIFT = RequantiserSetting("shift", 5, "Bits that the sum is shifted right, with rounding")


def clip_settings(bits: int = 8) -> tuple[RequantiserSetting, ...]:
    """The bounds of an output of this width in bits."""
    return (
        RequantiserSetting("relu", 1, "Negative outputs become zero"),
        RequantiserSetting("ceiling", bits - 1, "Largest output, or the bound of a clipped ReLU"),
    )


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


def requantisation_of(values: Mapping[str, int]) -> Requantisation:
    """What settings of these values do: the inverse of `settings_for`; with a ``multiplier`` if they have one."""
    scale = Scale(values.get("multiplier", 1), values[SHIFT.name])
    return Requantisation((scale,), low=0 if values["relu"] else None, high=values["ceiling"])
