"""The steps of depth-first points: the front with its solutions, and of each stack prediction, run and synthesis."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cosim.pipeline.comparison import STALL_RATE, prepare, random_network_data, run_stacks
from hwgen.arch.dram import DramPort
from hwgen.arch.pipeline import MoverParameters
from hwgen.ir.counts import Access
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.cycles import predict_on_dram, predict_run
from hwgen.lower.pipeline.images import layout_of
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.movers import dram_counts
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution, solution_from_data
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack, layer_by_layer, stack_cost
from hwgen.model.pipeline.graph import Graph
from hwgen.search.pipeline.files import solution_data
from hwgen.search.pipeline.front import best_within, search_front
from hwgen.studies.engine.attempt import Step, Tell
from hwgen.studies.sweep.steps import key_of
from hwgen.studies.sweep.synthesis import design_of, synthesised
from hwgen.synthesis.ecp5 import Device

__all__ = ["PERFORM", "StackJob", "front_step", "perform", "predict_step", "simulate_step", "synthesise_step"]

PERFORM = "hwgen.studies.sweep.depth_first.steps:perform"
"""The function that does these steps."""


@dataclass(frozen=True)
class StackJob:
    """A stack of a solution on its pipeline.

    Members
    -------
    solution : as plain data.
    number : of the stack, from 0.
    multipliers : of the pipeline, at most.
    port : of its DRAM; None: it has none.
    """

    solution: Mapping[str, Any]
    number: int
    multipliers: int
    port: DramPort | None

    def read(self) -> tuple[Solution, Stack]:
        """The solution, and the stack of it."""
        solution = solution_from_data(self.solution, "solution")
        return solution, solution.stacks[self.number]

    @property
    def movers(self) -> MoverParameters | None:
        """What carries its streams to the DRAM."""
        return None if self.port is None else MoverParameters(self.port.axi_bits)

    def depends(self) -> list[Any]:
        """What it is, whatever memory the solution was found for."""
        port = None if self.port is None else [self.port.axi_bits, self.port.dram.model_dump(mode="json")]
        stack = self.solution["stacks"][self.number]
        return [self.solution["network"], stack, self.solution["weights"], self.multipliers, port]

    @property
    def name(self) -> str:
        """The stack's name."""
        entry = self.solution["stacks"][self.number]
        first, last = entry["first"], entry["last"]
        return str(first if first == last else f"{first}..{last}")


def front_step(network: Network, memories: Sequence[int]) -> Step:
    """The front of a network, and its solution for each memory."""
    data = network.as_data()
    key = key_of("front", data, list(memories))
    return Step("front", key, f"front of {network.network}", (data, tuple(memories)), 1e6)


def predict_step(job: StackJob) -> Step:
    """What the model says of a stack on its pipeline."""
    key = key_of("predict-stack", *job.depends())
    return Step("predict-stack", key, f"prediction of {_title(job)}", (job,), 1e5)


def simulate_step(job: StackJob, seed: int, *, stalls: bool, macs: int) -> Step:
    """A stack in the RTL, all of it compared. ``macs``: of its rows."""
    key = key_of("simulate-stack", *job.depends(), seed, stalls)
    return Step("simulate-stack", key, _title(job), (job, seed, stalls), macs * 1e-6)


def synthesise_step(job: StackJob, design: str, device: Device, seconds: float) -> Step:
    """Area by block and clock of a stack's pipeline, which is ``design``."""
    key = key_of("synthesise", design, asdict(device))
    return Step("synthesise", key, f"synthesis of {_title(job)}", (job, device, seconds), 1e4)


def _title(job: StackJob) -> str:
    tiles = job.solution["stacks"][job.number]["factor"]
    return f"{job.name}, {tiles} tile{'' if tiles == 1 else 's'}, {job.multipliers} multipliers"


# --- what the workers do ---


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Do one step and tell its stages; as `hwgen.studies.sweep.steps.perform`."""
    match step.kind:
        case "front":
            return _front(*step.arguments)
        case "predict-stack":
            return _predict(*step.arguments)
        case "simulate-stack":
            return _simulate(*step.arguments, tell=tell)
        case "synthesise":
            job, device, seconds = step.arguments
            parameters = _lowered(job, *job.read()).parameters
            return synthesised(parameters, device, seconds=seconds, tell=tell)
    raise ValueError(step.kind)


def _front(data: Mapping[str, Any], memories: tuple[int, ...]) -> dict[str, Any]:
    network = Network.from_data(data, "network")
    graph = Graph.of(network)
    front = search_front(graph)
    best = {memory: best_within(front, memory) for memory in memories}
    return {
        "points": [
            {
                "memory_bytes": point.memory,
                "traffic_bytes": point.traffic,
                "weights": point.weights,
                "stacks": len(point.factors),
                "tiles": " ".join(map(str, point.factors)),
                "layer_by_layer_bytes": layer_by_layer(graph, point.memory),
            }
            for point in front.points
        ],
        "solutions": {
            str(memory): None if point is None else solution_data(network, front, point)
            for memory, point in best.items()
        },
    }


def _predict(job: StackJob) -> dict[str, Any]:
    solution, stack = job.read()
    cost, program = stack_cost(solution.graph, stack), _lowered(job, solution, stack)
    rows = solution.network.layers[stack.span.first - 1 : stack.span.last]
    found: dict[str, Any] = {
        "layers": len(rows),
        "macs": sum(node.macs for node in rows),
        "weights": solution.weights,
        "ring_bytes": cost.ring_elements,
        "weight_bytes": cost.weights,
        "in_flight_bytes": cost.in_flight,
        "traffic": asdict(solution.traffic(stack)),
        "slowest_stage": program.cycles,
        "design": design_of(program.parameters),
        "dram": {},
    }
    if job.port is None:
        return {**found, "cycles": predict_run(program)}
    layout = layout_of(program)
    counts = dram_counts(program, layout, job.port.dram)
    return {**found, "cycles": predict_on_dram(program, layout, job.port.dram), "dram": _summed(counts)}


def _lowered(job: StackJob, solution: Solution, stack: Stack) -> PipelineProgram:
    fetched = solution.weights == "fetched"
    return lower_stack(plan_stack(solution, stack), None, fetched=fetched, macs=job.multipliers, movers=job.movers)


def _simulate(job: StackJob, seed: int, stalls: bool, *, tell: Tell) -> dict[str, Any]:
    solution, stack = job.read()
    tell("integer reference")
    data = random_network_data(solution.network, np.random.default_rng(seed))
    run = prepare(
        job.name, solution, stack, data, macs=job.multipliers, random=seed + 1,
        stall_rate=STALL_RATE if stalls else 0, movers=job.movers, dram=None if job.port is None else job.port.dram,
    )  # fmt: skip
    tell("build and simulation")
    (result,) = run_stacks([run])
    counts = result.result.dram
    predicted = {} if job.port is None else dram_counts(run.program, run.images.layout, run.dram)
    as_predicted = all(counts.get(stream, Access()) == access for stream, access in predicted.items())
    line = result.as_json()
    macs = sum(node.macs for node in solution.network.layers[stack.span.first - 1 : stack.span.last])
    return {
        **line,
        "passed": result.passed,
        "equal": line["equal"] and as_predicted,
        "dram": _summed(counts),
        "utilisation": macs / (result.cycles * job.multipliers) if result.cycles else 0.0,
    }


def _summed(counts: Mapping[str, Access]) -> dict[str, int]:
    """All streams together."""
    return asdict(sum(counts.values(), Access())) if counts else {}
