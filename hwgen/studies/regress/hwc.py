"""Many layers on many HWCs at full size: planned, generated, built and simulated side by side, kept line by line.

Four kinds of steps: a plan opens its HWCs; an HWC's Verilog, once generated, says which of its rows are new; if some
are, it is built; then they run. The most urgent step is the one with the longest path of steps that depend on it, so
that long rows start early and short ones fill the end.
"""

import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from cosim.device.device import HARNESS
from cosim.device.result import LayerResult
from cosim.hwc.layer_data import randomly_requantised
from cosim.hwc.preparation import rehearsal
from cosim.hwc.results import cosimulate
from cosim.hwc.runner import build_profiled, depth_for, hwc_device
from cosim.simulator.pace import hwc_paces, soonest
from cosim.simulator.registry import SIMULATORS
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
from hwgen.studies.engine.attempt import Record, Step, Tell
from hwgen.studies.engine.farm import Place
from hwgen.studies.engine.work import UNLIMITED, Work
from hwgen.studies.regress.plans import Configuration, Entry, Plan, make_plan
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.ledger import Ledger

__all__ = [
    "Outcome",
    "Regression",
    "Row",
    "build_rows",
    "expected_rows",
    "kept_configurations",
    "rows_of",
    "simulate_row",
]

RESULTS = "results.jsonl"
CYCLES_PER_SECOND = 2e6
BUILD_SECONDS, GENERATE_SECONDS = 8.0, 2.0
"""Estimates that only order the steps: simulation speed, seconds of a build, and of the Verilog."""
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
        self._work = Work(
            self.folder / RESULTS, Place(workers=self.jobs), UNLIMITED, perform=f"{__name__}:perform",
            share=self._share, keep=self._share,
        )  # fmt: skip

    def run(self) -> Outcome:
        """Run all rows without a kept result."""
        self._work.run(self._begin)
        outcome = self._outcome
        outcome.plans = [self._plans[one] for one in self.configurations if one in self._plans]
        return outcome

    def _share(self) -> tuple[int, int]:
        return len(self._outcome.results), self._known

    def _begin(self) -> None:
        for number, configuration in enumerate(self.configurations):
            # Plans that take long come last, so that the rows of the others keep the other processes busy.
            late = configuration.kind == "shared"
            arguments = (tuple(self.layers), configuration, self.folder / "plans")
            urgency = FIRST - number - 100 * late
            self._want("plan", [configuration.name], arguments, urgency, partial(self._planned, configuration))

    def _want(
        self, kind: str, names: object, arguments: tuple[Any, ...], urgency: float, then: Callable[[Any], None]
    ) -> None:
        """A step whose result is found in the cache the next time, and what follows if it is done."""

        def go_on(record: Record) -> None:
            self._outcome.spent.by_kind[kind] += record.get("cpu_seconds", 0.0)
            if record["status"] == "done":
                then(record["value"])
            else:
                of_plan = kind == "plan"
                self._outcome.failures.append(record["reason"] if of_plan else f"{kind}: {record['reason']}")

        self._work.want(Step(kind, digest_of([kind, names]), kind, arguments, urgency, keep=False), go_on)

    def _planned(self, configuration: Configuration, value: Any) -> None:
        self._plans[configuration] = plan = Plan.from_data(configuration, value)
        new: dict[tuple[HwcParameters, str], list[Row]] = defaultdict(list)
        for row in rows_of(plan):
            hardware = row.entry.hardware
            new[row.parameters, "" if hardware is None else digest_of(hardware.as_data())].append(row)
            self._known += 1
        for (parameters, hardware_digest), rows in new.items():
            urgency = GENERATE_SECONDS + BUILD_SECONDS + max(row.seconds for row in rows)
            names = [configuration.name, asdict(parameters), hardware_digest]
            self._want("generate", names, (parameters,), urgency, partial(self._generated, names, rows))

    def _generated(self, names: list[Any], rows: list[Row], value: Any) -> None:
        wanted = []
        for row in rows:
            title = f"{row.configuration.name} {row.layer}"
            step = Step("simulate", row.key(value["verilog"], self.seed), title, (row, self.seed), row.seconds)
            kept = self._work.kept(step)
            doubt = None if kept is None else doubtful(row, kept["value"])
            if doubt is not None:
                self._work.forget(step, doubt)
            elif kept is not None:
                self._outcome.results[row.configuration, row.layer] = {"key": step.key, **kept["value"]}
                continue
            wanted.append((row, step))
        if wanted:
            urgency = BUILD_SECONDS + max(row.seconds for row, _ in wanted)
            layers = [row.layer for row, _ in wanted]
            self._want("build", [names, layers], ([row for row, _ in wanted],), urgency, partial(self._built, wanted))

    def _built(self, wanted: list[tuple[Row, Step]], _: Any) -> None:
        for row, step in wanted:
            self._work.want(step, partial(self._simulated, row, step))

    def _simulated(self, row: Row, step: Step, record: Record) -> None:
        outcome = self._outcome
        outcome.spent.by_kind["simulate"] += record.get("cpu_seconds", 0.0)
        if record["status"] != "done":
            outcome.failures.append(f"simulate: {record['reason']}")
            return
        outcome.results[row.configuration, row.layer] = {"key": step.key, **record["value"]}
        outcome.simulated += 1
        self.arrived(record["value"], len(outcome.results), self._known)


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
    return {configuration for configuration, _ in _kept_rows(Ledger(folder / RESULTS).load())}


