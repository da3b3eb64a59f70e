"""Many layers on many HWCs at full size: planned, generated, built and simulated side by side, kept line by line.

Four kinds of tasks: a plan opens its HWCs; an HWC's Verilog, once generated, says which of its rows are new; if some
are, it is built; then they run. The most urgent task is the one with the longest path of tasks that depend on it, so
that long rows start early and short ones fill the end.
"""

import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cosim.device.device import HARNESS, LONG, VERY_LONG
from cosim.device.result import LayerResult
from cosim.hwc.layer_data import randomly_requantised
from cosim.hwc.preparation import rehearsal
from cosim.hwc.results import cosimulate
from cosim.hwc.runner import build_profiled, depth_for, hwc_device
from cosim.simulator.registry import simulator_for
from cosim.simulator.verilator import REHEARSED_CYCLES
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.export.cached import generated
from hwgen.ir.counts import Counts
from hwgen.ir.lanes import LANE_DIMS
from hwgen.ir.layer import Layer
from hwgen.lower.hwc import compile_layer
from hwgen.model.hwc.cycles import least_cycles, predicted_cycles
from hwgen.model.nest.one_level import predict
from hwgen.studies.regress.plans import Configuration, Entry, Plan, make_plan
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.ledger import Ledger
from hwgen.tools.workers import Failed, Finished, Task, Told, Workers

__all__ = [
    "Outcome",
    "Regression",
    "Row",
    "Spent",
    "build_task",
    "expected_rows",
    "kept_configurations",
    "rows_of",
    "simulate_task",
]

CYCLES_PER_SECOND = 2e6
BUILD_SECONDS, GENERATE_SECONDS = 8.0, 2.0
BATCH_SECONDS = 10.0
"""Estimates that only order the tasks: simulation speed, seconds of a build, of the Verilog, and of a batch."""
FIRST = 1e9


@dataclass(frozen=True)
class Row:
    """One layer in one configuration."""

    configuration: Configuration
    entry: Entry
    parameters: HwcParameters
    least_cycles: int

    @property
    def layer(self) -> str:
        """The layer's name."""
        return self.entry.schedule.layer.name

    @property
    def seconds(self) -> float:
        """About how long it runs."""
        return 1.0 + self.least_cycles / CYCLES_PER_SECOND

    @property
    def stream(self) -> int:
        """Number of its random data: that of the layer's name, so that it does not depend on the other rows."""
        return zlib.crc32(self.layer.encode())

    def key(self, verilog_digest: str, seed: int) -> str:
        """Names everything that the result depends on."""
        prediction = predict(self.entry.schedule)
        return digest_of(
            [
                self.configuration.name,
                self.entry.schedule.as_data(),
                asdict(self.parameters),
                verilog_digest,
                _harness_digest(),
                prediction.counts.as_json(),
                predicted_cycles(self.entry.schedule, self.parameters).total,
                seed,
            ]
        )


@dataclass
class Spent:
    """Processor seconds of this run by what they went into: plan, generate, build, simulate."""

    by_kind: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self.by_kind.values())

    @property
    def builds_share(self) -> float:
        """Share of generating and building."""
        return (self.by_kind["generate"] + self.by_kind["build"]) / self.total if self.total else 0.0


