"""A sweep on two workers against one that is confined to one core: the same points, everything built anew.

Mark: at least 1.7 times as fast. It means something only on a machine with two cores that does nothing else; the
processor time of both runs and that of everything else on these cores stand beside. Each run begins with an empty
cache of its own, without ccache; what no run should pay for alone (compiled Python, the tools' own caches) is done
before, by a sweep of one point.
"""

import csv
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hwgen.studies.engine.attempt import environment

LEAST_GAIN = 1.7
ORDER = "MYX[O]C[I]k[W]lmyx"
LEAST = ("--objective", "traffic", "--lanes", "x16")  # a search of a moment: simulations are what is timed
SWEEP = ("stoutchinin_2019:resnet", "--buffer", "512,1KiB", "--order", ORDER, "--scale", "2", *LEAST)
POINTS = 26
WARM = ("stoutchinin_2019:resnet_s5_1", "--buffer", "512", "--order", ORDER, "--scale", "16", *LEAST)
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """Seconds that a sweep took, processor seconds of its own, and of everything else on its cores meanwhile."""

    seconds: float
    used: float
    others: float


def busy(cores: set[int]) -> float:
    """Seconds for which some cores have worked since the machine was started."""
    lines = [line.split() for line in Path("/proc/stat").read_text(encoding="ascii").splitlines()]
    counted = {line[0]: list(map(int, line[1:9])) for line in lines if line[0].startswith("cpu")}
    # user, nice, system, idle, iowait, irq, softirq, steal
    return sum(sum(counted[f"cpu{core}"]) - sum(counted[f"cpu{core}"][3:5]) for core in cores) / TICKS


def sweep(wanted: Sequence[str], points: int, cores: set[int]) -> Run:
    """Run it on as many workers as cores, confined to them; every point must be as predicted."""
    with TemporaryDirectory(prefix="hwgen-bench-") as name:
        out = Path(name) / "out"
        command = [sys.executable, "-c", "from hwgen.cli import main; main()", "sweep", *wanted, "-j",
                   str(len(cores)), "-o", str(out)]  # fmt: skip
        variables = {**environment(), "HWGEN_CACHE": str(Path(name) / "cache"), "CCACHE_DISABLE": "1"}
        times, worked, began = os.times(), busy(cores), time.perf_counter()
        done = subprocess.run(
            command, env=variables, check=False, capture_output=True, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )  # fmt: skip
        seconds, after = time.perf_counter() - began, os.times()
        if done.returncode:
            raise RuntimeError(f"the sweep ended with status {done.returncode}: {done.stderr[-500:]}")
        with (out / "results.csv").open(encoding="utf-8", newline="") as file:
            good = [row for row in csv.DictReader(file) if row["status"] == "ok"]
    if len(good) != points:
        raise RuntimeError(f"{len(good)} points as predicted, expected {points}")
    used = after.children_user + after.children_system - times.children_user - times.children_system
    return Run(seconds, used, max(0.0, busy(cores) - worked - used))


def main() -> bool:
    """Measure both, one after the other."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("  NOT measured: the machine has one core")
        return False
    sweep(WARM, 1, set(cores))
    found = []
    for chosen in ({cores[0]}, set(cores)):
        run = sweep(SWEEP, POINTS, chosen)
        found.append(run)
        print(
            f"  {len(chosen)} workers: {POINTS} points in {run.seconds:.0f} s, {run.used:.0f} s of processor time; "
            f"everything else on these cores: {run.others:.0f} s",
            flush=True,
        )
    gain = found[0].seconds / found[1].seconds
    print(f"  gain {gain:.2f} (mark: {LEAST_GAIN})")
    return gain >= LEAST_GAIN
