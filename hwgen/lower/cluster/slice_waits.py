"""The cycles of a cluster's slices with what they wait at the banks of its memory.

An HWC asks for its words when its operations are far enough, and these wait for the words: so a wave of slices is
played at the banks (`hwgen.model.cluster.bank_waits`) with what the timing model of the HWC says that it asks for;
the timing model is played with what each access has then waited; and so on in turns (`Effort`). What is beyond the
first cycles that are played is as slow as the last ones of them. The DMA begins with a tile, and rests when all
is moved that it moves beside it. So a tile of one HWC is played, whose ports may follow those of the DMA from bank to
bank; of very long ones, and where HWCs meet each other, the mean of plays with the DMA and without it counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.ir.hardware import Cluster
from hwgen.ir.schedule import ARRAYS
from hwgen.lower.cluster.leaders import leaders_of
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.model.cluster.bank_waits import BankContest, Moved, Stream, Waits
from hwgen.model.cluster.levels import spread_side_by_side
from hwgen.model.cluster.port_requests import RECORDS, Begun, Requests
from hwgen.model.compiled import njit
from hwgen.model.hwc.cycles import IN_TIME, Waiting
from hwgen.model.system.times import Late, Work

__all__ = ["KEPT_SLICES", "NO_UNIT", "PLAYED_WORDS", "BegunOf", "Overlap", "Tempo", "UnitBeside", "UnitWords",
           "WorkOf", "with_waits"]  # fmt: skip

WorkOf = Callable[[Slice], int]
"""The cycles of a slice of which no access waits."""
BegunOf = Callable[[Slice, Waiting, int], Begun]
"""How a slice begins whose first accesses wait so long, as far as that many cycles."""
Tempo = Sequence[Sequence[Work]]
"""What the slices of each tile take."""
ROUNDS = 3
"""How often it is looked at most what the DMA does meanwhile: the longer HWCs take, the more of it is beside them."""
ENOUGH = 0.01
"""Nothing is played again where the work takes as long as it was taken to, but for this part. Both ways: waits are
too short where HWCs are taken to be slower than they are."""
LEVELS = 32
"""Shares of the time in which the DMA moves are rounded to this part of it, so that few are looked at."""
KEPT_SLICES = 4096
"""Slices of which what follows from them alone is kept: schedules that differ around their tiles share them."""


class Effort(NamedTuple):
    """How far and how often a wave is played: the longer HWCs take, the less they wait for each other.

    Members
    -------
    most : cycles of a slice at most; what follows is as slow as the second half of them.
    turns, mean : how often at most, and how many of the last turns count.
    least, agree : after more turns than these the last one counts, where it differs from the one before by this part
        at most.
    eased : waits go half way to those that are found.
    """

    most: int
    turns: int
    mean: int
    least: int
    agree: float
    eased: bool


ESTIMATED = Effort(2048, 4, 1, 1, ENOUGH, eased=True)
"""What is played of a schedule that is only estimated."""
MEETING = Effort(8192, 8, 4, 8, 0, eased=False)
"""What is played of several HWCs. Their first cycles say little of thousands: rings fill, the first outputs are not
yet stored, and HWCs that begin together draw apart later. What a turn finds is right as far as the turn before it
was, and some twenty cycles farther; what follows is one way in which ports may meet. So the mean of several turns
counts, each of which has the waits of the one before. That two of them agree may be chance."""
ALONE = Effort(1 << 16, 8, 4, 2, 0.0005, eased=False)
"""What is played of one HWC, whose ports meet each other and the DMA: where turns agree they stay as they are. Rows
and tiles begin in different banks, and the DMA moves at the beginning of a slice, so that most are played whole."""
BRIEF = ALONE._replace(most=8192)
"""What is played of one HWC where schedules are compared with each other: ResNet-50 is planned in two thirds of the
time, and of eight plans none has 0.2 % more cycles."""


class Overlap(NamedTuple):
    """What the DMA does while HWCs compute.

    Members
    -------
    rates : lines that loads and stores move in a cycle in which they move.
    shares : for each tile, the parts of its time in which they do, waits for HWCs among it.
    lines : for each tile, what they move.
    """

    rates: tuple[float, float]
    shares: Sequence[tuple[float, float]]
    lines: Sequence[tuple[float, float]]


class UnitWords(NamedTuple):
    """What a port of the vector unit reads or writes while HWCs compute.

    Members
    -------
    words : of 32 bits that one access moves.
    number : of accesses.
    places : words of the memory at which the first of them begin.
    """

    words: int
    number: int
    places: NDArray[np.int64]

    def every(self, cycles: float) -> Stream:
        """The first of them, as far apart as all of them are if they come evenly in ``cycles``."""
        return Stream(self.words, np.arange(len(self.places)) * int(cycles) // self.number, self.places)


class UnitBeside(NamedTuple):
    """What the vector unit does while HWCs compute: cycles of its jobs, and what its ports read and write."""

    works: Sequence[int] = ()
    words: Sequence[UnitWords] = ()


NO_UNIT = UnitBeside()
PLAYED_WORDS = 8192
"""Accesses of a port of the unit that are played."""


def with_waits(
    work: WorkOf,
    begins: BegunOf,
    tiles: TileCommands,
    cluster: Cluster,
    moved: Sequence[tuple[Moved, Moved]],
    overlap: Callable[[Tempo], Overlap],
    *,
    alike: bool = False,
    briefly: bool = False,
    unit: Sequence[Stream] = (),
) -> Tempo:
    """What the slices of each tile take, with what they wait at the banks.

    ``moved`` : what the DMA loads and stores beside tiles of each kind; ``overlap`` : how much of it while HWCs
    compute, where they take so long.
    ``alike`` : HWCs with like slices are taken to wait as the first of them does, which takes less time.
    ``briefly`` : one HWC is played for fewer cycles, see `BRIEF`.
    ``unit`` : what the ports of the vector unit ask for meanwhile.
    """
    kinds = [tiles.slices[tile] for tile in tiles.examples]
    in_time = [[Work(work(part)) for part in parts] for parts in kinds]
    found: list[list[Work]] = [in_time[kind] for kind in tiles.kinds]
    rates, shares, lines = overlap(found)
    contests = [BankContest(one, cluster.banks) for one in moved]
    waves = [_Wave.of(tiles, cluster, kind, alike=alike) for kind in range(len(contests))]
    plays = [
        _Played(work, begins, wave, contest, rates, unit, _effort(wave, alike=alike, briefly=briefly))
        for wave, contest in zip(waves, contests, strict=True)
    ]
    for turn in range(ROUNDS):
        groups: dict[tuple[int, int, int], list[Work]] = {}
        before, found = found, []
        for kind, share, number in zip(tiles.kinds, shares, lines, strict=True):
            loads, stores = plays[kind].parts(share, number)
            group = kind, round(loads * LEVELS), round(stores * LEVELS)
            if group not in groups:
                groups[group] = plays[kind].works(group[1] / LEVELS, group[2] / LEVELS)
            found.append(groups[group])
        if turn + 1 == ROUNDS or abs(_total(found) - _total(before)) <= ENOUGH * _total(before):
            break
        _, shares, lines = overlap(found)  # of the rates those count with which the DMA moves where nothing waits
    return found


def _effort(wave: "_Wave", *, alike: bool, briefly: bool) -> Effort:
    if alike:
        return ESTIMATED
    if len(wave.parts) > 1:
        return MEETING
    return BRIEF if briefly else ALONE


def _total(tempo: Tempo) -> float:
    return sum(max(one.cycles for one in works) for works in tempo)


@dataclass(frozen=True)
class _Wave:
    """The first slices of a tile on each HWC, which begin together.

    Members
    -------
    tiles, tile : all tiles, and the number of this one.
    parts : the slices.
    inputs, weights : of each of them the place of the one whose HWC reads I and W for it.
    alike : of each the place of the one that it is taken to begin like.
    begins : of each and at each port, where the regions of `port_requests` begin in the memory, in bytes.
    """

    tiles: TileCommands
    tile: int
    parts: tuple[Slice, ...]
    inputs: list[int]
    weights: list[int]
    alike: list[int]
    begins: list[list[NDArray[np.int64]]]

    @classmethod
    def of(cls, tiles: TileCommands, cluster: Cluster, kind: int, *, alike: bool) -> "_Wave":
        """The wave of tiles of a kind; where slices may be ``alike``, those of one shape are."""
        tile, first = tiles.examples[kind], dict[int, Slice]()
        for part in tiles.slices[tile]:
            first.setdefault(part.hwc, part)
        hwcs, number = tuple(first), cluster.hwcs
        inputs = weights = tuple(range(number))
        if cluster.multicast and spread_side_by_side(tiles.schedule):
            inputs, weights = leaders_of(list(first.values()), tiles.schedule.layer.outputs_per_group, number)
        of_inputs, of_weights = ([hwcs.index(leaders[hwc]) for hwc in hwcs] for leaders in (inputs, weights))
        shapes = [(id(tiles.small(part)), tiles.sums(part), tiles.begins(part)) for part in first.values()]
        places = [shapes.index(shape) if alike else place for place, shape in enumerate(shapes)]
        bases = [tiles.bases(tile, part) for part in first.values()]
        begins = [[np.array([one[array], one["sums"], one["biases"]]) for array in ARRAYS] for one in bases]
        return cls(tiles, tile, tuple(first.values()), of_inputs, of_weights, places, begins)

    def streams(self, begun: Sequence[Begun]) -> list[list[Stream]]:
        """What each of its HWCs asks for at its ports for I, W and O."""
        return [self._streams(place, one.requests) for place, one in enumerate(begun)]

    def _streams(self, place: int, requests: Sequence[Requests]) -> list[Stream]:
        asks = self.inputs[place] == place, self.weights[place] == place, True
        ports, begins, streams = self.tiles.schedule.ports.each, self.begins[place], list[Stream]()
        for array, one, bits, does, begin in zip(ARRAYS, requests, ports, asks, begins, strict=True):
            if not does:
                streams.append(Stream(bits // WORD_BITS, IN_TIME[0], IN_TIME[0]))
                continue
            ring = self.tiles.placement[array]
            places = begin[one.regions] + one.places
            beyond = (places >= ring.end) & (one.regions != RECORDS)
            if beyond.any():
                places[beyond] = ring.start + (places[beyond] - ring.start) % ring.size
            streams.append(Stream(bits // WORD_BITS, one.times, places // WORD_BYTES))
        return streams

    def waiting(self, place: int, found: Waits, begun: Sequence[Begun]) -> Waiting:
        """What an HWC waits, without its biases; one that takes what another one reads waits with it."""
        inputs, weights = found.each[self.inputs[place]][0], found.each[self.weights[place]][1]
        outputs = found.each[place][2]
        return inputs, weights, outputs[begun[place].requests[2].regions[: len(outputs)] != RECORDS]


class _Played:
    """What slices take and the DMA waits: played while the DMA rests, loads, stores or does both, where asked.

    Parameters
    ----------
    work, begins
        What slices take, and how they begin.
    wave
        The slices that begin together.
    contest
        The banks, and what the DMA moves.
    rates
        Lines that the DMA loads and stores in a cycle in which it does.
    unit
        What the ports of the vector unit ask for.
    effort
        How far and how often they are played.
    """

    def __init__(
        self,
        work: WorkOf,
        begins: BegunOf,
        wave: _Wave,
        contest: BankContest,
        rates: tuple[float, float],
        unit: Sequence[Stream],
        effort: Effort,
    ) -> None:
        self._begins, self._wave, self._contest, self._rates, self._unit = begins, wave, contest, rates, unit
        self._effort = effort
        self._alone, self._in_time = [work(part) for part in wave.parts], self._begun([IN_TIME] * len(wave.parts))
        self._parts = wave.tiles.slices[wave.tile]
        self._works = [work(part) for part in self._parts]
        self._whole = len(self._parts) == 1 and self._alone[0] <= self._effort.most
        self._found: dict[tuple[bool, bool], tuple[list[float], NDArray[np.float64]]] = {}

    def parts(self, shares: tuple[float, float], lines: tuple[float, float]) -> tuple[float, float]:
        """The parts of the time for which the DMA loads and stores in `works`, by what `Overlap` has of a tile: where
        the whole of a slice is played it moves as many lines as it did, and waits in the play itself."""
        if not self._whole:
            return shares
        loads, stores = (
            number / rate / self._alone[0] if rate else 0.0 for number, rate in zip(lines, self._rates, strict=True)
        )
        return loads, stores

    def works(self, loads: float, stores: float) -> list[Work]:
        """What slices take where the DMA loads and stores for these parts of their time, from its beginning on; where
        the whole of it is played, of the time that they take alone.
        """
        if self._whole:
            takes, delay = self._settled((loads * self._alone[0], stores * self._alone[0]))
            return [Work(one, Late(*delay.tolist())) for one in takes]
        both = min(loads, stores)
        shares = {
            (False, False): 1 - max(loads, stores),
            (True, False): loads - both,
            (False, True): stores - both,
            (True, True): both,
        }
        plays = [(share, *self._takes(*channels), channels) for channels, share in shares.items() if share > 0]
        speeds = [sum(share / takes[place] for share, takes, _, _ in plays) for place in range(len(self._parts))]
        # As many lines wait so long as are moved in each play.
        rates = np.array([self._rates[0], *self._rates])
        lines = [share * rates * (did[0], *did) / (1 + rates * one) for share, _, one, did in plays]
        waited = sum(number * one for number, (_, _, one, _) in zip(lines, plays, strict=True))
        late = waited / np.maximum(sum(lines), 1e-9)
        return [Work(1 / speed, Late(*late.tolist())) for speed in speeds]

    def _takes(self, loads: bool, stores: bool) -> tuple[list[float], NDArray[np.float64]]:
        """What the slices of the tile take, and what a line of the DMA waits as `Late` has them."""
        if (loads, stores) not in self._found:
            takes, late = self._settled((inf if loads else 0.0, inf if stores else 0.0))
            slower = [one / alone for one, alone in zip(takes, self._alone, strict=True)]
            by_hwc = {part.hwc: one for part, one in zip(self._wave.parts, slower, strict=True)}
            # Later slices of an HWC are as slow as its first one.
            takes = [by_hwc[part.hwc] * one for part, one in zip(self._parts, self._works, strict=True)]
            self._found[loads, stores] = takes, late
        return self._found[loads, stores]

    def _settled(self, ends: tuple[float, float]) -> tuple[list[float], NDArray[np.float64]]:
        """What the slices of the wave take with what they wait where they take so long, and what the DMA waits.

        ``ends`` : cycles until which the DMA loads and stores.
        """
        waits, begun, takes = [IN_TIME] * len(self._alone), self._in_time, [float(one) for one in self._alone]
        turns, effort = list[tuple[list[float], NDArray[np.float64]]](), self._effort
        for turn in range(effort.turns):
            until = int(min(effort.most, max(takes)))
            found = self._contest.waits(self._wave.streams(begun), self._rates, ends, until, self._unit)
            late = np.array([found.words[0], found.single[0], found.words[1]])
            if not found.accesses.any():
                break
            others = [self._wave.waiting(place, found, begun) for place in range(len(begun))]
            # Who waits less asks earlier, and then waits more: half way it settles.
            half_way = effort.eased or not turn
            waits = [_between(one, other) for one, other in zip(waits, others, strict=True)] if half_way else others
            begun, before = self._begun(waits), sum(takes)
            takes = [
                one.lasts(in_time, alone)
                for one, in_time, alone in zip(begun, self._in_time, self._alone, strict=True)
            ]
            turns.append((takes, late))
            # Half of the waits may cost nothing, all much: the first turn says little.
            if turn >= effort.least and abs(sum(takes) - before) <= effort.agree * before:
                return turns[-1]
        if not turns:
            return takes, late
        counted = turns[-effort.mean :]
        means = [sum(each) / len(counted) for each in zip(*(one for one, _ in counted), strict=True)]
        return means, np.mean([one for _, one in counted], axis=0)

    def _begun(self, waits: Sequence[Waiting]) -> list[Begun]:
        """How the slices of the wave begin."""
        wave = self._wave
        most = self._effort.most
        found = {place: self._begins(wave.parts[place], waits[place], most) for place in dict.fromkeys(wave.alike)}
        return [found[place] for place in wave.alike]


def _between(one: Waiting, other: Waiting) -> Waiting:
    """Waits half way from one to another."""
    return (_mean(one[0], other[0]), _mean(one[1], other[1]), _mean(one[2], other[2]))


@njit(cache=True)
def _mean(before, after):  # type: ignore[no-untyped-def]
    """The mean of waits in whole cycles, of which the rest is left to the next one.

    Of those that are known one time only it is that; where none were known ``before`` there were none.
    """
    found = np.empty(max(len(before), len(after)), np.int64)
    rest = 0
    for place in range(len(found)):
        one = before[place] if place < len(before) else 0
        other = after[place] if place < len(after) else one
        if place >= len(before) > 0:
            one = other
        rest += one + other
        found[place] = rest // 2
        rest %= 2
    return found
