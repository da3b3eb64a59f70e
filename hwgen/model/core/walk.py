"""The literal oracle: a schedule executed iteration by iteration on sets of elements.

Slow and obvious on purpose. Every closed form is judged by this file, so nothing here is clever: a touch is a set of
coordinates, what is reused an intersection, what is fetched a difference.

The semantics are those of Stoutchinin et al. 2019 (Section IV, Fig. 8: a marker above a loop L), read literally:

- while L runs, the buffer holds what one iteration of L touches; from one iteration to the next what both touch
  stays, the rest is dropped, only the new part is fetched; at the end of an execution of L everything is dropped;
- no marker: fetched anew in every innermost iteration (one lane vector), nothing kept;
- padding is never fetched and takes no space;
- an output is read back only if it was written as a partial sum before, and is dropped as a partial sum while
  reduction iterations are still to come for it, padding or not.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights.lines import WeightLines
from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.layer import REDUCTION_DIMS, Dim, Layer
from hwgen.ir.schedule import ArrayName, Loop, Schedule
from hwgen.model.core.biases import bias_depth
from hwgen.model.core.prediction import PerOperand, require_one_level

__all__ = [
    "Element",
    "Tally",
    "Tile",
    "Walk",
    "executions",
    "split",
    "tiles",
    "touched_inputs",
    "touched_outputs",
    "touched_weights",
    "walk",
    "walk_biases",
    "walk_inputs",
    "walk_outputs",
    "walk_weights",
    "whole",
    "words_of_lines",
]

Tile = dict[Dim, range]
"""What one iteration covers: a range of each dimension."""
Element = tuple[int, ...]
Tally = dict[tuple[Operand, Direction], Access]
Executions = Iterable[tuple[Tally, Iterable[Tile]]]
"""For each execution of a marked loop: the tally that counts it, and the tiles of its iterations."""
Parts = Iterable[tuple[Tally, Tile]]
"""The tiles within which biases are kept: for each one the tally that counts it."""


@dataclass(frozen=True)
class Walk:
    """The result of a walk: counts, elements that each buffer must hold, innermost iterations."""

    counts: Counts
    need: PerOperand
    iterations: int


def walk(schedule: Schedule) -> Walk:
    """Execute the nest once per operand and count every element, byte and 32-bit word that moves."""
    require_one_level(schedule)
    tally: Tally = defaultdict(Access)

    def counted(array: ArrayName) -> Executions:
        return ((tally, iterations) for _, iterations in executions(schedule, array))

    need = PerOperand(
        I=walk_inputs(schedule, counted("I")),
        W=walk_weights(schedule, counted("W")),
        O=walk_outputs(schedule, counted("O")),
    )
    around = bias_depth(schedule)
    walk_biases(schedule, ((tally, part) for part in tiles(whole(schedule.layer), schedule.loops[:around])), around)
    counts = Counts({("tcdm", operand, direction): access for (operand, direction), access in tally.items()})
    iterations = sum(1 for _ in tiles(whole(schedule.layer), schedule.loops))
    return Walk(counts, need, iterations)


# --- the nest ---


def whole(layer: Layer) -> Tile:
    """The whole layer as one tile."""
    return {dim: range(extent) for dim, extent in layer.loop_extents.items()}


def split(tile: Tile, loop: Loop) -> Iterator[Tile]:
    """One execution of a loop: each iteration covers ``step`` of its dimension, the last one what is left."""
    span = tile[loop.dim]
    for start in range(span.start, span.stop, loop.step):
        yield {**tile, loop.dim: range(start, min(start + loop.step, span.stop))}


def tiles(tile: Tile, loops: tuple[Loop, ...]) -> Iterator[Tile]:
    """The tiles of the innermost of ``loops``, in program order."""
    if not loops:
        yield tile
        return
    for iteration in split(tile, loops[0]):
        yield from tiles(iteration, loops[1:])


def executions(schedule: Schedule, array: ArrayName) -> Iterator[tuple[Tile, list[Tile]]]:
    """For each execution of the loop at which ``array`` is buffered: its tile, and the tiles of its iterations.

    Without a marker every innermost iteration is an execution of its own.
    """
    marked = schedule.marked_loop(array)
    if marked is None:
        for tile in tiles(whole(schedule.layer), schedule.loops):
            yield tile, [tile]
        return
    for tile in tiles(whole(schedule.layer), schedule.loops[:marked]):
        yield tile, list(split(tile, schedule.loops[marked]))


# --- what a tile touches ---


def touched_inputs(layer: Layer, tile: Tile) -> set[Element]:
    """(channel, row, column) of the input feature maps, channels counted over all images; without padding."""
    top, left = layer.padding[0], layer.padding[1]
    channels = {
        n * layer.input_channels + m // layer.outputs_per_group * layer.channels_per_group + c
        for n in tile["n"]
        for m in tile["m"]
        for c in tile["c"]
    }
    rows = {y * layer.stride[0] + k - top for y in tile["y"] for k in tile["k"]}
    columns = {x * layer.stride[1] + l - left for x in tile["x"] for l in tile["l"]}  # noqa: E741
    return {
        (channel, row, column)
        for channel in channels
        for row in rows
        if 0 <= row < layer.input_height
        for column in columns
        if 0 <= column < layer.input_width
    }


def touched_weights(tile: Tile) -> set[Element]:
    """(output channel, input channel in its group, kernel row, kernel column)."""
    return {(m, c, k, l) for m in tile["m"] for c in tile["c"] for k in tile["k"] for l in tile["l"]}  # noqa: E741


def touched_outputs(layer: Layer, tile: Tile) -> set[Element]:
    """(channel, row, column) of the output feature maps, channels counted over all images."""
    channels = [n * layer.output_channels + m for n in tile["n"] for m in tile["m"]]
    return {(channel, y, x) for channel in channels for y in tile["y"] for x in tile["x"]}


def _row_words(elements: Iterable[Element], size: int, word: int) -> int:
    """Aligned words that hold a byte of the elements; rows (all but the last coordinate) start on a word."""
    return len(
        {
            (*element[:-1], byte // word)
            for element in elements
            for byte in range(element[-1] * size, (element[-1] + 1) * size)
        }
    )


def _vector_words(elements: Iterable[Element], size: int, word: int, vector_of: dict[int, int]) -> int:
    """Words that hold a byte of the elements, of each lane vector along the last coordinate by itself."""
    return len(
        {
            (*element[:-1], vector_of[element[-1]], byte // word)
            for element in elements
            for byte in range(element[-1] * size, (element[-1] + 1) * size)
        }
    )


def _vectors(schedule: Schedule, dim: Dim) -> dict[int, int]:
    """For each place along a dimension the first one of its innermost iteration."""
    loops = tuple(loop for loop in schedule.loops if loop.dim == dim)
    return {at: tile[dim].start for tile in tiles(whole(schedule.layer), loops) for at in tile[dim]}


def _words(size: int, word: int = WORD_BYTES) -> int:
    return -(-size // word)


# --- the three operands ---


def walk_inputs(schedule: Schedule, executions: Executions) -> int:
    """Count what the executions of one marked loop move. Returns the most elements that an iteration touches."""
    size, need = schedule.bits.I // 8, 0
    for tally, iterations in executions:
        held: set[Element] = set()
        for tile in iterations:
            touched = touched_inputs(schedule.layer, tile)
            new = touched - held
            words = _row_words(new, size, schedule.ports.input_bytes)
            tally["I", "read"] += Access(len(new), len(new) * size, words)
            need = max(need, len(touched))
            held = touched
    return need


def walk_weights(schedule: Schedule, executions: Executions) -> int:
    """Count what the executions of one marked loop move. Returns the most elements that an iteration touches."""
    size, need = schedule.bits.W // 8, 0
    port = schedule.ports.weight_bytes
    lines = WeightLines.of(schedule.lanes, size, port)
    for tally, iterations in executions:
        held: set[Element] = set()
        for tile in iterations:
            touched = touched_weights(tile)
            new = touched - held
            words = _words(len(new) * size, port) if lines is None else len(words_of_lines(schedule, new, lines))
            tally["W", "read"] += Access(len(new), len(new) * size, words)
            need = max(need, len(touched))
            held = touched
    return need


@lru_cache(maxsize=2)
def _lines_of(schedule: Schedule) -> dict[Element, Element]:
    """For each weight the first one of its line: what an innermost iteration reads."""
    return {
        weight: (tile["m"].start, tile["c"].start, tile["k"].start, tile["l"].start)
        for tile in tiles(whole(schedule.layer), schedule.loops)
        for weight in touched_weights(tile)
    }


def words_of_lines(schedule: Schedule, weights: set[Element], lines: WeightLines) -> set[tuple[Element, int]]:
    """Words that hold a byte of the weights, each line beginning on a word: its first weight, the word's number."""
    words, line_of = set(), _lines_of(schedule)
    for weight in weights:
        first = line_of[weight]
        place = (weight[1] - first[1]) * lines.pitch + (weight[0] - first[0]) * lines.element
        words |= {(first, byte // lines.word) for byte in range(place, place + lines.element)}
    return words


def walk_outputs(schedule: Schedule, executions: Executions) -> int:
    """Count what the executions of one marked loop move. Returns the most elements that an iteration touches."""
    extents, final, partial = schedule.layer.extents, schedule.bits.O // 8, schedule.bits.acc // 8
    reduction = extents["c"] * extents["k"] * extents["l"]
    done: dict[Element, int] = defaultdict(int)
    written_partial: set[Element] = set()

    columns, port = _vectors(schedule, "x"), schedule.ports.output_bytes

    def sums(elements: set[Element]) -> Access:
        """Partial sums take words of 32 bits each, and move a lane vector at a time."""
        words = _vector_words(elements, _words(partial) * WORD_BYTES, port, columns)
        return Access(len(elements), len(elements) * partial, words)

    def read_back(new: set[Element], tally: Tally) -> None:
        tally["O", "read_partial"] += sums(new & written_partial)

    def drop(elements: set[Element], tally: Tally) -> None:
        finished = {element for element in elements if done[element] == reduction}
        unfinished = elements - finished
        written_partial.update(unfinished)
        tally["O", "write_partial"] += sums(unfinished)
        words = _row_words(finished, final, port)
        tally["O", "write"] += Access(len(finished), len(finished) * final, words)

    need = 0
    for tally, iterations in executions:
        held: set[Element] = set()
        for tile in iterations:
            touched = touched_outputs(schedule.layer, tile)
            drop(held - touched, tally)
            read_back(touched - held, tally)
            for element in touched:
                done[element] += prod(len(tile[dim]) for dim in REDUCTION_DIMS)
            need = max(need, len(touched))
            held = touched
        drop(held, tally)
    return need


def walk_biases(schedule: Schedule, parts: Parts, around: int) -> None:
    """Count the biases that the HWC fetches: it keeps them within each of the parts, tiles inside ``around`` loops.

    A bias is needed when a tile at O's marker is drained as final outputs: its reduction has come to the end.
    """
    extents, marked = schedule.layer.extents, schedule.marked_loop("O")
    record = record_bytes(schedule.requantisation)
    drained, channels = len(schedule.loops) if marked is None else marked + 1, _vectors(schedule, "m")
    for tally, part in parts:
        kept: set[int] = set()
        for tile in tiles(part, schedule.loops[around:drained]):
            if all(tile[dim].stop == extents[dim] for dim in REDUCTION_DIMS):
                new = {(m,) for m in set(tile["m"]) - kept}
                words = _vector_words(new, record, schedule.ports.output_bytes, channels)
                tally["B", "read"] += Access(len(new), record * len(new), words)
                kept.update(tile["m"])
