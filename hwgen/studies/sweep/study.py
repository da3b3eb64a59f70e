"""``hwgen.sweep``: many points in hardware, HWCs or clusters, as a call; the command prints what it finds."""

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from hwgen.api.arguments import Sizes, buffer_sizes, require_folder, sizes_text
from hwgen.api.cosimulation import Checked
from hwgen.api.machines import HardwareLike, each_hardware
from hwgen.api.networks import NetworkLike, covered
from hwgen.api.results import Figure
from hwgen.api.session import call
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.studies.sweep.configurations import configurations, curve_sizes
from hwgen.studies.sweep.depth_first.study import DepthFirstSweepRequest, DepthFirstSwept
from hwgen.studies.sweep.report.derived import figure_of
from hwgen.studies.sweep.report.results import SweepResults
from hwgen.studies.sweep.request import (
    SYNTHESIS_SECONDS,
    Outcome,
    Question,
    Several,
    require_kind,
    set_name,
    values_text,
)
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.run import Sweep
from hwgen.studies.sweep.running import Running, local_place

__all__ = ["SweepRequest", "Swept", "sweep"]


@dataclass(frozen=True, repr=False, eq=False)
class Swept(Checked):
    """The points of a sweep.

    Members
    -------
    question : what was asked for.
    coverage : which layers of the network are swept, and what is left out.
    outcome : what was found, and attempted.
    folder : where the tables and schedules are; None: nowhere.
    kept : rows in the tables of the folder, those of earlier sweeps included.
    """

    question: Question
    coverage: Coverage
    outcome: Outcome
    folder: Path | None
    kept: int

    @property
    def results(self) -> list[Cells]:
        """A row for each layer on each configuration, with all columns of ``results.csv``."""
        return self.outcome.rows

    @property
    def curves(self) -> list[Cells]:
        """Bytes that the pure model moves at the least, by layer and bytes of buffer."""
        return self.outcome.curves

    @property
    def failures(self) -> tuple[str, ...]:
        """The points that failed or are not as predicted, a line each."""
        return tuple(
            f"{row['configuration']} {row['buffer_bytes']} {row['layer']}: {row['status']}: {row['reason']}"
            for row in self.outcome.wrong
        )

    @property
    def passed(self) -> bool:
        """Whether no point failed, and all that was measured is as predicted."""
        return not self.outcome.wrong

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen sweep --json`` prints."""
        return {
            "results": self.results,
            "curves": self.curves,
            "areas": self.outcome.areas,
            "left_out": self.coverage.as_json(),
            **self.outcome.attempted(self.question.provenance()),
        }

    def rows(self) -> list[dict[str, object]]:
        """One row for each layer on each configuration: what it runs on, and what came of it.

        Bytes are those of I, W and O at the outermost memory; bytes and cycles are measured where the point was
        simulated, else predicted.
        """
        return [_shown(row, files=self.folder is not None) for row in self.results]

    def summary(self) -> str:
        """How many points there are, and whether they are as predicted."""
        points, measured = len(self.results), sum(row["status"] == "ok" for row in self.results)
        if not self.passed:
            return f"Sweep of {points} points: NOT AS PREDICTED: {self.difference}"
        if not measured:
            return f"Sweep of {points} points: by the model alone"
        return f"Sweep of {points} points: {measured} in the RTL, all counts equal, all outputs exact"

    def plot(self) -> Figure:
        """Bytes against buffers, with the bound and the optimum of the pure model; of clusters bytes at the DRAM."""
        results = SweepResults(tuple(self.results), tuple(self.curves), (), (), {}, {})
        found = figure_of(results, "traffic", "dram")
        if found is None:
            raise InputError("plot: expected points of HWCs or clusters that are found")
        return found


def _shown(row: Cells, *, files: bool) -> dict[str, object]:
    prefix = "" if row["hwcs"] is None else "dram_"
    measured = row["cycles_measured"] is not None
    source = "measured" if measured else "predicted"
    named = ("layer", "configuration", "buffer_bytes", "hwcs", "tcdm_bytes", "objective", "traffic_slack", "status")
    return {
        **{name: row[name] for name in named},
        "lanes": row["hardware_lanes"] or row["lanes"],
        "order": row["hardware_order"] or row["order"],
        "bytes": row[f"{prefix}total_bytes_{source}"],
        "predicted_bytes": row[f"{prefix}total_bytes_predicted"],
        "optimum_ratio": row["optimum_ratio"],
        "bound_ratio": row["bound_ratio"],
        "cycles": row[f"cycles_{source}"],
        "predicted_cycles": row["cycles_predicted"],
        "utilisation": row["utilisation"],
        "equal": row["equal"],
        "exact": row["output_exact"],
        "luts": row["luts"],
        "clock_mhz": row["clock_mhz"],
        **({"schedule": row["schedule"]} if files else {}),
    }


@dataclass(frozen=True, kw_only=True)
class SweepRequest:
    """The request of a sweep over HWCs or clusters; see `sweep`. `answer` checks it before anything is searched."""

    network: NetworkLike
    hardware: HardwareLike | Iterable[HardwareLike] | None = None
    buffer: Sizes | None = None
    lanes: Several | None = None
    objective: Several | None = None
    slack: Several | None = None
    order: Several | None = None
    cluster: Several | None = None
    tcdm: Sizes | None = None
    per_layer: bool = False
    partial: bool = False
    hwce: bool = False
    simulate: bool = True
    synthesise: bool = False
    synthesis_seconds: float = SYNTHESIS_SECONDS
    scale: int = 1
    seed: int = 0
    running: Running

    @call
    def answer(self) -> Swept:
        """Do all points that are not done yet; the tables are in the folder while it runs, and after Ctrl-C."""
        require_folder(self.running.output)
        question, coverage = self._asked()
        points = len(question.layers) * len(question.configurations)
        outcome, tables = self.running.outcome(Sweep, question, points, simulate=question.simulate)
        return Swept(question, coverage, outcome, self.running.output, len(tables.rows))

    def _asked(self) -> tuple[Question, Coverage]:
        wanted = configurations(
            None if self.buffer is None else buffer_sizes(sizes_text(self.buffer)),
            lanes=values_text(self.lanes), objective=values_text(self.objective), slack=values_text(self.slack),
            order=values_text(self.order), cluster=values_text(self.cluster),
            tcdm=None if self.tcdm is None else sizes_text(self.tcdm),
            hardware=() if self.hardware is None else each_hardware(self.hardware),
            per_layer=self.per_layer, hwce=self.hwce,
        )  # fmt: skip
        sizes = sorted({one.budget for one in wanted})
        coverage = _covered(self.network, partial=self.partial)
        name, own = set_name(self.network)
        question = Question(
            coverage.layers, tuple(wanted), self.scale, self.simulate, self.synthesise, self.seed,
            synthesis_seconds=self.synthesis_seconds,
            curve_sizes=curve_sizes(sizes) if self.cluster is None else (), layer_set=name, own_set=own,
        )  # fmt: skip
        return question, coverage


def _covered(network: NetworkLike, *, partial: bool) -> Coverage:
    coverage = covered(network, partial=partial)
    names = [layer.name for layer in coverage.layers]
    if len(set(names)) != len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise InputError(f"{coverage.where}: {twice}: expected layers with names of their own")
    return coverage


@overload
def sweep(
    network: NetworkLike,
    hardware: HardwareLike | Iterable[HardwareLike] | None = None,
    *,
    buffer: Sizes | None = None,
    lanes: Several | None = None,
    objective: Several | None = None,
    slack: Several | None = None,
    order: Several | None = None,
    cluster: Several | None = None,
    tcdm: Sizes | None = None,
    per_layer: bool = False,
    partial: bool = False,
    depth_first: Literal[False] = False,
    simulate: bool = True,
    synth: bool = False,
    output: str | PathLike[str] | None = None,
    seed: int = 0,
    jobs: int | None = None,
) -> Swept: ...
@overload
def sweep(
    network: NetworkLike,
    *,
    depth_first: Literal[True],
    memory: Sizes,
    macs: Several | None = None,
    dram: HardwareLike | None = None,
    resolution: str | None = None,
    phases: bool = False,
    stalls: bool = False,
    simulate: bool = True,
    synth: bool = False,
    output: str | PathLike[str] | None = None,
    seed: int = 0,
    jobs: int | None = None,
) -> DepthFirstSwept: ...
def sweep(
    network: NetworkLike,
    hardware: HardwareLike | Iterable[HardwareLike] | None = None,
    *,
    buffer: Sizes | None = None,
    lanes: Several | None = None,
    objective: Several | None = None,
    slack: Several | None = None,
    order: Several | None = None,
    cluster: Several | None = None,
    tcdm: Sizes | None = None,
    per_layer: bool = False,
    partial: bool = False,
    depth_first: bool = False,
    memory: Sizes | None = None,
    macs: Several | None = None,
    dram: HardwareLike | None = None,
    resolution: str | None = None,
    phases: bool = False,
    stalls: bool = False,
    simulate: bool = True,
    synth: bool = False,
    output: str | PathLike[str] | None = None,
    seed: int = 0,
    jobs: int | None = None,
) -> Swept | DepthFirstSwept:
    """Schedule a network on hardware of several sizes and shapes, simulate each point in the RTL, and compare.

    Of each size of buffer, shape of lanes and loop order the points are one HWC for all layers; with ``per_layer``
    one for each; with ``cluster`` clusters; with ``hardware`` alone HWCs that are given; with ``depth_first``
    solutions within on-chip memories. A point that fails, or is not as predicted, is a row that says so.

    Parameters
    ----------
    network : what `hwgen.load` takes, or layers.
    hardware : an HWC, or several, that the layers run on, each with its own buffers; with ``cluster``, the hardware
        whose banks, port to the DRAM and timing of the DRAM the clusters have.
    buffer : bytes of the local buffers of an HWC: ``"1KiB"``, ``1024``, or a list of sizes. Hardware that fixes its
        buffers takes none.
    lanes : shapes such as ``"m8x2"``; ``"auto"``: the one that suits the layers.
    objective : ``"cycles"`` (the fewest, the default on hardware that is given; not of one HWC for all layers),
        ``"balanced"`` (the fewest within ``slack`` of the least traffic, the default else) or ``"traffic"``.
    order : loop orders such as ``"MYX[O]C[I]k[W]lmyx"``; ``"best"``: the best one.
    cluster, tcdm : numbers of HWCs, and bytes of the memory that they share.
    partial : leave out layers that cannot be scheduled.
    depth_first : the points are those of ``memory``, on-chip bytes, and ``macs``, multipliers of each pipeline.
    dram : depth-first, the cluster on whose DRAM the pipelines are; None: the harness serves their streams.
    resolution, phases : depth-first, another size of the input such as ``"64x48"``; transposed convolutions replaced.
    stalls : depth-first, streams stall at random.
    simulate : False: the model's figures alone.
    synth : area and clock of each point on an ECP5, too, in minutes each.
    output : folder for tables, schedules and finished points; the same call goes on from there.
    seed : of the random operands.
    jobs : processes at a time; None: as many as the machine has processors and memory for.
    """
    require_kind(
        {"--hardware": hardware, "--buffer": buffer, "--lanes": lanes, "--objective": objective,
         "--traffic-slack": slack, "--order": order, "--cluster": cluster, "--tcdm": tcdm, "--per-layer": per_layer,
         "--partial": partial},
        {"--memory": memory, "--macs": macs, "--dram": dram, "--resolution": resolution, "--phases": phases,
         "--stalls": stalls},
        depth_first=depth_first,
    )  # fmt: skip
    running = Running(output=None if output is None else Path(output), place=local_place(jobs))
    if depth_first:
        return DepthFirstSweepRequest(
            network=network, memory=memory, macs=values_text(macs), dram=dram, resolution=resolution, phases=phases,
            stalls=stalls, simulate=simulate, synthesise=synth, seed=seed, running=running,
        ).answer()  # fmt: skip
    return SweepRequest(
        network=network, hardware=hardware, buffer=buffer, lanes=lanes, objective=objective, slack=slack, order=order,
        cluster=cluster, tcdm=tcdm, per_layer=per_layer, partial=partial, simulate=simulate, synthesise=synth,
        seed=seed, running=running,
    ).answer()  # fmt: skip
