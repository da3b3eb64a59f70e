"""The literal oracle of the DRAM counts: every part is a set of bytes, visited block by block.

Slow and obvious on purpose, and independent of `hwgen.model.cluster.parts`: tiles are walked, touches are sets.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from hwgen.arch.dram import BLOCK_BYTES, DramPort, OpenRows
from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.model.cluster.levels import normalised
from hwgen.model.core.walk import Element, Tile, split, touched_inputs, touched_outputs, touched_weights, whole
from hwgen.model.dram.counts import DramLayout, dram_layout

__all__ = ["Moved", "moves", "walk_dram"]

Moved = tuple[Operand, Direction, set[Element]]
_IN_TURN: tuple[ArrayName, ...] = ("W", "I", "O")


def walk_dram(schedule: Schedule, port: DramPort, hwcs: int = 1, layout: DramLayout | None = None) -> Counts:
    """All counts at `dram` without the program."""
    schedule = normalised(schedule, hwcs)
    layout = layout or dram_layout(schedule)
    tally: dict[tuple[str, Operand, Direction], Access] = defaultdict(Access)
    loaded, stored = moves(schedule)
    for stream in (loaded, stored):
        rows = OpenRows(port.dram)
        end = -1
        for operand, direction, elements in stream:
            key = ("dram", operand, direction)
            tally[key] += Access(len(elements))
            for run in _runs(sorted(_bytes(schedule, layout, operand, direction, elements))):
                tally[key] += _access(run, port) + Access(jumps=run[0] != end)
                end = run[-1] + 1
                for block in dict.fromkeys(address // BLOCK_BYTES for address in run):
                    tally[key] += Access(row_misses=rows.misses(block * BLOCK_BYTES))
    return Counts(dict(tally))


def moves(schedule: Schedule) -> tuple[list[Moved], list[Moved]]:
    """Loads and stores, part by part, in the order of the two streams; the nest is normalised."""
    loaded: list[Moved] = []
    stored: list[Moved] = []
    marked = {array: schedule.marked_loop(array, TCDM) for array in ARRAYS}
    deepest = max(place for place in marked.values() if place is not None)
    held: dict[str, set[Element]] = defaultdict(set)
    done: dict[Element, int] = defaultdict(int)
    partial: set[Element] = set()
    reduction = schedule.layer.extents["c"] * schedule.layer.extents["k"] * schedule.layer.extents["l"]

    def drop(elements: set[Element]) -> None:
        finished = {element for element in elements if done[element] == reduction}
        if finished:
            stored.append(("O", "write", finished))
        if unfinished := elements - finished:
            partial.update(unfinished)
            stored.append(("O", "write_partial", unfinished))

    def begin(array: ArrayName, tile: Tile, continues: bool) -> None:
        """An iteration of the loop at which an array is marked."""
        touched = _touched(schedule, array, tile)
        kept = held[array] & touched if continues and not schedule.in_halves(array) else set()
        if array == "O":
            drop(held["O"] - kept)
            if again := (touched - kept) & partial:
                loaded.append(("O", "read_partial", again))
            for element in touched:
                done[element] += len(tile["c"]) * len(tile["k"]) * len(tile["l"])
        elif new := touched - kept:
            loaded.append((array, "read", new))
        held[array] = touched

    for tile, (begun, path) in enumerate(_tiles(schedule, deepest + 1)):
        for array in _IN_TURN:
            place = marked[array]
            assert place is not None
            if begun <= place:
                begin(array, path[place + 1], begun == place)
            if array == "I" and tile == 0:
                loaded.append(("B", "read", {(m,) for m in range(schedule.layer.output_channels)}))
    drop(held["O"])
    return loaded, stored


def _tiles(schedule: Schedule, depth: int) -> Iterator[tuple[int, list[Tile]]]:
    """Tiles: the outermost loop that advanced (-1: the first tile), and the ranges of all loops around each."""

    def descend(path: list[Tile], begun: int) -> Iterator[tuple[int, list[Tile]]]:
        level = len(path) - 1
        if level == depth:
            yield begun, path
            return
        for number, tile in enumerate(split(path[-1], schedule.loops[level])):
            yield from descend([*path, tile], begun if number == 0 else level)

    return descend([whole(schedule.layer)], -1)


def _touched(schedule: Schedule, array: ArrayName, tile: Tile) -> set[Element]:
    match array:
        case "I":
            return touched_inputs(schedule.layer, tile)
        case "W":
            return touched_weights(tile)
        case "O":
            return touched_outputs(schedule.layer, tile)


def _bytes(
    schedule: Schedule, layout: DramLayout, operand: Operand, direction: Direction, elements: set[Element]
) -> Iterator[int]:
    layer, region = schedule.layer, layout.region(operand, direction)
    shape = {
        "I": (layer.input_channels, layout.input_rows, layer.input_width),
        "W": (layer.output_channels, layer.channels_per_group, *layer.kernel),
        "O": (layer.output_channels, layout.output_rows, layer.output_width),
        "B": (layer.output_channels,),
    }[operand]
    for element in elements:
        index = 0
        for at, extent in zip(element, shape, strict=True):
            index = index * extent + at
        yield from range(region.base + index * region.element, region.base + (index + 1) * region.element)


def _runs(addresses: list[int]) -> Iterator[list[int]]:
    run = addresses[:1]
    for before, address in pairwise(addresses):
        if address != before + 1:
            yield run
            run = []
        run.append(address)
    yield run


def _access(run: list[int], port: DramPort) -> Access:
    """One run: its bytes, beats and blocks; a burst at its first beat and at the first beat of each window."""
    beats = dict.fromkeys(address // port.beat_bytes for address in run)
    return Access(
        bytes=len(run),
        beats=len(beats),
        axi_bursts=len({beat * port.beat_bytes // port.burst_window for beat in beats}),
        blocks=len({address // BLOCK_BYTES for address in run}),
    )
