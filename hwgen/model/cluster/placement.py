"""Placement of the operands of a schedule of a cluster in the TCDM: three ring buffers whose contents never move.

Each operand has a ring buffer. Linear addresses only increase; the TCDM address is the linear address modulo the size
of the ring. Where rows or columns slide, a resident element keeps its linear address, so nothing is copied. Where
everything is replaced, the new tile starts after the end of the last one. An operand in halves has a ring of twice
its largest tile: each tile is fetched whole, into the half that the last one is not in. Bytes of I, of outputs and of
partial sums are at their place in the feature map's row modulo a word of the wider map port (`Ports.map_bytes`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Self

from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.layout import LEAST_RING, aligned
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import PackedWeights
from hwgen.ir.document import InputError
from hwgen.ir.layer import REDUCTION_DIMS
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.model.cluster.residence import ALL_MOVED, Residence
from hwgen.model.cluster.tile_order import TILE_DIMS, Iteration, Ranges, Spans, TileWalk, touched, without

__all__ = [
    "LEAST_HALF",
    "OutputRow",
    "Placed",
    "Stay",
    "TcdmPlacement",
    "channel_plane",
    "place",
    "place_in",
    "spills_from_local",
]

LEAST_HALF = LEAST_RING // 2
"""Bytes of a half, at least."""
Range = tuple[int, int]

M, C, Y, X, K, L, N = range(len(TILE_DIMS))


@dataclass(frozen=True, slots=True)
class Stay:
    """A tile of one operand, for the time in which it is resident unchanged in the TCDM.

    Members
    -------
    first, last : the first and the last tile of the schedule that use it.
    ranges : the index ranges that these tiles cover together.
    touch : what is resident, along each axis. I: channels, rows, columns; W: m, c, k, l; O: m, y, x. Channels of I
        and of O are counted over all images.
    new : what is fetched for it, along each axis; empty if nothing is. O: the partial sums that it resumes.
    origin : linear address of row 0, column 0 of the feature map in the first plane; of W's first byte.
    low, high : linear addresses of the first byte and after the last byte, in whole words.
    """

    first: int
    last: int
    ranges: Ranges
    touch: tuple[Spans, ...]
    new: tuple[Spans, ...]
    origin: int
    low: int
    high: int

    def channels_before(self, channel: int) -> int:
        """Resident channels of I, or of O, before one that is counted over all images."""
        return sum(min(max(channel - start, 0), stop - start) for start, stop in self.touch[0])


@dataclass(frozen=True)
class Placed:
    """One operand's ring.

    Members
    -------
    start, size : bytes.
    pitch, plane : bytes from row to row, from channel to channel (held ones); for W both are 0.
    element : bytes of an element.
    stays : the resident tiles in program order.
    """

    start: int
    size: int
    pitch: int
    plane: int
    element: int
    stays: tuple[Stay, ...]

    @property
    def end(self) -> int:
        """The address after its last byte."""
        return self.start + self.size

    def physical(self, linear: int) -> int:
        """The byte address in the TCDM of a linear address."""
        return self.start + linear % self.size


@dataclass(frozen=True)
class TcdmPlacement:
    """Biases at address 0, then the rings of I, W and O."""

    walk: TileWalk
    bias: int
    I: Placed  # noqa: E741 - the operand's name
    W: Placed
    O: Placed  # noqa: E741
    residence: Residence = ALL_MOVED

    @property
    def size(self) -> int:
        """Bytes of the TCDM that are used, from address 0 on, without maps that stay there."""
        return max([self.bias, *(self[array].end for array in ARRAYS if self.residence.place(array) is None)])

    def __getitem__(self, array: ArrayName) -> Placed:
        ring: Placed = getattr(self, array)
        return ring


def place_in(schedule: Schedule, tcdm: int, residence: Residence = ALL_MOVED) -> TcdmPlacement:
    """The rings of a schedule in a TCDM of ``tcdm`` bytes: `place`, channels spread if there is room for them then.

    A schedule that fits is never refused: where these rings are larger than the room, nothing more is spread. They
    end before weights that have a place of their own.
    """
    room = tcdm if residence.room is None else residence.room
    found = place(schedule, residence, spread=True)
    fits = found.size <= (room if residence.weights is None else min(room, residence.weights))
    return found if fits else place(schedule, residence)


def place(schedule: Schedule, residence: Residence = ALL_MOVED, *, spread: bool = False) -> TcdmPlacement:
    """The smallest rings of a schedule with a ``tcdm`` marker for each operand.

    ``residence`` : maps that have a place. ``spread`` : channels of other maps are spread, too: see `channel_plane`.
    """
    walk, bias = TileWalk(schedule), aligned(record_bytes(schedule.requantisation) * schedule.layer.output_channels)
    rings: dict[ArrayName, Placed] = {}
    at = bias
    for array in ARRAYS:
        fixed = residence.place(array)
        rings[array] = _RINGS[array](schedule, walk, at if fixed is None else fixed, fixed is not None, spread)
        at = aligned(rings[array].end) if fixed is None else at
    return TcdmPlacement(walk, bias, rings["I"], rings["W"], rings["O"], residence)


def spills_from_local(schedule: Schedule) -> bool:
    """Whether partial sums are spilled: some reduction loop around O's local loop has several iterations."""
    marked = schedule.marked_loop("O")
    left = dict(schedule.layer.extents)
    for loop in schedule.loops[: len(schedule.loops) if marked is None else marked]:
        if loop.dim in REDUCTION_DIMS and loop.step < left[loop.dim]:
            return True
        left[loop.dim] = loop.step
    return False


