"""``hwgen.sweep`` of depth-first points: the request, which checks itself, and the answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.arguments import Sizes, buffer_sizes, require_folder, sizes_text
from hwgen.api.cosimulation import Checked
from hwgen.api.depth_first import LARGEST_MEMORY, MACS, MOST_MACS, connected_network, dram_port
from hwgen.api.machines import HardwareLike
from hwgen.api.networks import NetworkLike
from hwgen.api.results import Figure
from hwgen.api.session import call
from hwgen.ir.document import InputError
from hwgen.model.pipeline.graph import Graph
from hwgen.studies.sweep.depth_first.request import DepthFirstQuestion
from hwgen.studies.sweep.depth_first.run import DepthFirstSweep
from hwgen.studies.sweep.report.derived import figure_of
from hwgen.studies.sweep.report.results import SweepResults
from hwgen.studies.sweep.request import SYNTHESIS_SECONDS, Outcome, set_name
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.running import Running

__all__ = ["DepthFirstSweepRequest", "DepthFirstSwept"]


@dataclass(frozen=True, repr=False, eq=False)
class DepthFirstSwept(Checked):
    """The points of a depth-first sweep.

    Members
    -------
    question : what was asked for.
    outcome : what was found, and attempted.
    folder : where the tables and solutions are; None: nowhere.
    kept : rows in the table of the folder, those of earlier sweeps included.
    """

    question: DepthFirstQuestion
    outcome: Outcome
    folder: Path | None
    kept: int

    @property
    def results(self) -> list[Cells]:
        """A row for each stack of each solution, with all columns of ``pipelines.csv``."""
        return self.outcome.pipelines

    @property
    def front(self) -> list[Cells]:
        """The whole front of on-chip memory against traffic, as the model predicts it."""
        return self.outcome.fronts

    @property
    def failures(self) -> tuple[str, ...]:
        """The points that failed or are not as predicted, a line each."""
        return tuple(
            f"{row['memory_bytes']} bytes, {row['multipliers']} multipliers {row['stack'] or ''}".rstrip()
            + f": {row['status']}: {row['reason']}"
            for row in self.outcome.wrong
        )

    @property
    def passed(self) -> bool:
        """Whether no point failed, and all that was measured is as predicted."""
        return not self.outcome.wrong

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen sweep --depth-first --json`` prints."""
        return {
            "pipelines": self.results,
            "fronts": self.front,
            "areas": self.outcome.areas,
            **self.outcome.attempted(self.question.provenance()),
        }

    def rows(self) -> list[dict[str, object]]:
        """One row for each stack: what its pipeline holds, moves and takes; measured where it was simulated."""
        return [_shown(row, files=self.folder is not None) for row in self.results]

    def summary(self) -> str:
        """How many stacks there are, and whether they are as predicted."""
        stacks, measured = len(self.results), sum(row["status"] == "ok" for row in self.results)
        if not self.passed:
            return f"Sweep of {stacks} stacks: NOT AS PREDICTED: {self.difference}"
        if not measured:
            return f"Sweep of {stacks} stacks: by the model alone"
        return f"Sweep of {stacks} stacks: {measured} in the RTL, all counts equal, all outputs exact"

    def plot(self) -> Figure:
        """The front of on-chip memory against traffic, with the points on it."""
        found = figure_of(SweepResults((), (), (), (), {}, {}, tuple(self.results), tuple(self.front)), "front")
        if found is None:
            raise InputError("plot: expected points that have a solution")
        return found


def _shown(row: Cells, *, files: bool) -> dict[str, object]:
    source = "predicted" if row["cycles_measured"] is None else "measured"
    named = ("memory_bytes", "multipliers", "stack", "tiles", "weights", "status")
    return {
        **{name: row[name] for name in named},
        "on_chip_bytes": row["stack_bytes"],
        "bytes": row[f"total_bytes_{source}"],
        "predicted_bytes": row["total_bytes_predicted"],
        "cycles": row[f"cycles_{source}"],
        "predicted_cycles": row["cycles_predicted"],
        "utilisation": row["utilisation"],
        "equal": row["equal"],
        "exact": row["output_exact"],
        "luts": row["luts"],
        "clock_mhz": row["clock_mhz"],
        **({"solution": row["solution"]} if files else {}),
    }


@dataclass(frozen=True, kw_only=True)
class DepthFirstSweepRequest:
    """The request of a sweep over depth-first points; see `hwgen.sweep`."""

    network: NetworkLike
    memory: Sizes | None = None
    macs: str | None = None
    dram: HardwareLike | None = None
    resolution: str | None = None
    phases: bool = False
    stalls: bool = False
    simulate: bool = True
    synthesise: bool = False
    synthesis_seconds: float = SYNTHESIS_SECONDS
    seed: int = 0
    running: Running

    @call
    def answer(self) -> DepthFirstSwept:
        """Do all points that are not done yet; the tables are in the folder while it runs, and after Ctrl-C."""
        require_folder(self.running.output)
        question = self._asked()
        points = len(question.memories) * len(question.multipliers)
        outcome, tables = self.running.outcome(DepthFirstSweep, question, points, simulate=question.simulate)
        return DepthFirstSwept(question, outcome, self.running.output, len(tables.pipelines))

    def _asked(self) -> DepthFirstQuestion:
        if self.memory is None:
            raise InputError("--memory: expected sizes such as 64KiB,256KiB with --depth-first")
        memories = buffer_sizes(sizes_text(self.memory), "--memory", largest=LARGEST_MEMORY)
        multipliers = _multipliers(self.macs)
        port = dram_port(self.dram)
        network = connected_network(self.network, self.resolution, phases=self.phases)
        Graph.of(network)
        name, own = set_name(self.network)
        return DepthFirstQuestion(
            network, name, tuple(memories), multipliers, phases=self.phases, port=port, stalls=self.stalls,
            simulate=self.simulate, synthesise=self.synthesise, seed=self.seed,
            synthesis_seconds=self.synthesis_seconds, own_set=own,
        )  # fmt: skip


def _multipliers(text: str | None) -> tuple[int, ...]:
    if text is None:
        return (MACS,)
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_MACS for part in parts):
        raise InputError(f"--macs: expected numbers such as 64 or 64,128, 1 to {MOST_MACS}, got {text[:40]!r}")
    return tuple(sorted({int(part) for part in parts}))
