"""Schedules of least energy on two hierarchies, for Conv1 to Conv5 of Yang et al. 2016 (Table 4): gap and seconds.

Marks, with cold caches: the median gap to the lower bound is at most 5 % on each hierarchy, no layer takes more than
120 s of processor time, and none more energy than with any of the paper's three ways: its search level by level, all
short strings of loops with their buffers placed best, and the same strings with their buffers packed by accesses. The
seconds of the three are printed and have no mark. DianNao's hierarchy has separate buffers of 2, 32 and 2 KiB below
the DRAM; the other one has 512 B, 16 KiB and 256 KiB below it, one multiply-accumulate at a time.

Without arguments all layers. ``python -m benchmarks.bench_hierarchy Conv4`` does Conv4 alone.
"""

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median

from benchmarks.kept import leave
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Schedule
from hwgen.papers.yang.search import level_by_level
from hwgen.papers.yang.strings import best_string
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.hierarchy.optimal import SAME, HierarchyResult, objective_value, search_hierarchy
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import follow_the_parent

MOST_GAP, MOST_SECONDS = 0.05, 120.0
COLUMNS = ("memories", "layer", "picojoules", "gap", "seconds", "level_by_level", "all_short_strings", "packed")
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


def placed(layer: Layer, hierarchy: Hierarchy) -> Schedule:
    """The best of all short strings, its buffers in the levels of least energy."""
    return best_string(layer, hierarchy)[0]


def packed(layer: Layer, hierarchy: Hierarchy) -> Schedule:
    """The best of all short strings, its buffers packed by their accesses."""
    return best_string(layer, hierarchy, packs=True)[0]


PUBLISHED: dict[str, Callable[[Layer, Hierarchy], Schedule]] = {
    "level by level": level_by_level,
    "all short strings": placed,
    "packed": packed,
}


@dataclass(frozen=True)
class Row:
    """One layer on one hierarchy: ours with its processor time, the paper's ways with their energy and time."""

    found: HierarchyResult
    seconds: float
    published: dict[str, tuple[float, float]]

    @property
    def met(self) -> bool:
        """Whether ours is within its time and above none of the paper's ways."""
        above = any(self.found.value > value * (1 + SAME) for value, _ in self.published.values())
        return self.seconds <= MOST_SECONDS and not above


def measured(layer: Layer, hierarchy: Hierarchy) -> Row:
    """One layer, ours first: what is compiled on the way is in its time."""
    started = time.process_time()
    found = search_hierarchy(layer, hierarchy)
    seconds = time.process_time() - started
    published = {}
    for name, way in PUBLISHED.items():
        started = time.process_time()
        value = objective_value(way(layer, hierarchy), hierarchy, "energy")
        published[name] = value, time.process_time() - started
    return Row(found, seconds, published)


def shown(row: Row) -> None:
    """Print one layer."""
    one = row.found
    print(
        f"  {one.schedule.layer.name}: {one.value:.5g} pJ, bound {one.bound:.5g}, gap {100 * one.gap:.2f} %, "
        f"{row.seconds:.1f} s{'' if row.met else ' MISSED'}"
    )
    for name, (value, seconds) in row.published.items():
        print(f"    {name}: {value:.5g} pJ ({value / one.value:.3f} times), {seconds:.1f} s", flush=True)


def main(names: Sequence[str] = ()) -> bool:
    """Measure, print, and say whether the marks are met."""
    layers = [one for one in load_layer_set("yang_2016").convolutions()[:5] if not names or one.name in names]
    met, table = True, list[list[object]]()
    with ProcessPoolExecutor(
        min(processors(), len(layers)), mp_context=get_context("spawn"), initializer=follow_the_parent
    ) as pool:
        for data in HIERARCHIES:
            hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "bits": BITS, **data})
            print(f"{hierarchy.name}:", flush=True)
            rows = []
            for row in pool.map(measured, layers, [hierarchy] * len(layers)):
                shown(row)
                rows.append(row)
                ratios = (round(value / row.found.value, 6) for value, _ in row.published.values())
                found = [row.found.value, round(row.found.gap, 6), round(row.seconds, 1)]
                table.append([hierarchy.name, row.found.schedule.layer.name, *found, *ratios])
            gap, longest = median(row.found.gap for row in rows), max(row.seconds for row in rows)
            good = gap <= MOST_GAP and all(row.met for row in rows)
            print(
                f"  median gap {100 * gap:.2f} % (mark {100 * MOST_GAP:g} %), longest {longest:.1f} s "
                f"(mark {MOST_SECONDS:g} s): {'met' if good else 'MISSED'}",
                flush=True,
            )
            met = met and good
    leave("hierarchy", COLUMNS, table)
    return met


if __name__ == "__main__":
    raise SystemExit(0 if main(sys.argv[1:]) else 1)
