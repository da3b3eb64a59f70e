"""What the HWCs and the DMA of a cluster wait at the banks of its memory, access by access.

HWCs that are started together ask for their words in the same order, and so for the same banks at the same time or
for others all the time, as their operands lie. So the ports are played, with the banks of the words in their order
and the arbiter's turns, which are those of `hwgen.gateware.cluster.tcdm_banks`: a port asks for a word as soon as it
may (`hwgen.model.cluster.port_requests`) and has those before it. The DMA asks for the words that it loads and
stores, line by line.

What a wait costs is left to the model of the HWC (`hwgen.model.hwc.cycles`): a port that is not busy all the time
makes up for its waits, as it fetches ahead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.cluster import REMEMBERED
from hwgen.model.compiled import inner_borrowing, njit

__all__ = ["BankContest", "Moved", "Stream", "Waits"]

BY_CHANCE = 2
"""Waits of a port in what is played that are taken for none: when HWCs meet so seldom depends on single cycles."""
KEPT_LINES = 2
"""Lines that ports of the DMA are given before the first one is done, see `hwgen.gateware.bus.tcdm.TcdmMaster`."""
BETWEEN_STARTS = 10
"""About as many cycles as there are from the start of an HWC to that of the next one."""


@dataclass(frozen=True, eq=False)
class Stream:
    """The accesses of a port, in order; none of a port that does not ask, as another HWC reads for it.

    Members
    -------
    words : of 32 bits that one of them moves: as many banks it takes.
    times : the cycle from which on each may come, but for those before it: from the start of the HWC.
    places : words of the memory at which they begin.
    """

    words: int
    times: NDArray[np.int64]
    places: NDArray[np.int64]


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
    each : [HWC, operand] those of each access that is played, in order, in whole cycles.
    words, single : [channel] a line of the DMA, of words and of single bytes: at the port that waits longest.
    """

    accesses: NDArray[np.float64]
    each: Sequence[Sequence[NDArray[np.int64]]]
    words: NDArray[np.float64]
    single: NDArray[np.float64]


class BankContest:
    """The ports of HWCs that begin together, and the channels of a DMA, at the banks of a memory.

    Parameters
    ----------
    moved
        What each channel of the DMA moves.
    banks
        How many there are.
    """

    def __init__(self, moved: Sequence[Moved], banks: int) -> None:
        self._banks = banks
        self._lengths = np.array([len(one.words) for one in moved])
        shape = len(moved), self._lengths.max(), moved[0].words.shape[1]
        self._lines, self._single = np.full(shape, -1, np.int64), np.zeros(shape[:2], np.int64)
        for channel, lines in enumerate(moved):
            self._lines[channel, : len(lines.words)] = np.where(lines.words >= 0, lines.words % banks, -1)
            self._single[channel, : len(lines.words)] = lines.single

    def waits(
        self,
        hwcs: Sequence[Sequence[Stream]],
        rates: Sequence[float],
        ends: Sequence[float],
        cycles: int,
        others: Sequence[Stream] = (),
    ) -> Waits:
        """The waits of HWCs with these three streams each, beside those of ``others``.

        ``rates`` : lines a cycle that the DMA moves on its channels, from the first cycle until these ``ends``.
        ``cycles`` : as many are played.
        """
        streams = [*((turn, one) for turn, each in enumerate(hwcs) for one in each), *((0, one) for one in others)]
        most = max(1, *(len(one.times) for _, one in streams))
        table, times = np.empty((2, len(streams), most), np.int64)
        for row, (turn, one) in enumerate(streams):
            number = len(one.times)
            table[row, :number] = one.places // one.words * one.words % self._banks
            times[row, :number] = one.times + BETWEEN_STARTS * turn
        facts = np.array([(len(one.times), one.words.bit_length() - 1) for _, one in streams])
        waited, done, late = _played(
            table, times, facts, self._banks, self._lines, self._lengths, self._single, np.array(rates, float),
            np.array(ends, float), cycles, REMEMBERED,
        )  # fmt: skip
        ports = len(streams) - len(others)
        waited, done = waited[:ports], done[:ports]
        waited[waited.sum(axis=1) <= BY_CHANCE] = 0
        means = waited.sum(axis=1) / np.maximum(done, 1)
        each = [one[:number] for one, number in zip(waited, done.tolist(), strict=True)]
        by_hwc = [each[first : first + 3] for first in range(0, len(each), 3)]
        slowest = late.max(axis=1)
        return Waits(means.reshape(-1, 3), by_hwc, slowest[:, 0], slowest[:, 1])