def _kept_rows(kept: dict[str, Record]) -> set[tuple[str, str]]:
    """Configuration and layer of what is kept."""
    values = [record["value"] for record in kept.values() if record.get("status") == "done"]
    return {(value["configuration"], value["layer"]) for value in values}


def expected_rows(
    layers: Sequence[Layer], configuration: Configuration, folder: Path
) -> dict[str, dict[str, Any] | None]:
    """The kept result of each layer of a configuration; None where there is none for today's plan and generator."""
    ledger = Ledger(folder / RESULTS)
    kept = ledger.load()
    names = _kept_rows(kept)
    rows = rows_of(make_plan(layers, configuration, folder / "plans"))
    found: dict[str, dict[str, Any] | None] = {row.layer: None for row in rows}
    if any((configuration.name, row.layer) not in names for row in rows):
        return found  # not complete in any case: the Verilog, which takes seconds, need not be generated
    for row in rows:
        record = kept.get(row.key(digest_of(generated(row.parameters)), 0))
        doubt = None if record is None else doubtful(row, record["value"])
        if doubt is not None:
            ledger.tell(f"{configuration.name} {row.layer}: {doubt}")
        elif record is not None:
            found[row.layer] = record["value"]
    return found


def doubtful(row: Row, kept: dict[str, Any]) -> str | None:
    """Why a kept result is not believed: its counts are not those that the model predicts."""
    schedule = row.entry.schedule
    predicted = predict(schedule).counts
    measured = Counts.from_json(kept["measured"])
    alike = kept["predicted"] == predicted.as_json() and kept["total_bytes"] == measured.total_bytes()
    differs = kept["equal"] and predicted.differences(measured)
    if not alike or differs or kept["cycles"]["predicted"] != predicted_cycles(schedule, row.parameters).total:
        return "its counts are not what the model and its flags say"
    return None


# --- what the processes do ---


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Do one step."""
    match step.kind:
        case "plan":
            return make_plan(*step.arguments).as_data()
        case "generate":
            return {"verilog": digest_of(generated(*step.arguments))}
        case "build":
            return build_rows(*step.arguments)
        case _:
            return simulate_row(*step.arguments)


def build_rows(rows: Sequence[Row]) -> dict[str, Any]:
    """Build the HWC of some rows, optimised if they take long; several times, if some need more memory."""
    programs = {
        depth_for("verilator", program.layout.size // WORD_BYTES): program
        for program in (compile_layer(row.entry.schedule, row.entry.hardware) for row in rows)
    }
    parameters = rows[0].parameters
    text = generated(parameters)
    cycles = sum(row.least_cycles for row in rows)
    paces = {name: one for name, one in hwc_paces(parameters.lanes.product).items() if SIMULATORS[name].native}
    for depth, program in sorted(programs.items(), key=lambda item: item[0]):
        device = hwc_device(text, depth, parameters.ports.each)
        name = soonest(paces, [cycles]).simulator
        if name == "verilator_profiled":
            build_profiled(device, partial(rehearsal, program, REHEARSED_CYCLES))
        else:
            SIMULATORS[name].build(device, "bench")
    return {}


def simulate_row(row: Row, seed: int) -> dict[str, Any]:
    """Run a row, requantised at random."""
    schedule = randomly_requantised(row.entry.schedule, np.random.default_rng([seed, row.stream]))
    (result,) = cosimulate([schedule], row.entry.hardware, seed=seed, streams=[row.stream])
    return _line(row, result)


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
