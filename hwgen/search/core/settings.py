"""The settings of an HWC that the sizes of a nest or of a slice alone tell, and which of them given hardware has.

Hardware that is fitted to layers has constants in place of some settings, and as many bits of others as they needed.
A search asks here for each axis which steps agree with that. Addresses, pitches and lines of the input depend on
several axes; who has the whole schedule checks them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.registers.hwc import loop_counts
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Dim, Layer

__all__ = ["ANY", "Settings", "Slices"]

Named = Iterator[tuple[str, int]]
SIZED = ("extent_", "padding_", "group_", "input_height", "input_width")
"""Settings of sizes: beginnings of their names. They are at most as wide as positions."""


@dataclass(frozen=True)
class Settings:
    """What hardware has of settings: constants, widths of others, and the width of positions.

    Members
    -------
    constants, bits : by name.
    position_bits : the most bits that a size has.
    """

    constants: tuple[tuple[str, int], ...] = ()
    bits: tuple[tuple[str, int], ...] = ()
    position_bits: int = 64

    @classmethod
    def of(cls, hardware: Hardware) -> "Settings":
        """Those of a hardware file."""
        constants, bits = hardware.constants or {}, hardware.setting_bits or {}
        return cls(tuple(sorted(constants.items())), tuple(sorted(bits.items())), hardware.position_bits)

    def wrong(self, settings: Iterable[tuple[str, int]]) -> str | None:
        """What the hardware says of the first of these settings that it does not have; None if it has all."""
        constants, bits = dict(self.constants), dict(self.bits)
        for name, value in settings:
            if constants.get(name, value) != value:
                return f"{name}: the hardware is fitted to {constants[name]}, got {value}"
            width = bits.get(name, 64)
            if name.startswith(SIZED):
                width = min(width, self.position_bits)
            if name not in constants and value >> width:
                return f"{name}: expected below {1 << width}, as the hardware has it, got {value}"
        return None

    def tells(self, names: Iterable[str]) -> bool:
        """Whether the hardware has a constant or a width of one of these settings."""
        return not {name for name, _ in (*self.constants, *self.bits)}.isdisjoint(names)

    def steps(
        self, dims: Sequence[Dim], dim: Dim, extent: int, loops: Sequence[tuple[int, ...]]
    ) -> NDArray[np.bool_]:
        """Which of some choices of steps the hardware has, for the loops over one dimension of a given order.

        ``dims`` : of all loops. ``loops`` : the steps of those over ``dim``, outermost first, of each choice.
        """
        places = [place for place, one in enumerate(dims) if one == dim]
        known = tuple(f"_{place}_" for place in places)
        if not any(place in name for name, _ in (*self.constants, *self.bits) for place in known):
            return np.ones(len(loops), np.bool_)
        return np.array([self.wrong(_loop_settings(dim, extent, places, steps)) is None for steps in loops], np.bool_)


ANY = Settings()
"""Settings of hardware that has every one, of any value."""


def _loop_settings(dim: Dim, extent: int, places: Sequence[int], steps: tuple[int, ...]) -> Named:
    """What the loops over one dimension count; their numbers in the nest are ``places``."""
    counts = loop_counts([dim] * len(steps), steps, {dim: extent})
    for place, step, one in zip(places, steps, counts, strict=False):
        yield f"step_{place}_{dim}", step
        yield from ((f"repeats_{place}_{number}", repeats) for number, repeats in enumerate(one.repeats))
        yield from ((f"rest_{place}_{number}", rest) for number, rest in enumerate(one.rests))


@dataclass(frozen=True)
class Slices:
    """The slices of one layer on hardware with some settings."""

    layer: Layer
    settings: Settings

    def any_size(self, dim: Dim) -> bool:
        """Whether slices may have every size along an axis."""
        names = [name for name, _ in self.settings_of(dim, 0, 1)]
        return not self.settings.tells(names) and not self.layer.extents[dim] >> self.settings.position_bits

    def wrong(self, dim: Dim, step: int, share: int) -> str | None:
        """What the hardware says of tiles of ``step``, cut into slices of ``share``; None if it has all settings."""
        if self.any_size(dim):
            return None
        extent = self.layer.extents[dim]
        for start in range(0, extent, step):
            stop = min(start + step, extent)
            for first in range(start, stop, share):
                if wrong := self.settings.wrong(self.settings_of(dim, first, min(first + share, stop))):
                    return wrong
        return None

    def settings_of(self, dim: Dim, start: int, end: int) -> Named:
        """The settings that the slice from ``start`` to ``end`` along an axis has of this axis.

        A slice is a layer of its own: whole groups, or a part of one.
        """
        layer, size = self.layer, end - start
        yield f"extent_{dim}", size
        match dim:
            case "m":
                each = layer.outputs_per_group
                yield "group_outputs", each if start // each != (end - 1) // each else size
            case "c":
                yield "group_inputs", size
            case "y" | "x":
                axis = "yx".index(dim)
                extent, padding = (layer.input_height, layer.input_width)[axis], layer.padding[axis]
                first = start * layer.stride[axis] - padding
                stop = (end - 1) * layer.stride[axis] - padding + layer.kernel[axis]
                low, high = max(first, 0), min(stop, extent)
                if low >= high:  # all of it is padding
                    low, high, first = 0, 1, first - stop
                yield ("padding_top", "padding_left")[axis], low - first
                yield ("input_height", "input_width")[axis], high - low
