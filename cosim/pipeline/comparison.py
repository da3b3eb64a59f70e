"""A simulated stack on random data, compared with the model: traffic by kind, outputs, cycles."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.device.judge import breaches, different_elements, ended_with, no_end, unwanted
from cosim.pipeline.build import PipelineBuild
from cosim.pipeline.run import AccessError, PipelineJob, PipelineResult, run_pipelines, sizes_for
from hwgen.arch.dram import Dram
from hwgen.arch.pipeline import MoverParameters, PipelineParameters
from hwgen.arch.registers.control import Status
from hwgen.golden.network import RowData, row_output, row_requantisation, row_sums
from hwgen.ir.counts import Access
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.network.kinds import Lookup
from hwgen.ir.requantisation import TABLE_ENTRIES, Requantisation, Scale
from hwgen.lower.pipeline.cycles import played_on_dram, played_run
from hwgen.lower.pipeline.images import Images, images_of, in_scan_order
from hwgen.lower.pipeline.lowering import MACS, lower_stack
from hwgen.lower.pipeline.movers import dram_counts
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack, Traffic
from hwgen.model.pipeline.cycles import PlayedRun
from hwgen.tools.toolchain import Simulator

__all__ = [
    "STALL_RATE",
    "NetworkData",
    "StackResult",
    "StackRun",
    "compare",
    "job_of",
    "prepare",
    "random_network_data",
    "random_tables",
    "run_stacks",
]


Int8 = NDArray[np.int8]


@dataclass(frozen=True)
class NetworkData:
    """Data of the rows, and the maps [C, H, W] that they make, the input included, by name."""

    rows: dict[str, RowData]
    maps: dict[str, Int8]


def random_network_data(network: Network, rng: np.random.Generator, *, draw_shifts: bool = False) -> NetworkData:
    """Operands over their full range, -128 included; each row requantises as it says.

    ``draw_shifts``: by random shifts instead, which leave most of the sums of these data between the clipping bounds.
    """
    source = network.input
    assert source is not None
    inputs = rng.integers(-128, 128, (source.channels, source.height, source.width), dtype=np.int8)
    inputs.reshape(-1)[rng.integers(inputs.size)] = -128
    rows: dict[str, RowData] = {}
    maps = {source.name: inputs}
    for node in network.layers:
        operands = [maps[name] for name in node.inputs]
        rows[node.name] = _row(node, operands, rng, draw_shifts=draw_shifts)
        maps[node.name] = row_output(node, rows[node.name], operands)
    return NetworkData(rows, maps)


def _row(node: Node, operands: list[Int8], rng: np.random.Generator, *, draw_shifts: bool) -> RowData:
    if node.operator.tables:
        return random_tables(node, rng)
    requantisation = row_requantisation(node)
    if not node.operator.weighted:
        if draw_shifts and node.operator.requantises:
            requantisation = _shifted(requantisation, int(rng.integers(0, 3)))
        return RowData(requantisation=requantisation)
    shape = (node.output_channels, node.input_channels // node.groups, *node.kernel)
    weights = rng.integers(-128, 128, shape, dtype=np.int8)
    weights.reshape(-1)[rng.integers(weights.size)] = -128
    spread = float(np.abs(row_sums(node, RowData(weights), operands)).mean()) + 1.0
    bias = rng.normal(0.0, spread, node.output_channels).astype(np.int32)
    if draw_shifts:
        shift = int(np.clip(round(np.log2(spread / 40.0)) + rng.integers(0, 2), 0, 31))
        requantisation = _shifted(requantisation, shift)
    return RowData(weights, bias, requantisation)


def random_tables(node: Node, rng: np.random.Generator) -> RowData:
    """Random tables of a row."""
    tables = rng.integers(-128, 128, (node.groups, TABLE_ENTRIES), dtype=np.int8)
    shape = (1, node.output_channels, node.output_height, node.output_width)
    return RowData(quantised=Lookup(name=node.name, inputs=node.inputs, covers=(), shape=shape, tables=tables))


def _shifted(requantisation: Requantisation, shift: int) -> Requantisation:
    return replace(requantisation, scales=(Scale(shift=shift),))


# --- comparison ---

STALL_RATE = 80
"""Cycles of 256 in which a stream stalls, where the user asks for stalls."""


@dataclass(frozen=True)
class StackRun:
    """A stack to run, with its program, its DRAM image and what the model predicts.

    Members
    -------
    expected : every map by name, from the integer reference.
    traffic : predicted bytes by kind.
    random : seed of the random numbers in the harness.
    stall_rate : cycles of 256 in which a stream stalls.
    pipeline : a larger pipeline to run on, which other programs share; None: the program's own.
    dram : of a pipeline with movers: the timing of its DRAM.
    error : of a pipeline with movers: which access is answered with an error.
    """

    name: str
    program: PipelineProgram
    images: Images
    expected: Mapping[str, np.ndarray]
    traffic: Traffic
    random: int
    stall_rate: int = 0
    pipeline: PipelineParameters | None = None
    dram: Dram = field(default_factory=Dram)
    error: AccessError | None = None

    @cached_property
    def played(self) -> PlayedRun:
        """All tiles by the cycle model if no stream stalls, or with movers on their DRAM."""
        if self.parameters.movers is not None:
            return played_on_dram(self.program, self.images.layout, self.dram, self.parameters)
        return played_run(self.program, self.parameters)

    @property
    def predicted_cycles(self) -> int:
        """Predicted cycles of all tiles."""
        return self.played.cycles

    @property
    def bias_bytes(self) -> int:
        """Predicted bytes of biases and of tables; where sums are scaled, of the records that have the biases."""
        p = self.parameters
        words = (p.memory_words(index) for index, stage in enumerate(p.stages) if stage.loads_weights)
        return sum(one.words * one.bytes for memories in words for kind, one in memories.items() if kind != "weights")

    @property
    def cycle_limit(self) -> int:
        """Cycles after which the run is stopped: far more than stages and streams take."""
        return 100_000 + 20 * (self.program.cycles + self.images.memory.size) * 256 // (256 - self.stall_rate)

    @property
    def parameters(self) -> PipelineParameters:
        """Parameters of the pipeline that it runs on."""
        return self.pipeline or self.program.parameters


@dataclass(frozen=True)
class StackResult:
    """The result of a simulated stack.

    Members
    -------
    measured : bytes that crossed the streams, by kind.
    bias : bytes of biases, which are counted apart; with multipliers and shifts where sums are scaled.
    output_exact : all maps that the stack writes equal the reference.
    failures : one line for each thing that is wrong.
    """

    run: StackRun
    measured: Traffic
    bias: int
    output_exact: bool
    failures: tuple[str, ...]
    result: PipelineResult

    @property
    def passed(self) -> bool:
        """Whether there are no failures."""
        return not self.failures

    @property
    def cycles(self) -> int:
        """Cycles of all tiles by the pipeline's own counter, without the load and the settings of the first."""
        return self.result.cycles[-1]

    def left(self, number: int) -> NDArray[np.uint8]:
        """The bytes of a map that the run wrote to memory, in scan order. ``number``: in the graph."""
        one, base = self.run.program.plan.by_number[number], self.run.images.regions[number]
        return self.result.memory[base : base + one.channels * one.lines * one.columns]

    def as_json(self) -> dict[str, Any]:
        """The value as plain data."""
        return {
            "stack": self.run.name,
            "factor": self.run.program.plan.factor,
            "predicted": asdict(self.run.traffic),
            "measured": asdict(self.measured),
            "bias": self.bias,
            "equal": self.measured == self.run.traffic,
            "output_exact": self.output_exact,
            "cycles": {
                "predicted": self.run.predicted_cycles,
                "measured": self.cycles,
                "slowest_stage": self.run.program.cycles,
            },
            "dram": {stream: asdict(access) for stream, access in self.result.dram.items()},
            "failures": list(self.failures),
        }


