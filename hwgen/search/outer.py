"""The loops around a tile: which of them, in which order, with which `tcdm` markers, in which steps, move least.

A nest of two levels begins with loops over m, c, y, x, one at most over each, and the `tcdm` marker of each operand
above one of them. What the DMA moves depends on these loops alone: it is the traffic of the nest whose local buffers
are the TCDM. Every operand knows of them only which loops stand above its marked one, and which that is.

`OuterSpace` goes through all orders, marker places and steps, and gives those that move fewest bytes, of those that
may fit. Whether one does is for `hwgen.model.tcdm_placement` to say: here a ring has at least the bytes of a box, and
where there are several boxes, of two that may follow each other. In large layers, steps that another one beats in
every factor are left out (`worth_while`); what they would add are ties.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Marker
from hwgen.search.axes import channels, window

__all__ = ["Outer", "OuterSpace", "OuterTables", "outer_tables", "worth_while"]

Ints = NDArray[np.int64]
TILED: tuple[Dim, ...] = ("m", "c", "y", "x")
M, C, Y, X = range(4)
ALIGNMENT = 64
WORD = 4
MOST_STEPS = 1 << 21
"""Combinations of steps, at most, that are all looked at; of more, those that are worth while."""


@dataclass(frozen=True)
class Outer:
    """Loops of a nest, outermost first, with their steps; the place of the marked loop of I, W and O among them."""

    dims: tuple[Dim, ...]
    steps: tuple[int, ...]
    marked: tuple[int, ...]

    def items(self) -> tuple[Loop | Marker, ...]:
        """As items of a nest."""
        nest: list[Loop | Marker] = []
        for place, (dim, step) in enumerate(zip(self.dims, self.steps, strict=True)):
            arrays = tuple(array for array, at in zip("IWO", self.marked, strict=True) if at == place)
            if arrays:
                nest.append(Marker(arrays, "tcdm"))  # type: ignore[arg-type]
            nest.append(Loop(dim, step))
        return tuple(nest)


class Form(NamedTuple):
    """An order of loops with marker places."""

    dims: tuple[int, ...]
    marked: tuple[int, ...]


def forms() -> list[Form]:
    """All that differ for some operand: the loops above each marked loop as a set, and the marked loop."""
    found: dict[tuple[object, ...], Form] = {}
    for number in range(1, 5):
        for dims in permutations(range(4), number):
            for marked in product(range(number), repeat=3):
                if max(marked) == number - 1:
                    key = tuple((frozenset(dims[:at]), dims[at]) for at in marked)
                    found.setdefault(key, Form(dims, marked))
    return list(found.values())


# --- tables ---

STEP, TILES, CUT, SLID, BOX, EDGE, PAIR = range(7)
"""Columns of a table, a row for each step, the last one for an extent that is not cut. The step; tiles; what is
fetched of I along the axis (m: groups, c: nothing) if the loop is above the marked one, and if it is the marked one;
what the largest box has, the smallest, and two together that follow each other."""
FETCHED, LINES, JOINT, LEAST_LINES, SPAN, JOINT_SPAN, ROW, PAIR_ROW, EDGE_ROW = range(7, 16)
"""More of m, y and x: what is fetched if it is not cut; inputs (m: groups) of the largest box, of two together where
they slide, of the smallest box. Of x: bytes of the largest, and of two, in whole words; bytes of a row of outputs, of
two boxes' rows, of the smallest box's."""


class OuterTables(NamedTuple):
    """Tables of m, c, y and x: [step number, column]."""

    m: Ints
    c: Ints
    y: Ints
    x: Ints

    def only(self, steps: Sequence[Ints]) -> "OuterTables":
        """With these rows of each; the whole extent stays the last."""
        return OuterTables(*(table[np.append(rows, len(table) - 1)] for table, rows in zip(self, steps, strict=True)))


def outer_tables(layer: Layer) -> OuterTables:
    """All steps of all four axes."""
    return OuterTables(_outputs(layer), _inputs(layer.channels_per_group), _lines(layer, 0), _lines(layer, 1))


def _sizes(extent: int) -> Ints:
    table = np.zeros((extent + 1, 16), np.int64)
    for row, step in enumerate([*range(1, extent + 1), extent]):
        tiles = -(-extent // step)
        rest = extent - step * (tiles - 1)
        table[row, [STEP, TILES, CUT, SLID, BOX, EDGE, PAIR]] = (
            step, tiles, tiles, 1, step, rest, min(2 * step, extent),
        )  # fmt: skip
    return table


def _inputs(extent: int) -> Ints:
    table = _sizes(extent)
    table[:, CUT] = table[:, SLID] = 1
    return table


def _outputs(layer: Layer) -> Ints:
    table = _sizes(layer.output_channels)
    groups = channels(layer.output_channels, layer.groups)
    steps = table[:, STEP]
    table[:, CUT], table[:, SLID] = groups.fetched[1, steps], groups.fetched[2, steps]
    table[:, FETCHED], table[:, LINES] = layer.groups, groups.need[1, steps]
    table[-1, CUT] = table[-1, SLID] = table[-1, LINES] = layer.groups
    return table


def _lines(layer: Layer, axis: int) -> Ints:
    extent = (layer.output_height, layer.output_width)[axis]
    size = (layer.input_height, layer.input_width)[axis]
    stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
    table = _sizes(extent)
    of = window(extent, kernel, stride, padding, size, 1)
    for row in table:
        step = row[STEP]
        first = np.arange(0, extent, step)
        last = np.minimum(first + step, extent) - 1
        begin = np.clip(first * stride - padding, 0, size)
        end = np.clip(last * stride - padding + kernel, 0, size)
        end = np.maximum(begin, end)
        inside = end > begin
        row[CUT], row[SLID], row[FETCHED] = of.fetched[1, step], of.fetched[2, step], of.fetched[0, step]
        row[LINES], row[LEAST_LINES] = (end - begin).max(), (end - begin).min()
        both = inside[1:] & inside[:-1]
        row[JOINT] = max(row[LINES], (end[1:] - begin[:-1])[both].max(initial=0))
        if axis == 1:
            low, high = begin // WORD * WORD, -(-end // WORD) * WORD
            row[SPAN] = (high - low)[inside].max(initial=0)
            row[JOINT_SPAN] = max(row[SPAN], (high[1:] - low[:-1])[both].max(initial=0))
            bytes_of = -(-(last + 1) // WORD) * WORD - first // WORD * WORD
            row[ROW], row[EDGE_ROW] = bytes_of.max(), bytes_of.min()
            row[PAIR_ROW] = (bytes_of[1:] + bytes_of[:-1]).max(initial=bytes_of.max())
    return table


def worth_while(tables: OuterTables) -> OuterTables:
    """Without the steps that another one is no worse than in every column."""
    chosen = []
    for table in tables:
        rows = np.delete(table[:-1], [STEP, EDGE, LEAST_LINES, EDGE_ROW], axis=1)
        worse = np.zeros(len(rows), np.bool_)
        for number, row in enumerate(rows):
            beaten = (rows >= row).all(axis=1) & (rows > row).any(axis=1)
            same = (rows == row).all(axis=1)
            same[: number + 1] = False
            worse |= beaten | same
        chosen.append(np.flatnonzero(~worse))
    return tables.only(chosen)


# --- what a form with steps moves, and what it needs at least ---

I_BYTES, W_BYTES, O_BYTES, RETURN_BYTES, BIAS_BYTES, AREA = range(6)
"""Bytes: of a pixel of I, of W, of O, of O's partial sums back and forth once, of the biases (rounded up); weights of
a filter and channel."""


def _constants(layer: Layer, bits: Bits) -> Ints:
    return np.array(
        [
            layer.channels_per_group * bits.I // 8,
            layer.weight_elements * bits.W // 8,
            layer.output_elements * bits.O // 8,
            2 * layer.output_elements * bits.acc // 8,
            -(-4 * layer.output_channels // ALIGNMENT) * ALIGNMENT,
            layer.kernel[0] * layer.kernel[1],
        ],
        np.int64,
    )


@njit(cache=True)
def _moved(above, marked, rows, of):  # type: ignore[no-untyped-def]
    """Bytes through the DMA."""
    m, c, y, x = rows
    inputs = of[I_BYTES]
    inputs *= m[CUT] if above[0, M] else m[SLID] if marked[0] == M else m[FETCHED]
    inputs *= y[CUT] if above[0, Y] else y[SLID] if marked[0] == Y else y[FETCHED]
    inputs *= x[CUT] if above[0, X] else x[SLID] if marked[0] == X else x[FETCHED]
    weights = (y[TILES] if above[1, Y] else 1) * (x[TILES] if above[1, X] else 1)
    returns = c[TILES] - 1 if above[2, C] else 0
    return inputs + weights * of[W_BYTES] + of[O_BYTES] + returns * of[RETURN_BYTES]


@njit(cache=True)
def _inside(above, marked, operand, rows, whole):  # type: ignore[no-untyped-def]
    """The rows of m, c, y, x as the operand's box has them, and whether it is followed by another execution."""
    again = 1
    m, c, y, x = whole
    if above[operand, M] or marked[operand] == M:
        m = rows[M]
    if above[operand, C] or marked[operand] == C:
        c = rows[C]
    if above[operand, Y] or marked[operand] == Y:
        y = rows[Y]
    if above[operand, X] or marked[operand] == X:
        x = rows[X]
    for dim in range(4):
        if above[operand, dim]:
            again *= rows[dim][TILES]
    return m, c, y, x, again > 1


