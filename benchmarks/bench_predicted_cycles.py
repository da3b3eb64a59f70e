"""Predicted cycles of random layers on clusters against those in the RTL: lanes, ports and banks of all kinds.

Each of `CLUSTERS` runs `LAYERS` layers, one in three of them depthwise, each with its own schedule, from the DRAM and
back. Where few banks serve wide lanes, what ports and DMA wait for each other at the banks, which is estimated, is
what the two differ by. Marks: counts equal, outputs exact; cycles off by `MEAN` in the mean over the layers of a
cluster, by `WORST` at most.

What was run is kept in `FOLDER`, cluster by cluster, with the schedules: the time of a call is that of the first one.
A change of the model alone is judged in seconds: predictions are made anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import hwgen
from hwgen.api.choosing.space import hardware_keys
from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.document import write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import program_on
from hwgen.lower.cluster.cycles import cluster_cycles

LAYERS, SEED, MOST_MACS = 9, 77, 3_000_000
MEAN, WORST = 0.02, 0.10
FOLDER = Path("build") / "bench_predicted_cycles"


class Shape(NamedTuple):
    """A cluster: lanes along m and c; bits of the ports and bytes of the buffers of I, W and O; bits to the DRAM."""

    lanes: tuple[int, int]
    hwcs: int
    banks: int
    ports: tuple[int, int, int]
    buffers: tuple[int, int, int]
    axi_bits: int
    tcdm: int


CLUSTERS = (
    Shape((4, 4), 4, 16, (32, 64, 64), (1024, 512, 2560), 64, 1 << 17),
    Shape((16, 16), 1, 4, (32, 64, 32), (2048, 1024, 5120), 32, 1 << 16),
    Shape((16, 16), 2, 16, (32, 64, 64), (1024, 1024, 2560), 32, 1 << 16),
    Shape((16, 8), 1, 8, (32, 64, 64), (1024, 512, 2560), 64, 1 << 16),
    Shape((8, 8), 4, 8, (32, 32, 32), (1024, 512, 5120), 32, 1 << 16),
    Shape((4, 2), 1, 2, (32, 32, 32), (128, 512, 1024), 32, 1 << 15),
)


def main() -> bool:
    """Run them, and compare."""
    columns = (
        "lanes",
        "HWCs",
        "banks",
        "bits of ports",
        "cycles off, mean",
        "in the mean too many",
        "worst",
        "layer",
    )
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    met = True
    for number, shape in enumerate(CLUSTERS):
        hardware = _hardware(number, shape)
        ran = _ran(number, hardware)
        errors = {one["layer"]: _predicted(one, hardware) / one["cycles"] - 1 for one in ran}
        off = sum(map(abs, errors.values())) / len(errors)
        more = sum(errors.values()) / len(errors)
        worst = max(errors, key=lambda name: abs(errors[name]))
        lanes, ports = f"m{shape.lanes[0]} c{shape.lanes[1]}", ", ".join(map(str, shape.ports))
        cells = (lanes, shape.hwcs, shape.banks, ports, f"{100 * off:.2f} %", f"{100 * more:+.2f} %",
                 f"{100 * errors[worst]:+.2f} %", worst)  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        met = met and off <= MEAN and abs(errors[worst]) <= WORST and all(one["passed"] for one in ran)
    return met


def _hardware(number: int, shape: Shape) -> Hardware:
    cluster = {"hwcs": shape.hwcs, "tcdm": shape.tcdm, "banks": shape.banks, "axi_bits": shape.axi_bits}
    keys = hardware_keys(*shape.lanes, shape.buffers, shape.ports, cluster, scaled=True)
    return read_hardware_data(keys | {"name": f"cluster_{number}", "column_window": True}, "cluster")


def _ran(number: int, hardware: Hardware) -> list[dict[str, Any]]:
    """Schedules and cycles of the runs on a cluster, which are kept."""
    file = FOLDER / f"{hardware.name}.json"
    if not file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        runs = hwgen.cosim(hwgen.schedule(list(_layers(number)), hardware))
        rows = [
            {"layer": one.layer, "cycles": one.cycles, "passed": one.result.passed,
             "schedule": one.result.schedule.as_data()}
            for one in runs.layers
        ]  # fmt: skip
        write_atomically(file, json.dumps(rows))
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _predicted(one: dict[str, Any], hardware: Hardware) -> float:
    return cluster_cycles(program_on(Schedule.from_data(one["schedule"]), hardware)).total


def _layers(number: int) -> Iterator[hwgen.Layer]:
    """Random layers for a cluster."""
    rng = Random(SEED + number)
    for index in range(LAYERS):
        depthwise = rng.random() < 0.3
        size = rng.choice((5, 8, 10, 14, 16, 20, 25, 32))
        width = rng.choice((size, size, 5, 8, 12, 24))
        kernel, stride = rng.choice((3, 3, 5) if depthwise else (1, 1, 3)), rng.choice((1, 1, 1, 2))
        made, read = rng.choice((16, 20, 32, 48, 64, 96)), rng.choice((3, 16, 24, 32, 40, 64))
        while not depthwise and made * read * kernel**2 * size * width > MOST_MACS:
            size, made = max(5, size - 4), max(16, made // 2)
        yield hwgen.Layer(
            name=f"layer_{number}_{index}", op="depthwise_conv" if depthwise else "conv",
            input_channels=made if depthwise else read, output_channels=made, input_height=size, input_width=width,
            kernel=kernel, stride=stride, padding=kernel // 2,
        )  # fmt: skip
