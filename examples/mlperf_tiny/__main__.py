"""``python -m examples.mlperf_tiny``: the four networks of MLPerf Tiny in the RTL, beside published results."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.accelerator import HARDWARE, Record, dram_bytes, hwgen, judge
from examples.mlperf_tiny.networks import NETWORKS, quantised_network

SEED = 1
"""Random inputs that a network with random weights is quantised with."""
MODEL = "cluster_64_vector.yaml"
FILES: Mapping[str, str] = {
    "ResNet-8": "pretrainedResnet_quant",
    "DS-CNN": "kws_ref_model",
    "MobileNetV1 0.25": "vww_96_int8",
    "autoencoder": "ad01_int8",
}
"""Names of the published models in `mlcommons/tiny`, `benchmark/training/*/trained_models`."""
CLOCK = ("synth", "lenet", "--partial", "--hardware", HARDWARE / MODEL)
"""The command whose clock the table takes: of one HWC of the cluster, placed alone, whatever the layers."""


@dataclass(frozen=True)
class Published:
    """A result of MLPerf Tiny, closed division: inferences a second by network."""

    system: str
    version: str
    what: str
    mhz: float
    rates: Mapping[str, float]


PUBLISHED = (
    Published(
        "GAP9", "v1.0", "a RISC-V cluster with the convolution engine NE16, an ASIC", 370,
        {"autoencoder": 5692, "ResNet-8": 1623, "DS-CNN": 2103, "MobileNetV1 0.25": 889},
    ),
    Published(
        "NDP9120", "v1.0", "Syntiant's neural processor, an ASIC", 98,
        {"ResNet-8": 195, "DS-CNN": 675, "MobileNetV1 0.25": 244},
    ),
)  # fmt: skip


def main() -> int:
    """Run all, or the networks named; exit status 1 if a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m examples.mlperf_tiny")
    parser.add_argument("--models", type=Path, metavar="DIR", help="folder of the published .tflite files")
    parser.add_argument("--mhz", type=float, help="a clock in place of that of hwgen synth")
    parser.add_argument("--only", choices=list(NETWORKS), nargs="+", default=list(NETWORKS), help="these networks")
    given = parser.parse_args()
    record = Record("mlperf_tiny")
    runs = {name: _run(record, name, given.models) for name in given.only}
    mhz = given.mhz
    if mhz is None:
        (found,) = hwgen(*CLOCK)["hardware"]
        mhz = float(found["clock_mhz"])
        record.say(
            f"  {mhz:.1f} MHz on an ECP5: hwgen {' '.join(map(str, CLOCK[:-1]))} {MODEL.removesuffix('.yaml')}"
        )
    _table(record, runs, mhz)
    record.figures["clock_mhz"] = mhz
    return record.close()


def _run(record: Record, name: str, models: Path | None) -> dict[str, Any]:
    """The document of a network's run."""
    folder = record.folder / FILES[name]
    folder.mkdir(exist_ok=True)
    published = None if models is None else models / f"{FILES[name]}.tflite"
    if published is not None and published.is_file():
        model, whose = published, "published weights"
    else:
        model, whose = quantised_network(name, SEED, folder / f"{FILES[name]}.onnx"), "random weights"
        if published is not None:
            record.say(f"  {published} is not there")
    record.say(f"  {name}, {whose}:")
    run = hwgen("run", model, "--hardware", HARDWARE / MODEL, "--resident", "--seed", SEED, "-o", folder / "run")
    judge(record, run)
    record.figures[name] = {"weights": whose, **record.figures.pop("run")}
    return run


def _table(record: Record, runs: Mapping[str, dict[str, Any]], mhz: float) -> None:
    """What each network takes, beside what others published."""
    heads = ["network", "cycles", "DRAM bytes", "energy, uJ", f"a second at {mhz:.1f} MHz",
             *(f"{one.system} ({one.mhz:g} MHz)" for one in PUBLISHED)]  # fmt: skip
    rows = [heads]
    for name, run in runs.items():
        cycles, moved, energy = run["cycles"]["measured"], dram_bytes(run), run["energy"]["measured"]
        rates = [one.rates.get(name) for one in PUBLISHED]
        rows.append(
            [name, f"{cycles:,}", f"{moved:,}", f"{energy / 1e6:.1f}", f"{mhz * 1e6 / cycles:,.0f}",
             *("-" if rate is None else f"{rate:,.0f}" for rate in rates)]
        )  # fmt: skip
        record.figures[name] |= {"dram_bytes": moved, "a_second": mhz * 1e6 / cycles}
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
    for row in rows:
        record.say("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    for one in PUBLISHED:
        record.say(f"  {one.system}: MLPerf Tiny {one.version}, {one.what} at {one.mhz:g} MHz")


if __name__ == "__main__":
    raise SystemExit(main())
