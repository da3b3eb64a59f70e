"""``hwgen choose`` on the shapes of MLPerf Tiny, SqueezeNet and ResNet-50 with random weights: what it names, in what
time, and what of it is so in the RTL and after synthesis.

Each of `TASKS` is chosen as the command does it. What is chosen is then run in the RTL, where there was no time for
that before, and synthesised. Marks: at most `SECONDS` by the clock for the choice; cycles of the run within
`MOST_CYCLES_OFF` of those planned, LUT4 estimated within `MOST_LUTS_OFF` of those synthesised. Where nothing does
what is asked, that it is said in that time is what counts. `benchmarks.bench_choose_random` looks for what is better.

What was chosen, run and synthesised is kept in `FOLDER`, from which a later call goes on; the table is printed row by
row, and on standard error what was left undone where the time was over. ``--few`` : two of the networks, without
synthesis.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_networks import quantise
from examples.light import MODELS
from examples.mlperf_tiny.networks import NETWORKS, quantised_network
from hwgen.api.choosing.request import ChooseRequest
from hwgen.api.choosing.selection import Budget
from hwgen.api.choosing.synthesis import synthesised_area
from hwgen.api.choosing.workload import QuantisedModel
from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.hardware import Hardware

OPTIONS = ("--few",)
TASKS = (Budget(fps=30, mhz=80), Budget(luts=20_000), Budget(luts=40_000), Budget(luts=80_000))
FEW, SEED = 2, 1
SECONDS, MOST_CYCLES_OFF, MOST_LUTS_OFF = 300.0, 0.01, 0.10
FOLDER = Path("build") / "bench_choose"
LATER = {"SqueezeNet": "light_squeezenet", "ResNet-50": "light_resnet50"}
"""The networks that are not of MLPerf Tiny, and their files among the models of `examples`."""
COLUMNS = ("network", "asked", "answer", "cycles planned", "in the RTL", "off", "LUT4, estimated", "synthesised",
           "off", "seconds")  # fmt: skip


def main() -> bool:
    """Choose for each network and budget, run and synthesise what is chosen."""
    return _chosen_for(list(_models()), synth=True)


def few() -> bool:
    """Choose for a few networks, and run what is chosen."""
    return _chosen_for(list(islice(_models(), FEW)), synth=False)


def _chosen_for(models: list[tuple[str, Path]], *, synth: bool) -> bool:
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    met = True
    for name, model in models:
        for budget in TASKS:
            row = _chosen(name, model, budget)
            if "hardware" in row:
                hardware = read_hardware_data(row["hardware"], "chosen")
                if row["measured"] is None:
                    row |= _kept(f"{name}_{hardware.name}_run", lambda: _run(model, hardware))  # noqa: B023
                if synth:
                    row |= _kept(f"{hardware.name}_synthesised", lambda: _synthesised(hardware))  # noqa: B023
            met = _told(name, row, budget) and met
    return met


def _models() -> Iterator[tuple[str, Path]]:
    """The networks, the small ones first; those of `LATER` as `benchmarks networks` quantises them."""
    makers: dict[str, Callable[[Path], Path]] = {
        name: lambda folder, name=name: quantised_network(name, SEED, folder / f"{name}.onnx")  # type: ignore[misc]
        for name in NETWORKS
    }
    for name, file in LATER.items():
        makers[name] = lambda folder, name=name, file=file: quantise(  # type: ignore[misc]
            MODELS / f"{file}.onnx", folder, np.random.default_rng(SEED)
        )[0].rename(folder / f"{name}.onnx")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in makers.items():
        model = FOLDER / f"{name}.onnx"
        yield name, model if model.exists() else make(FOLDER)


def _kept(name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is in a file of the folder, which is made if it is not there."""
    file = FOLDER / f"{name}.json"
    if not file.exists():
        write_atomically(file, json.dumps(make()))
    made: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return made


def _chosen(name: str, model: Path, budget: Budget) -> dict[str, Any]:
    """The answer to one question."""

    def answer() -> dict[str, Any]:
        started = time.perf_counter()
        try:
            found = ChooseRequest(network=model, budget=budget).answer()
        except InputError as error:
            return {"why": str(error).rpartition(": ")[2], "seconds": time.perf_counter() - started}
        row = {"seconds": time.perf_counter() - started, "why": found.limit, "stopped": found.stopped}
        best = found.best
        if best is None:
            return row
        hardware = best.hardware.as_data()
        return row | {"hardware": hardware, "cycles": best.cycles, "measured": best.measured, "luts": best.luts}

    asked = "_".join(f"{key}{value:g}" for key, value in budget.document().items() if value is not None)
    return _kept(f"{name}_{asked}", answer)


def _run(model: Path, hardware: Hardware) -> dict[str, Any]:
    """The run in the RTL for which the choice had no time."""
    return {"measured": QuantisedModel(model).run_on(hardware)}


def _synthesised(hardware: Hardware) -> dict[str, Any]:
    """LUT4-equivalents of all of it, on an ECP5."""
    return {"synthesised": synthesised_area(hardware).lut4_equivalents}


def _told(name: str, row: dict[str, Any], budget: Budget) -> bool:
    """Print a row. Returns whether its marks are met."""
    asked = " ".join(f"--{key} {value:g}" for key, value in budget.document().items() if value is not None)
    answer, cells, met = row["why"], [""] * 6, row["seconds"] <= SECONDS
    if "hardware" in row:
        answer = _described(row["hardware"])
        cycles_off = row["measured"] / row["cycles"] - 1
        cells[:4] = [f"{row['cycles']:,}", f"{row['measured']:,}", f"{100 * cycles_off:+.2f} %", f"{row['luts']:,}"]
        met = met and abs(cycles_off) <= MOST_CYCLES_OFF
        if "synthesised" in row:
            luts_off = row["luts"] / row["synthesised"] - 1
            cells[4:] = [f"{row['synthesised']:,}", f"{100 * luts_off:+.1f} %"]
            met = met and abs(luts_off) <= MOST_LUTS_OFF
    print(f"| {' | '.join([name, f'`{asked}`', answer, *cells, format(row['seconds'], '.0f')])} |", flush=True)
    if row.get("stopped"):
        print(f"  {name}, {asked}: {row['stopped']}", file=sys.stderr, flush=True)
    return bool(met)


def _described(hardware: dict[str, Any]) -> str:
    """HWCs, lanes and shared memory of what was chosen."""
    lanes = " ".join(f"{loop}{number}" for loop, number in hardware["lanes"].items())
    cluster = hardware.get("cluster")
    if cluster is None:
        return f"one HWC alone, `{lanes}`"
    number, kib = cluster["hwcs"], cluster["tcdm"] >> 10
    return f"{number} HWC{'s' if number > 1 else ''}, `{lanes}`, {kib} KiB in {cluster['banks']} banks"
