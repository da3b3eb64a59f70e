"""The loops around a tile: the order, the `tcdm` markers and the steps with which the DMA moves least.

A nest of two levels begins with loops over m, c, y, x, at most one over each, and the `tcdm` marker of each operand
above one of them. The DMA's traffic depends on these loops alone: it is the traffic of the nest whose local buffers
are the TCDM. The traffic of an operand depends only on which loop is marked and which loops stand above it.

`OuterSpace` enumerates all orders, marker places and steps, and yields those of least cost that may fit. The cost
is the DMA's bytes; or these and the least bytes that the HWCs fetch; or a lower bound of the DRAM's time. Whether
loops fit is decided by `hwgen.model.cluster.placement`. Here the need is bounded from below: a ring holds at least
the bytes of one tile, and where there are several tiles, of two that may follow each other.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.ir.lanes import ONE_LANE, Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Bits, Loop, Marker
from hwgen.search.cluster.outer_kernel import explore, fastest, forms_of, least_of
from hwgen.search.cluster.outer_parts import in_parts
from hwgen.search.cluster.outer_tables import (
    AREA,
    CUT,
    EDGE,
    FETCHED,
    I_BYTES,
    O_BYTES,
    RETURN_BYTES,
    SHARE,
    STEP,
    TILES,
    W_BYTES,
    constants,
    in_classes,
    outer_tables,
    steps_of,
    thinned,
    with_shares,
    worth_while,
)
from hwgen.search.core.orders import TILED

__all__ = ["MOST_STEPS", "OuterLoops", "OuterSpace", "Rows"]

Ints = NDArray[np.int64]
Rows = tuple[NDArray[np.intp], ...]
"""Numbers of rows of the tables of m, c, y and x, one of each for each combination."""
BYTES = np.array([1, 0, 0, 0, 0, 1, 1], np.int64)
"""The price of the DMA's bytes alone; see `hwgen.search.cluster.outer_kernel`."""
MOST = np.iinfo(np.int64).max - 1
SMALL = 1 << 26
"""Fewer combinations of forms and steps are not worth a second thread."""
SHORT = 16
"""Extents of which all steps are looked at for the fewest cycles."""
MOST_STEPS = 1 << 21
"""Up to this many combinations of steps are enumerated; of more, only the steps that are worth while."""


@dataclass(frozen=True)
class OuterLoops:
    """Loops around a tile, outermost first: dimensions, steps, and the places of the marked loops of I, W and O."""

    dims: tuple[Dim, ...]
    steps: tuple[int, ...]
    marked: tuple[int, ...]

    def items(self) -> tuple[Loop | Marker, ...]:
        """The loops as items of a nest."""
        nest: list[Loop | Marker] = []
        for place, (dim, step) in enumerate(zip(self.dims, self.steps, strict=True)):
            arrays = tuple(array for array, at in zip("IWO", self.marked, strict=True) if at == place)
            if arrays:
                nest.append(Marker(arrays, TCDM))  # type: ignore[arg-type]
            nest.append(Loop(dim, step))
        return tuple(nest)

    def key(self, extents: Mapping[Dim, int]) -> tuple[object, ...]:
        """Equal for loops that move the same data: loops of one iteration are left out."""
        dims = [step < extents[dim] for dim, step in zip(self.dims, self.steps, strict=True)]
        loops = tuple((dim, step) for dim, step, cut in zip(self.dims, self.steps, dims, strict=True) if cut)
        return loops, tuple((sum(dims[:at]), dims[at]) for at in self.marked)


class Form(NamedTuple):
    """An order of loops with marker places."""

    dims: tuple[int, ...]
    marked: tuple[int, ...]


