"""The cycles of a cluster's program: what each START begins, then the whole program."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from math import inf, prod

import numpy as np

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.commands import Opcode
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import BLOCK_BYTES, Dram, DramPort
from hwgen.arch.hwc import HwcParameters
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import DIMS, OUTPUT_DIMS, REDUCTION_DIMS
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster.moved_lines import estimated_lines, moved_lines
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.cluster.slice_waits import (
    KEPT_SLICES,
    NO_UNIT,
    BegunOf,
    Overlap,
    Tempo,
    UnitBeside,
    WorkOf,
    with_waits,
)
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.placement import place_in
from hwgen.model.cluster.port_requests import Begun, Pitches, begun
from hwgen.model.cluster.residence import ALL_MOVED, Residence
from hwgen.model.cluster.tile_order import Spans
from hwgen.model.cluster.whole_maps import held_whole
from hwgen.model.dram.counts import weights_may_be_ordered
from hwgen.model.hwc.cycles import IN_TIME, HwcTiming, Waiting
from hwgen.model.hwc.tiles import RowBegins
from hwgen.model.nest.one_level import PerOperand
from hwgen.model.system.cycles import PlayedProgram, play_together
from hwgen.model.system.times import ClusterTimes, Moves, Work

__all__ = ["MOVE_CYCLES", "cluster_cycles", "estimated_cycles", "played", "works_of"]

IMMEDIATE = Dram()
Works = tuple[Work | int, ...]
"""What each START of a program begins, in their order."""


def cluster_cycles(program: ClusterProgram, timing: Dram = IMMEDIATE, *, briefly: bool = False) -> ClusterTimes:
    """The cycles of a program, with a DRAM of this timing.

    ``briefly`` : with waits of one HWC as they are in its first cycles, which compares schedules in less time.
    """
    plays = _Plays(program)
    return plays.times(_works_of(program, NO_UNIT, plays, briefly=briefly), timing)


def played(program: ClusterProgram) -> PlayedProgram:
    """What decides about the cycles of a program."""
    return _with_works(program, works_of(program))


def works_of(program: ClusterProgram, beside: UnitBeside = NO_UNIT) -> Sequence[Work | int]:
    """What each START begins, in program order.

    ``beside`` : what the vector unit does, where a program of it is among the commands.
    """
    return _works_of(program, beside, _Plays(program))


class _Plays:
    """The times of a program in which each START takes what it is told to: each is played once."""

    def __init__(self, program: ClusterProgram) -> None:
        self._program = program
        self._known: dict[tuple[Works, Dram], ClusterTimes] = {}

    def times(self, works: Works, timing: Dram) -> ClusterTimes:
        """The times, with a DRAM of this timing."""
        if (works, timing) not in self._known:
            played = _with_works(self._program, works)
            self._known[works, timing] = play_together([played], self._program.hardware, timing)[0]
        return self._known[works, timing]


def _works_of(program: ClusterProgram, beside: UnitBeside, plays: _Plays, *, briefly: bool = False) -> Works:
    tiles = TileCommands(program.schedule, None, program.cluster.hwcs, program.placement, {})
    timing = program.cluster.dram or IMMEDIATE
    own = [not command.mask >> program.cluster.hwcs for command in program.commands if command.opcode is Opcode.START]
    lengths = [len(tiles.slices[tile]) for tile in range(len(tiles.slices))]
    first = np.cumsum([0, *lengths[:-1]])
    number = iter(tiles.kinds[tile] for tile, parts in enumerate(tiles.slices) for _ in parts)
    starts = [next(number) if one else -1 for one in own]
    timings = _timings_of(tiles, program.parameters)
    work = _work_of(timings)

    def in_order(tempo: Tempo) -> Works:
        works, others = chain.from_iterable(tempo), iter(beside.works)
        return tuple(next(works) if one else next(others) for one in own)

    def times(tempo: Tempo) -> ClusterTimes:
        return plays.times(in_order(tempo), timing)

    def overlap(tempo: Tempo) -> Overlap:
        moves = np.array([one for one, is_own in zip(times(tempo).beside, own, strict=True) if is_own])
        moving, lines = moves[:, :, Moves._fields.index("cycles")], moves[:, :, Moves._fields.index("lines")]
        takes = [_longest(parts, works) for parts, works in zip(tiles.slices, tempo, strict=True)]
        shares = np.minimum(1.0, np.add.reduceat(moving, first) / np.maximum(1.0, takes)[:, None])
        rates = _rates(lines.sum(axis=0).tolist(), moving.sum(axis=0).tolist())
        return Overlap(rates, shares.tolist(), np.add.reduceat(lines, first).tolist())

    in_time = [[Work(work(part)) for part in parts] for parts in tiles.slices]
    moved = moved_lines(program.commands, program.hardware, starts, times(in_time).beside)
    computes = sum(_longest(*both) for both in zip(tiles.slices, in_time, strict=True))
    unit = [one.every(computes) for one in beside.words if one.number]
    begins = _begins_of(timings, tiles)
    found = with_waits(work, begins, tiles, program.cluster, moved, overlap, briefly=briefly, unit=unit)
    return in_order(found)


def _rates(lines: Sequence[float], busy: tuple[float, float]) -> tuple[float, float]:
    """Lines a cycle that loads and stores move which are ``busy`` for as many cycles."""
    loads, stores = (number / max(1.0, cycles) for number, cycles in zip(lines, busy, strict=True))
    return min(1.0, loads), min(1.0, stores)


def _longest(parts: Sequence[Slice], works: Sequence[Work], start: float = 0.0) -> float:
    """The cycles of a tile whose HWCs take their slices one after the other, with ``start`` cycles before each."""
    busy = dict.fromkeys((part.hwc for part in parts), 0.0)
    for part, work in zip(parts, works, strict=True):
        busy[part.hwc] += work.cycles + start
    return max(busy.values())


def _beside(total: float, computes: float, moves: float) -> float:
    """The part of what a DMA moves, in ``moves`` cycles, that it moves while HWCs compute."""
    return min(1.0, max(0.0, moves + computes - total) / moves) if moves else 0.0


def _with_works(program: ClusterProgram, works: Sequence[Work | int]) -> PlayedProgram:
    return PlayedProgram(program.commands, works, program.layout.program, len(program.words))


TimingOf = Callable[[Slice], HwcTiming]


def _timings_of(tiles: TileCommands, parameters: HwcParameters) -> TimingOf:
    """The timing of slices on these HWCs."""
    buffers = PerOperand(parameters.input_bytes, parameters.weight_bytes, parameters.output_bytes)
    found: dict[tuple[int, bool, bool, RowBegins], HwcTiming] = {}

    def timing(part: Slice) -> HwcTiming:
        small, (resumes, goes_on), begins = tiles.small(part), tiles.sums(part), tiles.begins(part)
        key = id(small), resumes, goes_on, begins
        if key not in found:
            found[key] = _timing(small, buffers, resumes, goes_on, parameters.most_requantisers, begins)
        return found[key]

    return timing


def _work_of(timings: TimingOf) -> WorkOf:
    """The cycles of slices."""
    return lambda part: _work(timings(part))


def _begins_of(timings: TimingOf, tiles: TileCommands) -> BegunOf:
    """How slices begin."""
    rings = tiles.placement
    pitches = Pitches(rings.I.pitch, rings.I.plane, rings.O.pitch, rings.O.plane)

    def begins(part: Slice, first: Waiting, most: int) -> Begun:
        timing = timings(part)
        if any(one.any() for one in first):
            return begun(timing, first, pitches, most)
        return _in_time(timing, pitches, most)

    return begins


@lru_cache(maxsize=KEPT_SLICES)
def _in_time(timing: HwcTiming, pitches: Pitches, most: int) -> Begun:
    """Where no access waits."""
    return begun(timing, IN_TIME, pitches, most)


@lru_cache(maxsize=KEPT_SLICES)
def _work(timing: HwcTiming) -> int:
    """Cycles of a slice. An estimate and the program share them, too."""
    return timing.cycles().total


@lru_cache(maxsize=KEPT_SLICES)
def _timing(
    small: Schedule, buffers: PerOperand, resumes: bool, goes_on: bool, most_requantisers: int, begins: RowBegins
) -> HwcTiming:
    return HwcTiming(
        small, buffers,
        resumes=resumes, goes_on=goes_on, in_cluster=True, most_requantisers=most_requantisers, begins=begins,
    )  # fmt: skip


def estimated_cycles(
    schedule: Schedule,
    hardware: Hardware,
    residence: Residence = ALL_MOVED,
    *,
    ordered: bool = True,
    most: float = inf,
) -> float:
    """About what a schedule takes: its HWCs by their model, what the DMA moves for each tile by its bytes and runs.

    ``ordered`` : weights are in the order of the nest in the DRAM, where it leaves few gaps
    (`hwgen.model.dram.counts.DramLayout`); else the DMA writes each byte of them alone where lanes read side by side
    what is apart in the DRAM.
    ``residence`` : maps that stay, of which nothing is moved, and whether the first weights are there; they are only
    where they are in order.
    ``most`` : where it takes more cycles than these without waits at the banks, they are left out.

    Raises `InputError` for what the cluster cannot run, as far as it is looked at.
    """
    cluster = hardware.cluster or Cluster()
    schedule = normalised(held_whole(schedule, residence.arrays), cluster.hwcs)
    room = cluster.tcdm if residence.room is None else residence.room
    placement = place_in(schedule, cluster.tcdm, residence)
    if placement.size > room:
        raise InputError(f"{schedule.layer.name}: the TCDM needs {placement.size} bytes, it has {room}")
    tiles = TileCommands(schedule, hardware, cluster.hwcs, placement, {})
    port = DramPort.of(cluster)
    a_beat = max(1.0, (port.dram.block_cycles + port.dram.access_cycles) * port.beat_bytes / BLOCK_BYTES)
    ordered = ordered and weights_may_be_ordered(schedule)
    alone, ahead = not ordered and _apart(schedule), ordered and residence.ahead
    loads, stores = np.zeros(len(tiles.slices)), np.zeros(len(tiles.slices))
    words = single = stored_words = 0.0
    for array in (one for one in ARRAYS if one not in residence.unmoved):
        for stay in placement[array].stays:
            element = placement[array].element
            if stay.new and not (array == "W" and ahead and not stay.first):
                beats = _beats(stay.new, array, schedule, element, port.beat_bytes)
                if array == "W" and alone:
                    beats *= WORD_BYTES  # a port writes a byte of a word in a cycle
                    single += beats * port.beat_bytes / WORD_BYTES
                else:
                    words += beats * port.beat_bytes / WORD_BYTES
                pieces = 0 if array != "W" or ordered else _pieces(stay.new, schedule)
                loads[stay.first] += MOVE_CYCLES + PIECE_CYCLES * pieces + a_beat * beats
            if array == "O":
                whole = all(stay.ranges[DIMS.index(dim)][1] == schedule.layer.extents[dim] for dim in REDUCTION_DIMS)
                size = schedule.bits.O // 8 if whole else element
                spans = tuple((stay.ranges[DIMS.index(dim)],) for dim in OUTPUT_DIMS)
                beats = _beats(spans, array, schedule, size, port.beat_bytes)
                stored_words += beats * port.beat_bytes / WORD_BYTES
                stores[stay.last] += MOVE_CYCLES + a_beat * beats
    dma = DmaParameters(axi_bits=cluster.axi_bits)
    moved = estimated_lines(dma, schedule.lanes, prod(schedule.layer.weight_kernel), (words, single, stored_words))
    lines = [one.number for one in moved]
    first = tiles.slices[0]
    others = len({part.hwc for part in first}) - 1, len({id(tiles.small(part)) for part in first}) - 1
    # The reader has these commands before it comes to the loads.
    begins = float(others[0] * HWC_CYCLES + others[1] * SHAPE_CYCLES)

    def takes(tempo: Tempo) -> tuple[float, float]:
        """All cycles, and those in which HWCs compute."""
        loaded = computed = before = begins
        stored = computes = 0.0
        for parts, works, load, store in zip(tiles.slices, tempo, loads.tolist(), stores.tolist(), strict=True):
            busy = TILE_CYCLES + _longest(parts, works, START_CYCLES)
            loaded = max(loaded, before) + load  # into the place of the tile before the last one
            before, computed = computed, max(computed, loaded) + busy
            computes += busy
            stored = max(stored, computed) + store if store else stored
        return max(stored, computed), computes

    load_cycles, store_cycles = float(loads.sum()), float(stores.sum())

    def overlap(tempo: Tempo) -> Overlap:
        total, computes = takes(tempo)
        beside = _beside(total, computes, load_cycles + store_cycles) / max(1.0, computes)
        loads, stores = (min(1.0, beside * one) for one in (load_cycles, store_cycles))
        load_rate, store_rate = rates = _rates(lines, (load_cycles, store_cycles))
        tile_cycles = [_longest(parts, works) for parts, works in zip(tiles.slices, tempo, strict=True)]
        moved = [(loads * load_rate * one, stores * store_rate * one) for one in tile_cycles]
        return Overlap(rates, [(loads, stores)] * len(tile_cycles), moved)

    timings = _timings_of(tiles, tiles.parameters)
    work = _work_of(timings)
    alone_works = [[Work(work(part)) for part in tiles.slices[tile]] for tile in tiles.examples]
    at_least = takes([alone_works[kind] for kind in tiles.kinds])[0]
    if at_least > most:
        return at_least
    beginning = _begins_of(timings, tiles)
    return takes(with_waits(work, beginning, tiles, cluster, [moved] * len(tiles.examples), overlap, alike=True))[0]


def _beats(spans: Sequence[Spans], array: str, schedule: Schedule, element: int, beat_bytes: int) -> float:
    """About how many beats a part of an operand takes; a run that is no whole number of beats takes one more."""
    sizes = [sum(end - start for start, end in one) for one in spans]
    moved = prod(sizes) * element
    if array == "W":
        return moved / beat_bytes + 1
    layer = schedule.layer
    height, width = (
        (layer.input_height, layer.input_width) if array == "I" else (layer.output_height, layer.output_width)
    )
    if sizes[1:] == [height, width]:
        runs = 1
    elif sizes[2] == width:
        runs = sizes[0] * len(spans[1])
    else:  # a stride above the kernel leaves columns out
        runs = sizes[0] * sizes[1] * len(spans[2])
    return max(moved / beat_bytes + runs * RUN_BEATS, runs * LEAST_RUN)


def _apart(schedule: Schedule) -> bool:
    """Whether weights that lanes read side by side are apart in the DRAM: of several filters, or across taps."""
    lanes, layer = schedule.lanes, schedule.layer
    taps = prod(layer.weight_kernel)
    return (lanes.along("m") > 1 and layer.channels_per_group * taps > 1) or (lanes.along("c") > 1 and taps > 1)


def _pieces(spans: Sequence[Spans], schedule: Schedule) -> int:
    """Descriptors of weights that are not in order, beyond the first: two of each filter where its last line is
    short."""
    filters, channels = (sum(end - start for start, end in one) for one in spans[:2])
    lanes = schedule.lanes.along("c")
    return 2 * filters - 1 if channels > lanes and channels % lanes else 0


PIECE_CYCLES = 9
"""About what a descriptor of weights takes beyond its bytes."""
TILE_CYCLES, START_CYCLES, MOVE_CYCLES = 40, 30, 40
"""About what a tile, a slice of it and a transfer of the DMA cost beyond their work."""
HWC_CYCLES, SHAPE_CYCLES = 28, 60
"""About what it takes to set up one more HWC before the first tile, and one whose slice has another shape."""
RUN_BEATS, LEAST_RUN = 0.9, 2.0
"""About how many beats more a run takes than it has bytes for, and cycles that it takes at least."""