def prepare(
    name: str,
    solution: Solution,
    stack: Stack,
    data: NetworkData,
    *,
    macs: int = MACS,
    random: int = 1,
    stall_rate: int = 0,
    movers: MoverParameters | None = None,
    dram: Dram | None = None,
) -> StackRun:
    """Lower a stack of a network and lay out its data in DRAM; with ``movers`` for a DRAM of its own."""
    program = lower_stack(
        plan_stack(solution, stack), data.rows, fetched=solution.weights == "fetched", macs=macs, movers=movers
    )
    images = images_of(program, data.maps, np.random.default_rng(random))
    return StackRun(
        name, program, images, data.maps, solution.traffic(stack), random, stall_rate, dram=dram or Dram()
    )


def run_stacks(
    runs: Sequence[StackRun], *, simulator: Simulator = "verilator", fast: bool = True
) -> list[StackResult]:
    """Build all pipelines into one simulator, each once, and run all stacks."""
    pipelines = list(dict.fromkeys(run.parameters for run in runs))
    jobs = [replace(job_of(run), pipeline=pipelines.index(run.parameters)) for run in runs]
    sizes = [sizes_for([job for job in jobs if job.pipeline == index]) for index in range(len(pipelines))]
    build = PipelineBuild(tuple(zip(pipelines, sizes, strict=True)), simulator, fast)
    return [compare(run, result) for run, result in zip(runs, run_pipelines(build, jobs), strict=True)]


