"""Lanes of the stages of a pipeline: the fewest with which all stages keep the same pace."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hwgen.ir.document import InputError

__all__ = ["Lanes", "Work", "choose_lanes", "narrowest_beat"]

MOST_LANES = 256
"""Multipliers of one stage, at most: the bytes of a word of its weight memory."""


@dataclass(frozen=True)
class Lanes:
    """Input and output channels that a stage processes in one cycle."""

    inputs: int
    outputs: int

    @property
    def multipliers(self) -> int:
        """Multipliers of a convolution with these lanes."""
        return self.inputs * self.outputs


@dataclass(frozen=True)
class Work:
    """The work of a stage in one inference.

    Members
    -------
    pixels : that it makes, or reads.
    weighted : its lanes are multipliers, which are limited.
    choices : lanes that it may have, and the cycles of a pixel with them.
    """

    pixels: int
    weighted: bool
    choices: tuple[tuple[Lanes, int], ...]

    @classmethod
    def of_multipliers(cls, pixels: int, taps: int, inputs: int, outputs: int, across: int) -> "Work":
        """Products of ``taps`` x ``inputs`` x ``outputs`` for each pixel; output lanes divide ``across``."""
        pairs = [Lanes(i, o) for i in _divisors(inputs) for o in _divisors(across) if i * o <= MOST_LANES]
        return cls(pixels, True, tuple((one, taps * inputs * outputs // one.multipliers) for one in pairs))

    @classmethod
    def of_channels(cls, pixels: int, taps: int, channels: int) -> "Work":
        """``taps`` operations for each channel of each pixel, without multipliers."""
        every = [Lanes(1, lanes) for lanes in _divisors(channels)]
        return cls(pixels, False, tuple((one, taps * channels // one.outputs) for one in every))

    @classmethod
    def of_pixels(cls, pixels: int) -> "Work":
        """One pixel a cycle, whatever its channels."""
        return cls(pixels, False, ((Lanes(1, 1), 1),))

    def cheapest(self, cycles: int) -> Lanes | None:
        """The fewest lanes that do the work within ``cycles``; of equally many, those with the most inputs."""
        fitting = [lanes for lanes, steps in self.choices if steps * self.pixels <= cycles]
        return min(fitting, key=lambda lanes: (lanes.multipliers, -lanes.inputs), default=None)


def choose_lanes(works: Sequence[Work], macs: int) -> tuple[list[Lanes], int]:
    """The lanes with which the slowest stage is fastest, within ``macs`` multipliers; and that stage's cycles."""
    least = sum(1 for work in works if work.weighted)
    if macs < least:
        raise InputError(f"--macs: expected at least {least}, one for each convolution of a stack, got {macs}")
    times = sorted({steps * work.pixels for work in works for _, steps in work.choices})

    def within(cycles: int) -> list[Lanes] | None:
        found = [work.cheapest(cycles) for work in works]
        known = [lanes for lanes in found if lanes is not None]
        spent = sum(lanes.multipliers for lanes, work in zip(known, works, strict=False) if work.weighted)
        return known if len(known) == len(works) and spent <= macs else None

    cycles = times[_first(len(times), lambda index: within(times[index]) is not None)]
    chosen = within(cycles)
    assert chosen is not None
    return chosen, cycles


def narrowest_beat(channels: int, pixels: int, cycles: int, most: int, *, late: int | None = None) -> int:
    """The narrowest beat, in bytes, with which a stream carries ``pixels`` within ``cycles``.

    ``late``: a pixel may also arrive at most this many cycles after it is needed.
    """
    for beat in range(1, min(channels, most) + 1):
        beats = -(-channels // beat)
        if beats * pixels <= cycles and (late is None or beats - 1 <= late):
            return beat
    return min(channels, most)


def _divisors(number: int) -> Iterable[int]:
    return [candidate for candidate in range(1, number + 1) if number % candidate == 0]


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """The first index at which a monotonic condition holds."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
