"""What ``hwgen choose`` names against hardware that is drawn at random: none that is drawn is better.

For ResNet-8 and DS-CNN of MLPerf Tiny, `DRAWN` clusters are drawn from what hardware files may have, not from the
places that ``choose`` searches: HWCs, lanes along `m` and `c`, ports, loop order, sizes of buffers, shared memory,
banks, port to the DRAM, vector unit, window for columns. ``choose`` names the fastest for each of `BUDGETS`. Mark:
none that is drawn has both fewer LUTs, estimated, and fewer cycles than one of these. Those are planned exactly that
may have by the bound of their cycles, which no plan goes below. How many have both fewer than a point of the front of
all that ``choose`` planned is told, too: between the budgets there are points that the search passed, not what it
looked for.

``HWGEN_MLPERF_TINY`` names a folder with the models; without it they have the shapes of MLPerf Tiny and random
weights. Everything is kept in `FOLDER`, so that the benchmark can be run in parts: a call goes on where one was
stopped. ``--few`` draws fewer.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from examples.mlperf_tiny.networks import quantised_network
from hwgen.api.choosing.request import ChooseRequest, planned_on
from hwgen.api.choosing.selection import Budget
from hwgen.api.choosing.space import ORDER, Candidate
from hwgen.api.choosing.workload import QuantisedModel
from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.document import InputError, write_atomically
from hwgen.model.area.estimate import estimated_area
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import as_they_come

OPTIONS = ("--few",)
DRAWN, FEW, SEED = 200, 20, 7
MINUTES = 2.0
BUDGETS = tuple(Budget(luts=luts) for luts in (30_000, 45_000, 80_000))
FOLDER = Path("build") / "bench_choose_random"
MODELS = {"ResNet-8": "pretrainedResnet_quant.tflite", "DS-CNN": "kws_ref_model.tflite"}
"""The networks, and their files in the folder of models."""
OTHER_ORDERS = (
    ["m", "c", {"buffer": "W"}, "y", "x", {"buffer": "O"}, {"buffer": "I"}, "k", "l", "m", "y", "x"],
    ["y", "x", "m", {"buffer": "O"}, "c", {"buffer": "I"}, "k", {"buffer": "W"}, "l", "m", "y", "x"],
)


def main() -> bool:
    """Compare with `DRAWN` clusters."""
    return _compared(DRAWN)


def few() -> bool:
    """The same with `FEW` of them."""
    return _compared(FEW)


def _compared(number: int) -> bool:
    columns = ("network", "drawn", "may be better by their bounds", "of these planned", "plans of choose",
               "chosen: LUT4, cycles", "better than a chosen one", "front", "better than a point of it")  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    met = True
    for name, file in MODELS.items():
        model = _model(name, file)
        answers = [_planned_by_choose(name, model, budget) for budget in BUDGETS]
        plans = [plan for answer in answers for plan in answer["plans"]]
        chosen = [answer["chosen"] for answer in answers if answer["chosen"] is not None]
        front = _front(plans)
        possible, others = _drawn(name, model, number, [*chosen, *front])
        better, some = (
            [one for one in others if any(_beats(one, point) for point in points)] for points in (chosen, front)
        )
        named = "; ".join(f"{one['luts']:,}, {one['cycles']:,}" for one in chosen)
        numbers = (number, possible, len(others), len(plans), named, len(better), len(front), len(some))
        print(f"| {name} | {' | '.join(map(str, numbers))} |", flush=True)
        for one in better:
            print(f"  better: {one['luts']:,} LUT4, {one['cycles']:,} cycles, {json.dumps(one['keys'])}", flush=True)
        met = met and not better and len(chosen) == len(BUDGETS)
    return met


def _model(name: str, file: str) -> Path:
    folder = os.environ.get("HWGEN_MLPERF_TINY", "")
    if folder and (Path(folder) / file).exists():
        return Path(folder) / file
    model = FOLDER / f"{name}.onnx"
    return model if model.exists() else quantised_network(name, SEED, model)


def _kept(file: Path, make: Callable[[], Any]) -> Any:
    """What is in a file, which is made if it is not there."""
    if not file.exists():
        write_atomically(file, json.dumps(make()))
    return json.loads(file.read_text(encoding="utf-8"))


def _planned_by_choose(name: str, model: Path, budget: Budget) -> dict[str, Any]:
    """LUT4 and cycles of what ``choose`` names for a budget, None if that is nothing, and of all that it planned."""

    def answer() -> dict[str, Any]:
        print(f"{name}: choose --luts {budget.luts}", file=sys.stderr, flush=True)
        try:
            found = ChooseRequest(network=model, budget=budget, minutes=MINUTES, confirm=False).answer()
        except InputError:
            return {"chosen": None, "plans": []}
        plans = [{"luts": one.candidate.area.lut4, "cycles": one.cycles} for one in found.plans]
        return {"chosen": None if found.chosen is None else plans[found.plans.index(found.chosen)], "plans": plans}

    made: dict[str, Any] = _kept(FOLDER / f"{model.stem}_{budget.luts}_chosen.json", answer)
    return made


def _front(plans: list[dict[str, int]]) -> list[dict[str, int]]:
    """What no other plan undercuts, the smallest first."""
    found: list[dict[str, int]] = []
    for one in sorted(plans, key=lambda one: (one["luts"], one["cycles"])):
        if not found or one["cycles"] < found[-1]["cycles"]:
            found.append(one)
    return found


def _beats(one: dict[str, Any], point: dict[str, int]) -> bool:
    """Whether it has both fewer LUTs and fewer cycles."""
    return bool(one["luts"] < point["luts"] and one["cycles"] < point["cycles"])


def _drawn(name: str, model: Path, number: int, points: list[dict[str, int]]) -> tuple[int, list[dict[str, Any]]]:
    """How many of what is drawn may beat one of some points by their bounds, and plans of those that run the network.

    Raises `ValueError` where a plan goes below its bound.
    """
    work = QuantisedModel(model)
    bound = work.bound()
    drawn = [replace(one, bound=bound.cycles(one.hardware)) for one in _draws(name, number)]
    possible = [
        one for one in drawn
        if any(_beats({"luts": one.area.lut4, "cycles": one.bound}, point) for point in points)
    ]  # fmt: skip
    files = {one.hardware.name: FOLDER / f"{model.stem}_{one.hardware.name}.json" for one in possible}
    waiting = iter([one for one in possible if not files[one.hardware.name].exists()])
    calls = ((QuantisedModel(model), one) for one in waiting)
    for (_, one), made in as_they_come(planned_on, lambda: next(calls, None), processors()):
        cycles = made if isinstance(made, str) else made.cycles
        if isinstance(cycles, int) and cycles < one.bound:
            raise ValueError(f"{one.hardware.name}: {cycles} cycles planned, below the bound of {one.bound}")
        row = {"luts": one.area.lut4, "cycles": cycles, "keys": one.hardware.as_data()}
        write_atomically(files[one.hardware.name], json.dumps(row))
        told = f"{name}: {one.hardware.name} of {number}: {one.area.lut4:,} LUT4, {cycles} cycles"
        print(told, file=sys.stderr, flush=True)
    rows = [json.loads(file.read_text(encoding="utf-8")) for file in files.values()]
    return len(possible), [row for row in rows if isinstance(row["cycles"], int)]


def _draws(name: str, number: int) -> Iterator[Candidate]:
    """Clusters by their numbers; what cannot be built is drawn again."""
    for index in range(number):
        rng = Random(f"choose {name} {SEED} {index}")
        while True:
            try:
                hardware = read_hardware_data(_keys(rng, f"drawn_{index}"), "drawn")
                yield Candidate(hardware, estimated_area(hardware), 0, ())
                break
            except InputError:
                continue


def _keys(rng: Random, name: str) -> dict[str, Any]:
    m, c = rng.choice((4, 8, 8, 16, 16, 32)), rng.choice((2, 4, 4, 8, 8, 16))
    sizes = {
        "I": max(1 << rng.randint(7, 12), 16 * c),
        "W": max(1 << rng.randint(7, 12), 4 * m * c),
        "O": max((1 << rng.randint(9, 13)) * rng.choice((4, 5, 6)) // 4 // (4 * m) * (4 * m), 64 * m),
    }
    ports = {operand: rng.choice((32, 32, 64)) for operand in ("I", "W", "O")}
    keys: dict[str, Any] = {
        "format": 1, "kind": "hardware", "name": name, "lanes": {"m": m, "c": c}, "budget": sum(sizes.values()),
        "buffers": sizes, "ports": ports, "requantisation": "scaled",
        "order": rng.choice((ORDER, ORDER, ORDER, *OTHER_ORDERS)),
        "cluster": {
            "hwcs": rng.choice((1, 1, 2, 3, 4)), "tcdm": 1 << rng.randint(15, 19), "banks": 1 << rng.randint(2, 5),
            "axi_bits": rng.choice((32, 64, 64)), "vector": True, "vector_elements": rng.choice((1, 2, 4, 8)),
        },
    }  # fmt: skip
    if rng.random() < 0.3:
        keys["column_window"] = True
    if rng.random() < 0.2:
        keys["requantisers"] = rng.choice((1, 2, 4))
    return keys
