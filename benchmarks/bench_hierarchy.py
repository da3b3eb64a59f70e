"""Schedules of least energy on two hierarchies, for Conv1 to Conv5 of Yang et al. 2016 (Table 4): gap and seconds.

Marks, on two idle processors, with cold caches: the median gap to the lower bound is at most 5 % on each hierarchy,
no layer takes more than 120 s, and none more energy than with the paper's search, level by level. DianNao's hierarchy
has separate buffers of 2, 32 and 2 KiB below the DRAM; the other one has 512 B, 16 KiB and 256 KiB below it, one
multiply-accumulate at a time.
"""

from statistics import median

from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.network import load_layer_set
from hwgen.search.hierarchy.batch import HierarchyRequest, search_on_hierarchy
from hwgen.search.hierarchy.optimal import SAME, objective_value
from hwgen.search.published.yang import level_by_level

MOST_GAP, MOST_SECONDS = 0.05, 120.0
BITS = {"I": 16, "W": 16, "O": 16, "acc": 16}
HIERARCHIES: tuple[dict[str, object], ...] = (
    {
        "name": "diannao",
        "levels": [{"name": "dram"}, {"name": "sram", "bytes": {"I": 2048, "W": 32768, "O": 2048}}],
        "lanes": {"m": 16, "c": 16},
    },
    {
        "name": "four",
        "levels": [{"name": "dram"}, *({"name": f"level{size}", "bytes": size} for size in (262144, 16384, 512))],
    },
)


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    layers = load_layer_set("yang_2016").convolutions()[:5]
    met = True
    for data in HIERARCHIES:
        hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "bits": BITS, **data})
        found = search_on_hierarchy(layers, HierarchyRequest(hierarchy))
        gap, longest = median(one.gap for one in found), max(one.seconds for one in found)
        published = [objective_value(level_by_level(layer, hierarchy), hierarchy, "energy") for layer in layers]
        above = [one.value > other * (1 + SAME) for one, other in zip(found, published, strict=True)]
        good = gap <= MOST_GAP and longest <= MOST_SECONDS and not any(above)
        print(f"{hierarchy.name}: {'met' if good else 'MISSED'}")
        for one, other in zip(found, published, strict=True):
            print(
                f"  {one.schedule.layer.name}: {one.value:.5g} pJ, bound {one.bound:.5g}, gap {100 * one.gap:.2f} %, "
                f"{one.seconds:.1f} s; level by level {other:.5g} pJ ({other / one.value:.3f} times)"
            )
        print(f"  median gap {100 * gap:.2f} % (mark {100 * MOST_GAP:g} %), longest {longest:.1f} s")
        met = met and good
    return met
