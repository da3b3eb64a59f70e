"""A schedule as the timing model plays it: the loops of a tile, the block's parameters, and the tiles in order.

A tile is an iteration of the loops around the outermost marker, or of fewer loops where there would be too many. No
execution of a marked loop extends over several tiles, and no partial sum leaves one: where partial sums spill, the
whole nest is one tile.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.lanes import capture, datapath, requantisers, scaling, vectors_apart
from hwgen.arch.latency import WORDS_AHEAD
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import WeightLines
from hwgen.ir.layer import DIMS, OUTPUT_DIMS, REDUCTION_DIMS, WEIGHT_DIMS, Dim
from hwgen.ir.schedule import ArrayName, Loop, Schedule
from hwgen.model.hwc.input_tiles import tiles_overlap
from hwgen.model.hwc.timing.repeats import LEAST_ITERATIONS
from hwgen.model.hwc.timing.state import Block, Nest
from hwgen.model.nest.one_level import PerOperand

__all__ = ["WORD_ALIGNED", "RowBegins", "Tiles", "Timed"]

Ints = NDArray[np.int64]
MOST_TILES = 1 << 16


class RowBegins(NamedTuple):
    """The bytes of a port's word in which rows of I, of outputs and of sums begin: a slice may begin in any."""

    I: int  # noqa: E741 - the operand's name
    O: int  # noqa: E741
    sums: int = 0


WORD_ALIGNED = RowBegins(0, 0)
"""Where a layer is no slice of another one."""


@dataclass(frozen=True)
class Tiles:
    """The tiles in program order.

    Members
    -------
    low, high : what each covers, indexed [dimension, tile].
    turned : the loop that turned before it; -1 for the first tile.
    kind : tiles of a kind take equally long in equal states.
    example : a tile of each kind.
    """

    low: Ints
    high: Ints
    turned: Ints
    kind: Ints
    example: Ints