@dataclass
class Outcome:
    """The outcome of a regression.

    Members
    -------
    plans : one for each configuration, in the order asked for; those that could not be made are among the failures.
    results : the rows' results as the ledger has them, by configuration and layer.
    failures : what could not be done, a line each.
    simulated : rows that were simulated now.
    spent : processor seconds.
    """

    plans: list[Plan] = field(default_factory=list)
    results: dict[tuple[Configuration, str], dict[str, Any]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    simulated: int = 0
    spent: Spent = field(default_factory=Spent)


@dataclass
class Regression:
    """A layer set in some configurations, with a folder that keeps plans and results.

    Parameters
    ----------
    layers : their names differ.
    configurations : what they run on.
    folder : where results are kept; what is there is not simulated again.
    seed : of the test data.
    jobs : processes.
    arrived : called with each result that is simulated, and how many of those known so far are done and there are.
    """

    layers: Sequence[Layer]
    configurations: Sequence[Configuration]
    folder: Path
    seed: int = 0
    jobs: int = 1
    arrived: Callable[[dict[str, Any], int, int], None] = lambda result, done, known: None

    def __post_init__(self) -> None:
        self._outcome = Outcome()
        self._plans: dict[Configuration, Plan] = {}
        self._known = 0

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self.folder / "results.jsonl")

    @cached_property
    def _kept(self) -> dict[str, dict[str, Any]]:
        return self._ledger.load()

    def run(self) -> Outcome:
        """Run all rows without a kept result."""
        with Workers(self.jobs) as workers:
            for number, configuration in enumerate(self.configurations):
                # Plans that take long come last, so that the rows of the others keep the other processes busy.
                late = configuration.kind == "shared"
                arguments = (tuple(self.layers), configuration, self.folder / "plans")
                workers.submit(FIRST - number - 100 * late, Task("plan", plan_task, arguments))
            for event in workers.events():
                match event:
                    case Told(_, (name, result)):
                        self._add(name, result)
                    case Failed(task, reason):
                        self._outcome.failures.append(reason if task.name == "plan" else f"{task.name}: {reason}")
                    case Finished(task, value, cpu_seconds):
                        self._outcome.spent.by_kind[task.name] += cpu_seconds
                        self._go_on(workers, task, value)
        outcome = self._outcome
        outcome.plans = [self._plans[one] for one in self.configurations if one in self._plans]
        return outcome

    def _go_on(self, workers: Workers, task: Task, value: Any) -> None:
        match task.name:
            case "plan":
                plan = value
                self._plans[plan.configuration] = plan
                new: dict[tuple[HwcParameters, str], list[Row]] = defaultdict(list)
                for row in rows_of(value):
                    hardware = row.entry.hardware
                    new[row.parameters, "" if hardware is None else digest_of(hardware.as_data())].append(row)
                    self._known += 1
                for (parameters, _), rows in new.items():
                    urgency = GENERATE_SECONDS + BUILD_SECONDS + max(row.seconds for row in rows)
                    workers.submit(urgency, Task("generate", generate_task, (parameters, tuple(rows))))
            case "generate":
                digest, rows = value
                wanted = []
                for row in rows:
                    key = row.key(digest, self.seed)
                    if believed(row, self._kept.get(key), self._ledger) is not None:
                        self._outcome.results[row.configuration, row.layer] = self._kept[key]
                    else:
                        wanted.append((row, key))
                if wanted:
                    urgency = BUILD_SECONDS + max(row.seconds for row, _ in wanted)
                    workers.submit(urgency, Task("build", build_task, (tuple(wanted),)))
            case "build":
                for batch in batches(value):
                    workers.submit(
                        sum(row.seconds for row, _ in batch), Task("simulate", simulate_task, (batch, self.seed))
                    )

    def _add(self, row_key: tuple[Row, str], result: dict[str, Any]) -> None:
        row, key = row_key
        self._ledger.add(key, result)
        self._outcome.results[row.configuration, row.layer] = {"key": key, **result}
        self._outcome.simulated += 1
        self.arrived(result, len(self._outcome.results), self._known)


def rows_of(plan: Plan) -> list[Row]:
    """The rows of a plan."""
    return [
        Row(
            plan.configuration,
            entry,
            compile_layer(entry.schedule, entry.hardware).parameters,
            least_cycles(predict(entry.schedule)),
        )
        for entry in plan.entries
    ]


def kept_configurations(folder: Path) -> set[str]:
    """Names of the configurations of which results are kept."""
    return {str(entry.get("configuration")) for entry in Ledger(folder / "results.jsonl").load().values()}


def expected_rows(
    layers: Sequence[Layer], configuration: Configuration, folder: Path, seed: int = 0
) -> dict[str, dict[str, Any] | None]:
    """The kept result of each layer of a configuration; None where there is none for today's plan and generator."""
    ledger = Ledger(folder / "results.jsonl")
    kept = ledger.load()
    names = {(entry.get("configuration"), entry.get("layer")) for entry in kept.values()}
    rows = rows_of(make_plan(layers, configuration, folder / "plans"))
    if any((configuration.name, row.layer) not in names for row in rows):
        # Not complete in any case: the Verilog, which takes seconds, need not be generated.
        return {row.layer: None for row in rows}
    found = {row.layer: kept.get(row.key(digest_of(generated(row.parameters)), seed)) for row in rows}
    return {row.layer: believed(row, found[row.layer], ledger) for row in rows}


