"""The literal oracle for two memory levels and several HWCs: sets of elements, iteration by iteration.

Slow and obvious on purpose. Both levels use the rules of `hwgen.model.core.walk` for one marked loop.

- At `dram` the fetches and drops of the loops with `tcdm` markers count. Concurrent iterations of several HWCs are
  one iteration there: spread loops are below, see `hwgen.model.cluster.levels.normalised`.
- At `tcdm` every local execution counts for the HWC that it runs on: iteration i of a spread loop runs on HWC
  i mod N; of two, i counts through the inner one first.
- The DMA prefetches the data of an iteration while those of the previous one are in use. So X needs room for what
  two consecutive iterations of its loop touch together, also across executions; in halves, for twice the largest.
- An HWC keeps biases within its share of a tile, not from one to the next.
- Replicated words: of each word of a tile, all reads but those of the HWC that reads it most often.
- With multicast, those slices of a wave that have the same extents and the same y (for W: the same m), and read the
  same words of I (of W), read them once, at the port of the first one's HWC. A wave is slices one after another, one
  for each HWC.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights.lines import WeightLines
from hwgen.ir.counts import Access, Counts
from hwgen.ir.lanes import NARROW_PORTS
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Schedule
from hwgen.model.cluster.levels import normalised, over_loops, run_depth, spread_side_by_side, tile_depth
from hwgen.model.core.biases import bias_depth
from hwgen.model.core.prediction import PerOperand
from hwgen.model.core.walk import (
    Element,
    Tally,
    Tile,
    split,
    tiles,
    touched_inputs,
    touched_outputs,
    touched_weights,
    walk_biases,
    walk_inputs,
    walk_outputs,
    walk_weights,
    whole,
    words_of_lines,
)

__all__ = ["TwoLevelWalk", "walk_two_levels"]

READ: tuple[ArrayName, ...] = ("I", "W")
"""What several HWCs may read together."""

_WALKS = {"I": walk_inputs, "W": walk_weights, "O": walk_outputs}


@dataclass(frozen=True)
class TwoLevelWalk:
    """What the oracle found.

    Members
    -------
    dram : elements and bytes at `dram`.
    dma : words at `tcdm_dma` without those of the weights, which depend on the packing.
    hwcs : the accesses of each HWC's ports at `tcdm`.
    tcdm_need, tcdm_need_bytes : of each operand, in the TCDM.
    local_need : elements that each local buffer must hold.
    replicated : words of I and W (never of O) that several HWCs read.
    """

    dram: Counts
    dma: Counts
    hwcs: tuple[Counts, ...]
    tcdm_need: PerOperand
    tcdm_need_bytes: PerOperand
    local_need: PerOperand
    replicated: PerOperand

    @property
    def tcdm(self) -> Counts:
        """The accesses of all HWCs together."""
        total = Counts()
        for counts in self.hwcs:
            total += counts
        return total


def walk_two_levels(schedule: Schedule, hwcs: int = 1, *, multicast: bool = False) -> TwoLevelWalk:
    """Execute the nest once per operand and level; raises `InputError` if the nest has not two levels."""
    schedule = normalised(schedule, hwcs)
    dram: Tally = defaultdict(Access)
    on_dma = schedule.model_copy(update={"ports": NARROW_PORTS})
    for array in ARRAYS:
        _WALKS[array](on_dma, ((dram, run) for run in _tcdm_executions(schedule, array)))
    biases = schedule.layer.output_channels
    dram["B", "read"] = Access(biases, record_bytes(schedule.requantisation) * biases)  # once, at the beginning
    tallies: list[Tally] = [defaultdict(Access) for _ in range(hwcs)]
    local_need = {
        array: _WALKS[array](schedule, ((tallies[place % hwcs], run) for place, run in _local(schedule, array)))
        for array in ARRAYS
    }
    around = bias_depth(schedule, run_depth(schedule))
    if multicast and spread_side_by_side(schedule):
        for array in READ:
            _read_together(schedule, array, tallies)
    parts = _spread(whole(schedule.layer), schedule.loops[:around], 0)
    walk_biases(schedule, ((tallies[place % hwcs], part) for place, part in parts), around)
    spilled = any(tally["O", "write_partial"].elements for tally in tallies)
    need = PerOperand(*(_tcdm_need(schedule, array) for array in ARRAYS))
    bits = schedule.bits
    return TwoLevelWalk(
        dram=Counts(
            {("dram", operand, way): Access(moved.elements, moved.bytes) for (operand, way), moved in dram.items()}
        ),
        dma=_dma(schedule, dram),
        hwcs=tuple(
            Counts({("tcdm", operand, way): moved for (operand, way), moved in tally.items()}) for tally in tallies
        ),
        tcdm_need=need,
        tcdm_need_bytes=PerOperand(
            need.I * bits.I // 8, need.W * bits.W // 8, need.O * (bits.acc if spilled else bits.O) // 8
        ),
        local_need=PerOperand(**local_need),
        replicated=PerOperand(_replicated(schedule, hwcs, "I"), _replicated(schedule, hwcs, "W"), 0),
    )


# --- executions ---


def _tcdm_executions(schedule: Schedule, array: ArrayName) -> Iterator[list[Tile]]:
    """For each execution of the loop at which an array is in the TCDM: the tiles of its iterations."""
    marked = schedule.marked_loop(array, TCDM)
    assert marked is not None
    for tile in tiles(whole(schedule.layer), schedule.loops[:marked]):
        iterations = split(tile, schedule.loops[marked])
        if schedule.in_halves(array):
            yield from ([iteration] for iteration in iterations)
        else:
            yield list(iterations)


def _local(
    schedule: Schedule, array: ArrayName, within: Tile | None = None, begin: int = 0
) -> Iterator[tuple[int, list[Tile]]]:
    """For each execution of the loop at which an array is in the local buffer: its HWC, and its iterations.

    All of them, or those within the ranges of the first ``begin`` loops.
    """
    marked = schedule.marked_loop(array)
    inner = schedule.loops[begin : len(schedule.loops) if marked is None else marked]
    for place, tile in _spread(within or whole(schedule.layer), inner, 0):
        yield place, [tile] if marked is None else list(split(tile, schedule.loops[marked]))


def _spread(tile: Tile, loops: tuple[Loop, ...], place: int) -> Iterator[tuple[int, Tile]]:
    """The ranges of the innermost iterations, each with its number among the iterations spread over HWCs."""
    if not loops:
        yield place, tile
        return
    iterations = list(split(tile, loops[0]))
    for number, iteration in enumerate(iterations):
        yield from _spread(iteration, loops[1:], place * len(iterations) + number if loops[0].over else place)


# --- the TCDM ---


def _touched(schedule: Schedule, array: ArrayName, tile: Tile) -> set[Element]:
    match array:
        case "I":
            return touched_inputs(schedule.layer, tile)
        case "W":
            return touched_weights(tile)
        case "O":
            return touched_outputs(schedule.layer, tile)


def _tcdm_need(schedule: Schedule, array: ArrayName) -> int:
    touches = [_touched(schedule, array, tile) for run in _tcdm_executions(schedule, array) for tile in run]
    if schedule.in_halves(array):
        return 2 * max(len(touched) for touched in touches)
    return max(len(one | other) for one, other in pairwise([*touches, set()]))


def _dma(schedule: Schedule, dram: Tally) -> Counts:
    """Accesses of the DMA's TCDM ports: aligned words of every row (of the input: between gaps); the biases."""
    words = {key: moved.words for key, moved in dram.items()}
    words["I", "read"] = _input_words(schedule)
    words["B", "read"] = dram["B", "read"].bytes // WORD_BYTES
    return Counts(
        {
            ("tcdm_dma", operand, way): Access(moved.elements, moved.bytes, words[operand, way])
            for (operand, way), moved in dram.items()
            if operand != "W"
        }
    )


