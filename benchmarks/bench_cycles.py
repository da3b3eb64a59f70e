"""Cycles of the schedules that the search for the fewest finds, over a bound that is proven: every row of
Stoutchinin 2019's table on a cluster of 64 multipliers. Marks: the median is at most 1.05, the worst 1.25.

The bound is the largest of what lanes with the waste of edges, beats of the DRAM, words of the ports and descriptors
take at the least; the cycles are those of the exact model of the program.
"""

import os
import time
from functools import partial
from statistics import median

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.model.cycle_bound import cycle_bound
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.cluster.least_cycles import search_least_cycles

SET, CLUSTER = "stoutchinin_2019", "cluster_64_vector"
MEDIAN, WORST = 1.05, 1.25


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    machine = load_hardware(named_file("hardware", CLUSTER))
    print(f"{SET} on {CLUSTER}, seconds of a processor (load of the machine {os.getloadavg()[0]:.1f}):")
    ratios = []
    for layer in load_layer_set(SET).convolutions():
        started = time.process_time()
        found = search_least_cycles(
            layer,
            machine,
            timed=judge_of(machine, timed=True),
            estimate=partial(estimated_cycles, hardware=machine, ordered=False),
        )
        bound = cycle_bound(layer, machine)
        ratios.append(found.value / bound.cycles)
        print(
            f"  {layer.name}: {found.value:,.0f} cycles, {ratios[-1]:.3f} of the bound (lanes {bound.lanes:,}, DRAM "
            f"{bound.dram:,}, ports {bound.ports:,}), utilisation {found.judged or 0:.3f}, "
            f"{found.dram_bytes:,} bytes, {time.process_time() - started:.1f} s",
            flush=True,
        )
    middle, worst = median(ratios), max(ratios)
    met = middle <= MEDIAN and worst <= WORST
    print(f"  median {middle:.3f} (at most {MEDIAN}), worst {worst:.3f} ({WORST}): {'met' if met else 'MISSED'}")
    return met