@njit(cache=True)
def _ring_of_inputs(above, marked, rows, whole):  # type: ignore[no-untyped-def]
    m, c, y, x, again = _inside(above, marked, 0, rows, whole)
    groups = m[LINES]
    lines = y[JOINT] if marked[0] == Y else y[LINES]
    pitch = x[JOINT_SPAN] if marked[0] == X else x[SPAN]
    start = (groups * c[BOX] - 1) * lines * pitch
    box = max(start + (y[LINES] - 1) * pitch + x[SPAN], 0)
    ring = box
    if marked[0] == Y:
        ring = max(start + (lines - 1) * pitch + x[SPAN], 0)
    elif marked[0] == X:
        ring = max(start + y[LINES] * pitch, 0)
    elif marked[0] == C and c[TILES] > 1:
        ring = box + max((groups * (c[PAIR] - c[BOX]) - 1) * lines * pitch + (y[LINES] - 1) * pitch + x[SPAN], 0)
    if again:
        ring = max(ring, box + c[EDGE] * y[LEAST_LINES] * x[LEAST_LINES])
    return ring


@njit(cache=True)
def _ring_of_weights(above, marked, rows, whole, area):  # type: ignore[no-untyped-def]
    m, c, _, _, again = _inside(above, marked, 1, rows, whole)
    box = m[BOX] * c[BOX]
    ring = m[PAIR] * c[BOX] if marked[1] == M else m[BOX] * c[PAIR] if marked[1] == C else box
    if again:
        ring = max(ring, box + m[EDGE] * c[EDGE])
    return ring * area


