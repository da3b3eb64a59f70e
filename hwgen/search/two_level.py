"""The best nest of two memory levels for a cluster: fewest bytes of DRAM, then fewest bytes of TCDM.

*The space*: loops over m, c, y, x around a tile in any order and with any `tcdm` markers (`hwgen.search.outer`); the
tile spread over the HWCs by filters, by rows, or by both; below, what `hwgen.search.optimal` searches for one HWC.

*First*, what the DMA moves: it depends on the loops around a tile alone, and all of them are looked at. *Then*, among
the nests that move equally little, what the HWCs fetch from the TCDM and write to it. For a given tile and slices
that is a search for the best nest of one HWC over many small layers at once, exact by the tables of
`hwgen.search.pieces`.
Tiles are taken in the order of what they make the HWCs fetch at the least, so many of them (``looks``); if there are
more, the result says so (``complete``). Slices that leave HWCs idle are out: of those within ``busy`` times the best
utilisation that any of the tiles and slices reaches, the one of fewest bytes wins.

Every schedule is placed in the TCDM before it counts, and its bytes are confirmed by the model.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.access import predict
from hwgen.model.tcdm_placement import place
from hwgen.model.two_level import local_level
from hwgen.search.branch import FOUND, GOALS, improve, lists_of, problem
from hwgen.search.dominance import Triples, step_list, undominated
from hwgen.search.nests import fixed_items, free_items
from hwgen.search.orders import TILED, FixedOrder, Orders, all_orders, fixed_order
from hwgen.search.outer import Outer, OuterSpace
from hwgen.search.pieces import Span, cut, grid_tables
from hwgen.search.space import Tables, Target

__all__ = ["LOOKS", "TwoLevelResult", "search_two_levels", "slicings"]

LOOKS = 8
"""Tiles, at most, for which a nest of the HWCs is searched."""
BUSY = 0.9
ATTEMPTS = 50_000
"""How often, at most, it is asked whether something fits the TCDM, for one number of bytes."""
Slices = dict[Dim, int]


@dataclass(frozen=True)
class TwoLevelResult:
    """The best schedule of one layer on a cluster.

    Members
    -------
    schedule : the schedule.
    dram_bytes, tcdm_bytes : what the DMA moves of I, W and O, and what all HWCs do.
    need : bytes of the TCDM, as `hwgen.model.tcdm_placement` places it.
    utilisation : MACs by lanes and cycles of the busiest HWC of each tile, if nothing ever stalls.
    complete : whether all tiles that move as little were searched, and all that would move less do not fit.
    seconds : time spent.
    """

    schedule: Schedule
    dram_bytes: int
    tcdm_bytes: int
    need: int
    utilisation: float
    complete: bool
    seconds: float


class _Way(NamedTuple):
    """A tile, the loops around it that fit, how it is sliced, and how busy the HWCs are."""

    steps: dict[Dim, int]
    outer: Outer
    slices: Slices
    utilisation: float


def slicings(steps: Mapping[Dim, int], hwcs: int) -> Iterator[Slices]:
    """How a tile is spread: over filters, over rows, over both; not at all if nothing can be cut."""
    found = 0
    for parts in range(1, hwcs + 1):
        if hwcs % parts:
            continue
        wanted: tuple[tuple[Dim, int], ...] = (("m", parts), ("y", hwcs // parts))
        slices: Slices = {dim: -(-steps[dim] // number) for dim, number in wanted if min(number, steps[dim]) > 1}
        if len(slices) == sum(number > 1 for _, number in wanted) and slices:
            found += 1
            yield slices
    if not found:
        yield {}


def search_two_levels(
    layer: Layer,
    hardware: Hardware,
    *,
    bits: Bits | None = None,
    looks: int = LOOKS,
    busy: float = BUSY,
    attempts: int = ATTEMPTS,
) -> TwoLevelResult:
    """The best schedule for a cluster; raises `InputError` if none fits.

    Parameters
    ----------
    layer, hardware
        What runs where; without a ``cluster`` in the hardware, the default one.
    bits
        Widths of the elements; 8-bit operands and 32-bit sums if left out.
    looks
        Tiles, at most, that are searched for the HWCs' bytes.
    busy
        How much less busy than the best the HWCs may be, 0 to 1.
    attempts
        How often it is tried, at most, to fit loops into the TCDM that move equally little; then the next number of
        bytes is tried. Only where the rings hardly fit does it take more than a few.
    """
    started = time.perf_counter()
    search = _Search(layer, hardware, bits or Bits(), attempts)
    moved = search.space.least()
    while moved is not None:
        found = search.best(moved, looks, busy)
        if found is not None:
            schedule, way, complete = found
            return TwoLevelResult(
                schedule,
                moved,
                predict(local_level(schedule)).total_bytes,
                place(schedule).size,
                way.utilisation,
                complete,
                time.perf_counter() - started,
            )
        moved = search.space.least(moved)
    raise InputError(f"{layer.name}: no schedule fits a TCDM of {search.cluster.tcdm} bytes with these HWCs")


class _Search:
    """One layer on one cluster."""

    def __init__(self, layer: Layer, hardware: Hardware, bits: Bits, attempts: int) -> None:
        self._layer, self._hardware, self._bits, self._attempts = layer, hardware, bits, attempts
        self.cluster = hardware.cluster or Cluster()
        self.space = OuterSpace(layer, bits, self.cluster.tcdm)
        self._target = Target.of(hardware)
        self._left, self._cut_short = attempts, False
        self._fixed: FixedOrder | None = None
        if hardware.order is not None:
            self._fixed = fixed_order(hardware.order, self._target.lane_dims)
        self._orders: Orders = all_orders() if self._fixed is None else self._fixed.orders

    def best(self, moved: int, looks: int, busy: float) -> tuple[Schedule, _Way, bool] | None:
        """The schedule of fewest bytes for the HWCs of those that move so many bytes; None if none fits."""
        fitting = self._fitting(moved)
        tiles = list(islice(fitting, looks))
        complete = len(tiles) < looks and not self._cut_short
        ways = [
            _Way(steps, outer, slices, self._utilisation(steps, slices))
            for steps, outer in tiles
            for slices in slicings(steps, self.cluster.hwcs)
        ]
        while ways:
            enough = busy * max(way.utilisation for way in ways)
            found = self._best_of([way for way in ways if way.utilisation >= enough])
            if found is not None:
                return *found, complete
            ways = [way for way in ways if way.utilisation < enough]
        return None

    # --- tiles ---

    def _fitting(self, moved: int) -> Iterator[tuple[dict[Dim, int], Outer]]:
        """Tiles that move so many bytes and fit, with the first loops around them that do."""
        self._left = self._attempts
        for _, steps, outers in self.space.moving(moved):
            for outer in outers:
                self._left -= 1
                if self._left < 0:
                    self._cut_short = True
                    return
                if self._fits(self._trial(steps, outer)):
                    yield steps, outer
                    break

    def _fits(self, schedule: Schedule) -> bool:
        """Whether the TCDM holds it; groups whose inputs tiles share in part have no place in a ring."""
        try:
            return place(schedule).size <= self.cluster.tcdm
        except InputError:
            return False

    def _trial(self, steps: Mapping[Dim, int], outer: Outer) -> Schedule:
        """The loops with a simple nest below them, that never writes a partial sum it need not."""
        inside: tuple[Loop | Marker, ...] = (
            Marker(("I", "W", "O")),
            Loop("c", steps["c"]),
            *(Loop(dim, min(self._target.lane(dim), steps[dim])) for dim in ("m", "y", "x")),
            Loop("c", 1),
            Loop("k", 1),
            Loop("l", 1),
        )
        return self._schedule((*outer.items(), *inside))

    def _schedule(self, nest: tuple[Loop | Marker, ...]) -> Schedule:
        return Schedule(layer=self._layer, bits=self._bits, nest=nest, lanes=self._target.lanes_by_dim)

    def _grid(self, steps: Mapping[Dim, int], slices: Slices) -> dict[Dim, list[Span]]:
        """What each HWC runs at once."""
        extents = self._layer.extents
        grid = {dim: cut([(0, extents[dim])], steps[dim]) for dim in TILED}
        return {dim: cut(spans, slices[dim]) if dim in slices else spans for dim, spans in grid.items()}

    def _utilisation(self, steps: Mapping[Dim, int], slices: Slices) -> float:
        """MACs by what all lanes could do while the busiest HWC of each tile is at work."""
        layer = self._layer
        busiest = layer.macs // (layer.extents["m"] * layer.extents["y"] * layer.extents["x"])
        lanes = self.cluster.hwcs
        outputs: tuple[Dim, ...] = ("m", "y", "x")
        for dim in outputs:
            spans = cut([(0, layer.extents[dim])], steps[dim])
            sizes = (min(slices.get(dim, end - start), end - start) for start, end in spans)
            lane = self._target.lane(dim)
            busiest *= sum(-(-size // lane) for size in sizes)
            lanes *= lane
        return layer.macs / (busiest * lanes)

    # --- what the HWCs do ---

    def _best_of(self, ways: list[_Way]) -> tuple[Schedule, _Way] | None:
        best: tuple[float, Schedule, _Way] | None = None
        for way in ways:
            known = np.inf if best is None else best[0]
            found = self._nest(way, known)
            if found is not None and found[0] < known:
                best = (*found, way)
        return None if best is None else best[1:]

    def _nest(self, way: _Way, known: float) -> tuple[float, Schedule] | None:
        """The nest of fewest bytes, if they are fewer than ``known``, that fits the TCDM; with its bytes."""
        caps = None if self._hardware.buffers is None else dict(self._hardware.buffers)
        grid = self._grid(way.steps, way.slices)
        tables = grid_tables(self._layer, self._bits, self._target, grid, caps)
        if tables is None:
            return None
        triples = undominated(self._orders, [tables], words=True, hardware=True)
        found = self._improved(tables, triples, grid, known)
        if found is None:
            return None
        schedule = self._joined(way, triples, found)
        if not self._fits(schedule):
            # Partial sums that leave the HWCs make the outputs in the TCDM four times as large.
            triples = Triples(*(part[(triples.states[:, 13:16] == 0).all(axis=1)] for part in
                                (triples.index, triples.states)))  # fmt: skip
            found = self._improved(tables, triples, grid, known)
            if found is None:
                return None
            schedule = self._joined(way, triples, found)
            if not self._fits(schedule):
                return None
        self._confirm(schedule, found[0])
        return float(found[0]), schedule

    def _improved(
        self, tables: Tables, triples: Triples, grid: Mapping[Dim, list[Span]], known: float
    ) -> "np.ndarray | None":
        """The first candidate in all criteria of those with fewer bytes than known."""
        lists = lists_of([step_list(tables, dim, self._allowed(dim, grid), words=True) for dim in TILED])
        pruned = problem(tables, lists)
        goal, budget = GOALS["traffic"], np.array([float(self._hardware.budget)])
        best = np.full((1, FOUND), np.inf)
        best[0, 0] = known
        improve(pruned, triples.states, budget, goal, 0, best)
        if not best[0, 0] < known:
            return None
        found = np.full((1, FOUND), np.inf)
        found[0, 0] = best[0, 0]
        improve(pruned, triples.states, budget, goal, 1, found)
        return found[0]

    def _allowed(self, dim: Dim, grid: Mapping[Dim, list[Span]]) -> "np.ndarray":
        extent = max(end - start for start, end in grid[dim])
        steps = np.arange(extent + 1)
        usable = steps >= 1
        if self._fixed is not None and dim in self._fixed.loop_set.stepped:
            usable &= steps <= self._target.lane(dim)
        elif self._fixed is not None and dim in self._fixed.loop_set.whole:
            usable &= steps == extent
        return usable

    def _joined(self, way: _Way, triples: Triples, found: "np.ndarray") -> Schedule:
        """The loops around a tile, the spread ones, and the nest of the HWCs."""
        steps = {dim: int(found[6 + n]) for n, dim in enumerate(TILED)}
        spread = tuple(Loop(dim, step, "hwc") for dim, step in way.slices.items())
        left = dict(self._layer.extents) | way.steps | way.slices
        if self._fixed is not None:
            inside = fixed_items(left, self._target, self._fixed, steps)
        else:
            triple = int(triples.index[int(found[5])])
            loops = self._orders.loops[self._orders.orders[triple]].tolist()
            inside = free_items(left, self._target, loops, self._orders.places(triple), steps)
        return self._schedule((*way.outer.items(), *spread, *inside))

    def _confirm(self, schedule: Schedule, believed: float) -> None:
        """The model says the same of both levels."""
        found = predict(local_level(schedule)).total_bytes
        if found != believed:
            raise RuntimeError(
                f"{self._layer.name}: search and model differ: {believed} against {found} bytes of the TCDM for "
                f"{schedule.as_data()['nest']}"
            )
