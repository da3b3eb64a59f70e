"""Runs of quantised networks depth-first: their beginning on pipelines, the rest on a cluster or on the host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.network.on_cluster import RanProgram, run_clustered
from cosim.pipeline.network import RanStack, run_beginning, values_after
from hwgen.api.arguments import claim_folder
from hwgen.api.arrays import GivenInputs, Inputs, write_arrays
from hwgen.api.cosimulation import Checked, tell_wait
from hwgen.api.depth_first import MACS
from hwgen.api.depth_first_networks import DepthFirstPlan, OnCluster, PlannedBeginning
from hwgen.api.network_runs import NetworkRun
from hwgen.api.progress import note, steps
from hwgen.api.runtime import runtime_documents
from hwgen.api.session import call
from hwgen.golden.quantised.comparison import Beside, run_beside
from hwgen.golden.quantised.execution import Arrays, checked_inputs, execute, images, joined, outside
from hwgen.ir.document import InputError
from hwgen.lower.network.placement import placement
from hwgen.tools.toolchain import Simulator

__all__ = ["DepthFirstRun", "DepthFirstRunRequest"]

OF_REST = ("layers", "cycles", "utilisation", "programs", "dram", "resident", "energy")
"""What of a run on a cluster is told of the rest."""


@dataclass(frozen=True, eq=False, repr=False)
class DepthFirstRun(Checked):
    """A run: stacks in the simulator, what follows, and ONNX Runtime, or LiteRT, on the same inputs.

    Members
    -------
    ran : stacks, image by image, with everything predicted and measured.
    rest : the run of what follows on a cluster; None: the host ran it.
    outputs : of the model, as they follow from the hardware.
    files : the file of each output; empty without a folder.
    beside : the integer reference, and its comparison.
    """

    planned: PlannedBeginning
    ran: Sequence[RanStack]
    beside: Beside
    outputs: Mapping[str, NDArray]
    files: Mapping[str, str]
    multipliers: int
    rest: NetworkRun | None = None

    @property
    def both_cycles(self) -> tuple[int, int]:
        """Predicted and measured cycles, of all stacks and images."""
        results = [one.result for one in self.ran]
        return sum(one.run.predicted_cycles for one in results), sum(one.cycles for one in results)

    @property
    def cycles(self) -> int:
        """Measured cycles, of all stacks, programs and images, without the load of the stacks' weights."""
        return self.both_cycles[1] + (0 if self.rest is None else self.rest.cycles)

    @property
    def bytes(self) -> int:
        """Measured bytes to and from the DRAM of all stacks and images, weights aside that stay on chip."""
        return sum(one.result.measured.total for one in self.ran)

    @property
    def equal(self) -> bool:
        """Whether all that was counted is as predicted."""
        stacks = all(one.result.measured == one.result.run.traffic for one in self.ran)
        return stacks and (self.rest is None or self.rest.equal)

    @property
    def exact(self) -> bool:
        """Whether what the RTL left in memory is the integer reference's, in every element."""
        stacks = all(one.result.output_exact for one in self.ran)
        return stacks and (self.rest is None or self.rest.exact)

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates by what the multipliers of the pipelines could have done while they ran."""
        each = len(self.ran) // len(self.planned.solution.stacks)
        return each * self.planned.macs / max(self.both_cycles[1] * self.multipliers, 1)

    @property
    def strayed(self) -> list[str]:
        """Outputs that do not follow from the hardware as they do from the integer reference."""
        wanted = self.beside.outputs
        return [name for name, made in self.outputs.items() if not np.array_equal(made, wanted[name], equal_nan=True)]

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything that is wrong, a line each."""
        lines = [f"{one.result.run.name}: {line}" for one in self.ran for line in one.result.failures]
        if self.rest is not None:
            return (*lines, *self.rest.failures)
        return (*lines, *(f"output {name}: not as the integer reference has it" for name in self.strayed))

    @property
    def passed(self) -> bool:
        """Whether all checks hold, in the hardware and against ONNX Runtime."""
        return not self.failures and self.beside.holds

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen run --depth-first --json`` prints."""
        predicted, measured = self.both_cycles
        return {
            "network": self.planned.graph.name,
            "outputs": dict(self.files),
            "exact": self.exact,
            "host": list(self.planned.host),
            "refused": self.planned.host,
            **runtime_documents(self.beside),
            "stacks": [{**one.result.as_json(), "image": one.image} for one in self.ran],
            "cycles": {"predicted": predicted, "measured": measured},
            "macs": self.planned.macs,
            "multipliers": self.multipliers,
            "utilisation": round(self.utilisation, 4),
            "bytes": self.bytes,
            **({} if self.rest is None else {"rest": self._rest_document(self.rest)}),
        }

    @staticmethod
    def _rest_document(rest: NetworkRun) -> dict[str, Any]:
        """What a cluster ran, as ``hwgen run --json`` prints it."""
        document = rest.document()
        return {"hardware": rest.place.hardware, **{key: document[key] for key in OF_REST}}

    def rows(self) -> list[dict[str, object]]:
        """One row a stack and image."""
        return [
            {
                "stack": one.result.run.name,
                "image": one.image,
                "equal": one.result.measured == one.result.run.traffic,
                "exact": one.result.output_exact,
                "cycles": one.result.cycles,
                "predicted_cycles": one.result.run.predicted_cycles,
            }
            for one in self.ran
        ]

    def summary(self) -> str:
        """The checks, and the sums."""
        checks = "all counts equal, all outputs exact" if self.passed else f"NOT EQUAL: {self.difference}"
        on = "" if self.rest is None else f", then on {self.rest.place.hardware}"
        return f"Run of {self.planned.graph.name}, depth-first{on}: {checks}; {self.cycles:,} cycles"


@dataclass(frozen=True, kw_only=True)
class DepthFirstRunRequest(DepthFirstPlan):
    """What network is to run depth-first, on what: see `DepthFirstPlan`, and `RunRequest`."""

    given: Inputs | None = None
    mean: str | None = None
    std: str | None = None
    seed: int | None = None
    output: Path | None = None
    simulator: Simulator = "verilator"
    jobs: int = 1

    @call
    def answer(self) -> DepthFirstRun:
        """Run it; write the outputs where a folder is given."""
        given = GivenInputs.of(self.given, self.seed, self.mean, self.std)
        claim_folder(self.output)
        if self.hardware is not None and self.simulator != "verilator":
            raise InputError("--sim: expected verilator with a cluster")
        planned = self.planned()
        graph = planned.graph
        arrays, where = given.of_network(graph), given.where(self.model)
        count = checked_inputs(graph, arrays, where)
        beside = run_beside(self.model, graph, arrays, where)
        tensors = [execute(graph, image) for image in images(graph, arrays, count)]
        stacks = planned.solution.stacks
        note(f"{self.simulator}: {len(planned.beginning.nodes)} nodes in {len(stacks)} stacks")
        with steps(len(stacks), "cosimulating") as step:
            ran = run_beginning(
                graph, planned.beginning, planned.solution, tensors, macs=self.macs or MACS, port=planned.port,
                simulator=self.simulator, jobs=self.jobs, progress=step,
            )  # fmt: skip
        made: list[dict[str, NDArray]] = [{} for _ in tensors]
        for one in ran:
            made[one.image].update(one.outputs)
        programs: list[RanProgram] = []
        if planned.rest is not None and planned.rest.plan.layers:
            programs, values = self._on_cluster(planned.rest, tensors, made)
        else:
            values = [
                values_after(graph, planned.beginning, image, own) for image, own in zip(tensors, made, strict=True)
            ]
        outputs = {name: joined([outside(graph, name, one) for one in values]) for name in graph.outputs}
        written: dict[str, str] = {}
        if self.output is not None:
            written = write_arrays(self.output, replace(beside, outputs=outputs), tensors=False)
        rest = None
        if programs and planned.rest is not None:
            after = planned.rest
            place = placement(after.graph, after.plan, after.machine)
            layers = [layer for program in programs for layer in program.layers]
            rest = NetworkRun(after.graph, after.plan, place, layers, beside, outputs, {}, programs)
        return DepthFirstRun(planned, ran, beside, outputs, written, self.macs or MACS, rest)

    def _on_cluster(
        self, rest: OnCluster, tensors: Sequence[Arrays], made: Sequence[Mapping[str, NDArray]]
    ) -> tuple[list[RanProgram], list[dict[str, NDArray]]]:
        """Run what follows on what the pipelines left in memory."""
        note(f"{self.simulator}: {len(rest.plan.layers)} layers on {rest.machine.name}")
        given = [{**image, **own} for image, own in zip(tensors, made, strict=True)]
        folder = None if self.output is None else self.output / "layers"
        with steps(len(rest.plan.layers) * len(given), "cosimulating") as step:
            return run_clustered(rest.graph, rest.plan, given, folder, tell=tell_wait, progress=step)
