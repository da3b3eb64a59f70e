"""The accesses that a schedule asks for, in order: what a trace of the hardware is laid beside when counts differ.

Derived from the schedule's semantics, iteration by iteration, and not from the closed forms nor from the hardware.
Only what the hardware can run is covered: O is buffered above a reduction loop, or not at all.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.layout import row_pitch, sum_pitch
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import PackedWeights, WeightLines
from hwgen.ir.layer import REDUCTION_DIMS, WEIGHT_DIMS, Dim
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.lower.hwc import Program
from hwgen.model.nest.biases import bias_depth
from hwgen.model.nest.ranges import tiles

__all__ = ["KINDS", "Access", "Group", "Kind", "expected_groups"]

Tile = dict[Dim, range]
Kind = Literal["input", "weights", "bias", "partial read", "partial write", "output"]
KINDS: dict[Kind, str] = {
    "input": "I read",
    "weights": "W read",
    "bias": "B read",
    "partial read": "O read_partial",
    "partial write": "O write_partial",
    "output": "O write",
}
"""Kinds of accesses, and what the counts call them."""


@dataclass(frozen=True, order=True, slots=True)
class Access:
    """One access on a bus."""

    address: int
    write: bool
    be: int

    def __str__(self) -> str:
        return f"{'write' if self.write else 'read'} {self.address:#x} be {self.be:04b}"


@dataclass(frozen=True)
class Group:
    """What one iteration of the loop at an operand's marker fetches or writes back; its accesses are in no order."""

    tile: Tile
    accesses: list[Access]


def expected_groups(program: Program, kind: Kind) -> Iterator[Group]:
    """The accesses of one kind, grouped by iterations, in program order; iterations without any are left out."""
    groups: dict[Kind, Callable[[Program], Iterator[Group]]] = {
        "input": _input_groups,
        "weights": _weight_groups,
        "bias": _bias_groups,
        "partial read": lambda program: _output_groups(program, "partial read"),
        "partial write": lambda program: _output_groups(program, "partial write"),
        "output": lambda program: _output_groups(program, "output"),
    }
    return (group for group in groups[kind](program) if group.accesses)


def _executions(schedule: Schedule, array: ArrayName) -> Iterator[Iterator[Tile]]:
    """The iterations of each execution of the loop that an array is buffered at."""
    whole: Tile = {dim: range(extent) for dim, extent in schedule.layer.extents.items()}
    marked = schedule.marked_loop(array)
    if marked is None:
        return (iter([tile]) for tile in tiles(whole, schedule.loops))
    loops = schedule.loops
    return (tiles(around, loops[marked : marked + 1]) for around in tiles(whole, loops[:marked]))