def forms() -> list[Form]:
    """All forms that differ for some operand, in its marked loop or in the set of loops above it."""
    found: dict[tuple[object, ...], Form] = {}
    for number in range(1, 5):
        for dims in permutations(range(4), number):
            for marked in product(range(number), repeat=3):
                if max(marked) == number - 1:
                    key = tuple((frozenset(dims[:at]), dims[at]) for at in marked)
                    found.setdefault(key, Form(dims, marked))
    return list(found.values())


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
    price
        The prices that make up the cost, see `hwgen.search.cluster.outer_kernel`; the DMA's bytes if left out.
    most_steps
        With more combinations of steps than this, only those that are worth while are enumerated.
    shares, lanes
        The numbers of shares along m and along y into which a tile may be divided, and the lanes, for `demand`.
    classed
        Steps in classes (`in_classes`), for a bound that no loops go below; the loops are none that could be taken.
    usable
        Says of a dimension and a step whether the hardware has the settings of such tiles; None: of all.

    Members
    -------
    reduced : whether only the steps that are worth while are enumerated.
    size : the most bytes that the lower bound of the need may be; may be lowered between two calls.
    """

    def __init__(
        self,
        layer: Layer,
        bits: Bits,
        size: int,
        price: Ints | None = None,
        *,
        most_steps: int = MOST_STEPS,
        shares: Sequence[tuple[int, int]] = (),
        lanes: Lanes = ONE_LANE,
        classed: bool = False,
        usable: Callable[[Dim, int], bool] | None = None,
    ) -> None:
        self._layer, self.size, self._most = layer, size, 0
        self._price = BYTES if price is None else price
        every = in_classes(layer) if classed else with_shares(outer_tables(layer), shares, lanes, layer)
        self.reduced = not classed and math.prod(len(table) - 1 for table in every) > most_steps
        self.reduced |= not classed and any(len(steps_of(extent)) < extent for extent in layer.extents.values())
        self._tables = thinned(worth_while(every, shares, lanes)) if self.reduced else every
        self._lanes, self._shares, self._divisions = lanes, len(shares), tuple(shares)
        self._of = constants(layer, bits)
        self._forms = forms()
        if usable is not None:
            self._keep(usable)
        orders, marked = np.zeros((2, len(self._forms), 4), np.int64)
        above = np.zeros((len(self._forms), 3, 4), np.int64)
        for number, form in enumerate(self._forms):
            orders[number, list(form.dims)] = 1
            for operand, at in enumerate(form.marked):
                marked[number, operand] = form.dims[at]
                above[number, operand, list(form.dims[:at])] = 1
        self._coded = orders, above, marked

    def _keep(self, usable: Callable[[Dim, int], bool]) -> None:
        """Keep only the steps that are usable, and only forms with a loop over each axis that must be cut."""
        kept = []
        for axis, (dim, table) in enumerate(zip(TILED, self._tables, strict=True)):
            steps = table[:, STEP].tolist()
            kept.append(np.array([row for row, step in enumerate(steps[:-1]) if usable(dim, step)], np.int64))
            if not usable(dim, steps[-1]):
                self._forms = [form for form in self._forms if axis in form.dims]
        self._tables = self._tables.only(kept)

    def demand(self, most: int) -> None:
        """Keep only tiles that some spread computes in at most this many innermost iterations per reduction step."""
        self._most = most

    def least(self, above: int = -1, most: int = MOST) -> int | None:
        """The least cost above ``above``, up to ``most``, of loops that may fit; None if there is none."""
        return self._explore(above, most, np.zeros((0, 0, 0, 0), np.bool_))

    def between(
        self,
        low: int,
        high: int,
        rank: Callable[[Rows], NDArray[np.float64]] | None = None,
        *,
        cheapest_first: bool = False,
    ) -> Iterator[tuple[int, dict[Dim, int], list[OuterLoops]]]:
        """Steps with which some form costs from ``low`` to ``high`` and may fit, in the order of the HWCs' fetches.

        With ``rank`` in the order of its values first. Yields the least bytes that the HWCs fetch, the steps of
        m, c, y, x, and the loops.
        """
        tables = self._tables
        mask = np.zeros([len(table) - 1 for table in tables], np.bool_)
        self._explore(low - 1, high, mask)
        at = np.nonzero(mask)
        fetched = self.least_fetches(at)
        first = np.zeros(len(fetched)) if rank is None else rank(at)
        whole = tuple(table[-1] for table in tables)
        forms_found = np.zeros((len(self._forms), 2), np.int64)
        # Of steps that fetch equally much, larger tiles first.
        for number in np.lexsort((-np.arange(len(fetched)), fetched, first)).tolist():
            rows = tuple(table[numbers[number]] for table, numbers in zip(tables, at, strict=True))
            found = forms_of(
                rows, whole, *self._coded, self._of, self._price, self.size, low, high, forms_found
            )  # fmt: skip
            steps: dict[Dim, int] = {dim: int(row[STEP]) for dim, row in zip(TILED, rows, strict=True)}
            chosen = forms_found[:found, 0]
            if cheapest_first:
                chosen = chosen[np.argsort(forms_found[:found, 1], kind="stable")]
            yield int(fetched[number]), steps, [self._loops(self._forms[at], steps) for at in chosen]

    def fastest(
        self, number: int, work: Callable[[Rows], NDArray[np.float64]], price: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], list[tuple[dict[Dim, int], OuterLoops]], Rows]:
        """The combinations of steps of least estimated cycles, at most ``number``, each with the best loops of them.

        Parameters
        ----------
        work : what the HWCs take for rows of the tables, at least.
        price : see `hwgen.search.cluster.outer_kernel.BEATS`.

        Returns the estimates, ascending, the loops, and the rows.
        """
        chosen_rows = [self._even(axis) for axis in range(4)]
        at = tuple(np.ascontiguousarray(one.reshape(-1)) for one in np.meshgrid(*chosen_rows, indexing="ij"))
        busy = work(at)
        once = max(self._of[I_BYTES] * self._least_inputs() + self._of[W_BYTES], self._of[O_BYTES])
        least = np.maximum(busy, price[0] * once)
        order = np.argsort(least, kind="stable")
        rows = np.array(at)[:, order]
        found, chosen = np.empty(number), np.zeros((number, 2), np.int64)
        many = fastest(
            *self._tables, *self._coded, self._of, self.size, price, least[order], busy[order], rows, found, chosen
        )  # fmt: skip
        ranked = np.argsort(found[:many], kind="stable")
        loops = []
        for combination, form in chosen[:many][ranked].tolist():
            steps = {
                dim: int(table[row, STEP])
                for dim, table, row in zip(TILED, self._tables, rows[:, combination].tolist(), strict=True)
            }
            loops.append((steps, self._loops(self._forms[form], steps)))
        return found[:many][ranked], loops, tuple(rows[:, chosen[:many, 0][ranked]])

    def _even(self, axis: int) -> NDArray[np.intp]:
        """The rows of steps that cut an axis most evenly into a number of tiles, and of whole vectors for all HWCs.

        Of short axes all rows, but for parts of a vector of channels.
        """
        table = self._tables[axis][:-1]
        steps, lanes = table[:, STEP], self._lanes.along(TILED[axis])
        whole = self._tables[axis][-1, STEP]
        if axis == 1:
            kept = (steps % lanes == 0) | (steps == whole)
            return np.flatnonzero(kept if kept.any() else np.ones(len(steps), np.bool_))
        if len(steps) <= SHORT:
            return np.arange(len(steps))
        units = sorted({lanes * parts for share in self._divisions for parts in share})
        _, least = np.unique(table[:, TILES], return_index=True)
        wanted = set(steps[least].tolist())
        wanted |= {-(-step // unit) * unit for step in steps[least].tolist() for unit in units}
        return np.flatnonzero(np.isin(steps, [*wanted, int(whole)]))

    def _least_inputs(self) -> int:
        """Pixels of I that are touched, of all groups."""
        m, _, y, x = (table[-1, FETCHED] for table in self._tables)
        return int(m * y * x)

    @property
    def forms(self) -> int:
        """The number of orders with marker places."""
        return len(self._forms)

    def loops_of(self, form: int, steps: dict[Dim, int]) -> OuterLoops:
        """The loops of a form with these steps of m, c, y, x."""
        return self._loops(self._forms[form], steps)

    def bounds_of(self, form: int, steps: dict[Dim, int]) -> tuple[int, int]:
        """What such loops cost, and the bytes that they need, at the least."""
        orders, above, marked = (codes[form] for codes in self._coded)
        whole, rows = tuple(table[-1] for table in self._tables), []
        for axis, (dim, table) in enumerate(zip(TILED, self._tables, strict=True)):
            tiles = -(-table[-1, STEP] // steps[dim])
            same = np.flatnonzero((table[:-1, TILES] == tiles) & (table[:-1, STEP] <= steps[dim]))
            rows.append(table[same[-1]] if orders[axis] else table[-1])
        return least_of(tuple(rows), whole, above, marked, self._of, self._price)

    def tiles(self, rows: Rows) -> NDArray[np.float64]:
        """The number of tiles; ``rows``: as `between` gives them to ``rank``."""
        return self._product(TILES, rows, (0, 1, 2, 3)).astype(np.float64)

    def iterations(self, rows: Rows) -> NDArray[np.float64]:
        """Innermost iterations of the busiest HWC of each tile for a step of the reduction, in the best spread.

        ``rows``: as `between` gives them to ``rank``.
        """
        m, _, y, x = self._tables
        best = np.ones(len(rows[0]))
        for axis, table, lanes in ((0, m, self._lanes.m), (2, y, self._lanes.y), (3, x, self._lanes.x)):
            whole, rest = (-(-table[:, size] // lanes) for size in (STEP, EDGE))
            if axis == 3:
                whole, rest = self._layer.columns_passed(whole), self._layer.columns_passed(rest)
            best = best * (whole * (table[:, TILES] - 1) + rest)[rows[axis]]
        for share in range(SHARE, SHARE + self._shares):
            spread = self._product(share, rows, (0, 2, 3))
            best = np.where(spread > 0, np.minimum(best, spread), best)
        return np.asarray(best)

    def parts(self, rows: Rows) -> NDArray[np.float64]:
        """Tiles along c: how often sums are begun or resumed; ``rows``: as `between` gives them to ``rank``."""
        return np.asarray(self._tables[1][:, TILES][rows[1]], np.float64)

    def taps(self, rows: Rows) -> NDArray[np.float64]:
        """Steps of the reduction, of all tiles along c, for one output; ``rows``: as `between` gives them."""
        table, lanes = self._tables[1], self._lanes.c
        each = -(-table[:, STEP] // lanes) * (table[:, TILES] - 1) + -(-table[:, EDGE] // lanes)
        return np.asarray(self._of[AREA] * each[rows[1]], np.float64)

    def gaps(self, rows: Rows) -> NDArray[np.float64]:
        """About how many bytes of gaps there are in packed weights, each fetched once; ``rows``: as above."""
        m, c = (table[:, STEP][numbers] for table, numbers in zip(self._tables[:2], rows[:2], strict=True))
        return np.asarray(self.gaps_of(m, c))

    def gaps_of(self, m: Ints | int, c: Ints | int) -> NDArray[np.float64]:
        """The same for steps of m and c. Only lanes along c leave gaps, in lines that they do not fill."""
        if not self._lanes.lie_along_c:
            return np.zeros(np.shape(m))
        lines = -(-m // self._lanes.m) * -(-c // self._lanes.c)
        return np.asarray(self._of[W_BYTES] * (lines * self._lanes.m * self._lanes.c / (m * c) - 1))

    def least_fetches(self, rows: Rows) -> Ints:
        """Bytes that the HWCs fetch if each needs everything of its tile once; ``rows``: as `between` gives them."""
        cut, tiles = self._product(CUT, rows, (0, 2, 3)), self._product(TILES, rows, (2, 3))
        fetched = self._of[I_BYTES] * cut + self._of[O_BYTES] + self._of[W_BYTES] * tiles
        return np.asarray(fetched + self._of[RETURN_BYTES] * (self._product(TILES, rows, (1,)) - 1))

    def estimated_fetches(self, rows: Rows, hwcs: int, local: int) -> NDArray[np.float64]:
        """About what HWCs with ``local`` bytes of buffers fetch of each tile, all tiles together, if they keep sums.

        ``rows``: as `between` gives them to ``rank``. Sizes of what they keep are powers of two, and whole vectors.
        """
        m, c, y, x = (table[numbers] for table, numbers in zip(self._tables, rows, strict=True))
        (stride_y, stride_x), (taps_y, taps_x) = self._layer.stride, self._layer.kernel
        best = np.full(len(m), np.inf)
        powers = [1 << power for power in range(9)]
        for filters, lines, columns, along_m in product(powers, powers, powers[:5], (True, False)):
            kept_x = columns * self._lanes.x
            if WORD_BYTES * filters * lines * kept_x > 2 * local:
                continue
            slices_m, slices_y = (
                (-(-m[:, STEP] // hwcs), y[:, STEP]) if along_m else (m[:, STEP], -(-y[:, STEP] // hwcs))
            )
            kept_m, kept_y = np.minimum(filters, slices_m), np.minimum(lines, slices_y)
            width = np.minimum(kept_x, x[:, STEP])
            parts_m = m[:, TILES] * -(-m[:, STEP] // kept_m)
            parts_y, parts_x = y[:, TILES] * -(-y[:, STEP] // kept_y), x[:, TILES] * -(-x[:, STEP] // width)
            rest = local - WORD_BYTES * kept_m * kept_y * width
            wide = (width - 1) * stride_x + taps_x
            high = (kept_y - 1) * stride_y + taps_y
            high = np.where(high * wide <= rest, high, np.where(wide <= rest, kept_y * taps_y, np.inf))
            fetched = self._of[I_BYTES] * parts_m * parts_y * high * parts_x * wide
            fetched += self._of[W_BYTES] * parts_y * parts_x
            best = np.minimum(best, np.where(rest > 0, fetched, np.inf))
        return np.asarray(best + self._of[O_BYTES] + self._of[RETURN_BYTES] * (c[:, TILES] - 1))

    def _product(self, column: int, rows: Rows, axes: tuple[int, ...]) -> Ints:
        """The product of a column's figures over some of m, c, y, x."""
        found = np.ones(len(rows[0]), np.int64)
        for axis in axes:
            found *= self._tables[axis][:, column][rows[axis]]
        return found

    def _explore(self, floor: int, ceiling: int, mask: NDArray[np.bool_]) -> int | None:
        """The least cost above ``floor`` up to ``ceiling``; with a ``mask``, all steps of such costs are set."""
        full = np.zeros(mask.shape[2:], np.bool_)
        work = len(self._forms) * math.prod(len(table) - 1 for table in self._tables)
        given = (self._of, self._price, self.size, self._most, floor)

        def explored(limits: Ints, part: int, done: Ints) -> None:
            explore(*self._tables, *self._coded, *given, limits, mask, full, part, done)

        return in_parts(explored, len(self._forms), ceiling, alone=work < SMALL)

    def _loops(self, form: Form, steps: dict[Dim, int]) -> OuterLoops:
        dims = tuple(TILED[dim] for dim in form.dims)
        return OuterLoops(dims, tuple(steps[dim] for dim in dims), form.marked)
