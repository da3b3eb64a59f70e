"""The best inner nest of the HWCs for given loops around a tile: fewest bytes between HWCs and TCDM.

All HWCs run the same nest on every slice of every tile, its steps clipped to the slice. So one search covers many
small layers at once; the tables of `hwgen.search.cluster.tile_tables` make it exact.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.cluster.spreading import Spread, grid_of
from hwgen.search.cluster.tile_tables import Span, grid_tables
from hwgen.search.core.branch import FOUND, Problem, improve, lists_of, problem
from hwgen.search.core.dominance import Triples, step_list, undominated
from hwgen.search.core.nests import fixed_items, free_items
from hwgen.search.core.orders import TILED, FixedOrder, Orders, all_orders, fixed_order
from hwgen.search.core.space import IMPOSSIBLE, Target
from hwgen.search.hwc.memory_split import frontier
from hwgen.search.objectives.of_hwc import hwc_objective

__all__ = ["InnerGoal", "InnerNests", "memories_for"]

InnerGoal = Literal["traffic", "cycles"]
Floats = NDArray[np.float64]
NEAR = 2.0
"""A split of the memories that makes a layer cost more than this many times its least is not looked at."""

Grid = Mapping[Dim, Sequence[Span]]


class InnerNests:
    """One layer on the HWCs of one cluster.

    Parameters
    ----------
    like : the nests of the same layer on hardware that has other memories and differs in nothing else, if any.
    """

    def __init__(self, layer: Layer, hardware: Hardware, bits: Bits, like: "InnerNests | None" = None) -> None:
        self._layer, self._hardware, self._bits = layer, hardware, bits
        self._target = Target.of(hardware)
        self._problems: dict[object, tuple[Problem, Triples] | None] = {} if like is None else like._problems
        buffers = hardware.buffers
        self._caps = np.array([buffers[array] if buffers else IMPOSSIBLE for array in ARRAYS], np.float64)
        self._fixed: FixedOrder | None = None
        if hardware.order is not None:
            self._fixed = fixed_order(hardware.order, self._target.lane_dims)
        self._orders: Orders = all_orders() if self._fixed is None else self._fixed.orders

    def schedule(self, nest: tuple[Loop | Marker, ...]) -> Schedule:
        """A nest of this layer with the HWCs' lanes and ports."""
        target = self._target
        return Schedule(
            layer=self._layer,
            bits=self._bits,
            nest=nest,
            lanes=target.lanes,
            bias_words=target.bias_words,
            ports=target.ports,
            requantisation=target.requantisation,
            lane_registers=target.lane_registers,
        )

    def best(
        self,
        loops: OuterLoops,
        tile: Mapping[Dim, int],
        spread: Spread,
        most: float | None = None,
        *,
        spills: bool = True,
        divided: bool = False,
        goal: InnerGoal = "traffic",
        vectors: bool = False,
    ) -> tuple[Schedule, int] | None:
        """The schedule of fewest bytes, at most ``most``, and its bytes; None if there is none.

        Parameters
        ----------
        loops, tile, spread : the loops around a tile, the tile's steps, the steps of the spread loops.
        spills : whether partial sums may be written back to the TCDM.
        divided : only steps of m and c that divide every slice.
        vectors : only steps of whole vectors of channels.
        goal : ``cycles``: first of fewest cycles of the busiest of multipliers and ports; ``most`` is of these.
        """
        key = (tuple(tile.items()), tuple(spread.items()), divided, vectors)
        if key not in self._problems:
            self._problems[key] = self._problem(tile, spread, divided=divided, vectors=vectors)
        given = self._problems[key]
        if given is None:
            return None
        pruned, triples = given[0]._replace(caps=self._caps), given[1]
        if not spills:
            kept = (triples.states[:, 13:16] == 0).all(axis=1)
            triples = Triples(triples.index[kept], triples.states[kept])
        found = self._improved(pruned, triples, np.inf if most is None else most + 1, goal)
        if found is None:
            return None
        steps = {dim: int(found[6 + n]) for n, dim in enumerate(TILED)}
        spread_loops = tuple(Loop(dim, step, "hwc") for dim, step in spread.items())
        left = dict(self._layer.extents) | dict(tile) | spread
        if self._fixed is not None:
            items = fixed_items(left, self._target, self._fixed, steps)
        else:
            triple = int(triples.index[int(found[5])])
            order = self._orders.loops[self._orders.orders[triple]].tolist()
            items = free_items(left, self._target, order, self._orders.places(triple), steps)
        return self.schedule((*loops.items(), *spread_loops, *items)), int(found[int(goal == "cycles")])

    def _problem(
        self, tile: Mapping[Dim, int], spread: Spread, *, divided: bool, vectors: bool
    ) -> tuple[Problem, Triples] | None:
        """What is searched for a tile and a spread, whatever the goal and the memories; None if nothing runs."""
        grid = grid_of(self._layer, tile, spread)
        tables = grid_tables(self._layer, self._bits, self._target, grid)
        if tables is None:
            return None
        triples = undominated(self._orders, [tables], words=True, hardware=True)
        allowed = {dim: self._allowed(dim, grid[dim], divided=divided and dim in ("m", "c")) for dim in TILED}
        if vectors:
            lanes, most_c = self._target.lanes.c, len(allowed["c"]) - 1
            allowed["c"] &= (np.arange(most_c + 1) % lanes == 0) | (np.arange(most_c + 1) == most_c)
        lists = [step_list(tables, dim, allowed[dim], words=True, triples=triples) for dim in TILED]
        if not all(len(one.steps) for one in lists):
            return None
        return problem(tables, lists_of(lists)), triples

    def front(self, tile: Mapping[Dim, int], spread: Spread, goal: InnerGoal) -> Floats:
        """Steps of a fixed order that no others undercut in the goal and in all three memories, near the least goal.

        Rows as `hwgen.search.hwc.memory_split.frontier` gives them; none if nothing fits the budget.
        """
        caps = None if self._hardware.buffers is None else dict(self._hardware.buffers)
        grid = grid_of(self._layer, tile, spread)
        tables = grid_tables(self._layer, self._bits, self._target, grid, caps)
        if tables is None:
            return np.empty((0, 9))
        triples = undominated(self._orders, [tables], words=True, hardware=True)
        lists = [step_list(tables, dim, self._allowed(dim, grid[dim], divided=False), words=True) for dim in TILED]
        pruned, state = problem(tables, lists_of(lists)), triples.states[0]
        least, number_of_goal = np.full((1, FOUND), np.inf), hwc_objective(goal).number
        improve(pruned, triples.states[:1], np.array([float(self._hardware.budget)]), number_of_goal, 0, least)
        if not least[0, 0] < np.inf:
            return np.empty((0, 9))
        room = 1024
        while True:
            found = np.empty((room, 9))
            limit = NEAR * least[0, 0]
            number = frontier(pruned, state, float(self._hardware.budget), number_of_goal, 0, limit, found)
            if number >= 0:
                return found[:number]
            room *= 4

    def _improved(self, pruned: Problem, triples: Triples, known: float, goal: InnerGoal) -> "np.ndarray | None":
        """The first by all criteria of the candidates whose goal is below ``known``."""
        if not len(triples.index):
            return None
        budget, number = np.array([float(self._hardware.budget)]), hwc_objective(goal).number
        best = np.full((1, FOUND), np.inf)
        best[0, 0] = known
        improve(pruned, triples.states, budget, number, 0, best)
        if not best[0, 0] < known:
            return None
        found = np.full((1, FOUND), np.inf)
        found[0, 0] = best[0, 0]
        improve(pruned, triples.states, budget, number, 1, found)
        return found[0]

    def _allowed(self, dim: Dim, spans: Sequence[Span], *, divided: bool) -> "np.ndarray":
        sizes = {end - start for start, end in spans}
        steps = np.arange(max(sizes) + 1)
        usable = steps >= 1
        if self._fixed is not None and dim in self._fixed.loop_set.stepped:
            usable &= steps <= self._target.lanes.along(dim)
        elif self._fixed is not None and dim in self._fixed.loop_set.whole:
            usable &= steps == steps[-1]
        for size in sizes if divided else ():
            usable &= size % np.maximum(steps, 1) == 0
        if self._fixed is not None:
            loop_set, lanes = self._fixed.loop_set, self._target.lanes.along(dim)
            for size in sizes:
                choices = [
                    loop_set.steps(dim, min(step, size), size, lanes) for step in np.maximum(steps, 1).tolist()
                ]
                usable &= self._target.settings.steps(loop_set.dims, dim, size, choices)
        return usable


def memories_for(hardware: Hardware) -> list[Hardware]:
    """The hardware for which nests are searched: first with half of O's memory where that is given, so that the whole
    has room for a tile beside one that is drained; then as it is."""
    buffers = hardware.buffers
    if buffers is None:
        return [hardware]
    return [hardware.model_copy(update={"buffers": {**buffers, "O": buffers["O"] // 2}}), hardware]