@lru_cache(maxsize=4096)
def _row_words(columns: tuple[int, ...], bits: int, word: int) -> list[tuple[int, int]]:
    """Byte offset and byte enables of the words of a row that hold these columns, elements of ``bits`` bits."""
    words: dict[int, int] = defaultdict(int)
    size = bits // 8
    for column in columns:
        for byte in range(column * size, (column + 1) * size):
            words[byte // word * word] |= 1 << byte % word
    return sorted(words.items())


def _vector_words(
    schedule: Schedule, dim: Dim, places: Iterable[int], size: int = SUM_BYTES
) -> Iterator[tuple[int, int]]:
    """Byte offset and byte enables of the words of sums or biases along a dimension, a lane vector at a time."""
    loops = tuple(loop for loop in schedule.loops if loop.dim == dim)
    wanted = set(places)
    for tile in tiles({dim: range(schedule.layer.extents[dim])}, loops):
        vector = tuple(place for place in tile[dim] if place in wanted)
        yield from _row_words(vector, 8 * size, schedule.ports.output_bytes)


def _input_groups(program: Program) -> Iterator[Group]:
    layer, base, bits = program.schedule.layer, program.layout.input.base, program.schedule.bits.I
    pitch = row_pitch(layer.input_width, bits, program.schedule.ports)
    top, left = layer.padding[0], layer.padding[1]

    def touched(tile: Tile) -> tuple[set[int], set[int], set[int]]:
        groups = {m // layer.outputs_per_group for m in tile["m"]}
        channels = {group * layer.channels_per_group + c for group in groups for c in tile["c"]}
        rows = {y * layer.stride[0] + k - top for y in tile["y"] for k in tile["k"]}
        taps = {l + beside for l in tile["l"] for beside in range(layer.columns_beside + 1)}  # noqa: E741 - its name
        columns = {x * layer.stride[1] + l - left for x in tile["x"] for l in taps}  # noqa: E741
        return channels, rows & set(range(layer.input_height)), columns & set(range(layer.input_width))

    for iterations in _executions(program.schedule, "I"):
        held: tuple[set[int], set[int], set[int]] = (set(), set(), set())
        for tile in iterations:
            now = touched(tile)
            # From one iteration to the next only one axis changes, so that what is new is a product again.
            changed = [axis for axis in range(3) if not now[axis] <= held[axis]]
            new = [now[axis] - held[axis] if changed == [axis] else now[axis] for axis in range(3)]
            words = _row_words(tuple(sorted(new[2])), bits, program.schedule.ports.input_bytes)
            accesses = [
                Access(base + (channel * layer.input_height + row) * pitch + offset, False, be)
                for channel in sorted(new[0])
                for row in sorted(new[1])
                for offset, be in words
            ]
            yield Group(tile, accesses if changed else [])
            held = now


def _weight_groups(program: Program) -> Iterator[Group]:
    schedule = program.schedule
    packed, extents = PackedWeights(schedule, 0), schedule.layer.extents
    port = schedule.ports.weight_bytes
    lines = WeightLines.of(schedule.lanes, schedule.bits.W, port)
    marked = schedule.marked_loop("W")
    inside = () if marked is None else schedule.loops[marked + 1 :]
    whole = tuple(extents[dim] for dim in WEIGHT_DIMS)

    def fetched(tile: Tile) -> list[Access]:
        """The words of a tile of weights that are packed densely, or of a line."""
        now = tuple(tile[dim] for dim in WEIGHT_DIMS)
        offset, size = packed.place(tuple(part[0] for part in now), whole, tuple(len(part) for part in now))
        used = range(size) if lines is None else lines.used(len(tile["m"]), len(tile["c"]))
        enabled: dict[int, int] = {}
        for byte in used:
            word = byte - byte % port
            enabled[word] = enabled.get(word, 0) | 1 << byte % port
        base = program.layout.weights.base + offset
        return [Access(base + word, False, be) for word, be in enabled.items()]

    def accesses(tile: Tile) -> list[Access]:
        if lines is None:
            return fetched(tile)
        parts = tiles(tile, tuple(loop for loop in inside if loop.dim in WEIGHT_DIMS))
        return [access for part in parts for access in fetched(part)]

    for iterations in _executions(program.schedule, "W"):
        held: tuple[range, ...] = ()
        for tile in iterations:
            now = tuple(tile[dim] for dim in WEIGHT_DIMS)
            yield Group(tile, accesses(tile) if now != held else [])
            held = now


def _bias_groups(program: Program) -> Iterator[Group]:
    """What is drained as final outputs needs the biases of its channels that are not kept."""
    schedule, base = program.schedule, program.layout.bias.base
    extents, marked, around = schedule.layer.extents, schedule.marked_loop("O"), bias_depth(schedule)
    drained = len(schedule.loops) if marked is None else marked + 1
    whole: Tile = {dim: range(extent) for dim, extent in extents.items()}
    record = record_bytes(schedule.requantisation)
    for part in tiles(whole, schedule.loops[:around]):
        kept: set[int] = set()
        for tile in tiles(part, schedule.loops[around:drained]):
            if all(tile[dim].stop == extents[dim] for dim in REDUCTION_DIMS):
                needed = [m for m in tile["m"] if m not in kept]
                words = _vector_words(schedule, "m", needed, record)
                yield Group(tile, [Access(base + at, False, be) for at, be in words])
                kept.update(tile["m"])


def _output_groups(program: Program, kind: Kind) -> Iterator[Group]:
    """An execution of O's loop: sums come back if they left before, and leave at its end, final or not."""
    extents, layout = program.schedule.layer.extents, program.layout
    reduction = extents["c"] * extents["k"] * extents["l"]
    bits = program.schedule.bits.O
    pitch = row_pitch(extents["x"], bits, program.schedule.ports)
    sums = sum_pitch(extents["x"], program.schedule.ports)
    done: dict[tuple[range, ...], int] = defaultdict(int)
    for iterations in _executions(program.schedule, "O"):
        tiles_ = list(iterations)
        first = tiles_[0]
        outputs = (first["m"], first["y"], first["x"])
        before = done[outputs]
        done[outputs] += sum(len(tile["c"]) * len(tile["k"]) * len(tile["l"]) for tile in tiles_)
        final = done[outputs] == reduction
        accesses: list[Access] = []
        if kind == "output" and final:
            accesses = [
                Access(layout.output.base + (m * extents["y"] + y) * pitch + offset, True, be)
                for m in first["m"]
                for y in first["y"]
                for offset, be in _row_words(tuple(first["x"]), bits, program.schedule.ports.output_bytes)
            ]
        elif (kind == "partial read" and before) or (kind == "partial write" and not final):
            accesses = [
                Access(layout.partial.base + (m * extents["y"] + y) * sums + at, "write" in kind, be)
                for m in first["m"]
                for y in first["y"]
                for at, be in _vector_words(program.schedule, "x", first["x"])
            ]
        yield Group(first, accesses)