def job_of(run: StackRun) -> PipelineJob:
    """The job of a run, on pipeline 0 of a build."""
    return PipelineJob(
        0, run.program, run.images, run.random, run.stall_rate, run.cycle_limit, dram=run.dram, error=run.error
    )


def compare(run: StackRun, result: PipelineResult) -> StackResult:
    """Compare a run's result with the model and the reference."""
    measured, apart = _measured(run, result)
    failures = [
        f"{kind}: {getattr(measured, kind)} bytes, predicted {expected}"
        for kind, expected in asdict(run.traffic).items()
        if getattr(measured, kind) != expected
    ]
    if apart != run.bias_bytes:
        failures.append(f"biases, scales and tables: {apart} bytes, predicted {run.bias_bytes}")
    if not result.ended:
        failures.append(no_end(result.total))
    failures += [ended_with({"status": status}) for status in result.status if status != Status.DONE][:1]
    failures += [
        f"{name}: {getattr(result, name)}" for name in ("twice", "beyond", "refused") if getattr(result, name)
    ]
    failures += breaches({"axi": result.violations})
    failures += _at_dram(run, result)
    failures += unwanted((), result.unwanted)
    left = [name for name, count in result.streams.items() if count.left]
    if left:
        failures.append(f"segments left over: {', '.join(left)}")
    wrong = [line for number in _written(run) for line in _differences(run, result, number)]
    return StackResult(run, measured, apart, not wrong, (*failures, *wrong), result)


def _at_dram(run: StackRun, result: PipelineResult) -> list[str]:
    """One line for each stream whose accesses of the DRAM are not those predicted; none without movers."""
    if run.parameters.movers is None:
        return []
    predicted = dram_counts(run.program, run.images.layout, run.dram)
    return [
        f"{stream} at dram: {result.dram.get(stream, Access())}, predicted {expected}"
        for stream, expected in predicted.items()
        if result.dram.get(stream, Access()) != expected
    ]


def _written(run: StackRun) -> list[int]:
    return [one.number for one in run.program.plan.maps if one.written]


def _differences(run: StackRun, result: PipelineResult, number: int) -> list[str]:
    """Whether an output map is not the reference's, or was not written whole."""
    plan = run.program.plan
    one, base = plan.by_number[number], run.images.regions[number]
    expected = in_scan_order(run.expected[one.name], plan.axis)
    got, there = result.memory[base : base + expected.size], result.written[base : base + expected.size]
    shape = one.lines, one.columns, one.channels
    return different_elements(
        got.reshape(shape), expected.reshape(shape), one.name, "line, column, channel", there.reshape(shape)
    )


def _measured(run: StackRun, result: PipelineResult) -> tuple[Traffic, int]:
    """Bytes by kind and bytes of biases, from the harness' counters."""
    measured, bias = Traffic(), 0
    kinds = {one.name: str(one.kind) for one in run.program.streams}
    kinds |= {"i_overlap": "overlap_in", "o_overlap": "overlap_out", "i_weights": "weights"}
    for name, (size, apart) in _moved(run, result).items():
        bias += apart
        kind = kinds.get(name)
        if kind is not None and (kind != "weights" or run.program.fetched):
            measured = replace(measured, **{kind: getattr(measured, kind) + size})
    return measured, bias


def _moved(run: StackRun, result: PipelineResult) -> dict[str, tuple[int, int]]:
    """Bytes of each stream without biases, and biases: at its port, or at the DRAM, where both are one stream."""
    if run.parameters.movers is None:
        return {name: (count.bytes, count.apart) for name, count in result.streams.items()}
    apart = {"i_weights": run.bias_bytes}
    return {name: (count.bytes - apart.get(name, 0), apart.get(name, 0)) for name, count in result.dram.items()}
