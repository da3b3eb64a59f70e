"""A set of layers on one cluster, from a layer list to compared counts, and a schedule of one very large layer.

Marks, on two idle processors:

- ten random layers of a few thousand cycles each on one cluster of four HWCs, with cold caches (no simulator, no
  Verilog, no compiled kernels): searched, generated, built, simulated and compared in at most 120 s, with equal
  counts and exact outputs, on one and the same cluster;
- the schedule of a layer of 64 channels and 3840 x 2160 pixels (3 x 3, padding 1) on that cluster in at most 60 s.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from hwgen.ir.layer import Layer

MOST_SECONDS, MOST_SECONDS_LARGE = 120.0, 60.0
LAYERS = 10
MACS = range(60_000, 400_000)


def square(name: str, channels: tuple[int, int], size: tuple[int, int], kernel: int, stride: int = 1) -> Layer:
    """A layer with padding by half of its square kernel."""
    height, width = ((extent + 2 * (kernel // 2) - kernel) // stride + 1 for extent in size)
    return Layer(
        name=name, input_channels=channels[0], output_channels=channels[1], input_height=size[0], input_width=size[1],
        output_height=height, output_width=width, kernel=(kernel, kernel), stride=(stride, stride),
        padding=(kernel // 2,) * 4,
    )  # fmt: skip


def random_layers() -> list[Layer]:
    """Ten layers, always the same."""
    rng, found = Random("ten"), list[Layer]()
    while len(found) < LAYERS:
        kernel, stride = rng.choice((1, 3, 3, 5)), rng.choice((1, 1, 2))
        size, channels = rng.randint(6, 28), (rng.randint(1, 24), rng.randint(2, 48))
        layer = square(f"random_{len(found)}", channels, (size, size), kernel, stride)
        if layer.macs in MACS:
            found.append(layer)
    return found


def layer_list(layers: list[Layer], path: Path) -> Path:
    """The layers as a file."""
    rows = [{"name": layer.name, "op": "conv", **layer.shape_data} for layer in layers]
    path.write_text(
        json.dumps({"format": 1, "kind": "layer_list", "network": "set", "layers": rows}), encoding="utf-8"
    )
    return path


def run(folder: Path, *arguments: object) -> tuple[float, Any]:
    """One command in a new process with empty caches: seconds, and its document."""
    root = Path(__file__).resolve().parents[1]
    caches = {"HWGEN_CACHE": str(folder / "cache"), "NUMBA_CACHE_DIR": str(folder / "compiled")}
    command = [sys.executable, "-c", "from hwgen.cli import main; main()", *map(str, arguments), "--json"]
    started = time.perf_counter()
    environment = {**os.environ, **caches, "PYTHONPATH": str(root)}
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return time.perf_counter() - started, json.loads(found.stdout)


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        ten = layer_list(random_layers(), folder / "ten.yaml")
        seconds, document = run(folder, "cosim", ten, "--hardware", "cluster")
        results = document["results"]
        alike = all(one["equal"] and one["output_exact"] for one in results)
        cycles = [one["cycles"]["measured"] for one in results]
        builds = len(list((folder / "cache" / "builds").glob("*/complete")))
        print(
            f"{len(results)} layers, {min(cycles):,} to {max(cycles):,} cycles, on {builds} cluster: {seconds:.0f} s "
            f"(mark {MOST_SECONDS:g}); counts and outputs {'equal' if alike else 'DIFFER'}"
        )
        large = layer_list([square("large", (64, 64), (2160, 3840), 3)], folder / "large.yaml")
        seconds_large, document = run(folder, "schedule", large, "--hardware", "cluster")
        (entry,) = document["schedules"]
        print(
            f"64 channels, 3840 x 2160: {seconds_large:.0f} s (mark {MOST_SECONDS_LARGE:g}); "
            f"{entry['total_bytes']:,} bytes of DRAM, utilisation {entry['utilisation']} without stalls"
        )
    enough = len(results) == LAYERS and builds == 1
    return alike and enough and seconds <= MOST_SECONDS and seconds_large <= MOST_SECONDS_LARGE


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
