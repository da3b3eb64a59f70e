"""Layers on clusters at full size in the simulator, their results kept line by line."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import hwgen.arch
import hwgen.gateware
import hwgen.ir
import hwgen.lower
import hwgen.model
from cosim.cluster.results import cosimulate_clusters
from cosim.device.device import HARNESS
from cosim.device.result import LayerResult
from cosim.system.results import cosimulate_systems
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hardware_file import load_hardware
from hwgen.export.cached import generated_cluster
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.system.program import compile_system, fastest_partition
from hwgen.lower.system.shares import PARTITIONS, Partition
from hwgen.search.cluster.fewest_cycles import search_fewest_cycles
from hwgen.studies.engine.attempt import Step, Tell
from hwgen.studies.engine.work import results_of
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.ledger import Ledger

__all__ = [
    "LEDGER",
    "ClusterCase",
    "ClusterRegression",
    "kept_results",
    "perform",
    "regression_cases",
    "shared_cases",
]

LEDGER = "clusters.jsonl"


@dataclass(frozen=True)
class ClusterCase:
    """A schedule on a cluster, and its place among the results.

    Members
    -------
    stalls : every channel to the DRAM and every port of the TCDM waits at random.
    clusters, partition : of several clusters, how many, and how the layer is shared out to them.
    """

    name: str
    schedule: Schedule
    hardware: Hardware
    stalls: bool = False
    clusters: int = 1
    partition: Partition | None = None

    @property
    def cluster(self) -> Cluster:
        """HWCs and memories."""
        return self.hardware.cluster or Cluster()

    @property
    def key(self) -> str:
        """Names the case and all that its result comes from."""
        data = [self.name, self.schedule.as_data(), self.hardware.model_dump(mode="json"), self.stalls]
        data += [self.clusters, self.partition] if self.clusters > 1 else []
        rooms = (hwgen.arch, hwgen.ir, hwgen.model, hwgen.gateware, hwgen.lower)
        sources = sources_digest([HARNESS, *(Path(room.__path__[0]) for room in rooms)])
        return digest_of([*data, generated_cluster(self._generated), sources])

    @property
    def _generated(self) -> ClusterParameters:
        """The cluster that is generated for it; of several, each: it has room for a share, not for the layer."""
        if self.clusters == 1:
            return compile_cluster(self.schedule, self.hardware).hardware
        partition = self.partition or fastest_partition(self.schedule, self.hardware, self.clusters)
        return compile_system(self.schedule, self.hardware, self.clusters, partition).programs[0].hardware


@dataclass(frozen=True)
class ClusterRegression:
    """Cases, one after the other. What is kept in ``folder`` in the same state is not simulated again."""

    cases: Sequence[ClusterCase]
    folder: Path
    fast: bool = True

    def run(self, arrived: Callable[[dict[str, Any]], None]) -> list[dict[str, Any]]:
        """All results, in the order of the cases."""
        steps = [Step("cluster", case.key, case.name, (case, self.fast)) for case in self.cases]
        return results_of(steps, self.folder / LEDGER, 1, perform=f"{__name__}:perform", arrived=arrived)


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Simulate a case."""
    case, fast = step.arguments
    found: LayerResult
    if case.clusters > 1:
        (found,) = cosimulate_systems(
            [case.schedule], case.hardware, case.clusters, case.partition, stalls=case.stalls, fast=fast
        )
    else:
        (found,) = cosimulate_clusters([case.schedule], case.hardware, stalls=case.stalls, fast=fast)
    return {"case": case.name, "hwcs": case.cluster.hwcs * case.clusters, "stalled": case.stalls, **found.as_json()}


def kept_results(cases: Sequence[ClusterCase], folder: Path) -> list[dict[str, Any] | None]:
    """What ``folder`` has of each case in the present state; None: nothing. Nothing is simulated."""
    records = Ledger(folder / LEDGER).load()
    kept = {key: record["value"] for key, record in records.items() if record.get("status") == "done"}
    names = {value["case"] for value in kept.values()}
    # The key of a case takes the Verilog of its cluster.
    return [kept.get(case.key) if case.name in names else None for case in cases]


def shared_cases(schedules: Sequence[Schedule], hardware: Hardware, clusters: int) -> list[ClusterCase]:
    """Schedules shared out to several clusters in each way, with a slow DRAM; the last one also with random stalls.

    Raises `InputError` where a layer cannot be shared out in one of the ways.
    """
    timed = _timed(hardware)
    cases = [
        ClusterCase(f"{schedule.layer.name}, {partition}", schedule, timed, clusters=clusters, partition=partition)
        for schedule in schedules
        for partition in PARTITIONS
    ]
    return [*cases, replace(cases[-1], name=f"{cases[-1].name}, stalled", stalls=True)]


def regression_cases(
    schedules: Sequence[Schedule],
    hardware: Hardware,
    against_one: Collection[str] = (),
    together: Collection[str] = (),
) -> list[ClusterCase]:
    """Schedules with a slow DRAM, the last one also with random stalls; and the schedules that the search finds.

    Parameters
    ----------
    hardware : without a DRAM of its own: like DDR3.
    against_one : layers for which a nest is searched that then runs on all HWCs and on one, at full rate.
    together : layers that also run on the same cluster with ``multicast``.
    """
    timed = _timed(hardware)
    cases = [ClusterCase(schedule.layer.name, schedule, timed) for schedule in schedules]
    cases.append(ClusterCase(f"{cases[-1].name}, stalled", schedules[-1], timed, stalls=True))
    cases += [
        ClusterCase(f"{schedule.layer.name}, together", schedule, _with(timed, multicast=True))
        for schedule in schedules
        if schedule.layer.name in together
    ]
    full = _with(hardware, dram=None)
    for layer in (schedule.layer for schedule in schedules if schedule.layer.name in against_one):
        in_time, runs = (judge_of(hardware, timed=timed) for timed in (True, False))
        found = search_fewest_cycles(layer, hardware, timed=in_time, runs=runs).schedule
        cases += [ClusterCase(f"{layer.name}, searched", found, each) for each in (full, _with(full, hwcs=1))]
    return cases


def _timed(hardware: Hardware) -> Hardware:
    """The hardware with its DRAM, or with one like DDR3."""
    slow = load_hardware(named_file("hardware", "cluster_ddr3")).cluster
    if slow is not None and hardware.cluster is not None and hardware.cluster.dram is None:
        return _with(hardware, dram=slow.dram)
    return hardware


def _with(hardware: Hardware, **changes: object) -> Hardware:
    cluster = hardware.cluster or Cluster()
    return hardware.model_copy(update={"cluster": cluster.model_copy(update=changes)})
