"""``hwgen choose`` on the shapes of MLPerf Tiny, SqueezeNet and ResNet-50 with random weights: what it names, in what
time, and whether clusters that are drawn at random are better.

Each of `TASKS` is chosen as the command does it. Marks: at most `SECONDS` by the clock; where the chosen cluster has
been run in the RTL the plan is within `MOST_ERROR` of it; and of `DRAWN` clusters of the same space, which are
planned whatever their bounds are, none has both fewer LUTs and fewer cycles. Areas are estimates. Where no cluster
does what is asked, that it is said in that time is what counts.

What was chosen and planned is kept in `FOLDER`, from which a later call goes on; the table is printed row by row.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.bench_networks import quantise
from examples.light import MODELS
from examples.mlperf_tiny.networks import NETWORKS, quantised_network
from hwgen.api.choosing.request import ChooseRequest, planned_on
from hwgen.api.choosing.selection import Budget
from hwgen.api.choosing.space import Candidate, Space
from hwgen.api.choosing.workload import QuantisedModel
from hwgen.ir.document import InputError, write_atomically
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import as_they_come

OPTIONS = ("--few",)
TASKS = (Budget(fps=30, mhz=80), Budget(luts=40_000), Budget(luts=80_000), Budget(luts=20_000))
DRAWN, FEW, SEED = 200, 10, 1
SECONDS, MOST_ERROR = 300.0, 0.01
FOLDER = Path("build") / "bench_choose"
COLUMNS = ("network", "asked", "answer", "cycles", "in the RTL", "LUT4", "seconds", "better of those drawn")


def main() -> bool:
    """Choose for each network and budget, and compare."""
    return _compared(DRAWN)


def few() -> bool:
    """The same with a few clusters that are drawn."""
    return _compared(FEW)


def _compared(drawn: int) -> bool:
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    met = True
    for name, model in _models():
        rows = [_chosen(name, model, budget) for budget in TASKS]
        others = _drawn(name, model, drawn)
        for row, budget in zip(rows, TASKS, strict=True):
            better = _better(row, others, budget)
            met = _told(name, row, budget, f"{len(better)} of {len(others)}") and not better and met
            for other in better:
                print(
                    f"  better: {other['hardware']}, {other['luts']:,} LUT4, {other['cycles']:,} cycles", flush=True
                )
    return met


def _models() -> Iterator[tuple[str, Path]]:
    """The networks, the small ones first; those of 2012 on as `benchmarks networks` quantises them."""
    makers: dict[str, Callable[[Path], Path]] = {
        name: lambda folder, name=name: quantised_network(name, SEED, folder / f"{name}.onnx")  # type: ignore[misc]
        for name in NETWORKS
    }
    for name in ("light_squeezenet", "light_resnet50"):
        makers[name] = lambda folder, name=name: quantise(  # type: ignore[misc]
            MODELS / f"{name}.onnx", folder, np.random.default_rng(SEED)
        )[0]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in makers.items():
        model = FOLDER / f"{name}.onnx"
        yield name, model if model.exists() else make(FOLDER)


def _kept(file: Path, make: Callable[[], Any]) -> Any:
    """What is in a file, which is made if it is not there."""
    if not file.exists():
        write_atomically(file, json.dumps(make()))
    return json.loads(file.read_text(encoding="utf-8"))


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
        values = {"hardware": best.hardware.name, "cycles": best.cycles, "measured": best.measured, "luts": best.luts}
        return row | values

    asked = "_".join(f"{key}{value:g}" for key, value in budget.document().items() if value is not None)
    found: dict[str, Any] = _kept(FOLDER / f"{name}_{asked}.json", answer)
    return found


def _told(name: str, row: dict[str, Any], budget: Budget, better: str) -> bool:
    """Print a row. Returns whether its marks are met."""
    asked = ", ".join(f"{key} {value:,}" for key, value in budget.document().items() if value is not None)
    measured = row.get("measured")
    if "hardware" in row:
        notes = f" ({row['stopped']})" if row["stopped"] else ""
        cells = [f"`{row['hardware']}`{notes}", f"{row['cycles']:,}", f"{measured or 0:,}", f"{row['luts']:,}"]
    else:
        cells = [row["why"], "", "", ""]
    print(f"| {' | '.join([name, asked, *cells, format(row['seconds'], '.0f'), better])} |", flush=True)
    near = not measured or abs(measured / row["cycles"] - 1) <= MOST_ERROR
    return bool(near and row["seconds"] <= SECONDS)


def _drawn(name: str, model: Path, number: int) -> list[dict[str, Any]]:
    """Plans of clusters that are drawn without regard to their bounds, of those that run the network."""
    work = QuantisedModel(model)
    space = list(Space(work.bound(), depthwise=work.depthwise).grid())
    sample = Random(SEED).sample(space, DRAWN)[:number]
    files = {one.hardware.name: FOLDER / f"{name}_{one.hardware.name}.json" for one in sample}
    waiting = iter([one for one in sample if not files[one.hardware.name].exists()])
    calls = ((QuantisedModel(model), one) for one in waiting)
    for (_, one), made in as_they_come(planned_on, lambda: next(calls, None), processors()):
        found = made if isinstance(made, str) else made.cycles
        write_atomically(files[one.hardware.name], json.dumps(_row(one, found)))
    rows = [json.loads(file.read_text(encoding="utf-8")) for file in files.values()]
    return [row for row in rows if isinstance(row["cycles"], int)]


def _row(one: Candidate, cycles: int | str) -> dict[str, Any]:
    area = one.area
    return {"hardware": one.hardware.name, "cycles": cycles, "luts": area.lut4, "mhz": area.mhz or 0.0}


def _better(row: dict[str, Any], others: list[dict[str, Any]], budget: Budget) -> list[dict[str, Any]]:
    """Those that have both fewer LUTs and fewer cycles than what was chosen, at a clock that was asked for."""
    if "hardware" not in row:
        return []
    return [
        one
        for one in others
        if one["luts"] < row["luts"] and one["cycles"] < row["cycles"] and one["mhz"] >= (budget.mhz or 0.0)
    ]
