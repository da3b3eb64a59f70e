"""What is to be scheduled: the request, which checks itself, and the search that answers it."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from hwgen.api.arguments import Sizes, buffer_sizes, checked_multipliers, claim_folder, sizes_text
from hwgen.api.machines import HardwareLike, HierarchyLike, called, read_hardware
from hwgen.api.models import tell_layers
from hwgen.api.networks import NetworkLike, covered
from hwgen.api.schedule_files import require_hardware
from hwgen.api.scheduling.buffers import BufferPlan, require_programs, size_folder
from hwgen.api.scheduling.busy import plan_busy
from hwgen.api.scheduling.clusters import ClusterPlan, energy_cost, plan_on_cluster
from hwgen.api.scheduling.hierarchies import plan_on_hierarchy
from hwgen.api.scheduling.plan import Plan
from hwgen.api.session import call
from hwgen.api.work import (
    SHARED,
    balance_of,
    best_schedules,
    cluster_slack,
    default_objective,
    of_size,
    one_for_all,
    sizes_on,
    slack_of,
)
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.search.objectives.of_cluster import CLUSTER_OBJECTIVES, CYCLES
from hwgen.search.objectives.of_hwc import HWC_OBJECTIVES
from hwgen.tools.output import keep_unless_refused

__all__ = ["OBJECTIVES", "ScheduleRequest", "schedule"]

OBJECTIVES = ("balanced", *HWC_OBJECTIVES, *CLUSTER_OBJECTIVES)

STORE = ".found"
"""Folder, beside the schedules, of the results of each finished layer."""


@dataclass(frozen=True, kw_only=True)
class ScheduleRequest:
    """What is to be scheduled, and how; see `schedule`. `plan` checks it before anything is searched."""

    network: NetworkLike
    buffer: Sizes | None = None
    hardware: HardwareLike | None = None
    hierarchy: HierarchyLike | None = None
    fills: bool = False
    partial: bool = False
    objective: str | None = None
    slack: float | None = None
    energy: str | None = None
    min_utilisation: float | None = None
    lanes: str | None = None
    multipliers: int | None = None
    max_ratio: float | None = None
    shared: bool = False
    per_layer: bool = False
    output: Path | None = None
    jobs: int = 1

    @call
    def plan(self) -> Plan:
        """Search the schedules, and write them where an output folder is given."""
        if self.hierarchy is not None:
            return self._on_hierarchy(self.hierarchy)
        if self.fills:
            raise InputError("--fills: expected with --hierarchy")
        given = read_hardware(self.hardware)
        if self.objective is not None and self.objective not in OBJECTIVES:
            raise InputError(f"--objective: expected one of {', '.join(OBJECTIVES)}, got {self.objective[:40]!r}")
        sizes = [] if self.buffer is None else buffer_sizes(sizes_text(self.buffer))
        claim_folder(self.output)
        on_cluster = given is not None and given.cluster is not None
        coverage = self._covered(batches=on_cluster)
        if given is not None and on_cluster:
            return self._on_cluster(given, coverage)
        if self.per_layer:
            raise InputError("--per-layer: expected with the hardware of a cluster")
        return self._of_sizes(given, coverage, sizes)

    def _covered(self, *, batches: bool = False) -> Coverage:
        """The layers that are scheduled; of a quantised network a line says that they are shapes alone."""
        coverage = covered(self.network, partial=self.partial, batches=batches)
        tell_layers(self.network, [layer.name for layer in coverage.layers])
        return coverage

    def _on_hierarchy(self, hierarchy: HierarchyLike) -> Plan:
        others = [self.buffer, self.hardware, self.slack, self.energy, self.min_utilisation, self.lanes,
                  self.max_ratio]  # fmt: skip
        if self.shared or self.per_layer or any(one is not None for one in others):
            raise InputError(
                "--hierarchy: expected no options but --objective, --fills, --partial, -o, -j and --json beside it"
            )
        claim_folder(self.output)
        coverage = self._covered(batches=True)
        return plan_on_hierarchy(coverage, hierarchy, self.objective, self.output, fills=self.fills, jobs=self.jobs)

    def _on_cluster(self, given: Hardware, coverage: Coverage) -> ClusterPlan:
        sized = self.buffer is not None or self.lanes is not None or self.max_ratio is not None
        if sized or self.shared or self.multipliers:
            raise InputError(
                f"--hardware: {called(self.hardware or given)}: a cluster has its sizes: expected no options but "
                "--objective, --traffic-slack, --energy, --min-utilisation, --per-layer, --partial, -o and --json "
                "beside it"
            )
        demand = self.min_utilisation
        if demand is not None and not 0 <= demand <= 1:
            raise InputError(f"--min-utilisation: expected 0 to 1, got {demand:g}")
        named = self.objective or default_objective(self.slack, demanded=demand is not None)
        goal = _cluster_objective(named)
        demanded = "--min-utilisation" if demand is not None else named
        near = cluster_slack(slack_of(demanded, self.slack))
        if self.objective == "balanced" and demand is not None:
            raise InputError("--min-utilisation: expected without --objective balanced")
        if self.energy is not None:
            if goal != "energy" or given.cluster is None:
                raise InputError("--energy: expected together with --objective energy")
            weighed = given.cluster.model_copy(update={"energy": energy_cost(self.energy)})
            given = given.model_copy(update={"cluster": weighed})
        return plan_on_cluster(coverage, given, goal, demand, self.output, slack=near, per_layer=self.per_layer)

    def _of_sizes(self, given: Hardware | None, coverage: Coverage, sizes: list[int]) -> Plan:
        """The plan of some buffer sizes, on one memory level."""
        named = self.objective
        if named is None and given is not None:
            named = default_objective(self.slack)
        goal = _one_level_objective(named, on_hardware=given is not None or self.shared)
        if self.energy is not None:
            raise InputError("--energy: expected with the hardware of a cluster and --objective energy")
        sizes = sizes_on(given, sizes)
        if not sizes:
            raise InputError("--buffer: expected sizes such as 512 or 1KiB,4KiB, or --hardware, which has its own")
        store = None if self.output is None else self.output / STORE
        if store is not None:
            keep_unless_refused(store)
        if self.min_utilisation is None and (self.lanes is not None or self.max_ratio is not None):
            option = "lanes" if self.lanes is not None else "max-ratio"
            raise InputError(f"--{option}: expected together with --min-utilisation")
        if self.multipliers is not None and self.min_utilisation is None and not self.shared:
            raise InputError("--multipliers: expected with --min-utilisation or --shared; else in the hardware file")
        number = checked_multipliers(self.multipliers)
        if self.min_utilisation is not None:
            if self.hardware is not None or self.objective not in (None, "traffic") or self.slack is not None:
                raise InputError("--min-utilisation: expected without --hardware, --objective and --traffic-slack")
            return plan_busy(
                coverage, sizes, self.min_utilisation, max_ratio=self.max_ratio, lanes=self.lanes,
                multipliers=self.multipliers, one_for_all=self.shared, output=self.output, store=store,
                jobs=self.jobs,
            )  # fmt: skip
        if self.shared and (given is not None or goal not in ("balanced", "traffic")):
            raise InputError("--shared: expected without --hardware, and with --objective balanced or traffic")
        # Without hardware there is no exact model: cycles are those of the busiest of datapath and ports.
        allowed = (
            None
            if goal == CYCLES and given is None and self.slack is None
            else slack_of(goal, self.slack, shared=self.shared)
        )
        if self.output is not None:
            wanted = SHARED if self.shared else None if given is None else given.name
            for size in sizes:
                require_hardware(wanted, size_folder(self.output, size, sizes))
        plan = (
            self._shared(coverage, sizes, goal, allowed, number)
            if self.shared
            else self._on_given(given, coverage, sizes, goal, allowed, store)
        )
        plan.write_files()
        return plan

    def _shared(
        self, coverage: Coverage, sizes: list[int], goal: str, allowed: float | None, multipliers: int
    ) -> BufferPlan:
        best = [one_for_all(coverage.layers, size, allowed, multipliers=multipliers) for size in sizes]
        results = tuple(result for same in zip(*(one.results for one in best), strict=True) for result in same)
        runs_on, balances = tuple(one.hardware for one in best), tuple(one.balance for one in best)
        return BufferPlan(coverage, results, tuple(sizes), runs_on, goal, balances, self.output)

    def _on_given(
        self,
        given: Hardware | None,
        coverage: Coverage,
        sizes: list[int],
        goal: str,
        allowed: float | None,
        store: Path | None,
    ) -> BufferPlan:
        runs_on = () if given is None else tuple(of_size(given, size) for size in sizes)
        least = "traffic" if goal == "balanced" else goal
        results = best_schedules(coverage.layers, sizes, given, least, slack=allowed, jobs=self.jobs, store=store)
        require_programs(results, dict(zip(sizes, runs_on, strict=False)))
        balances = tuple(balance_of([one for one in results if one.buffer_bytes == size]) for size in sizes)
        return BufferPlan(coverage, tuple(results), tuple(sizes), runs_on, goal, balances, self.output)


def schedule(
    network: NetworkLike,
    hardware: HardwareLike | None = None,
    *,
    buffer: Sizes | None = None,
    hierarchy: HierarchyLike | None = None,
    objective: str | None = None,
    slack: float | None = None,
    shared: bool = False,
    min_utilisation: float | None = None,
    lanes: str | None = None,
    multipliers: int | None = None,
    max_ratio: float | None = None,
    per_layer: bool = False,
    energy: str | None = None,
    fills: bool = False,
    partial: bool = False,
    output: str | PathLike[str] | None = None,
    jobs: int = 1,
) -> Plan:
    """Find the best schedule of every layer of a network.

    Parameters
    ----------
    network : what `load` takes, or layers.
    hardware : an HWC or a cluster that the schedules are to run on; None: the pure model, without lanes, with
        exact buffer needs.
    buffer : bytes of the local buffers, such as ``1024``, ``"1KiB"`` or ``["512", "1KiB"]``; by default those of the
        hardware. A cluster has its own.
    hierarchy : memories of any depth, in place of hardware and buffer: a file or a built-in name.
    objective : what to have least of; by default what ``hwgen schedule --help`` says.
    slack : with the objective ``balanced``: by what share traffic may exceed the least.
    shared : one HWC for all layers, as `cosim` and `generate` find it.
    min_utilisation : what the mean estimated utilisation must reach; `lanes`, `multipliers`, `max_ratio` bound it.
    per_layer : on a cluster: HWCs of its own for each layer.
    energy : on a cluster, with the objective ``energy``: of a byte of DRAM, TCDM, local buffer, of a MAC.
    fills : on a hierarchy: energy of the writes into the level that receives, too.
    partial : leave out layers that no schedule can be made for.
    output : folder for the schedules. What is finished there is not searched again, also after Ctrl-C.
    jobs : layers at a time.
    """
    return ScheduleRequest(
        network=network, buffer=buffer, hardware=hardware, hierarchy=hierarchy, fills=fills, partial=partial,
        objective=objective, slack=slack, energy=energy, min_utilisation=min_utilisation, lanes=lanes,
        multipliers=multipliers, max_ratio=max_ratio, shared=shared, per_layer=per_layer,
        output=None if output is None else Path(output), jobs=jobs,
    ).plan()  # fmt: skip


def _cluster_objective(objective: str | None) -> str | None:
    """The objective on a cluster; None: the fewest cycles within a slack of the fewest bytes."""
    if objective in (None, "balanced"):
        return None
    if objective == "traffic":
        return "dram-bytes"
    if objective == CYCLES or objective in CLUSTER_OBJECTIVES:
        return objective
    *others, last = ("balanced", CYCLES, *CLUSTER_OBJECTIVES)
    raise InputError(f"--objective: expected {', '.join(others)} or {last} on a cluster, got {objective}")


def _one_level_objective(objective: str | None, *, on_hardware: bool) -> str:
    if objective is None:
        return "balanced" if on_hardware else "traffic"
    if objective == "balanced" and not on_hardware:
        raise InputError("--objective: balanced: expected with --hardware or --shared, which have cycles")
    if objective == "balanced" or objective in HWC_OBJECTIVES:
        return objective
    *others, last = ("balanced", *HWC_OBJECTIVES)
    raise InputError(f"--objective: expected {', '.join(others)} or {last} without a cluster, got {objective}")
