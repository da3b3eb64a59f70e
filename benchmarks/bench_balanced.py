"""The default on hardware, for each of the 68 published rows at 1 KiB: traffic by the least, and the cycles it saves.

Marks: no row has more than 1.01 of the least traffic that its hardware allows, and none takes more cycles than its
schedule of least traffic. With the lanes along x, and with lanes of any shape.
"""

import os
from statistics import median

from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core.batch import search_layers
from hwgen.search.hwc.balanced import BalancedRequest

BYTES, MOST = 1024, 1.01


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    layers = load_layer_set("stoutchinin_2019").convolutions()
    met = True
    for name, lanes in (("lanes along x", Lanes(x=16)), ("lanes of any shape", None)):
        request = BalancedRequest((BYTES,), Hardware(name="hwc", lanes=lanes, budget=BYTES))
        found = [one.balance for (one,) in search_layers(layers, request, jobs=os.cpu_count() or 1)]
        balances = [balance for balance in found if balance is not None]
        traffic = [one.chosen.total_bytes / one.least_traffic.total_bytes for one in balances]
        faster = [one.least_traffic.cycles / one.chosen.cycles for one in balances]
        chosen, least = (sum(getattr(one, end).cycles for one in balances) for end in ("chosen", "least_traffic"))
        good = len(balances) == len(layers) and max(traffic) <= MOST and min(faster) >= 1
        print(f"{len(balances)} rows, {BYTES} bytes, {name}: {'met' if good else 'MISSED'}")
        print(f"  traffic by the least: median {median(traffic):.4f}, most {max(traffic):.4f} (at most {MOST})")
        print(f"  cycles {chosen:,}, with least traffic {least:,}; times faster: median {median(faster):.2f}, "
              f"most {max(faster):.2f}")  # fmt: skip
        met = met and good
    return met
