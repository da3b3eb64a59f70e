"""A sweep on two workers against one that is confined to one core: twenty points, everything built anew.

Mark: at least 1.7 times as fast. It means something only on a machine with two cores that does nothing else; the
processor time of both runs stands beside, and what the load was.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hwgen.sweep.attempt import environment

LEAST_GAIN = 1.7
SWEEP = ("stoutchinin_2019:alexnet", "--buffers", "512,1KiB,2KiB,4KiB", "--scale", "2")
POINTS = 20


def sweep(folder: Path, cores: set[int]) -> tuple[float, float]:
    """Run it on so many workers as cores, confined to them: (seconds, seconds of processor time)."""
    command = [sys.executable, "-c", "from hwgen.cli import main; main()", "sweep", *SWEEP, "-j", str(len(cores)),
               "-o", str(folder / "out")]  # fmt: skip
    before, began = os.times(), time.perf_counter()
    subprocess.run(
        command,
        env={**environment(), "HWGEN_CACHE": str(folder / "cache")},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    seconds, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    lines = (folder / "out" / "results.csv").read_text(encoding="utf-8").count(",verilator,")
    assert lines == POINTS, f"{lines} points"
    return seconds, used


def main() -> bool:
    """Measure both, one after the other."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("  NOT measured: the machine has one core")
        return False
    found = []
    for chosen in ({cores[0]}, set(cores)):
        with TemporaryDirectory(prefix="hwgen-bench-") as name:
            found.append(sweep(Path(name), chosen))
        seconds, used = found[-1]
        print(
            f"  {len(chosen)} workers: {POINTS} points in {seconds:.0f} s, {used:.0f} s of processor time", flush=True
        )
    gain = found[0][0] / found[1][0]
    print(f"  gain {gain:.2f} (mark: {LEAST_GAIN}); load over the last minutes {os.getloadavg()[1]:.1f}")
    return gain >= LEAST_GAIN