class Timed:
    """A schedule on a block with memories of these sizes in bytes, which requests words of I so far ahead.

    Members
    -------
    block, nest : for the kernel; ``nest.size_steps`` ends with those of each tile's begin, see `nest_after`.
    depth : loops around a tile.
    """

    def __init__(
        self,
        schedule: Schedule,
        buffers: PerOperand,
        words_ahead: int = WORDS_AHEAD,
        *,
        resumes: bool = False,
        goes_on: bool = False,
        most_requantisers: int = WORD_BYTES,
        begins: RowBegins = WORD_ALIGNED,
    ) -> None:
        self._begins, self._nests = begins, dict[int, Nest]()
        self._words_ahead, self._most_requantisers = words_ahead, most_requantisers
        self._requantisation = schedule.requantisation
        self._layer, self._lanes, self._bits = schedule.layer, schedule.lanes, schedule.bits
        self._ports = schedule.ports
        self._loops, self._markers = _as_in_hardware(schedule)
        spills = resumes or any(len(self._pieces(dim, self._markers[2])[0]) > 1 for dim in REDUCTION_DIMS)
        self.depth = 0 if spills else self._tile_depth()
        index_steps, vectors = self._steps_of_index()
        self._size_steps = self._steps_of_size()
        loops = self._loops[self.depth :]
        self.nest = Nest(
            loops=np.array(
                [(DIMS.index(loop.dim), loop.step, _parent(loops, j)) for j, loop in enumerate(loops)], np.int64
            ),
            sources=self._sources(),
            index_steps=index_steps[self.depth :],
            size_steps=np.append(self._size_steps[self.depth :], 0),
            extents=np.array([self._layer.extents[dim] for dim in DIMS], np.int64),
            repeats=self._repeats(),
        )
        self.block = self._block(buffers, vectors, spills)._replace(resumes=resumes, goes_on=goes_on)

    def tiles(self) -> Tiles:
        """All of them."""
        low = np.zeros((len(DIMS), 1), np.int64)
        high = self.nest.extents[:, None]
        turned = np.array([-1])
        for j, loop in enumerate(self._loops[: self.depth]):
            d = DIMS.index(loop.dim)
            numbers, begin, stop = _cut(low[d], high[d], loop.step)
            low, high = np.repeat(low, numbers, axis=1), np.repeat(high, numbers, axis=1)
            turned = np.where(begin > low[d], j, np.repeat(turned, numbers))
            low[d], high[d] = begin, stop
        kind, example = self._kinds(low, high, turned)
        return Tiles(low, high, turned, kind, example)

    def nest_after(self, turned: int) -> Nest:
        """The nest of a tile before which a loop turned; -1: of the first one."""
        if turned not in self._nests:
            steps = self.nest.size_steps.copy()
            steps[-1] = self._size_steps[turned] if turned >= 0 else len(WEIGHT_DIMS)
            self._nests[turned] = self.nest._replace(size_steps=steps)
        return self._nests[turned]

    def _kinds(self, low: Ints, high: Ints, turned: Ints) -> tuple[Ints, Ints]:
        """Kinds of tiles by extents, by what is first and last in the reduction, clipped at the image's edge, aligned
        to words."""
        layer = self._layer
        m, c, y, x, k, l = range(len(DIMS))  # noqa: E741
        crosses = low[m] // layer.outputs_per_group != (high[m] - 1) // layer.outputs_per_group
        features = [
            high - low,
            [np.where(crosses, low[m] % layer.outputs_per_group, 0)],
            [np.diff(low[m] // layer.outputs_per_group, prepend=0)],
            [np.append(self._size_steps, len(WEIGHT_DIMS))[turned]],
            [low[c] == 0, high[c] == layer.channels_per_group],
            low[k : l + 1],
            [low[x] % self._ports.map_bytes, (low[x] * layer.stride[1] - layer.padding[1]) % self._ports.map_bytes],
        ]
        for d, image, axis in ((y, layer.input_height, 0), (x, layer.input_width, 1)):
            stride, before, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
            last = (high[d] - 1) * stride + kernel - 1 - before
            features.append([np.maximum(before - low[d] * stride, 0), np.maximum(last - image + 1, 0)])
        table = np.concatenate([np.asarray(feature, np.int64) for feature in features])
        _, examples, kinds = np.unique(table, axis=1, return_index=True, return_inverse=True)
        return kinds.reshape(-1), examples

    def _tile_depth(self) -> int:
        depth, number = 0, 1
        left = dict(self._layer.extents)
        for index, loop in enumerate(self._loops[: min(*self._markers, len(self._loops) - 1)]):
            number *= -(-left[loop.dim] // loop.step)
            left[loop.dim] = loop.step
            if number > MOST_TILES:
                break
            depth = index + 1
        return depth

    def _repeats(self) -> NDArray[np.bool_]:
        """Loops over c, or around a tile of O over m in one group, of enough iterations to look for what repeats."""
        loops, segment = self._loops, max(self._markers[0] + 1, self._markers[1] + 1, self._markers[2])
        found = np.zeros(len(loops), np.bool_)
        left = dict(self._layer.extents)
        for j, loop in enumerate(loops):
            alike = loop.dim == "c" or (loop.dim == "m" and self._layer.groups == 1 and j < self._markers[2])
            found[j] = alike and j < segment and left[loop.dim] // loop.step >= LEAST_ITERATIONS
            left[loop.dim] = loop.step
        return found[self.depth :]

    def _sources(self) -> Ints:
        sources = np.full((3, len(DIMS)), -1, np.int64)
        marker_i, marker_w, marker_o = self._markers
        for operand, inside in enumerate((marker_i + 1, marker_w + 1, marker_o)):
            for j, loop in enumerate(self._loops[self.depth : inside]):
                sources[operand, DIMS.index(loop.dim)] = j
        return sources

    def _block(self, buffers: PerOperand, vectors: int, spills: bool) -> Block:
        layer, loops = self._layer, self._loops
        marker_i, marker_w, marker_o = self._markers
        sums = self._lanes.sums
        lines = WeightLines.of(self._lanes, self._bits.W, self._ports.weight_bytes)
        line, slab = self._slab()
        return Block(
            marker_i=marker_i - self.depth,
            marker_w=marker_w - self.depth,
            marker_o=marker_o - self.depth,
            stride_y=layer.stride[0],
            stride_x=layer.stride[1],
            phases=1 if layer.form.column_window else layer.stride[1],
            beside=layer.columns_beside,
            first_columns=layer.columns_passed(1),
            next_columns=layer.columns_passed(2) - layer.columns_passed(1),
            top=layer.padding[0],
            left=layer.padding[1],
            height=layer.input_height,
            width=layer.input_width,
            group=layer.outputs_per_group,
            grouped=layer.groups > 1,
            slides=self._slides(),
            same=marker_i < len(loops) and loops[marker_i].dim == "m",
            columns_slide=self._columns_slide(),
            input_word=self._ports.input_bytes,
            line=line,
            slab=slab,
            element=self._bits.I // 8,
            ring=buffers.I // (self._lanes.y * self._lanes.c),
            weight_units=buffers.W // (lines.stored if lines else self._ports.weight_bytes),
            weight_word=self._ports.weight_bytes,
            line_pitch=lines.pitch if lines else 0,
            weights_stay=marker_w < len(loops) and loops[marker_w].dim in ("y", "x"),
            vectors=buffers.O * 8 // (self._bits.acc * sums),
            tile_vectors=vectors,
            lane_c=self._lanes.c,
            requantisers=requantisers(self._lanes, self._most_requantisers),
            record_words=record_bytes(self._requantisation) // WORD_BYTES,
            scaling=scaling(self._requantisation),
            capture=capture(datapath(self._lanes, self._bits.I)),
            apart=vectors_apart(datapath(self._lanes, self._bits.I)),
            words_ahead=self._words_ahead,
            waits_i=0,
            waits_w=0,
            waits_o=0,
            waits_b=0,
            output_word=self._ports.O // 8,
            input_begins=self._begins.I,
            output_begins=self._begins.O,
            sums_begin=self._begins.sums,
            spills=spills,
            resumes=False,
            goes_on=False,
        )

    def _pieces(self, dim: Dim, depth: int) -> tuple[Ints, Ints]:
        """What the first loops cut a dimension into, in program order."""
        low, high = np.zeros(1, np.int64), np.array([self._layer.extents[dim]])
        for loop in self._loops[:depth]:
            if loop.dim == dim:
                _, low, high = _cut(low, high, loop.step)
        return low, high

    def _slides(self) -> bool:
        """Whether rows of I stay from one iteration of the marked loop to the next."""
        marker = self._markers[0]
        if marker >= len(self._loops) or self._loops[marker].dim not in ("y", "k"):
            return False
        rows, taps = (np.subtract(*self._pieces(dim, marker + 1)[::-1]) for dim in ("y", "k"))
        return self._loops[marker].dim == "y" or bool(rows.max() == 1 or taps.min() >= self._layer.stride[0])

    def _columns_slide(self) -> int:
        """Whether columns of I stay from one iteration of the marked loop to the next: 1 over x, 2 over l."""
        marker = self._markers[0]
        dim = self._loops[marker].dim if marker < len(self._loops) else None
        if dim not in ("x", "l"):
            return 0
        return (1 if dim == "x" else 2) if tiles_overlap(self._layer, self._loops, marker) else 0

    def _slab(self) -> tuple[int, int]:
        """Bytes of a row of one channel, and of all channels of a tile that one lane along c has.

        Columns are grouped by their phase, as many of each as any tile has. Where columns have gaps or slide, lines
        begin with an output column that uses the image.
        """
        layer, depth, slide = self._layer, self._markers[0] + 1, self._columns_slide()
        stride, left = layer.stride[1], layer.padding[1]
        (first, end), (tap, taps_end) = self._pieces("x", depth), self._pieces("l", depth)
        first, end = first[:, None], end[:, None]
        if layer.form.column_window:  # the columns as they come, one for each iteration
            first, end = first * stride, (end - 1) * stride + 1
            taps_end, stride = taps_end + layer.columns_beside, 1
        corner = first * stride + tap - left
        phase = np.arange(stride)[:, None, None]
        gaps = (taps_end - tap < stride) & (end - first > 1) & (slide != 2)
        before = np.maximum(-corner, 0) // stride
        outputs = end - first - before
        last = np.minimum((end - 1) * stride + taps_end - 1 - left, layer.input_width - 1)
        columns = last - (corner + before * stride if slide else np.maximum(corner, 0)) + 1
        stored = np.where(gaps, np.where(phase < taps_end - tap, outputs, 0), -((phase - columns) // stride))
        line = max(1, int(np.maximum(stored, 0).max(axis=(1, 2)).sum())) * self._bits.I // 8
        channels = int(np.subtract(*self._pieces("c", depth)[::-1]).max())
        return line, line * -(-channels // self._lanes.c)

    def _steps_of_size(self) -> Ints:
        """The factors of the size of W's tile that change when each loop turns, one multiplied a cycle."""
        inner = [
            max((j for j, loop in enumerate(self._loops[: self._markers[1] + 1]) if loop.dim == dim), default=-1)
            for dim in WEIGHT_DIMS
        ]
        return np.array([sum(place >= j for place in inner) for j in range(len(self._loops))])

    def _steps_of_index(self) -> tuple[Ints, int]:
        """How far each loop moves in the vectors of a tile of O, columns fastest, and the most vectors of a tile."""
        loops, marker = self._loops, self._markers[2]
        steps = np.zeros(len(loops), np.int64)
        vectors = 1
        for dim in reversed(OUTPUT_DIMS):
            inner = [j for j in range(marker, len(loops)) if loops[j].dim == dim]
            for at, j in enumerate(inner):
                steps[j] = vectors * self._number_of_pieces(loops[j].step, inner[at + 1 :])
            low, high = self._pieces(dim, marker)
            vectors *= max(self._number_of_pieces(extent, inner) for extent in set((high - low).tolist()))
        return steps, vectors

    def _number_of_pieces(self, extent: int, loops: list[int]) -> int:
        low, high = np.zeros(1, np.int64), np.array([extent])
        for j in loops:
            _, low, high = _cut(low, high, self._loops[j].step)
        return len(low)


def _as_in_hardware(schedule: Schedule) -> tuple[tuple[Loop, ...], tuple[int, int, int]]:
    """The loops, and the marked ones of I, W and O; without a marker the place after the innermost loop.

    A marker of O above a loop over outputs means as much right inside it; where no reduction loop stands there, the
    hardware has one of a single iteration.
    """
    loops = list(schedule.loops)
    arrays: tuple[ArrayName, ...] = ("I", "W", "O")
    places = [schedule.marked_loop(array) for array in arrays]
    marker_i, marker_w, marker_o = (len(loops) if place is None else place for place in places)
    if marker_o < len(loops) and loops[marker_o].dim in OUTPUT_DIMS:
        marker_o += 1
        if marker_o == len(loops) or loops[marker_o].dim in OUTPUT_DIMS:
            loops.insert(marker_o, Loop("c", schedule.iteration_size(marker_o)["c"]))
            marker_i, marker_w = (place + (place >= marker_o) for place in (marker_i, marker_w))
    return tuple(loops), (marker_i, marker_w, marker_o)


def _parent(loops: tuple[Loop, ...], index: int) -> int:
    """The next outer one of the loops over the same dimension, or -1."""
    return max((j for j in range(index) if loops[j].dim == loops[index].dim), default=-1)


def _cut(low: Ints, high: Ints, step: int) -> tuple[Ints, Ints, Ints]:
    """Every range cut by a loop: how many pieces each gives, and their beginnings and ends."""
    numbers = -(-(high - low) // step)
    offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    begin = np.repeat(low, numbers) + offset * step
    return numbers, begin, np.minimum(begin + step, np.repeat(high, numbers))
