"""What the HWCs and the DMA of a cluster wait at the banks of its memory: an estimate, for each port.

HWCs that are started together ask for their words in the same order, and so for the same banks at the same time or
for others all the time, as their operands lie. So the ports are played, with the banks of the words in their order
and the arbiter's turns: each of their tiles is fetched or stored word after word, and tiles come as often as the
HWC is through with them: those of I and W one tile ahead, those of O afterwards. The DMA asks for the words that it
loads and stores, and takes its turns as in `hwgen.gateware.cluster.tcdm_banks`.

What a wait costs is left to the model of the HWC (`hwgen.model.hwc.cycles`): a port that is not busy all the time
makes up for its waits, as it fetches ahead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.cluster import REMEMBERED
from hwgen.ir.schedule import ARRAYS
from hwgen.model.compiled import inner_borrowing, njit

__all__ = ["BankContest", "Lines", "Moved", "Stream", "Waits"]

PLAYED = 2048
"""Cycles that are played, and words of a port whose banks are told apart."""
BY_CHANCE = 2
"""Waits of a port in what is played that are taken for none: when HWCs meet so seldom depends on single cycles."""
KEPT_LINES = 2
"""Lines that ports of the DMA are given before the first one is done, see `hwgen.gateware.bus.tcdm.TcdmMaster`."""
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


@dataclass(frozen=True, eq=False)
class Moved:
    """What a channel of the DMA moves.

    Members
    -------
    words : [line, port] words that it asks for together, -1: none; line after line, from the first one on again.
    single : [line] whether they are single bytes that are written.
    number : of lines in all.
    """

    words: NDArray[np.int64]
    single: NDArray[np.bool_]
    number: float


class Waits(NamedTuple):
    """What ports wait on average, in cycles.

    Members
    -------
    accesses : [HWC, operand] an access to I, W and O.
    words, single : [channel] a line of the DMA, of words and of single bytes.
    """

    accesses: NDArray[np.float64]
    words: NDArray[np.float64]
    single: NDArray[np.float64]


class BankContest:
    """The ports of HWCs that begin together, and the channels of a DMA, at the banks of a memory.

    Parameters
    ----------
    hwcs
        The three streams of each.
    moved
        What each channel of the DMA moves.
    banks
        How many there are.
    """

    def __init__(self, hwcs: Sequence[Sequence[Stream]], moved: Sequence[Moved], banks: int) -> None:
        streams = [(turn, *one) for turn, each in enumerate(hwcs) for one in zip(ARRAYS, each, strict=True)]
        self._banks = banks
        self._table = np.zeros((len(streams), PLAYED), np.int64)
        for row, (_, _, one) in zip(self._table, streams, strict=True):
            row[:] = (one.first // one.words * one.words + _places(one.lines, one.words)) % banks
        self._facts = np.array(
            [
                (one.accesses, one.words.bit_length() - 1, one.together, BETWEEN_STARTS * turn, array == "O")
                for turn, array, one in streams
            ]
        )
        self._lengths = np.array([len(one.words) for one in moved])
        shape = len(moved), self._lengths.max(), moved[0].words.shape[1]
        self._lines, self._single = np.full(shape, -1, np.int64), np.zeros(shape[:2], np.int64)
        for channel, lines in enumerate(moved):
            self._lines[channel, : len(lines.words)] = np.where(lines.words >= 0, lines.words % banks, -1)
            self._single[channel, : len(lines.words)] = lines.single

    def waits(self, cycles: float, rates: Sequence[float]) -> Waits:
        """The waits of HWCs that take ``cycles``, while the DMA moves ``rates`` lines a cycle on its channels."""
        waited, late = _played(
            self._table, self._facts, float(cycles), self._banks, self._lines, self._lengths, self._single,
            np.array(rates, float),
            int(min(PLAYED, cycles)), BY_CHANCE, REMEMBERED,
        )  # fmt: skip
        return Waits(waited.reshape(-1, 3), late[:, 0], late[:, 1])


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
def _planned(fact, number, cycles):  # type: ignore[no-untyped-def]
    """The cycle in which an access may come at the earliest: tiles come as often as all accesses take ``cycles``.

    A tile that is read comes with the one before it, a tile of O when the next one begins.
    """
    tile, place = number // fact[TOGETHER], number % fact[TOGETHER]
    return fact[START] + max(0, tile - 1 + 2 * fact[LATER]) * fact[TOGETHER] / fact[ACCESSES] * cycles + place


# --- the DMA ---


@inner_borrowing
def _banks_of(line):  # type: ignore[no-untyped-def]
    """How many banks a line takes."""
    number = 0
    for place in range(len(line)):
        number += line[place] >= 0 and not _among(line[:place], line[place])
    return number


@inner_borrowing
def _among(banks, bank):  # type: ignore[no-untyped-def]
    found = False
    for one in banks:
        found = found or one == bank
    return found


@inner_borrowing
def _ask(lines, lengths, given, gone, asked, steady, last):  # type: ignore[no-untyped-def]
    """The banks that ports of the DMA ask for, and of each bank the port whose turn it is."""
    channels, _, together = lines.shape
    for channel in range(channels):
        for place in range(together):
            asked[channel, place] = -1
            while gone[channel, place] < given[channel]:
                bank = asked[channel, place] = lines[channel, gone[channel, place] % lengths[channel], place]
                if bank >= 0:
                    port, before = channel * together + place, steady[bank]
                    if before < 0 or _turn(port, last[bank], channels * together) < _turn(
                        before, last[bank], channels * together
                    ):
                        steady[bank] = port
                    break
                gone[channel, place] += 1


@inner_borrowing
def _turn(port, last, ports):  # type: ignore[no-untyped-def]
    """How many ports have their turn before this one, after the last one."""
    return (port - last - 1) % ports


@inner_borrowing
def _go(single, lengths, gone, asked, steady, last, taken, late):  # type: ignore[no-untyped-def]
    """Ports of the DMA whose turn it is, and whose bank no HWC takes, are done with their words.

    ``late`` : counts the cycles in which a channel could not have a bank.
    """
    channels, together = asked.shape
    for channel in range(channels):
        for place in range(together):
            bank, port = asked[channel, place], channel * together + place
            if bank < 0:
                continue
            line = gone[channel, place] % lengths[channel]
            if not taken[bank] and steady[bank] == port:
                last[bank] = port
                gone[channel, place] += 1
            elif (taken[bank] or steady[bank] // together != channel) and not _among(asked[channel, :place], bank):
                late[channel, single[channel, line]] += 1


# --- all ports ---


@njit(cache=True)
def _played(table, facts, cycles, banks, lines, lengths, single, rates, most, by_chance, remembered):  # type: ignore[no-untyped-def]
    """The mean wait of an access of each port, and of a line of words and of bytes of each channel of the DMA.

    ``table`` : the first bank of each access; ``facts`` : of each port; ``cycles`` : for all its accesses;
    ``lines`` : the banks of the DMA's lines, of which there are ``lengths``, and whether they are ``single`` bytes,
    ``rates`` of them a cycle;
    ``most`` : cycles that are played; ``by_chance`` : waits that are none.
    """
    ports, sizes, channels, together = len(facts), facts[:, SIZE].max() + 1, len(lines), lines.shape[2]
    done, waited = np.zeros(ports, np.int64), np.zeros(ports, np.int64)
    free = np.array([_planned(fact, 0, cycles) if fact[ACCESSES] else 0.0 for fact in facts])
    wants = np.empty(ports, np.int64)
    # Of banks that accesses of one size want: the port that comes next, the last one, whether it went before narrower
    # ones, for how many accesses it is remembered that the DMA went before it.
    chosen, last = np.empty((sizes, banks), np.int64), np.full((sizes, banks), -1, np.int64)
    won, lost = np.zeros((sizes, banks), np.bool_), np.zeros((sizes, banks), np.int64)
    # Of banks: the port of the DMA that comes next, the last one, whether it went before others; whether it is taken.
    steady, last_steady = np.empty(banks, np.int64), np.full(banks, -1, np.int64)
    passed, taken = np.zeros(banks, np.bool_), np.empty(banks, np.bool_)
    # Of channels: lines that their ports have been given; of ports: lines that they are done with, what they ask for.
    given, due = np.zeros(channels, np.int64), np.zeros(channels)
    gone, asked = np.zeros((channels, together), np.int64), np.empty((channels, together), np.int64)
    late, moved = np.zeros((channels, 2)), np.zeros((channels, 2))
    for cycle in range(most):
        chosen[:], taken[:], steady[:] = -1, False, -1
        for channel in range(channels):
            due[channel] += rates[channel]
            if due[channel] >= 1 and given[channel] - gone[channel].min() < KEPT_LINES:
                due[channel] -= 1
                line = given[channel] % lengths[channel]
                moved[channel, single[channel, line]] += _banks_of(lines[channel, line])
                given[channel] += 1
        _ask(lines, lengths, given, gone, asked, steady, last_steady)
        for port in range(ports):
            wants[port] = -1
            if done[port] < facts[port, ACCESSES] and cycle >= free[port]:
                size = facts[port, SIZE]
                group = wants[port] = table[port, done[port] % table.shape[1]] >> size
                other = chosen[size, group]
                if other < 0 or _turn(port, last[size, group], ports) < _turn(other, last[size, group], ports):
                    chosen[size, group] = port
        for size in range(sizes - 1, -1, -1):
            for port in range(ports):
                group = wants[port]
                if group < 0 or facts[port, SIZE] != size:
                    continue
                waited[port] += 1
                if chosen[size, group] != port or taken[group << size : (group + 1) << size].any():
                    continue
                if _yields(chosen, steady, won, lost, passed, size, group, remembered):
                    continue
                taken[group << size : (group + 1) << size] = True
                last[size, group] = port
                waited[port] -= 1
                done[port] += 1
                free[port] = max(cycle + 1, _planned(facts[port], done[port], cycles))
        for bank in range(banks):
            if steady[bank] >= 0 and chosen[0, bank] < 0 and not taken[bank]:
                passed[bank] = False
        _go(single, lengths, gone, asked, steady, last_steady, taken, late)
    return np.where(waited > by_chance, waited, 0) / np.maximum(done, 1), late / np.maximum(moved, 1)


@inner_borrowing
def _yields(chosen, steady, won, lost, passed, size, group, remembered):  # type: ignore[no-untyped-def]
    """Whether an access to these banks lets the DMA or narrower ones go first, which is remembered."""
    if size == 0:
        passed[group] = steady[group] >= 0 and not passed[group]
        return passed[group]
    others = steadies = False
    for bank in range(group << size, (group + 1) << size):
        steadies = steadies or steady[bank] >= 0
        for narrower in range(size):
            others = others or chosen[narrower, bank >> narrower] >= 0
    yields = (steadies and lost[size, group] == 0) or (others and won[size, group])
    won[size, group] = others and not yields
    if yields:
        lost[size, group] = remembered
    else:
        lost[size, group] = 0 if steadies else max(0, lost[size, group] - 1)
    return yields
