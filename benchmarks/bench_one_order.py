"""How little traffic one loop order for all 68 rows can have, where the goals of busy HWCs are out of its reach.

For each size in `hwgen.studies.regress.goals.NEAREST`: the least sum of the rows' bytes over all orders of the ten
loops and marker places that all rows share, relative to the optima, by branch and bound over all shapes of the lanes.
Each row has its own steps and its own division of the memories, and there is no demand on cycles: an HWC, which has
one division, moves no less. Mark: above the goal, so that what is listed in `NEAREST` has to be. Printed beside it,
on the lanes that have it: the least of two orders, each row in the better one, and of an order for each row; and the
least of one order in the pure model, without lanes.
"""

import os
import time

import numpy as np

from benchmarks.kept import leave
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.schedule import Bits
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.core.space import Target
from hwgen.search.hwc.memory_split import least_of_each
from hwgen.search.hwc.order_candidates import LayerSet
from hwgen.search.hwc.shared import layer_set_of
from hwgen.studies.regress.goals import GOALS, NEAREST

COLUMNS = ("multipliers", "buffer_bytes", "shapes", "one_order", "two_orders", "order_for_each_row", "without_lanes",
           "goal")  # fmt: skip
WITHIN, SHARE = 3.0, 0.1
"""A layer in the better of two orders takes at most `WITHIN` times its optimum plus `SHARE` of all optima's sum."""


def least_of_one_order(sets: list[LayerSet]) -> tuple[float, LayerSet]:
    """The least bytes of all layers in one order, and the layers on the lanes that have it."""
    best, its = np.inf, sets[0]
    for layer_set in sorted(sets, key=lambda one: one.least_alone):
        if layer_set.least_alone < best:
            found = layer_set.nearest_candidates(layer_set.variants[0], best, words=False)
            if found and found[0].bound < best:
                best, its = found[0].bound, layer_set
    return best, its


def least_of_two_orders(layer_set: LayerSet, optima: list[int]) -> float:
    """The least bytes of all layers if each has the better one of two orders (`WITHIN`)."""
    variant = layer_set.variants[0]
    triples = layer_set.nearest_candidates(variant, words=False)[0].triples
    costs = np.empty((len(layer_set.layers), len(triples.index)))
    for n, one in enumerate(layer_set.problems):
        problem = one.problem(variant.allowed[n], words=False)
        limits = np.full(len(triples.index), WITHIN * optima[n] + SHARE * sum(optima))
        least_of_each(problem, triples.states, layer_set.budget, layer_set.objective.number, limits, costs[n])
    return min(float(np.minimum(costs, costs[:, [first]]).sum(axis=0).min()) for first in range(costs.shape[1]))


def main() -> bool:
    """Compute, print, and say whether the marks are met."""
    layers, met = tuple(load_layer_set("stoutchinin_2019").convolutions()), True
    table: list[list[object]] = []
    print(f"least I+W+O bytes of the optima in one loop order (load of the machine {os.getloadavg()[0]:.1f}):")
    for multipliers, budget, kind in NEAREST:
        started = time.process_time()
        shapes = Lanes.shapes(multipliers, LANE_DIMS)
        optima = [one.total_bytes for (one,) in search_layers(layers, Request((budget,)), jobs=1)]
        free = sum(optima)
        least, its = least_of_one_order([layer_set_of(layers, budget, shape) for shape in shapes])
        pure, _ = least_of_one_order([LayerSet(layers, Target.of(None), float(budget), its.objective, Bits())])
        goal = GOALS[multipliers][kind].ratio
        excluded = least > goal * free
        met = met and excluded
        two = least_of_two_orders(its, optima)
        ratios = [round(value / free, 6) for value in (least, two, its.least_alone, pure)]
        table.append([multipliers, budget, len(shapes), *ratios, goal])
        print(
            f"  {multipliers} multipliers, {budget} bytes, all {len(shapes)} shapes: {least / free:.4f} "
            f"on lanes {its.target.lanes}; goal {goal:g}: {'out of reach' if excluded else 'NOT EXCLUDED'}\n"
            f"    two orders there: {two / free:.4f}, one for each row: "
            f"{its.least_alone / free:.4f}; one without lanes: {pure / free:.4f} "
            f"({time.process_time() - started:.0f} CPU s)",
            flush=True,
        )
    leave("one_order", COLUMNS, table)
    return met
