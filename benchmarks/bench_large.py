"""Layers as large as files may say: how long one command takes, from the start of its process.

Marks: `predict` of a nest with 65,535 channels at most 5 s, where every operation is a tile whose sums leave;
`schedule` of a layer of 64 channels and 3840 x 2160 pixels for one HWC, and of one with 65,535 channels on both
sides, at most 30 s each. Compiled code is warm; a first run that is not counted sees to that.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

PREDICTED, SEARCHED = 5.0, 30.0
DEEP = """
format: 1
kind: schedule
layer: {name: deep, input_channels: 65535, output_channels: 64, input_height: 14, input_width: 16, output_height: 14,
        output_width: 16, kernel: [3, 3], padding: [1, 1, 1, 1]}
nest: [m: 1, y: 1, c: 1, k: 1, buffer: [I, W, O], l: 1]
lanes: {x: 16}
"""
LAYERS = """
format: 1
kind: layer_list
network: large
layers:
- {name: layer, op: conv, input_channels: CHANNELS, output_channels: CHANNELS, input_height: HEIGHT,
   input_width: WIDTH, output_height: HEIGHT, output_width: WIDTH, kernel: [3, 3], padding: [1, 1, 1, 1]}
"""


def seconds_of(*arguments: str) -> float:
    """How long a command takes whose compiled code is warm."""
    command = [sys.executable, "-c", "from hwgen.cli.main import main; main()", *arguments]
    for _ in range(2):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
    return seconds


def layer_list(folder: Path, channels: int, height: int, width: int) -> str:
    """A file with one layer."""
    path = folder / f"{channels}_{height}_{width}.yaml"
    text = LAYERS.replace("CHANNELS", str(channels)).replace("HEIGHT", str(height)).replace("WIDTH", str(width))
    path.write_text(text, encoding="utf-8")
    return str(path)


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    with TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        (folder / "deep.yaml").write_text(DEEP, encoding="utf-8")
        search = ("schedule", "--buffer", "1KiB", "--hardware", "hwc")
        measured = {
            "predict, 65,535 channels": (seconds_of("predict", str(folder / "deep.yaml")), PREDICTED),
            "schedule, 64 channels of 3840 x 2160": (
                seconds_of(*search, layer_list(folder, 64, 2160, 3840)), SEARCHED,
            ),
            "schedule, 65,535 channels to 65,535": (seconds_of(*search, layer_list(folder, 65535, 14, 14)), SEARCHED),
        }  # fmt: skip
    print(f"seconds from the start of the process (load of the machine {os.getloadavg()[0]:.1f}):")
    for what, (seconds, most) in measured.items():
        print(f"  {what}: {seconds:.1f} s, at most {most:.0f}: {'met' if seconds <= most else 'MISSED'}")
    return all(seconds <= most for seconds, most in measured.values())
