"""Schedules in the simulator: is every access the predicted one, and every output right?"""

from abc import abstractmethod
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cosim.cluster.generated import read_clusters
from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from cosim.hwc.ahead import HwcAhead
from cosim.hwc.generated import read_programs
from cosim.hwc.results import cosimulate, cosimulate_programs
from cosim.pipeline.comparison import STALL_RATE, StackResult, StackRun, prepare, run_stacks
from cosim.pipeline.quantised_data import random_data
from cosim.simulator.pace import Forecast
from cosim.system.results import cosimulate_systems
from hwgen.api.arguments import Sizes, claim_folder, is_given, sizes_text
from hwgen.api.depth_first import MACS, dram_port, solution_among
from hwgen.api.machines import HardwareLike
from hwgen.api.models import tell_shapes
from hwgen.api.nests import ScheduleLike
from hwgen.api.networks import NetworkLike
from hwgen.api.progress import note, steps
from hwgen.api.results import Answer, Difference, Figure
from hwgen.api.session import call
from hwgen.api.sharing import Sharing, sharing_of
from hwgen.api.work import SetObjective, Work, balance_data, left_out, save_works, work_of
from hwgen.arch.pipeline import MoverParameters
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.names import file_names
from hwgen.ir.schedule import ARRAYS
from hwgen.lower.pipeline.solution import read_solution
from hwgen.model.cluster.levels import is_for_cluster
from hwgen.tools.toolchain import Simulator

__all__ = ["CosimRequest", "Cosimulation", "LayerCosimulation", "StackCosimulation", "cosim", "run_work", "tell_wait"]


class Checked(Answer):
    """An answer that says whether model and RTL agree."""

    @property
    @abstractmethod
    def failures(self) -> tuple[str, ...]:
        """Everything that is wrong, a line each."""

    @property
    @abstractmethod
    def passed(self) -> bool:
        """Whether everything held."""

    @property
    def difference(self) -> str | None:
        """The first thing that is wrong: layer, operand, what was predicted and what was measured; None: nothing."""
        if self.passed:
            return None
        return self.failures[0] if self.failures else "the RTL is not as predicted"

    def check(self) -> None:
        """Raise `Difference` unless everything held."""
        if self.difference is not None:
            raise Difference(self.difference)


@dataclass(frozen=True)
class LayerCosimulation:
    """What came of one schedule.

    Members
    -------
    result : everything that was predicted and measured.
    folder : its part of the workload, where there are several.
    """

    result: LayerResult
    folder: Path = Path()

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return self.result.layer

    @property
    def equal(self) -> bool:
        """Whether every count that was measured is the predicted one."""
        return self.result.equal

    @property
    def exact(self) -> bool:
        """Whether the output in memory is the reference's, bit for bit."""
        return self.result.output_exact

    @property
    def cycles(self) -> int:
        """Measured cycles, from the start write to the interrupt."""
        return self.result.cycles

    @property
    def bytes(self) -> int:
        """Measured bytes of I, W and O at the outermost memory."""
        return self.result.measured.total_bytes(self._outermost)

    @property
    def by_operand(self) -> dict[str, int]:
        """The same of each operand."""
        return {array: self.result.measured.operand_bytes(array, self._outermost) for array in ARRAYS}

    @property
    def utilisation(self) -> float:
        """The part of what the lanes could have done in these cycles that they did."""
        return self.result.utilisation

    @property
    def _outermost(self) -> str:
        return self.result.predicted.levels()[0]