ACCESSES, SIZE = range(2)
"""What is known of a port: its accesses, and the logarithm of their words."""


# --- the DMA ---


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
                late[channel, place, single[channel, line]] += 1


# --- all ports ---


@njit(cache=True)
def _played(table, times, facts, banks, lines, lengths, single, rates, ends, most, remembered):  # type: ignore[no-untyped-def]
    """The waits of each access of each port, how many it made, and the mean wait of a line of words and of bytes of
    each channel of the DMA.

    ``table`` : the first bank of each access; ``times`` : when it may come; ``facts`` : of each port;
    ``lines`` : the banks of the DMA's lines, of which there are ``lengths``, and whether they are ``single`` bytes,
    ``rates`` of them a cycle until it ``ends``;
    ``most`` : cycles that are played.
    """
    ports, sizes, channels, together = len(facts), facts[:, SIZE].max() + 1, len(lines), lines.shape[2]
    done, waited = np.zeros(ports, np.int64), np.zeros_like(table)
    free = times[:, 0].copy()
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
    late, moved = np.zeros((channels, together, 2)), np.zeros((channels, 1, 2))
    for cycle in range(most):
        chosen[:], taken[:], steady[:] = -1, False, -1
        for channel in range(channels):
            if cycle < ends[channel]:
                due[channel] += rates[channel]
            if due[channel] >= 1 and given[channel] - gone[channel].min() < KEPT_LINES:
                due[channel] -= 1
                line = given[channel] % lengths[channel]
                moved[channel, 0, single[channel, line]] += 1
                given[channel] += 1
        _ask(lines, lengths, given, gone, asked, steady, last_steady)
        for port in range(ports):
            wants[port] = -1
            if done[port] < facts[port, ACCESSES] and cycle >= free[port]:
                size = facts[port, SIZE]
                group = wants[port] = table[port, done[port]] >> size
                other = chosen[size, group]
                if other < 0 or _turn(port, last[size, group], ports) < _turn(other, last[size, group], ports):
                    chosen[size, group] = port
        for size in range(sizes - 1, -1, -1):
            for port in range(ports):
                group = wants[port]
                if group < 0 or facts[port, SIZE] != size:
                    continue
                waited[port, done[port]] += 1
                if chosen[size, group] != port or taken[group << size : (group + 1) << size].any():
                    continue
                if _yields(chosen, steady, won, lost, passed, size, group, remembered, together):
                    continue
                taken[group << size : (group + 1) << size] = True
                last[size, group] = port
                waited[port, done[port]] -= 1
                done[port] += 1
                if done[port] < facts[port, ACCESSES]:
                    free[port] = max(cycle + 1, times[port, done[port]])
        for bank in range(banks):
            if steady[bank] >= 0 and chosen[0, bank] < 0 and not taken[bank]:
                passed[bank] = False
        _go(single, lengths, gone, asked, steady, last_steady, taken, late)
    return waited, done, late / np.maximum(moved, 1)


@inner_borrowing
def _yields(chosen, steady, won, lost, passed, size, group, remembered, together):  # type: ignore[no-untyped-def]
    """Whether an access to these banks lets the DMA or narrower ones go first, which is remembered."""
    if size == 0:
        passed[group] = steady[group] >= 0 and not passed[group]
        return passed[group]
    others = steadies = False
    for bank in range(group << size, (group + 1) << size):
        steadies = steadies or steady[bank] >= 0
        for narrower in range(size):
            others = others or chosen[narrower, bank >> narrower] >= 0
    as_fast = together >= 1 << size
    lets_pass = lost[size, group] < 1 << size if as_fast else lost[size, group] == 0
    yields = (steadies and lets_pass) or (others and won[size, group])
    won[size, group] = others and not yields
    if as_fast:
        lost[size, group] = min(1 << size, lost[size, group] + 1) if yields else 0
    elif yields:
        lost[size, group] = remembered
    else:
        lost[size, group] = 0 if steadies else max(0, lost[size, group] - 1)
    return yields
