"""The search for depth-first stacks: three networks at 720p and 4k, all cuts, factors 1 to 64, both weight modes.

Marks: at most 60 s together from a cold start (a new process that has yet to compile everything), in processor time
of that one process, since other work on the machine is none of ours; and the published figures of Goetschalckx 2019
at the ends of the fronts. Beside them, by how much all factors undercut the published powers of two.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hwgen.ir.network import load_layer_set
from hwgen.model.pipeline.graph import Graph
from hwgen.search.pipeline.front import POWERS_OF_TWO, best_within, search_front

MOST_SECONDS = 60.0
TABLES = (
    "srgan",
    "srgan_3840x2160",
    "mobilenet_v2_ssdlite",
    "mobilenet_v2_ssdlite_3840x2160",
    "dmcnn_vd",
    "dmcnn_vd_3840x2160",
)
LEAST = {"srgan": (6_357_144, 164_966_400), "dmcnn_vd_3840x2160": (5_935_526, 74_649_600)}
"""On-chip elements and traffic of the points of least traffic by the published rules."""
SEARCH = """
import sys, time
from hwgen.ir.network import load_layer_set
from hwgen.model.pipeline.graph import Graph
from hwgen.search.pipeline.front import search_front
for name in sys.argv[1:]:
    started = time.perf_counter()
    front = search_front(Graph.of(load_layer_set(name)))
    print(f"  {name:32} {len(front.points):5} points {time.perf_counter() - started:6.1f} s", flush=True)
"""


def cold_search(folder: Path) -> tuple[float, float]:
    """Search everything in a new process without compiled code: (seconds, seconds of processor time)."""
    root = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(root)}
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", SEARCH, *TABLES], env=environment, check=True)
    seconds, after = time.perf_counter() - started, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, used


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    with TemporaryDirectory(prefix="hwgen-") as name:
        seconds, used = cold_search(Path(name))
    load = os.getloadavg()[0]
    print(f"together, cold: {seconds:.1f} s, {used:.1f} s of processor time (load of the machine {load:.1f})")
    exact = True
    for name in TABLES:
        graph = Graph.of(load_layer_set(name))
        published, all_factors = search_front(graph, "published", POWERS_OF_TWO), search_front(graph, "published")
        last = published.points[-1]
        exact = exact and LEAST.get(name, (last.memory, last.traffic)) == (last.memory, last.traffic)
        gains = []
        for point in published.points:
            better = best_within(all_factors, point.memory)
            gains.append(1 - better.traffic / point.traffic if better else 0.0)
        mean = sum(gains) / len(gains)
        print(
            f"  {name:32} least traffic {last.traffic:,} with {last.memory:,}; all factors instead of "
            f"powers of two: {100 * mean:.1f} % less on average, {100 * max(gains):.1f} % at most"
        )
    fast = used <= MOST_SECONDS
    print(
        f"  marks: {MOST_SECONDS:.0f} s of processor time, cold, {'met' if fast else 'MISSED'}; "
        f"published ends {'met' if exact else 'MISSED'}"
    )
    return fast and exact
