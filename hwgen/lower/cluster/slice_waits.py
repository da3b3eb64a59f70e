"""The cycles of a cluster's slices with what they wait at the banks of its memory."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import WEIGHT_DIMS, Dim
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.lower.cluster.leaders import leaders_of
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.model.cluster.bank_waits import BankContest, Lines, Moved, Stream
from hwgen.model.cluster.levels import spread_side_by_side
from hwgen.model.cluster.placement import Placed
from hwgen.model.hwc.cycles import NO_WAITS
from hwgen.model.hwc.timing.state import PARTS
from hwgen.model.nest.one_level import PerOperand, local_crossings
from hwgen.model.nest.ranges import Nest
from hwgen.model.system.times import Late, Work

__all__ = ["KEPT_SLICES", "Overlap", "Tempo", "WorkOf", "with_waits"]

WorkOf = Callable[[Slice, PerOperand], int]
"""The cycles of a slice whose accesses to I, W and O wait so long on average, in `hwgen.model.hwc.timing.state.PARTS`
of a cycle."""
Tempo = Sequence[Sequence[Work]]
"""What the slices of each tile take."""
ROUNDS = 3
"""How often the waits are played at most: the longer the HWCs take, the less they wait for each other."""
ENOUGH = 0.01
"""Waits are not played again where the work then takes as long as it was taken to, but for this part. Both ways:
waits are too short where HWCs are taken to be slower than they are."""
STEP = PARTS // 32
"""Parts of a cycle to which waits are rounded, so that HWCs that wait about as long are looked at once."""
LEVELS = 8
"""Shares of the time in which the DMA moves are rounded to this part of it, for the same reason."""
KEPT_SLICES = 4096
"""Slices of which what follows from them alone is kept: schedules that differ around their tiles share them."""


class Overlap(NamedTuple):
    """What the DMA does while HWCs compute.

    Members
    -------
    rates : lines that loads and stores move in a cycle in which they move.
    shares : for each tile, the parts of its time in which they do.
    """

    rates: tuple[float, float]
    shares: Sequence[tuple[float, float]]


def with_waits(
    work: WorkOf,
    tiles: TileCommands,
    cluster: Cluster,
    moved: tuple[Moved, Moved],
    overlap: Callable[[Tempo], Overlap],
) -> Tempo:
    """What the slices of each tile take, with what they wait at the banks.

    ``moved`` : what the DMA loads and stores; ``overlap`` : how much of it while HWCs compute, where they take so
    long.
    """
    waits, counts = _Waits(tiles, cluster, moved), Counter(tiles.kinds)
    kinds = [tiles.slices[tile] for tile in tiles.examples]
    paces = [[float(work(part, NO_WAITS)) for part in parts] for parts in kinds]
    in_time = [[Work(cycles) for cycles in pace] for pace in paces]
    found: list[list[Work]] = [in_time[kind] for kind in tiles.kinds]
    for _ in range(ROUNDS):
        rates, shares = overlap(found)
        plays = [waits.of(tile, pace, rates) for tile, pace in zip(tiles.examples, paces, strict=True)]
        groups: dict[tuple[int, int, int], list[Work]] = {}
        found = []
        for kind, (loads, stores) in zip(tiles.kinds, shares, strict=True):
            group = kind, round(loads * LEVELS), round(stores * LEVELS)
            if group not in groups:
                groups[group] = plays[kind].works(work, kinds[kind], group[1] / LEVELS, group[2] / LEVELS)
            found.append(groups[group])
        before = sum(counts[kind] * max(pace) for kind, pace in enumerate(paces))
        after = sum(max(one.cycles for one in works) for works in found)
        if abs(after - before) <= ENOUGH * before:
            break
        sums = [[0.0] * len(parts) for parts in kinds]
        for kind, works in zip(tiles.kinds, found, strict=True):
            for number, one in enumerate(works):
                sums[kind][number] += one.cycles / counts[kind]
        paces = [
            [(one + other) / 2 for one, other in zip(pace, mean, strict=True)]
            for pace, mean in zip(paces, sums, strict=True)
        ]
    return found


@dataclass(frozen=True)
class _Wave:
    """The first slices of a tile on each HWC, which begin together.

    Members
    -------
    hwcs : those that have some.
    parts : their numbers among the slices of the tile.
    contest : their ports and those of the DMA.
    inputs, weights : of each HWC the place among ``hwcs`` of the one that reads I and W for it.
    """

    hwcs: tuple[int, ...]
    parts: tuple[int, ...]
    contest: BankContest
    inputs: list[int]
    weights: list[int]


class _Played:
    """What a wave and the DMA wait at a pace: played while the DMA rests, loads, stores or does both, where asked.

    Parameters
    ----------
    wave
        The slices.
    cycles
        What they take.
    rates
        Lines that the DMA loads and stores in a cycle in which it does.
    """

    def __init__(self, wave: _Wave, cycles: float, rates: tuple[float, float]) -> None:
        self._wave, self._cycles, self._rates = wave, cycles, rates
        self._found: dict[tuple[bool, bool], tuple[dict[int, PerOperand], NDArray[np.float64]]] = {}

    def works(self, work: WorkOf, parts: Sequence[Slice], loads: float, stores: float) -> list[Work]:
        """What slices take where the DMA loads and stores for these parts of their time, from its beginning on."""
        both = min(loads, stores)
        shares = {
            (False, False): 1 - max(loads, stores),
            (True, False): loads - both,
            (False, True): stores - both,
            (True, True): both,
        }
        plays = [(share, *self._waits(*channels)) for channels, share in shares.items() if share > 0]
        moves = np.array([loads, loads, stores])
        late = sum(share * one for share, _, one in plays) / np.where(moves > 0, moves, 1)
        speeds = [sum(share / work(part, waits[part.hwc]) for share, waits, _ in plays) for part in parts]
        return [Work(1 / speed, Late(*late.tolist())) for speed in speeds]

    def _waits(self, loads: bool, stores: bool) -> tuple[dict[int, PerOperand], NDArray[np.float64]]:
        """Waits of an access of each HWC, in parts of a cycle, and of a line of the DMA as `Late` has them."""
        if (loads, stores) not in self._found:
            wave, rates = self._wave, (self._rates[0] * loads, self._rates[1] * stores)
            accesses, words, single = wave.contest.waits(self._cycles, rates)
            # One that takes what another one reads waits with it.
            of_hwcs = np.stack([accesses[wave.inputs, 0], accesses[wave.weights, 1], accesses[:, 2]], axis=1)
            rounded = (np.round(of_hwcs * (PARTS / STEP)) * STEP).astype(int).tolist()
            by_hwc = {hwc: PerOperand(*one) for hwc, one in zip(wave.hwcs, rounded, strict=True)}
            self._found[loads, stores] = by_hwc, np.array([words[0], single[0], words[1]])
        return self._found[loads, stores]


class _Waits:
    """What slices wait. Tiles of the same slices wait alike."""

    def __init__(self, tiles: TileCommands, cluster: Cluster, moved: tuple[Moved, Moved]) -> None:
        self._tiles, self._cluster, self._moved = tiles, cluster, moved
        self._leads = cluster.multicast and spread_side_by_side(tiles.schedule)
        self._waves: dict[object, _Wave] = {}
        self._found: dict[object, _Played] = {}

    def of(self, tile: int, pace: Sequence[float], rates: tuple[float, float]) -> _Played:
        """The waits in a tile whose slices take ``pace`` cycles.

        ``rates`` : lines that the DMA loads and stores in a cycle in which it does.
        """
        parts = self._tiles.slices[tile]
        key = tuple((id(self._tiles.small(part)), part.hwc, self._tiles.begins(part)) for part in parts)
        if key not in self._waves:
            self._waves[key] = self._wave(tile)
        wave = self._waves[key]
        cycles = max(pace[part] for part in wave.parts)
        if (key, cycles, rates) not in self._found:
            self._found[key, cycles, rates] = _Played(wave, cycles, rates)
        return self._found[key, cycles, rates]

    def _wave(self, tile: int) -> _Wave:
        parts, first = self._tiles.slices[tile], dict[int, int]()
        for number, part in enumerate(parts):
            first.setdefault(part.hwc, number)
        hwcs, number = tuple(first), self._cluster.hwcs
        inputs = weights = tuple(range(number))
        if self._leads:
            group = self._tiles.schedule.layer.outputs_per_group
            inputs, weights = leaders_of([parts[place] for place in first.values()], group, number)
        streams = [
            self._streams(tile, parts[place], inputs[hwc] == hwc, weights[hwc] == hwc) for hwc, place in first.items()
        ]
        contest = BankContest(streams, self._moved, self._cluster.banks)
        readers = ([hwcs.index(leaders[hwc]) for hwc in hwcs] for leaders in (inputs, weights))
        return _Wave(hwcs, tuple(first.values()), contest, *readers)

    def _streams(self, tile: int, part: Slice, reads_input: bool, reads_weights: bool) -> list[Stream]:
        """What an HWC asks for at its ports for I, W and O."""
        small, bases = self._tiles.small(part), self._tiles.bases(tile, part)
        accesses, lines = _accesses(small), _lines(small, self._tiles.placement.I, self._tiles.placement.O)
        asks = {"I": reads_input, "W": reads_weights, "O": True}
        return [
            Stream(
                accesses=accesses[array] if asks[array] else 0,
                words=getattr(small.ports, array) // WORD_BITS,
                first=bases[array] // WORD_BYTES,
                lines=lines[array],
            )
            for array in ARRAYS
        ]


@lru_cache(maxsize=KEPT_SLICES)
def _accesses(small: Schedule) -> PerOperand:
    """Accesses of a slice at each port, without the few reads of biases."""
    crossings = local_crossings(Nest(small))
    return PerOperand(*(sum(access.words for access in crossings[array].accesses.values()) for array in ARRAYS))


def _lines(small: Schedule, inputs: Placed, outputs: Placed) -> dict[ArrayName, Lines]:
    """The order in which an HWC asks for words."""
    return {"I": _input_lines(small, inputs), "W": _weight_lines(small), "O": _output_lines(small, outputs)}


def _input_lines(small: Schedule, placed: Placed) -> Lines:
    """A first tile of I, those of the next channels, then all of it again as many columns further on."""
    layer, held = small.layer, _held(small, "I")
    rows = min((held["y"] - 1) * layer.stride[0] + held["k"], layer.input_height)
    columns = min((held["x"] - 1) * layer.stride[1] + held["l"] + layer.columns_beside, layer.input_width)
    word = small.ports.I // 8
    return Lines(
        pitch=placed.pitch // word,
        plane=placed.plane // word,
        rows=rows,
        channels=held["c"],
        words=-(-columns * placed.element // word),
        tiles=-(-layer.channels_per_group // held["c"]),
        again=max(1, held["x"] * layer.stride[1] * placed.element // word),
    )


def _weight_lines(small: Schedule) -> Lines:
    """Tiles of W, one after the other."""
    held = _held(small, "W")
    words = -(-prod(held[dim] for dim in WEIGHT_DIMS) * small.bits.W // small.ports.W)
    return Lines(pitch=0, plane=0, rows=1, channels=1, words=words, tiles=1, again=words)


def _output_lines(small: Schedule, placed: Placed) -> Lines:
    """The words of a vector of O, then those of the columns after them."""
    lanes, word = small.lanes, small.ports.O // 8
    channels = min(lanes.along("m"), small.layer.output_channels)
    words = -(-min(lanes.x, small.layer.output_width) * placed.element // word)
    return Lines(pitch=0, plane=placed.plane // word, rows=1, channels=channels, words=words, tiles=1, again=words)


def _held(small: Schedule, array: ArrayName) -> dict[Dim, int]:
    """The extents of a tile of an operand in the HWC."""
    marked, layer = small.marked_loop(array), small.layer
    held = layer.extents | {loop.dim: loop.step for loop in small.loops[: 0 if marked is None else marked + 1]}
    return held | {"c": min(held["c"], layer.channels_per_group)}
