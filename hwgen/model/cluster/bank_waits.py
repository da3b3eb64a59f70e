"""What the HWCs of a cluster wait at the banks of its memory: an estimate, for each port.

HWCs that are started together ask for their words in the same order, and so for the same banks at the same time or
for others all the time, as their operands lie. So the ports are played, with the banks of the words in their order
and the arbiter's turns: each of their tiles is fetched or stored word after word, and tiles come as often as the
HWC is through with them. The DMA goes before all others, to any bank.

What a wait costs is left to the model of the HWC (`hwgen.model.hwc.cycles`): a port that is not busy all the time
makes up for its waits, as it fetches ahead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.schedule import ARRAYS
from hwgen.model.compiled import inner_borrowing, njit
from hwgen.model.hwc.timing.state import PARTS
from hwgen.model.nest.one_level import PerOperand

__all__ = ["Lines", "Stream", "waits_at_banks"]

PLAYED = 2048
"""Cycles that are played, and words of a port whose banks are told apart."""
STEP = PARTS // 32
"""Parts of a cycle to which waits are rounded, so that HWCs that wait about as long are looked at once."""
BY_CHANCE = 2
"""Waits of a port in what is played that are taken for none: when HWCs meet so seldom depends on single cycles."""
BETWEEN_STARTS = 10
"""About as many cycles as there are from the start of an HWC to that of the next one."""


@dataclass(frozen=True)
class Lines:
    """Words that a port goes through, in accesses of it from the first one: row by row, in each channel by channel.

    Members
    -------
    pitch, plane : from row to row, from channel to channel.
    rows, channels, words : of a tile, which are asked for without a pause; ``words`` of a row of a channel.
    tiles : one after the other along the channels.
    again : from the first of these tiles to the next such tiles.
    """

    pitch: int
    plane: int
    rows: int
    channels: int
    words: int
    tiles: int
    again: int


@dataclass(frozen=True)
class Stream:
    """The accesses of a port.

    Members
    -------
    accesses : in all; 0 of a port that does not ask, as another HWC reads for it.
    words : of 32 bits that one of them moves: as many banks it takes.
    first : word of the memory at which they begin.
    lines : their places.
    """

    accesses: int
    words: int
    first: int
    lines: Lines

    @property
    def together(self) -> int:
        """Accesses that follow each other without a pause."""
        return max(1, min(self.accesses, self.lines.rows * self.lines.channels * self.lines.words))


def waits_at_banks(
    hwcs: Sequence[Sequence[Stream]], cycles: int, banks: int, moved: float, at_once: int
) -> list[PerOperand]:
    """What an access of each HWC to I, W and O waits on average, in `PARTS` of a cycle.

    ``hwcs`` : the three streams of each, which takes ``cycles``. ``moved`` : words that the DMA moves in a cycle on
    average, ``at_once`` of them together.
    """
    streams = [(turn, *one) for turn, each in enumerate(hwcs) for one in zip(ARRAYS, each, strict=True)]
    table = np.zeros((len(streams), PLAYED), np.int64)
    for row, (_, _, one) in zip(table, streams, strict=True):
        row[:] = (one.first // one.words * one.words + _places(one.lines, one.words)) % banks
    facts = np.array(
        [
            (one.accesses, one.words.bit_length() - 1, one.together, BETWEEN_STARTS * turn, array == "O")
            for turn, array, one in streams
        ]
    )
    waited = _played(table, facts, cycles, banks, moved / at_once, at_once, min(PLAYED, cycles), BY_CHANCE).reshape(
        -1, 3
    )
    return [PerOperand(*one) for one in (np.round(waited * (PARTS / STEP)) * STEP).astype(int).tolist()]


@lru_cache(maxsize=1 << 12)
def _places(lines: Lines, words: int) -> NDArray[np.int64]:
    """The words of the memory that the first accesses begin at, from the first one on."""
    parts = (range(PLAYED), range(lines.tiles), range(lines.rows), range(lines.channels), range(lines.words))
    found = [
        again * lines.again + lines.pitch * row + lines.plane * (tile * lines.channels + channel) + word
        for again, tile, row, channel, word in islice(product(*parts), PLAYED)
    ]
    return np.array(found, np.int64) * words


ACCESSES, SIZE, TOGETHER, START, LATER = range(5)
"""What is known of a port: its accesses, the logarithm of their words, how many follow each other without a pause,
the cycle in which its HWC begins, and whether it moves its tiles after they have been computed with."""


@inner_borrowing
def _passes(chosen, size, group):  # type: ignore[no-untyped-def]
    """Whether an access to these banks would go before a narrower one."""
    for narrower in range(size):
        width = 1 << (size - narrower)
        for other in range(group * width, (group + 1) * width):
            if chosen[narrower, other] >= 0:
                return True
    return False


@inner_borrowing
def _planned(fact, number, cycles):  # type: ignore[no-untyped-def]
    """The cycle in which an access may come at the earliest: tiles come as often as all accesses take ``cycles``."""
    tile, place = number // fact[TOGETHER], number % fact[TOGETHER]
    return fact[START] + (tile + fact[LATER] / 2) * fact[TOGETHER] / fact[ACCESSES] * cycles + place


@njit(cache=True)
def _played(table, facts, cycles, banks, rate, at_once, most, by_chance):  # type: ignore[no-untyped-def]
    """The mean wait of an access of each port.

    ``table`` : the first bank of each access; ``facts`` : of each port; ``cycles`` : for all its accesses; ``rate`` :
    times in a cycle that the DMA takes ``at_once`` banks; ``most`` : cycles that are played; ``by_chance`` : waits
    that are none.
    """
    ports, sizes = len(facts), facts[:, SIZE].max() + 1
    done, waited = np.zeros(ports, np.int64), np.zeros(ports, np.int64)
    free = np.array([_planned(fact, 0, cycles) if fact[ACCESSES] else 0.0 for fact in facts])
    wants = np.empty(ports, np.int64)
    # Of banks that accesses of one size want: the port that comes next, the last one, whether it went before others.
    chosen, last = np.empty((sizes, banks), np.int64), np.full((sizes, banks), -1, np.int64)
    passed, taken = np.zeros((sizes, banks), np.bool_), np.empty(banks, np.bool_)
    due, random = 0.0, 1
    for cycle in range(most):
        chosen[:], taken[:] = -1, False
        due += rate
        if due >= 1:
            due -= 1
            random = (random * 1103515245 + 12345) % (1 << 31)
            first = (random >> 16) % (banks // at_once) * at_once
            taken[first : first + at_once] = True
        for port in range(ports):
            wants[port] = -1
            if facts[port, ACCESSES] and cycle >= free[port]:
                size = facts[port, SIZE]
                group = wants[port] = table[port, done[port] % table.shape[1]] >> size
                other = chosen[size, group]
                if other < 0 or (port - last[size, group] - 1) % ports < (other - last[size, group] - 1) % ports:
                    chosen[size, group] = port
        for size in range(sizes - 1, -1, -1):
            for port in range(ports):
                group = wants[port]
                if group < 0 or facts[port, SIZE] != size:
                    continue
                waited[port] += 1
                if chosen[size, group] != port or taken[group << size : (group + 1) << size].any():
                    continue
                passes = _passes(chosen, size, group)
                yields, passed[size, group] = passes and passed[size, group], passes and not passed[size, group]
                if yields:
                    continue
                taken[group << size : (group + 1) << size] = True
                last[size, group] = port
                waited[port] -= 1
                done[port] += 1
                free[port] = max(cycle + 1, _planned(facts[port], done[port], cycles))
    return np.where(waited > by_chance, waited, 0) / np.maximum(done, 1)
