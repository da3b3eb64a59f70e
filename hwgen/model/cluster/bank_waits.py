"""What waits at the banks of a cluster's memory cost: an estimate, where a port of an HWC has few cycles to spare.

HWCs that are started together and read the same input want the same bank in the same cycle, and so wait for each
other wherever words that follow each other are in few banks. This is played: the banks of the input's words in their
order, and the arbiter's turns. What other ports and the DMA ask for is taken to be in any bank with the same chance.
A port that is not busy all the time makes up for its waits, as it fetches ahead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

import numpy as np

from hwgen.model.compiled import njit

__all__ = ["InputWords", "Port", "cycles_at_banks"]

PLAYED = 2048
"""Words that are played."""
MADE_UP = 16
"""Accesses that a port makes up for in a row; waits of as many of what is played are none."""
MOST_WAIT = 0.9
"""The chance that a bank is taken by something else, at most."""


@dataclass(frozen=True)
class InputWords:
    """Where the words of I are that an HWC reads, in accesses of its port: row by row, in each channel by channel.

    Members
    -------
    pitch, plane : from row to row, from channel to channel.
    rows, channels, words : of a tile in the HWC; a row of a channel has ``words``.
    tiles : that follow each other along the channels.
    """

    pitch: int
    plane: int
    rows: int
    channels: int
    words: int
    tiles: int


@dataclass(frozen=True)
class Port:
    """A port of each of several HWCs that do alike work.

    Members
    -------
    accesses : of one HWC.
    words : of 32 bits that one of them moves: as many banks it takes.
    asks : HWCs that ask at this port: fewer than all where one reads for several.
    """

    accesses: int
    words: int
    asks: int


def cycles_at_banks(
    ports: Sequence[Port], cycles: int, banks: int, moved: float, read: InputWords, alike: int
) -> int:
    """Cycles of HWCs of which each takes ``cycles`` where nothing waits; ``ports`` : I's, W's and O's.

    ``moved`` : words that the DMA moves in a cycle. Its accesses go first, and wider ones before narrower ones; among
    others every second one does. ``read``, ``alike`` : words of I, and HWCs of which each reads them.
    """
    longest = float(cycles)
    for number, port in enumerate(ports):
        lost = moved * port.words
        for other in ports:
            if other is not port and other.words >= port.words:
                share = 0.5 if other.words == port.words else 1.0
                lost += share * other.words * other.asks * other.accesses / cycles
        wait = lost / banks
        # Of HWCs that read alike a word waits for as many others at most.
        if number == 0 and alike > 1 and port.accesses * (alike + wait) > longest:
            sequence, rate = _banks_of(read, banks // port.words), port.accesses / cycles
            played = _played(sequence, alike, banks // port.words, min(wait, MOST_WAIT), rate)
            free = _played(sequence, 1, banks // port.words, 0.0, rate)
            longest = max(longest, cycles * (played if played > free + MADE_UP else free) / free)
        else:
            longest = max(longest, port.accesses * (1 + wait))
    return round(longest)


@lru_cache(maxsize=1 << 12)
def _banks_of(read: InputWords, banks: int) -> "np.ndarray":
    """The banks of the words, those of all channels again and again, each time a word further."""
    parts = (range(PLAYED), range(read.tiles), range(read.rows), range(read.channels), range(read.words))
    found = [
        (again + read.pitch * row + read.plane * (tile * read.channels + channel) + word) % banks
        for again, tile, row, channel, word in islice(product(*parts), PLAYED)
    ]
    return np.array(found, np.int64)


@njit(cache=True)
def _played(sequence, hwcs, banks, wait, rate):  # type: ignore[no-untyped-def]
    """Cycles until all HWCs have read this sequence of banks, ``rate`` words a cycle where none waits; ``wait`` : the
    chance with which something else has the bank."""
    position, last, spared = np.zeros(hwcs, np.int64), np.zeros(banks, np.int64), np.ones(hwcs)
    wanted = np.empty(hwcs, np.int64)
    left, cycles, random = hwcs, 0, 1
    while left:
        cycles += 1
        for hwc in range(hwcs):
            spared[hwc] = min(spared[hwc] + rate, MADE_UP)
            asks = spared[hwc] >= 1 and position[hwc] < len(sequence)
            wanted[hwc] = sequence[position[hwc]] if asks else -1
        for one in range(hwcs):
            bank, granted = wanted[one], -1
            if bank < 0:
                continue
            for distance in range(hwcs, 0, -1):  # of those that want it the first one after the last
                hwc = (last[bank] + distance) % hwcs
                if wanted[hwc] == bank:
                    granted = hwc
            for hwc in range(hwcs):
                if wanted[hwc] == bank:
                    wanted[hwc] = -1
            random = (random * 1103515245 + 12345) % (1 << 31)
            if random >= wait * (1 << 31):
                last[bank] = granted
                spared[granted] -= 1
                position[granted] += 1
                left -= position[granted] == len(sequence)
    return cycles