# --- touches ---


def _total(segments: Spans) -> int:
    return sum(stop - start for start, stop in segments)


def _merged(schedule: Schedule, walk: TileWalk, array: ArrayName, dims: tuple[int, ...]) -> Iterator[Iteration]:
    """Merge consecutive iterations of one execution that cover the same along these dimensions; in halves none."""
    if schedule.in_halves(array):
        yield from walk.iterations(array)
        return
    held: Iteration | None = None
    for iteration in walk.iterations(array):
        same = (
            held is not None
            and held.execution == iteration.execution
            and all(held.ranges[dim] == iteration.ranges[dim] for dim in dims)
        )
        if held is not None and not same:
            yield held
        if held is not None and same:
            ranges = tuple((a[0], b[1]) for a, b in zip(held.ranges, iteration.ranges, strict=True))
            held = Iteration(held.execution, ranges, held.first, iteration.last)
        else:
            held = iteration
    if held is not None:
        yield held


def _room(stays: list[Stay], *, halves: bool) -> tuple[int, tuple[Stay, ...]]:
    """The smallest ring that holds every two consecutive tiles: its size, and the tiles in it.

    In halves, every tile is moved to the beginning of a half; both halves hold the largest.
    """
    largest = max(stay.high - stay.low for stay in stays)
    if halves:
        half = max(largest, LEAST_HALF)
        return 2 * half, tuple(_moved(stay, number * half - stay.low) for number, stay in enumerate(stays))
    size = max(largest, LEAST_RING, *(following.high - stay.low for stay, following in pairwise(stays)))
    return size, tuple(stays)


def _moved(stay: Stay, by: int) -> Stay:
    return replace(stay, origin=stay.origin + by, low=stay.low + by, high=stay.high + by)


def _span(first: int, end: int, word: int) -> int:
    """Bytes of the words that hold bytes ``first`` to ``end``, this one not among them."""
    return aligned(end, word) - first // word * word


# --- the three operands ---


@dataclass(frozen=True, slots=True)
class _Touch:
    """A resident tile of the input; ``slides`` if a part of the previous one may be reused."""

    first: int
    last: int
    ranges: Ranges
    touch: tuple[Spans, ...]
    new: tuple[Spans, ...]
    slides: bool


def _touches(schedule: Schedule, walk: TileWalk) -> list[_Touch]:
    """The tiles of the input. From one iteration to the next rows, columns, channels or nothing changes.

    In halves every iteration is an execution by itself.
    """
    layer, halves, execution = schedule.layer, schedule.in_halves("I"), -1
    result: list[_Touch] = []
    held: tuple[Spans, ...] = ()
    for iteration in walk.iterations("I"):
        ranges = iteration.ranges
        touch = touched(layer, "I", ranges)
        same_execution = execution == iteration.execution and not halves
        if same_execution and held == touch:
            before = result.pop()
            result.append(_Touch(before.first, iteration.last, before.ranges, touch, before.new, before.slides))
            continue
        slides = same_execution and bool(result) and _present(held) and held[0] == touch[0]
        if same_execution and not slides and _present(held) and without(touch[0], held[0]) != touch[0]:
            raise InputError(f"{layer.name}: nest: I's channels of consecutive tiles overlap in part")
        new = touch
        if slides:
            rows, columns = (
                lines if lines == before else without(lines, before)
                for lines, before in zip(touch[1:], held[1:], strict=True)
            )
            new = (touch[0], rows, columns)
        result.append(_Touch(iteration.first, iteration.last, ranges, touch, new if _present(new) else (), slides))
        held, execution = touch, iteration.execution
    return result


def _present(touch: tuple[Spans, ...]) -> bool:
    """Whether it is not empty."""
    return bool(touch) and all(touch)