def believed(row: Row, kept: dict[str, Any] | None, ledger: Ledger) -> dict[str, Any] | None:
    """A kept result, if its counts are those that the model predicts and lie above the bound; else None, and told."""
    if kept is None:
        return None
    schedule = row.entry.schedule
    predicted = predict(schedule).counts
    measured = Counts.from_json(kept["measured"])
    alike = kept["predicted"] == predicted.as_json() and kept["total_bytes"] == measured.total_bytes()
    differs = kept["equal"] and predicted.differences(measured)
    if not alike or differs or kept["cycles"]["predicted"] != predicted_cycles(schedule, row.parameters).total:
        ledger.tell(f"{row.configuration.name} {row.layer}: its counts are not what the model and its flags say")
        return None
    return kept


def batches(wanted: Sequence[tuple[Row, str]]) -> list[tuple[tuple[Row, str], ...]]:
    """Rows of one HWC, the longest first; short ones together, since each simulator takes a second to start."""
    found: list[tuple[tuple[Row, str], ...]] = []
    waiting: list[tuple[Row, str]] = []
    for item in sorted(wanted, key=lambda item: -item[0].least_cycles):
        waiting.append(item)
        if sum(row.seconds for row, _ in waiting) >= BATCH_SECONDS:
            found.append(tuple(waiting))
            waiting = []
    return [*found, tuple(waiting)] if waiting else found


# --- what the processes do ---


def plan_task(
    layers: Sequence[Layer], configuration: Configuration, store: Path, *, tell: Callable[[Any], None]
) -> Plan:
    """Make the plan of a configuration."""
    return make_plan(layers, configuration, store)


def generate_task(
    parameters: HwcParameters, rows: tuple[Row, ...], *, tell: Callable[[Any], None]
) -> tuple[str, tuple[Row, ...]]:
    """The digest of an HWC's Verilog, which is kept."""
    return digest_of(generated(parameters)), rows


def build_task(wanted: tuple[tuple[Row, str], ...], *, tell: Callable[[Any], None]) -> tuple[tuple[Row, str], ...]:
    """A build that runs these rows, optimised if they take long; several, if some need more memory than others."""
    programs = {
        depth_for("verilator", program.layout.size // WORD_BYTES): program
        for program in (compile_layer(row.entry.schedule, row.entry.hardware) for row, _ in wanted)
    }
    parameters = wanted[0][0].parameters
    text, ports = generated(parameters), parameters.ports
    cycles = sum(row.least_cycles for row, _ in wanted)
    for depth, program in sorted(programs.items(), key=lambda item: item[0]):
        if cycles > VERY_LONG:
            build_profiled(text, rehearsal(program, REHEARSED_CYCLES))
        else:
            device = hwc_device(text, depth, (ports.I, ports.W, ports.O))
            simulator_for("verilator", fast=cycles > LONG).build(device, "bench")
    return wanted


def simulate_task(wanted: tuple[tuple[Row, str], ...], seed: int, *, tell: Callable[[Any], None]) -> None:
    """Run rows of one HWC one after the other, each requantised at random; each result is sent as soon as it is
    complete."""
    schedules = [
        randomly_requantised(row.entry.schedule, np.random.default_rng([seed, row.stream])) for row, _ in wanted
    ]
    by_schedule = {id(schedule): item for schedule, item in zip(schedules, wanted, strict=True)}
    told: set[int] = set()

    def finished(result: LayerResult) -> None:
        name = id(result.schedule)
        if name not in told:
            told.add(name)
            tell((by_schedule[name], _line(by_schedule[name][0], result)))

    def arrived(result: LayerResult) -> None:
        if result.passed:  # else its failures are still to be explained
            finished(result)

    for result in cosimulate(
        schedules,
        wanted[0][0].entry.hardware,
        seed=seed,
        streams=[row.stream for row, _ in wanted],
        progress=arrived,
    ):
        finished(result)


def _line(row: Row, result: LayerResult) -> dict[str, Any]:
    p = row.parameters
    hardware = {
        "lanes": {dim: p.lanes.along(dim) for dim in LANE_DIMS},
        "order": " ".join(
            loop if not marks else f"[{marks}] {loop}" for loop, marks in zip(p.loops, _marks(p), strict=True)
        ),
        "buffers": {"I": p.input_bytes, "W": p.weight_bytes, "O": p.output_bytes},
    }
    return {
        "configuration": row.configuration.name,
        "layer": row.layer,
        "hardware": hardware,
        "passed": result.passed,
        **{key: value for key, value in result.as_json().items() if key != "layer"},
    }


def _marks(p: HwcParameters) -> list[str]:
    places = {"I": p.input_marker, "W": p.weight_marker, "O": p.output_marker}
    return ["".join(array for array, place in places.items() if place == j) for j in range(len(p.loops))]


@cache
def _harness_digest() -> str:
    return sources_digest([HARNESS])
