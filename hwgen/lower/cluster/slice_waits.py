"""The cycles of a cluster's slices with what they wait at the banks of its memory."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.dram import DramPort
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import WEIGHT_DIMS, Dim
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.lower.cluster.leaders import leaders_of
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.model.cluster.bank_waits import Lines, Stream, waits_at_banks
from hwgen.model.cluster.levels import spread_side_by_side
from hwgen.model.cluster.placement import Placed
from hwgen.model.hwc.cycles import NO_WAITS
from hwgen.model.nest.one_level import PerOperand, local_crossings
from hwgen.model.nest.ranges import Nest

__all__ = ["KEPT_SLICES", "WorkOf", "Works", "with_waits", "without_waits"]

WorkOf = Callable[[Slice, PerOperand], int]
"""The cycles of a slice whose accesses to I, W and O wait so long on average, in `hwgen.model.hwc.timing.state.PARTS`
of a cycle."""
Works = list[list[int]]
"""Cycles of the slices of each kind of tile (`hwgen.lower.cluster.tiles.TileCommands.kinds`)."""
ROUNDS = 4
"""How often the waits are played at most: the longer the HWCs take, the less they wait for each other."""
ENOUGH = 1.01
"""Waits are not played again where they have made the work no longer than by this."""
KEPT_SLICES = 4096
"""Slices of which what follows from them alone is kept: schedules that differ around their tiles share them."""


def without_waits(work: WorkOf, tiles: TileCommands) -> Works:
    """The cycles of the slices of each kind of tile if no access waits."""
    return [[work(part, NO_WAITS) for part in tiles.slices[tile]] for tile in tiles.examples]


def with_waits(work: WorkOf, tiles: TileCommands, cluster: Cluster, moves: Callable[[Works], float]) -> Works:
    """The cycles of the slices of each kind of tile.

    ``moves`` : accesses of the DMA, each of a word or less, while HWCs compute, where slices take so long.
    """
    waits, counts = _Waits(tiles, cluster), Counter(tiles.kinds)
    kinds = [tiles.slices[tile] for tile in tiles.examples]

    def longest(works: Works) -> int:
        """The cycles of all tiles, one after the other."""
        return sum(counts[kind] * max(each) for kind, each in enumerate(works))

    taken = without_waits(work, tiles)
    found, moved = taken, moves(taken)
    for _ in range(ROUNDS):
        rate = moved / max(1, longest(taken))
        found = [
            [work(part, waited) for part, waited in zip(parts, waits.of(tile, each, rate), strict=True)]
            for tile, parts, each in zip(tiles.examples, kinds, taken, strict=True)
        ]
        if longest(found) <= ENOUGH * longest(taken):
            break
        taken = [
            [(one + other) // 2 for one, other in zip(before, after, strict=True)]
            for before, after in zip(taken, found, strict=True)
        ]
    return found


@dataclass(frozen=True)
class _Wave:
    """The first slices of a tile on each HWC, which begin together.

    Members
    -------
    parts : their numbers among the slices of the tile.
    streams : what each HWC asks for at its ports.
    inputs, weights : of each HWC the one that reads I and W for it.
    """

    parts: dict[int, int]
    streams: list[list[Stream]]
    inputs: tuple[int, ...]
    weights: tuple[int, ...]


class _Waits:
    """What slices wait. Tiles of the same slices wait alike."""

    def __init__(self, tiles: TileCommands, cluster: Cluster) -> None:
        self._tiles, self._cluster = tiles, cluster
        self._at_once = DramPort.of(cluster).beat_bytes // WORD_BYTES
        self._leads = cluster.multicast and spread_side_by_side(tiles.schedule)
        self._waves: dict[object, _Wave] = {}
        self._found: dict[object, dict[int, PerOperand]] = {}

    def of(self, tile: int, works: Sequence[int], moved: float) -> list[PerOperand]:
        """The waits of an access of each slice of a tile on average.

        ``works`` : cycles that the slices take; ``moved`` : words that the DMA moves in a cycle.
        """
        parts = self._tiles.slices[tile]
        key = tuple((id(self._tiles.small(part)), part.hwc) for part in parts)
        found = self._found.get((key, moved))
        if found is None:
            if key not in self._waves:
                self._waves[key] = self._wave(tile)
            found = self._found[key, moved] = self._played(self._waves[key], works, moved)
        return [found[part.hwc] for part in parts]

    def _played(self, wave: _Wave, works: Sequence[int], moved: float) -> dict[int, PerOperand]:
        """The waits of each HWC that has slices of a tile; one that takes what another one reads waits with it."""
        cycles = max(works[part] for part in wave.parts.values())
        waits = waits_at_banks(wave.streams, cycles, self._cluster.banks, moved, self._at_once)
        found = dict(zip(wave.parts, waits, strict=True))
        return {
            hwc: PerOperand(found[wave.inputs[hwc]].I, found[wave.weights[hwc]].W, one.O)
            for hwc, one in found.items()
        }

    def _wave(self, tile: int) -> _Wave:
        parts, first = self._tiles.slices[tile], dict[int, int]()
        for number, part in enumerate(parts):
            first.setdefault(part.hwc, number)
        inputs = weights = tuple(range(self._cluster.hwcs))
        if self._leads:
            group = self._tiles.schedule.layer.outputs_per_group
            inputs, weights = leaders_of([parts[number] for number in first.values()], group, len(inputs))
        streams = [
            self._streams(tile, parts[number], inputs[hwc] == hwc, weights[hwc] == hwc)
            for hwc, number in first.items()
        ]
        return _Wave(first, streams, inputs, weights)

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