def _inputs(schedule: Schedule, walk: TileWalk, start: int, resident: bool, spread: bool) -> Placed:
    # Images of fewer channels than lanes along c take as long either way: dense, they are one piece for the DMA.
    spread = resident or (spread and schedule.layer.of_network.input_channels >= schedule.lanes.along("c"))
    touches = _touches(schedule, walk)
    if resident:  # whole, also where strides leave out its last lines
        layer = schedule.layer
        channels = layer.batch * layer.input_channels
        whole = ((0, channels),), ((0, layer.input_height),), ((0, layer.input_width),)
        touches = [replace(at, touch=whole) for at in touches]
    rows, pitch, word, size = 0, 0, schedule.ports.map_bytes, schedule.bits.I // 8
    last: tuple[Spans, ...] = ()
    for at in touches:
        if _present(at.touch):
            joint = (at.touch, last) if at.slides else (at.touch,)
            first_row, first_column = (min(one[axis][0][0] for one in joint) for axis in (1, 2))
            end_row, end_column = (max(one[axis][-1][1] for one in joint) for axis in (1, 2))
            rows = max(rows, end_row - first_row)
            pitch = max(pitch, _span(size * first_column, size * end_column, word))
        last = at.touch
    plane, origin, end, stays = channel_plane(rows, pitch, word, spread=spread), 0, 0, []
    for at in touches:
        low = high = end
        if _present(at.touch):
            channels, (first_row, first_column) = _total(at.touch[0]), (axis[0][0] for axis in at.touch[1:])
            corner = first_row * pitch + size * first_column // word * word
            if not at.slides:
                origin = end - corner
            low = origin + corner
            last_row, end = at.touch[1][-1][1] - 1, size * at.touch[2][-1][1]
            high = origin + (channels - 1) * plane + last_row * pitch + aligned(end, word)
        stays.append(Stay(at.first, at.last, at.ranges, at.touch, at.new, origin, low, high))
        end = high
    room, placed = _room(stays, halves=schedule.in_halves("I"))
    return Placed(start, room, pitch, plane, size, placed)


def _weights(schedule: Schedule, walk: TileWalk, start: int, _: bool, _spread: bool) -> Placed:
    marked = schedule.marked_loop("W", TCDM)
    assert marked is not None
    packed = PackedWeights(schedule, marked + 1)
    stays, end = [], 0
    for at in _merged(schedule, walk, "W", (M, C, K, L)):
        touch = tuple((at.ranges[dim],) for dim in (M, C, K, L))
        m, c, k, l = (at.ranges[dim][1] - at.ranges[dim][0] for dim in (M, C, K, L))  # noqa: E741
        size = packed.size((m, c, k, l))
        stays.append(Stay(at.first, at.last, at.ranges, touch, touch, end, end, end + size))
        end += size
    room, placed = _room(stays, halves=schedule.in_halves("W"))
    return Placed(start, room, 0, 0, 1, placed)


@dataclass(frozen=True, slots=True)
class OutputRow:
    """A row of a tile of the output: its bytes in whole words; where its first output begins, and its first partial
    sum, if there are any.

    Outputs are written over the partial sums of their own row: over none that is still to be read.
    """

    size: int
    output: int
    partial: int

    @classmethod
    @lru_cache(maxsize=1 << 12)
    def of(cls, columns: Range, spills: bool, word: int, size: int) -> Self:
        """The rows of these columns, outputs of ``size`` bytes; a word of the wider map port has ``word`` bytes."""
        first, end = columns
        output, partial = size * first % word, SUM_BYTES * first % word
        if not spills:
            return cls(_span(size * first, size * end, word), output, 0)
        if output + size > partial + SUM_BYTES:
            partial += word
        last = max(output + size * (end - first), partial + SUM_BYTES * (end - first))
        return cls(aligned(last, word), output, partial)


def channel_plane(rows: int, pitch: int, word: int, *, spread: bool) -> int:
    """Bytes from channel to channel; ``word``: bytes of a word of the wider map port.

    Partial sums, and maps that stay in the TCDM, are spread, and others where there is room (`place_in`): consecutive
    channels begin in different banks, whose number is a power of two, since the plane is an odd number of words. HWCs
    that begin in the same bank then follow each other through the banks, and none waits again.
    """
    return word * (rows * pitch // word | 1) if spread else rows * pitch


def _outputs(schedule: Schedule, walk: TileWalk, start: int, resident: bool, spread: bool) -> Placed:
    """Partial sums have four bytes; outputs are written over the partial sums of their own row."""
    spills, word = spills_from_local(schedule), schedule.ports.map_bytes
    element, size = SUM_BYTES if spills else schedule.bits.O // 8, schedule.bits.O // 8
    merged = list(_merged(schedule, walk, "O", (M, Y, X, N)))
    rows = max(at.ranges[Y][1] - at.ranges[Y][0] for at in merged)
    pitch = max(OutputRow.of(at.ranges[X], spills, word, size).size for at in merged)
    plane, end, stays = channel_plane(rows, pitch, word, spread=spills or resident or spread), 0, []
    for at in merged:
        touch = touched(schedule.layer, "O", at.ranges)
        (y, y_end), (x, _) = (at.ranges[dim] for dim in (Y, X))
        resumes = any(at.ranges[dim][0] for dim in (C, K, L))
        row = OutputRow.of(at.ranges[X], spills, word, size)
        corner = y * pitch + element * x - (row.partial if spills else row.output)
        high = end + (_total(touch[0]) - 1) * plane + (y_end - y - 1) * pitch + row.size
        new = touch if resumes else ()
        stays.append(Stay(at.first, at.last, at.ranges, touch, new, end - corner, end, high))
        end = high
    room, placed = _room(stays, halves=schedule.in_halves("O"))
    return Placed(start, room, pitch, plane, element, placed)


_RINGS: Mapping[ArrayName, Callable[[Schedule, TileWalk, int, bool, bool], Placed]] = {
    "I": _inputs,
    "W": _weights,
    "O": _outputs,
}
