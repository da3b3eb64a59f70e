"""Runs of quantised networks depth-first: their beginning on pipelines in the simulator, the rest on the host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.pipeline.network import RanStack, run_beginning, values_after
from hwgen.api.arguments import claim_folder
from hwgen.api.arrays import GivenInputs, Inputs, write_arrays
from hwgen.api.cosimulation import Checked
from hwgen.api.depth_first import MACS
from hwgen.api.depth_first_networks import PlannedBeginning
from hwgen.api.machines import HardwareLike
from hwgen.api.progress import note, steps
from hwgen.api.runtime import runtime_documents
from hwgen.api.session import call
from hwgen.golden.quantised.comparison import Beside, run_beside
from hwgen.golden.quantised.execution import checked_inputs, execute, images, joined, outside
from hwgen.tools.toolchain import Simulator

__all__ = ["DepthFirstRun", "DepthFirstRunRequest"]


@dataclass(frozen=True, eq=False, repr=False)
class DepthFirstRun(Checked):
    """A run: stacks in the simulator, the host's nodes after them, and ONNX Runtime, or LiteRT, on the same inputs.

    Members
    -------
    ran : stacks, image by image, with everything predicted and measured.
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

    @property
    def both_cycles(self) -> tuple[int, int]:
        """Predicted and measured cycles, of all stacks and images."""
        results = [one.result for one in self.ran]
        return sum(one.run.predicted_cycles for one in results), sum(one.cycles for one in results)

    @property
    def cycles(self) -> int:
        """Measured cycles, of all stacks and images, without the load of weights."""
        return self.both_cycles[1]

    @property
    def bytes(self) -> int:
        """Measured bytes to and from the DRAM of all images, weights aside that stay on chip."""
        return sum(one.result.measured.total for one in self.ran)

    @property
    def equal(self) -> bool:
        """Whether all bytes that were counted are the predicted ones."""
        return all(one.result.measured == one.result.run.traffic for one in self.ran)

    @property
    def exact(self) -> bool:
        """Whether what the RTL left in memory is the integer reference's, in every element."""
        return all(one.result.output_exact for one in self.ran)

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates by what the multipliers of the pipelines could have done while they ran."""
        each = len(self.ran) // len(self.planned.solution.stacks)
        return each * self.planned.macs / max(self.cycles * self.multipliers, 1)

    @property
    def strayed(self) -> list[str]:
        """Outputs that do not follow from the hardware as they do from the integer reference."""
        wanted = self.beside.outputs
        return [name for name, made in self.outputs.items() if not np.array_equal(made, wanted[name], equal_nan=True)]

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything that is wrong, a line each."""
        lines = [f"{one.result.run.name}: {line}" for one in self.ran for line in one.result.failures]
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
        }

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
        return f"Run of {self.planned.graph.name}, depth-first: {checks}; {self.cycles:,} cycles"


@dataclass(frozen=True, kw_only=True)
class DepthFirstRunRequest:
    """What network is to run depth-first, on what: see `DepthFirstForecastRequest`, and `RunRequest`."""

    model: str | PathLike[str]
    given: Inputs | None = None
    mean: str | None = None
    std: str | None = None
    seed: int | None = None
    output: Path | None = None
    simulator: Simulator = "verilator"
    jobs: int = 1
    memory: int | None = None
    macs: int | None = None
    dram: HardwareLike | None = None

    @call
    def answer(self) -> DepthFirstRun:
        """Run it; write the outputs where a folder is given."""
        given = GivenInputs.of(self.given, self.seed, self.mean, self.std)
        claim_folder(self.output)
        model = Path(self.model)
        planned = PlannedBeginning.of(model, self.memory, self.dram)
        graph = planned.graph
        arrays, where = given.of_network(graph), given.where(model)
        count = checked_inputs(graph, arrays, where)
        beside = run_beside(model, graph, arrays, where)
        tensors = [execute(graph, image) for image in images(graph, arrays, count)]
        stacks = planned.solution.stacks
        note(f"{self.simulator}: {len(planned.beginning.nodes)} nodes in {len(stacks)} stacks")
        with steps(len(stacks), "cosimulating") as step:
            ran = run_beginning(
                graph, planned.beginning, planned.solution, tensors, macs=self.macs or MACS, port=planned.port,
                simulator=self.simulator, jobs=self.jobs, progress=step,
            )  # fmt: skip
        values = []
        for number, image in enumerate(tensors):
            made = {name: array for one in ran if one.image == number for name, array in one.outputs.items()}
            values.append(values_after(graph, planned.beginning, image, made))
        outputs = {name: joined([outside(graph, name, one) for one in values]) for name in graph.outputs}
        written: dict[str, str] = {}
        if self.output is not None:
            written = write_arrays(self.output, replace(beside, outputs=outputs), tensors=False)
        return DepthFirstRun(planned, ran, beside, outputs, written, self.macs or MACS)
