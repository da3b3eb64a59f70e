"""The accesses that a schedule asks for, in order: what a trace of the hardware is laid beside when counts differ.

Derived from the schedule's semantics, iteration by iteration, and not from the closed forms nor from the hardware.
Only what the hardware can run is covered: O is buffered above a reduction loop, or not at all.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.arch.layout import row_pitch
from hwgen.arch.weight_packing import PackedWeights
from hwgen.ir.layer import WEIGHT_DIMS, Dim
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.lower.hwc import Program
from hwgen.model.core.walk import boxes

__all__ = ["KINDS", "Access", "Group", "Kind", "expected_groups"]

Box = dict[Dim, range]
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

    box: Box
    accesses: list[Access]


def expected_groups(program: Program, kind: Kind) -> Iterator[Group]:
    """The accesses of one kind, grouped by iterations, in program order; iterations without any are left out."""
    groups: dict[Kind, Callable[[Program], Iterator[Group]]] = {
        "input": _input_groups,
        "weights": _weight_groups,
        "bias": lambda program: _output_groups(program, "bias"),
        "partial read": lambda program: _output_groups(program, "partial read"),
        "partial write": lambda program: _output_groups(program, "partial write"),
        "output": lambda program: _output_groups(program, "output"),
    }
    return (group for group in groups[kind](program) if group.accesses)


def _executions(schedule: Schedule, array: ArrayName) -> Iterator[Iterator[Box]]:
    """The iterations of each execution of the loop that an array is buffered at."""
    whole: Box = {dim: range(extent) for dim, extent in schedule.layer.extents.items()}
    marked = schedule.marked_loop(array)
    if marked is None:
        return (iter([box]) for box in boxes(whole, schedule.loops))
    loops = schedule.loops
    return (boxes(around, loops[marked : marked + 1]) for around in boxes(whole, loops[:marked]))


@lru_cache(maxsize=4096)
def _row_words(columns: tuple[int, ...], bits: int) -> list[tuple[int, int]]:
    """Byte offset and byte enables of the words of a row that hold these columns, elements of so many bits."""
    words: dict[int, int] = defaultdict(int)
    size = bits // 8
    for column in columns:
        words[column * size // WORD_BYTES * WORD_BYTES] |= ((1 << size) - 1) << column * size % WORD_BYTES
    return sorted(words.items())


def _input_groups(program: Program) -> Iterator[Group]:
    layer, base, bits = program.schedule.layer, program.layout.input.base, program.schedule.bits.I
    pitch = row_pitch(layer.input_width, bits)
    top, left = layer.padding[0], layer.padding[1]

    def touched(box: Box) -> tuple[set[int], set[int], set[int]]:
        groups = {m // layer.outputs_per_group for m in box["m"]}
        channels = {group * layer.channels_per_group + c for group in groups for c in box["c"]}
        rows = {y * layer.stride[0] + k - top for y in box["y"] for k in box["k"]}
        columns = {x * layer.stride[1] + l - left for x in box["x"] for l in box["l"]}  # noqa: E741 - its name
        return channels, rows & set(range(layer.input_height)), columns & set(range(layer.input_width))

    for iterations in _executions(program.schedule, "I"):
        held: tuple[set[int], set[int], set[int]] = (set(), set(), set())
        for box in iterations:
            now = touched(box)
            # From one iteration to the next only one axis changes, so that what is new is a product again.
            changed = [axis for axis in range(3) if not now[axis] <= held[axis]]
            new = [now[axis] - held[axis] if changed == [axis] else now[axis] for axis in range(3)]
            words = _row_words(tuple(sorted(new[2])), bits)
            accesses = [
                Access(base + (channel * layer.input_height + row) * pitch + offset, False, be)
                for channel in sorted(new[0])
                for row in sorted(new[1])
                for offset, be in words
            ]
            yield Group(box, accesses if changed else [])
            held = now


def _weight_groups(program: Program) -> Iterator[Group]:
    packed, extents = PackedWeights(program.schedule, 0), program.schedule.layer.extents
    whole = tuple(extents[dim] for dim in WEIGHT_DIMS)
    for iterations in _executions(program.schedule, "W"):
        held: tuple[range, ...] = ()
        for box in iterations:
            now = (box["m"], box["c"], box["k"], box["l"])
            offset, size = packed.place(tuple(part[0] for part in now), whole, tuple(len(part) for part in now))
            start = program.layout.weights.base + offset
            accesses = [
                Access(start + offset, False, (1 << min(WORD_BYTES, size - offset)) - 1)
                for offset in range(0, size, WORD_BYTES)
            ]
            yield Group(box, accesses if now != held else [])
            held = now


def _output_groups(program: Program, kind: Kind) -> Iterator[Group]:
    """An execution of O's loop: sums come back if they left before, and leave at its end, final or not."""
    extents, layout = program.schedule.layer.extents, program.layout
    reduction = extents["c"] * extents["k"] * extents["l"]
    bits = program.schedule.bits.O
    pitch = row_pitch(extents["x"], bits)
    done: dict[tuple[range, ...], int] = defaultdict(int)
    for iterations in _executions(program.schedule, "O"):
        boxes_ = list(iterations)
        first = boxes_[0]
        outputs = (first["m"], first["y"], first["x"])
        before = done[outputs]
        done[outputs] += sum(len(box["c"]) * len(box["k"]) * len(box["l"]) for box in boxes_)
        final = done[outputs] == reduction
        accesses: list[Access] = []
        if kind == "bias" and final:
            accesses = [Access(layout.bias.base + SUM_BYTES * m, False, 15) for m in first["m"]]
        elif kind == "output" and final:
            accesses = [
                Access(layout.output.base + (m * extents["y"] + y) * pitch + offset, True, be)
                for m in first["m"]
                for y in first["y"]
                for offset, be in _row_words(tuple(first["x"]), bits)
            ]
        elif (kind == "partial read" and before) or (kind == "partial write" and not final):
            accesses = [
                Access(
                    layout.partial.base + SUM_BYTES * ((m * extents["y"] + y) * extents["x"] + x),
                    "write" in kind,
                    15,
                )
                for m in first["m"]
                for y in first["y"]
                for x in first["x"]
            ]
        yield Group(first, accesses)
