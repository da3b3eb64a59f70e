"""What a user waits for: ``hwgen cosim`` of the five AlexNet rows of Stoutchinin et al. (2019) at full size.

With empty caches the schedules are searched, Verilog is generated and simulators are built; with full ones the same
command only simulates. Marks: with full caches at least 0.9 of the cycles a second that the `cosim` benchmark has on
one processor. Where the environment variable ``HWGEN_OLDER`` names the folder of an older version of this project,
that runs the same command in turns with this one, and with empty caches this one takes at most 0.6 of its time.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench_cosim import measured

COMMAND = ("cosim", "stoutchinin_2019:alexnet", "--hardware", "m4c4_1KiB", "--json")
LEAST_RATIO, MOST_OF_OLDER = 0.9, 0.6
PAIRS = 2
OLDER = "HWGEN_OLDER"


@dataclass(frozen=True)
class Wait:
    """One run of the command: seconds by the clock, and the cycles that were simulated."""

    seconds: float
    cycles: int

    @property
    def per_second(self) -> float:
        """Cycles per second by the clock."""
        return self.cycles / self.seconds


def waited(tree: Path, caches: Path) -> Wait:
    """Run the command of a version of the project in a new process; raises `CalledProcessError` where it fails."""
    own = {"HWGEN_CACHE": caches / "cache", "NUMBA_CACHE_DIR": caches / "compiled", "PYTHONPATH": tree}
    environment = {**os.environ, **{name: str(value) for name, value in own.items()}, "CCACHE_DISABLE": "1"}
    command = [sys.executable, "-c", "from hwgen.cli import main; main()", *COMMAND]
    started = time.perf_counter()
    shown = subprocess.run(command, env=environment, cwd=tree, check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - started
    return Wait(seconds, sum(one["cycles"]["measured"] for one in json.loads(shown)["results"]))


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    print(f"hwgen {' '.join(COMMAND[:-1])} (load of the machine {os.getloadavg()[0]:.1f}):", flush=True)
    alone = measured()
    if alone is None:
        return False
    best = max(one.per_second for one in alone["cosim"])
    here, older, ratios = Path(__file__).resolve().parents[1], os.environ.get(OLDER), list[float]()
    with TemporaryDirectory(prefix="hwgen-") as name:
        for pair in range(PAIRS if older else 1):
            cold = waited(here, Path(name) / f"here_{pair}")
            print(f"  empty caches: {cold.cycles:,} cycles, {cold.seconds:.1f} s", flush=True)
            if older:
                before = waited(Path(older).resolve(), Path(name) / f"older_{pair}")
                ratios.append(cold.seconds / before.seconds)
                print(
                    f"  the older one: {before.cycles:,} cycles, {before.seconds:.1f} s: {ratios[-1]:.2f}", flush=True
                )
        warm = waited(here, Path(name) / "here_0")
    ratio = warm.per_second / best
    print(
        f"  full caches: {warm.cycles:,} cycles, {warm.seconds:.1f} s, {warm.per_second / 1e6:.2f} million a second, "
        f"{ratio:.2f} of the {best / 1e6:.2f} of the cosim benchmark"
    )
    marks = {f"full caches: at least {LEAST_RATIO} of the benchmark": ratio >= LEAST_RATIO}
    if ratios:
        marks[f"empty caches: at most {MOST_OF_OLDER} of the older one"] = max(ratios) <= MOST_OF_OLDER
    for mark, met in marks.items():
        print(f"  {mark}: {'met' if met else 'MISSED'}")
    return all(marks.values())
