"""``hwgen choose`` on the shapes of MLPerf Tiny with random weights: what it names against its run in the RTL, and
against clusters that are drawn at random.

Each of `TASKS` is chosen as the command does it, with a run in the RTL. Marks: at most `SECONDS` by the clock; the
plan of the chosen cluster is within `MOST_ERROR` of its run. Then `DRAWN` clusters of the same space are planned,
whatever their bounds are: none of them may do better what was asked, which is fewer LUTs at that rate, or more images
a second within those LUTs. One that seems to by its plan is run in the RTL, which decides. Areas are estimates.
"""

import time
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from examples.mlperf_tiny.networks import NETWORKS, quantised_network
from hwgen.api.choosing.request import Choice, ChooseRequest, planned_on
from hwgen.api.choosing.selection import Budget, Planned
from hwgen.api.choosing.space import Candidate, candidates
from hwgen.api.running import RunRequest
from hwgen.lower.network.bound import NetworkBound
from hwgen.readers.integers.reader import read_quantised
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import as_they_come

TASKS = (Budget(fps=30, mhz=80), Budget(luts=40_000), Budget(luts=80_000))
DRAWN, SEED = 200, 1
SECONDS, MOST_ERROR = 300.0, 0.01


def main() -> bool:
    """Choose for each network and budget, and compare."""
    met = [_network(name) for name in NETWORKS]
    return all(met)


def _network(name: str) -> bool:
    with TemporaryDirectory(prefix="hwgen-") as folder:
        model = quantised_network(name, SEED, Path(folder) / "network.onnx")
        chosen = [_chosen(name, model, budget) for budget in TASKS]
        drawn = _drawn(model)
        print(f"  {name}: {len(drawn)} of {DRAWN} clusters drawn at random run it", flush=True)
        beaten = [_beaten(model, one, drawn, budget) for (one, _), budget in zip(chosen, TASKS, strict=True)]
        return all(met for _, met in chosen) and not any(beaten)


def _chosen(name: str, model: Path, budget: Budget) -> tuple[Planned, bool]:
    started = time.perf_counter()
    choice: Choice = ChooseRequest(model=model, budget=budget).answer()
    seconds = time.perf_counter() - started
    one = choice.chosen or choice.nearest
    off = abs(one.measured / one.cycles - 1) if one.measured else 1.0
    met = choice.best is not None and seconds <= SECONDS and off <= MOST_ERROR
    print(
        f"  {name}, {_asked(budget)}: {one.candidate.hardware.name}, {one.candidate.area.lut4:,} LUT4 (estimated), "
        f"{one.cycles:,} cycles planned, {one.measured or 0:,} measured ({off:.2%} apart), "
        f"{one.images_a_second(budget):,.0f} images a second; {choice.planned} plans, {seconds:.0f} s: "
        f"{'met' if met else 'MISSED'}",
        flush=True,
    )
    return one, met


def _asked(budget: Budget) -> str:
    return ", ".join(f"{key} {value:,}" for key, value in budget.document().items() if value is not None)


def _drawn(model: Path) -> list[Planned]:
    """Plans of clusters that are drawn without regard to their bounds, of those that run the network."""
    space = list(candidates(NetworkBound(read_quantised(model))))
    waiting = iter(Random(SEED).sample(space, DRAWN))
    calls = ((model, one) for one in waiting)
    made = [found for _, found in as_they_come(planned_on, lambda: next(calls, None), processors())]
    return [one for one in made if isinstance(one, Planned)]


def _beaten(model: Path, chosen: Planned, drawn: list[Planned], budget: Budget) -> bool:
    """Whether a cluster that was drawn does better what was asked."""
    found = False
    for one in drawn:
        candidate = one.candidate
        if not _is_better(candidate, one.cycles, chosen, budget):
            continue
        cycles = _run(model, candidate)
        better = _is_better(candidate, cycles, chosen, budget)
        found |= better
        print(
            f"    {_asked(budget)}: {candidate.hardware.name}, drawn, {candidate.area.lut4:,} LUT4, {one.cycles:,} "
            f"cycles planned, {cycles:,} measured, {budget.rate(candidate, cycles):,.0f} images a second: "
            f"{'better: MISSED' if better else 'not better'}",
            flush=True,
        )
    return found


def _is_better(candidate: Candidate, cycles: int, chosen: Planned, budget: Budget) -> bool:
    rate = budget.rate(candidate, cycles)
    if not budget.allows(candidate):
        return False
    if budget.fps is None:
        return rate > chosen.images_a_second(budget)
    return rate >= budget.fps and candidate.area.lut4 < chosen.candidate.area.lut4


@cache
def _run(model: Path, candidate: Candidate) -> int:
    return RunRequest(model=model, hardware=candidate.hardware, seed=SEED, resident=True).answer().cycles
