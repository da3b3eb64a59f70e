"""Blocks of channels of a pixel, and the selection of one."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value

__all__ = ["channel_blocks", "select_channels"]


def channel_blocks(channels: int, lanes: int) -> list[tuple[int, ...]]:
    """The channels of each block of ``lanes`` of them."""
    return [tuple(range(first, first + lanes)) for first in range(0, channels, lanes)]


def select_channels(m: Module, pixel: Value, index: Value, choices: Sequence[tuple[int, ...]], name: str) -> Signal:
    """The channels ``choices[index]`` of a pixel, the first in the lowest byte. All choices have the same length."""
    chosen = Signal(8 * len(choices[0]), name=name)
    with m.Switch(index):
        for number, channels in enumerate(choices):
            with m.Case(number):
                m.d.comb += chosen.eq(Cat(*(pixel[8 * c : 8 * c + 8] for c in channels)))
    return chosen
