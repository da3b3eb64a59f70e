"""How busy the multipliers of an HWC of 1 KiB are whose lanes lie along m and x, by its cycle model.

Stoutchinin et al. 2019 (V-C) state an average of 80 % over their layers. The HWC with their loops is in
`hwgen.papers.stoutchinin.published_nest`; this one was chosen for busy lanes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.papers.stoutchinin.published_nest import CyclesOf
from hwgen.papers.stoutchinin.rows import HWC_BYTES, Search
from hwgen.search.hwc.utilisation import plan_hwcs

__all__ = ["DEMAND", "LANES_CHOSEN", "BusyLanes", "busy_lanes"]

LANES_CHOSEN = Lanes(m=8, x=2)
DEMAND, MOST_RATIO = 0.945, 1.2
"""Mean of the estimated utilisations that the chosen HWC must reach, and its most traffic over that of the optima."""


@dataclass(frozen=True)
class BusyLanes:
    """One layer: multiply-accumulates over what 16 lanes can do in the layer's cycles.

    Members
    -------
    chosen : on one HWC for all layers, with `LANES_CHOSEN`; None where no such HWC reaches `DEMAND`.
    """

    layer: str
    chosen: float | None


def busy_lanes(layers: Sequence[Layer], how: Search, cycles_of: CyclesOf) -> list[BusyLanes]:
    """Each layer on the chosen HWC."""
    try:
        plan = plan_hwcs(layers, HWC_BYTES, DEMAND, MOST_RATIO, lanes=LANES_CHOSEN, store=how.store, jobs=how.jobs)
    except InputError:
        return [BusyLanes(layer.name, None) for layer in layers]
    found = {}
    for choice in plan.choices:
        layer = choice.schedule.layer
        cycles = cycles_of(choice.schedule, choice.hardware)
        found[layer.name] = layer.macs / (LANES_CHOSEN.product * cycles)
    return [BusyLanes(layer.name, found.get(layer.name)) for layer in layers]