@dataclass(frozen=True, repr=False)
class Cosimulation(Checked):
    """What came of schedules in the simulator: of each in `layers`, of all together in the attributes.

    Members
    -------
    layers : in the order of the schedules.
    works : what ran; empty where a generated folder ran as it is.
    """

    layers: tuple[LayerCosimulation, ...]
    works: tuple[Work, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether every count that was measured is the predicted one."""
        return all(one.equal for one in self.layers)

    @property
    def exact(self) -> bool:
        """Whether every output in memory is the reference's, bit for bit."""
        return all(one.exact for one in self.layers)

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return all(one.result.passed for one in self.layers)

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything that is wrong, a line each."""
        return tuple(f"{one.layer}: {line}" for one in self.layers for line in one.result.failures)

    @property
    def cycles(self) -> int:
        """Measured cycles of all, one after the other."""
        return sum(one.cycles for one in self.layers)

    @property
    def bytes(self) -> int:
        """Measured bytes of I, W and O at the outermost memory."""
        return sum(one.bytes for one in self.layers)

    @property
    def utilisation(self) -> float:
        """The part of what the lanes could have done in these cycles that they did."""
        possible = sum(one.cycles * one.result.hwcs * one.result.schedule.lanes.product for one in self.layers)
        return sum(one.result.schedule.layer.macs for one in self.layers) / max(possible, 1)

    def __getitem__(self, layer: str) -> LayerCosimulation:
        found = next((one for one in self.layers if one.layer == layer), None)
        if found is None:
            raise InputError(f"{layer}: expected one of {', '.join(one.layer for one in self.layers)}")
        return found

    def by_folder(self) -> list[tuple[Path, list[LayerResult]]]:
        """The results of each part of the workload, those of HWCs and of clusters apart."""
        found: dict[tuple[Path, bool], list[LayerResult]] = {}
        for one in self.layers:
            found.setdefault((one.folder, is_for_cluster(one.result.schedule)), []).append(one.result)
        return [(folder, results) for (folder, _), results in found.items()]

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen cosim --json`` prints."""
        more = {**balance_data(self.works[0].balance), **left_out(self.works)} if self.works else {}
        return {"results": [{**one.result.as_json(), "folder": str(one.folder)} for one in self.layers], **more}

    def rows(self) -> list[dict[str, object]]:
        """One row a schedule."""
        return [
            {
                "layer": one.layer,
                "simulator": one.result.simulator,
                "equal": one.equal,
                "exact": one.exact,
                "cycles": one.cycles,
                "predicted_cycles": one.result.predicted_cycles,
                "utilisation": one.utilisation,
                "bytes": one.bytes,
                **{f"{operand}_bytes": amount for operand, amount in one.by_operand.items()},
            }
            for one in self.layers
        ]

    def summary(self) -> str:
        """The checks, and the sums."""
        checks = "all counts equal, all outputs exact" if self.passed else f"NOT EQUAL: {self.difference}"
        return f"Cosimulation of {len(self.layers)} layers: {checks}; {self.bytes:,} bytes, {self.cycles:,} cycles"

    def plot(self) -> Figure:
        """Measured bytes of each layer at the outermost memory, by operand."""
        from hwgen.report.charts import layer_bars

        return Figure.of(layer_bars([(one.layer, one.by_operand) for one in self.layers], "bytes"))


@dataclass(frozen=True, repr=False)
class StackCosimulation(Checked):
    """What came of the stacks of a depth-first solution, each on a pipeline.

    Members
    -------
    on_dram : with movers on a DRAM.
    coverage : what became of the rows: activations that ran as another one.
    """

    stacks: tuple[dict[str, Any], ...]
    on_dram: bool
    coverage: Coverage

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything that is wrong, a line each."""
        return tuple(f"{one['stack']}: {line}" for one in self.stacks for line in one["failures"])

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return not self.failures

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen cosim --json`` prints."""
        return {"results": list(self.stacks), "left_out": self.coverage.as_json()}

    def rows(self) -> list[dict[str, object]]:
        """One row a stack."""
        return [
            {
                "stack": one["stack"],
                "equal": one["equal"],
                "exact": one["output_exact"],
                "cycles": one["cycles"]["measured"],
                "predicted_cycles": one["cycles"]["predicted"],
            }
            for one in self.stacks
        ]

    def summary(self) -> str:
        """The checks."""
        checks = "all counts equal, all outputs exact" if self.passed else f"NOT EQUAL: {self.difference}"
        return f"Cosimulation of {len(self.stacks)} stacks: {checks}"


Workload = NetworkLike | ScheduleLike | Iterable[ScheduleLike]
"""What is simulated or generated: a plan, nests, files of schedules; or a network, which is scheduled first."""


@dataclass(frozen=True, kw_only=True)
class CosimRequest:
    """What is to be simulated, and how; see `cosim`. `answer` checks it before anything is searched."""

    workload: Workload | None = None
    program: Path | None = None
    buffer: Sizes | None = None
    hardware: HardwareLike | None = None
    per_layer: bool = False
    objective: SetObjective | None = None
    slack: float | None = None
    partial: bool = False
    simulator: Simulator = "verilator"
    jobs: int = 1
    seed: int = 0
    stalls: bool = False
    dump: Path | None = None
    waves: bool = False
    output: Path | None = None
    keep: Path | None = None
    macs: int | None = None
    dram: str | None = None
    clusters: int | None = None
    partition: str | None = None

    @call
    def answer(self) -> Cosimulation | StackCosimulation:
        """Simulate and compare; write the document where an output file is given."""
        sharing = sharing_of(self.clusters, self.partition)
        if self.output is not None and self.output.is_dir():
            raise InputError(f"-o: expected a file, got the folder {self.output}")
        claim_folder(self.dump, "--dump")
        claim_folder(self.keep, "--save-schedules")
        found = self._simulated(sharing)
        if self.output is not None:
            found.write(self.output)
        return found

    def _simulated(self, sharing: Sharing | None) -> Cosimulation | StackCosimulation:
        unfit = {"--buffer": self.buffer, "--hardware": self.hardware, "--per-layer": self.per_layer,
                 "--objective": self.objective, "--traffic-slack": self.slack, "--partial": self.partial}  # fmt: skip
        if self.program is not None:
            of_schedules = {"SCHEDULE": self.workload, **unfit, "--macs": self.macs, "--dram": self.dram,
                            "--save-schedules": self.keep, "--clusters": self.clusters}  # fmt: skip
            for option, value in of_schedules.items():
                if is_given(value):
                    raise InputError(f"{option}: not with --program, whose folder says it")
            return self._generated(self.program)
        if self.workload is None or self.workload == []:
            raise InputError("SCHEDULE: expected schedules, a layer set, or --program DIR")
        unfit = {"--buffer": self.buffer, "--hardware": self.hardware, "--per-layer": self.per_layer,
                 "--dump": self.dump, "--waves": self.waves, "--partial": self.partial, "--save-schedules": self.keep,
                 "--objective": self.objective, "--traffic-slack": self.slack,
                 "--clusters": self.clusters}  # fmt: skip
        solution = solution_among(self.workload, self.macs, unfit, dram=self.dram)
        if solution is not None:
            return self._pipelines(solution)
        with HwcAhead(self.jobs, wanted=self.simulator == "verilator" and not self.waves) as ahead:
            works = work_of(
                self.workload, buffer=None if self.buffer is None else sizes_text(self.buffer),
                hardware=self.hardware, per_layer=self.per_layer, objective=self.objective, slack=self.slack,
                partial=self.partial, begin=ahead.begin,
            )  # fmt: skip
            for work in works:
                ahead.rehearse(work.schedules, work.hardware)
            return self._of_works(works, sharing)

    def _of_works(self, works: list[Work], sharing: Sharing | None) -> Cosimulation:
        tell_shapes(self.workload, works, given=self.hardware is not None)
        if self.keep is not None:
            save_works(works, self.keep)
        if any(work.on_cluster for work in works):
            _require_verilator(self.simulator, waves=self.waves)
        if sharing is not None and (self.dump is not None or not all(work.on_cluster for work in works)):
            raise InputError("--clusters: expected schedules of two memory levels, and no --dump")
        found = [(work.folder, self._of_work(work, sharing)) for work in works]
        layers = tuple(LayerCosimulation(result, folder) for folder, results in found for result in results)
        return Cosimulation(layers, tuple(works))

    def _of_work(self, work: Work, sharing: Sharing | None) -> list[LayerResult]:
        return run_work(
            work, simulator=self.simulator, jobs=self.jobs, seed=self.seed, stalls=self.stalls, sharing=sharing,
            dump=None if self.dump is None else self.dump / work.folder,
            waves=(self.dump or Path("waves")) / work.folder if self.waves else None,
        )  # fmt: skip

    def _generated(self, folder: Path) -> Cosimulation:
        by_kind = _run_generated(
            folder, self.simulator, jobs=self.jobs, seed=self.seed, stalls=self.stalls, dump=self.dump,
            waves=self.waves,
        )  # fmt: skip
        return Cosimulation(tuple(LayerCosimulation(result) for results in by_kind for result in results))

    def _pipelines(self, path: Path) -> StackCosimulation:
        """Run every stack of a solution on its pipeline. Its inputs come from the integer reference."""
        solution, port = read_solution(path), dram_port(self.dram)
        movers, timing = (None, None) if port is None else (MoverParameters(port.axi_bits), port.dram)
        data = random_data(solution, np.random.default_rng(self.seed))
        runs = [
            prepare(solution.name(stack), solution, stack, data, macs=self.macs or MACS, random=self.seed + 1,
                    stall_rate=STALL_RATE if self.stalls else 0, movers=movers, dram=timing)
            for stack in solution.stacks
        ]  # fmt: skip
        note(f"{self.simulator}: {len(runs)} stacks; the first run of each builds its simulator")

        def run(one: StackRun) -> StackResult:
            (result,) = run_stacks([one], simulator=self.simulator)
            step()
            return result

        with steps(len(runs), "cosimulating") as step, ThreadPoolExecutor(self.jobs) as pool:
            results = tuple(result.as_json() for result in pool.map(run, runs))
        coverage = Coverage.depth_first(solution.network.network, solution.network.layers)
        return StackCosimulation(results, port is not None, coverage)


def cosim(
    workload: Workload | None = None,
    hardware: HardwareLike | None = None,
    *,
    program: str | PathLike[str] | None = None,
    buffer: Sizes | None = None,
    per_layer: bool = False,
    objective: SetObjective | None = None,
    slack: float | None = None,
    partial: bool = False,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    seed: int = 0,
    stalls: bool = False,
    dump: str | PathLike[str] | None = None,
    waves: bool = False,
    keep: str | PathLike[str] | None = None,
    clusters: int | None = None,
    partition: str | None = None,
) -> Cosimulation:
    """Run schedules in the RTL, and compare every count and every output with the model and the reference.

    A difference is no exception: `Cosimulation.difference` has it, and `Cosimulation.check` raises it.

    Parameters
    ----------
    workload : a plan, nests, files and folders of schedules; or a network, which is scheduled first, on the best HWC
        of ``buffer`` bytes for all of it unless ``hardware`` says otherwise (`per_layer`, `objective`, `slack`,
        `partial`: as in `schedule`).
    hardware : the HWC or the cluster; None: what the plan, or a file beside the schedules, says.
    program : run the Verilog and programs that `generate` wrote into this folder, in place of a workload.
    simulator : ``verilator`` or ``icarus``.
    jobs : simulators at a time.
    seed : of the random operands and stalls.
    stalls : withhold grants and responses at random.
    dump : folder for each layer's operands and output, as .npy.
    waves : record waveforms, in the ``dump`` folder or in ``waves``.
    keep : folder for the schedules that run, and their hardware.
    clusters, partition : share each layer of a cluster's schedules out to several of it, in a way such as ``KS``.
    """
    found = CosimRequest(
        workload=workload, hardware=hardware, program=_path(program), buffer=buffer, per_layer=per_layer,
        objective=objective, slack=slack, partial=partial, simulator=simulator, jobs=jobs, seed=seed, stalls=stalls,
        dump=_path(dump), waves=waves, keep=_path(keep), clusters=clusters, partition=partition,
    ).answer()  # fmt: skip
    if isinstance(found, StackCosimulation):
        raise InputError("workload: expected schedules, got a depth-first solution: hwgen cosim takes it")
    return found


def _path(place: str | PathLike[str] | None) -> Path | None:
    return None if place is None else Path(place)


def _run_generated(
    folder: Path, simulator: Simulator, *, jobs: int, seed: int, stalls: bool, dump: Path | None, waves: bool
) -> list[list[LayerResult]]:
    """Run what ``hwgen generate`` wrote into a folder: the results on HWCs, and those on clusters."""
    programs, clusters = read_programs(folder), read_clusters(folder)
    layers = [one.program.schedule.layer.name for one in programs]
    layers += [schedule.layer.name for one in clusters for schedule in one.schedules]
    number, names = len(layers), iter(file_names(layers))
    if not number:
        raise InputError(
            f"{folder}: expected a folder with programs for HWCs or clusters (pipelines run without: hwgen cosim "
            "FILE, the depth-first solution; quantised networks: hwgen run MODEL)"
        )
    if clusters:
        _require_verilator(simulator, waves=waves)
    note(f"{simulator}: {number} programs of {folder}")
    with steps(number, "cosimulating") as step:
        found = cosimulate_programs(
            programs,
            simulator=simulator,
            seed=seed,
            jobs=jobs,
            stalls=stalls,
            dump=dump,
            waves=(dump or Path("waves")) if waves else None,
            names=[next(names) for _ in programs],
            tell=tell_wait,
            progress=lambda result: step(),
        )
        on_clusters = []
        for one in clusters:
            own = [next(names) for _ in one.schedules]
            on_clusters += one.run(
                seed=seed, stalls=stalls, dump=dump, names=own, jobs=jobs, tell=tell_wait,
                progress=lambda result: step(),
            )  # fmt: skip
    return [results for results in (found, on_clusters) if results]


def _require_verilator(simulator: Simulator, *, waves: bool) -> None:
    if simulator != "verilator" or waves:
        raise InputError(f"--{'waves' if waves else 'sim'}: clusters run in Verilator, without waveforms")


def run_work(
    work: Work,
    *,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    seed: int = 0,
    stalls: bool = False,
    dump: Path | None = None,
    waves: Path | None = None,
    sharing: Sharing | None = None,
) -> list[LayerResult]:
    """Cosimulate the work. Waveforms go into the folder ``waves``."""
    note(f"{simulator}: {len(work.schedules)} layers")
    with steps(len(work.schedules), "cosimulating") as step:
        if sharing is not None:
            return cosimulate_systems(
                work.schedules,
                work.hardware,
                sharing.clusters,
                sharing.partition,
                seed=seed,
                stalls=stalls,
                jobs=jobs,
                tell=tell_wait,
                progress=lambda result: step(),
            )
        if work.on_cluster:
            return cosimulate_clusters(
                work.schedules,
                work.hardware,
                seed=seed,
                stalls=stalls,
                jobs=jobs,
                dump=dump,
                tell=tell_wait,
                progress=lambda result: step(),
            )
        return cosimulate(
            work.schedules,
            work.hardware,
            simulator=simulator,
            seed=seed,
            jobs=jobs,
            stalls=stalls,
            dump=dump,
            waves=waves,
            tell=tell_wait,
            progress=lambda result: step(),
        )


def tell_wait(forecast: Forecast) -> None:
    """Say how long the simulation will take, about."""
    if forecast.cycles:
        note(f"{forecast}")