@njit(cache=True)
def _ring_of_outputs(above, marked, rows, whole, wide):  # type: ignore[no-untyped-def]
    m, _, y, x, again = _inside(above, marked, 2, rows, whole)
    line = WORD * x[BOX] if wide else x[ROW]
    box = m[BOX] * y[BOX] * line
    ring = box
    if marked[2] == M:
        ring = m[PAIR] * y[BOX] * line
    elif marked[2] == Y and y[TILES] > 1:
        ring = 2 * (m[BOX] - 1) * y[BOX] * line + y[PAIR] * line
    elif marked[2] == X and x[TILES] > 1:
        ring = 2 * (m[BOX] * y[BOX] - 1) * line + (WORD * x[PAIR] if wide else x[PAIR_ROW])
    if again:
        ring = max(ring, box + m[EDGE] * y[EDGE] * (WORD * x[EDGE] if wide else x[EDGE_ROW]))
    return ring


@njit(cache=True)
def _need(above, marked, rows, whole, of, wide):  # type: ignore[no-untyped-def]
    """The least bytes of the TCDM that biases and three rings may take; ``wide``: O has four bytes an element."""
    inputs = _ring_of_inputs(above, marked, rows, whole)
    weights = _ring_of_weights(above, marked, rows, whole, of[AREA])
    inputs, weights = -(-inputs // ALIGNMENT) * ALIGNMENT, -(-weights // ALIGNMENT) * ALIGNMENT
    return of[BIAS_BYTES] + inputs + weights + _ring_of_outputs(above, marked, rows, whole, wide)


@njit(cache=True)
def _least(m, c, y, x, orders, above, marked, of, size, floor):  # type: ignore[no-untyped-def]
    """The fewest bytes above ``floor`` that anything moves that may fit; -1 if nothing does."""
    best = np.int64(-1)
    whole = (m[-1], c[-1], y[-1], x[-1])
    limits = (len(m) - 1, len(c) - 1, len(y) - 1, len(x) - 1)
    for form in range(len(orders)):
        first = [0 if orders[form, dim] else limits[dim] for dim in range(4)]
        last = [limits[dim] + (1 - orders[form, dim]) for dim in range(4)]
        for b in range(first[Y], last[Y]):
            for d in range(first[X], last[X]):
                if best >= 0 and _moved(above[form], marked[form], (whole[M], whole[C], y[b], x[d]), of) >= best:
                    continue
                rows = (m[first[M]], c[first[C]], y[b], x[d])
                if _need(above[form], marked[form], rows, whole, of, False) > size:
                    continue
                for e in range(first[C], last[C]):
                    least = _moved(above[form], marked[form], (whole[M], c[e], y[b], x[d]), of)
                    wide = c[e, TILES] > 1
                    rows = (m[first[M]], c[e], y[b], x[d])
                    if best >= 0 and least >= best:
                        continue
                    if _need(above[form], marked[form], rows, whole, of, wide) > size:
                        continue
                    for a in range(first[M], last[M]):
                        rows = (m[a], c[e], y[b], x[d])
                        moved = _moved(above[form], marked[form], rows, of)
                        if (best >= 0 and moved >= best) or moved <= floor:
                            continue
                        if _need(above[form], marked[form], rows, whole, of, wide) <= size:
                            best = moved
    return best


@njit(cache=True)
def _forms_of(rows, whole, orders, above, marked, of, size, bytes_moved, found):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the forms that move so many bytes in these steps and may fit; how many."""
    number = 0
    for form in range(len(orders)):
        inside = True
        for dim in range(4):
            if not orders[form, dim] and rows[dim][TILES] > 1:
                inside = False
        if not inside or _moved(above[form], marked[form], rows, of) != bytes_moved:
            continue
        if _need(above[form], marked[form], rows, whole, of, rows[C][TILES] > 1) <= size:
            found[number] = form
            number += 1
    return number


class OuterSpace:
    """All loops around a tile of one layer.

    Parameters
    ----------
    layer
        The layer.
    bits
        Widths of its elements.
    size
        Bytes of the TCDM.
    most_steps
        With more combinations of steps than this, only those that are worth while.
    """

    def __init__(self, layer: Layer, bits: Bits, size: int, most_steps: int = MOST_STEPS) -> None:
        self._layer, self._size = layer, size
        every = outer_tables(layer)
        number = math.prod(len(table) - 1 for table in every)
        self._tables = every if number <= most_steps else worth_while(every)
        self._of = _constants(layer, bits)
        self._forms = forms()
        self._orders, self._marked = np.zeros((2, len(self._forms), 4), np.int64)
        self._above = np.zeros((len(self._forms), 3, 4), np.int64)
        for number, form in enumerate(self._forms):
            self._orders[number, list(form.dims)] = 1
            for operand, at in enumerate(form.marked):
                self._marked[number, operand] = form.dims[at]
                self._above[number, operand, list(form.dims[:at])] = 1

    def least(self, above: int = -1) -> int | None:
        """The fewest bytes, more than ``above``, that the DMA moves for anything that may fit."""
        found = int(
            _least(*self._tables, self._orders, self._above, self._marked, self._of, self._size, above)
        )  # fmt: skip
        return None if found < 0 else found

    def moving(self, bytes_moved: int) -> Iterator[tuple[int, dict[Dim, int], list[Outer]]]:
        """Steps with which some form moves so many bytes and may fit: those first with which the HWCs fetch least.

        Yields bytes that they fetch at the least, the steps of m, c, y, x, and the loops.
        """
        m, c, y, x = (table[:-1] for table in self._tables)
        inputs = self._of[I_BYTES] * np.multiply.outer(np.multiply.outer(m[:, CUT], y[:, CUT]), x[:, CUT])
        inputs += self._of[W_BYTES] * np.multiply.outer(y[:, TILES], x[:, TILES])
        returns = self._of[RETURN_BYTES] * (c[:, TILES] - 1)
        fetched = self._of[O_BYTES] + inputs[:, None] + returns[:, None, None]
        whole = tuple(table[-1] for table in self._tables)
        forms_found = np.zeros(len(self._forms), np.int64)
        order = np.argsort(fetched, axis=None, kind="stable")
        # Of steps that fetch equally much, larger tiles first.
        for flat in order[np.lexsort((-order, fetched.ravel()[order]))].tolist():
            places = np.unravel_index(flat, fetched.shape)
            rows = tuple(table[place] for table, place in zip((m, c, y, x), places, strict=True))
            number = _forms_of(
                rows, whole, self._orders, self._above, self._marked, self._of, self._size, bytes_moved,
                forms_found,
            )  # fmt: skip
            if number:
                steps: dict[Dim, int] = {dim: int(row[STEP]) for dim, row in zip(TILED, rows, strict=True)}
                outers = [self._outer(self._forms[form], steps) for form in forms_found[:number].tolist()]
                yield int(fetched.ravel()[flat]), steps, outers

    def _outer(self, form: Form, steps: dict[Dim, int]) -> Outer:
        dims = tuple(TILED[dim] for dim in form.dims)
        return Outer(dims, tuple(steps[dim] for dim in dims), form.marked)
