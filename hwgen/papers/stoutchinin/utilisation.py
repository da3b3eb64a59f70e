"""How busy the multipliers of an HWC of 1 KiB are in each layer, by its cycle model (Stoutchinin et al. 2019, V-C).

The paper states an average of 80 % over its layers. Two HWCs are compared with that: the published one, with the
loops of Fig. 8 and 16 lanes along x; and one HWC whose lanes lie along m and x, which was chosen for this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.papers.stoutchinin.rows import HWC_BYTES, Search
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.hwc.utilisation import plan_hwcs
from hwgen.studies.regress.published_nests import FIG8

__all__ = ["DEMAND", "LANES_CHOSEN", "BusyLanes", "CyclesOf", "busy_lanes"]

LANES = Lanes(x=16)
LANES_CHOSEN = Lanes(m=8, x=2)
DEMAND, MOST_RATIO = 0.945, 1.2
"""Mean of the estimated utilisations that the chosen HWC must reach, and its most traffic over that of the optima."""

CyclesOf = Callable[[Schedule, Hardware | None], int]
"""Cycles of a schedule on an HWC of this hardware; None: on the smallest HWC that runs it."""


@dataclass(frozen=True)
class BusyLanes:
    """One layer: multiply-accumulates over what 16 lanes can do in the layer's cycles.

    Members
    -------
    fig8 : with the loops of Fig. 8 and 16 lanes along x; None where these loops do not run in 1 KiB.
    chosen : on one HWC for all layers, with `LANES_CHOSEN`; None where no such HWC reaches `DEMAND`.
    """

    layer: str
    fig8: float | None
    chosen: float | None


def busy_lanes(layers: Sequence[Layer], how: Search, cycles_of: CyclesOf) -> list[BusyLanes]:
    """Both HWCs for each layer."""
    chosen = _chosen(layers, how, cycles_of)
    published = Hardware(name="published", lanes=LANES, budget=HWC_BYTES)
    rows = []
    for layer in layers:
        try:
            request = Request((HWC_BYTES,), published, order=FIG8)
            ((found,),) = search_layers([layer], request, jobs=1, store=how.store)
        except InputError:
            fig8 = None
        else:
            fig8 = _utilisation(layer, cycles_of(found.schedule, None))
        rows.append(BusyLanes(layer.name, fig8, chosen.get(layer.name)))
        if how.progress is not None:
            how.progress(layer)
    return rows


def _chosen(layers: Sequence[Layer], how: Search, cycles_of: CyclesOf) -> dict[str, float]:
    try:
        plan = plan_hwcs(layers, HWC_BYTES, DEMAND, MOST_RATIO, lanes=LANES_CHOSEN, store=how.store, jobs=how.jobs)
    except InputError:
        return {}
    found = {}
    for choice in plan.choices:
        layer = choice.schedule.layer
        found[layer.name] = _utilisation(layer, cycles_of(choice.schedule, choice.hardware))
    return found


def _utilisation(layer: Layer, cycles: int) -> float:
    return layer.macs / (LANES.product * cycles)