def _input_words(schedule: Schedule) -> int:
    """Aligned words of runs of consecutive new columns: the DMA starts a new access after each gap."""
    size, words = schedule.bits.I // 8, 0
    for run in _tcdm_executions(schedule, "I"):
        held: set[Element] = set()
        for tile in run:
            touched = touched_inputs(schedule.layer, tile)
            new = touched - held
            for channel, row, column in new:
                first, last = column * size // WORD_BYTES, (column * size + size - 1) // WORD_BYTES
                shared = (channel, row, column - 1) in new and (column * size - 1) // WORD_BYTES == first
                words += last - first + 1 - shared
            held = touched
    return words


# --- words that several HWCs read ---


def _read_together(schedule: Schedule, array: ArrayName, tallies: list[Tally]) -> None:
    """Take away what slices do not read for themselves, since another one of their wave reads it."""
    slices, alike = schedule.loops[: run_depth(schedule)], set[object]()
    for place, part in _spread(whole(schedule.layer), slices, 0):
        if place % len(tallies) == 0:
            alike.clear()
        runs = [run for _, run in _local(schedule, array, part, len(slices))]
        words = [sorted(_fetched_words(schedule, array, run), key=repr) for run in runs]
        name = repr(([len(indices) for indices in part.values()], words, part["y" if array == "I" else "m"]))
        if name in alike:
            spared: Tally = defaultdict(Access)
            _WALKS[array](schedule, ((spared, run) for run in runs))
            for key, access in spared.items():
                had = tallies[place % len(tallies)][key]
                tallies[place % len(tallies)][key] = Access(
                    had.elements - access.elements, had.bytes - access.bytes, had.words - access.words
                )
        alike.add(name)


def _replicated(schedule: Schedule, hwcs: int, array: ArrayName) -> int:
    if not over_loops(schedule):
        return 0
    words = 0
    for tile in tiles(whole(schedule.layer), schedule.loops[: tile_depth(schedule)]):
        reads = [Counter[object]() for _ in range(hwcs)]
        for place, iterations in _local(schedule, array, tile, tile_depth(schedule)):
            reads[place % hwcs].update(_fetched_words(schedule, array, iterations))
        words += sum(read.total() for read in reads)
        most: Counter[object] = Counter()
        for read in reads:
            most |= read
        words -= most.total()
    return words


def _fetched_words(schedule: Schedule, array: ArrayName, iterations: Iterable[Tile]) -> Iterator[object]:
    """The words that one execution fetches, each by a unique name."""
    lines = WeightLines.of(schedule.lanes, schedule.bits.W // 8, schedule.ports.weight_bytes)
    held: set[Element] = set()
    for tile in iterations:
        touched = _touched(schedule, array, tile)
        new = touched - held
        held = touched
        if array == "I":
            size = schedule.bits.I // 8
            yield from {
                (*element[:-1], byte // schedule.ports.input_bytes)
                for element in new
                for byte in range(element[-1] * size, (element[-1] + 1) * size)
            }
        elif lines:
            yield from words_of_lines(schedule, new, lines)
        elif new:
            number = -(-(len(new) * schedule.bits.W // 8) // schedule.ports.weight_bytes)
            yield from ((min(touched), max(touched), word) for word in range(number))
