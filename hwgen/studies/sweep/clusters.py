"""Points on a cluster: the best schedule of two memory levels of a layer, and what its run measures."""

import zlib
from dataclasses import dataclass
from typing import Any

from cosim.cluster.results import cosimulate_clusters
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import OnCluster, judge_of, predicted_on_cluster
from hwgen.model.system.times import QueueName
from hwgen.search.cluster.fewest_cycles import search_fewest_cycles
from hwgen.search.cluster.optimal import search_cluster
from hwgen.studies.regress.plans import Configuration

__all__ = ["WAITS", "ClusterConfiguration", "plan_on_cluster", "predicted_cluster", "simulate_on_cluster"]

WAITS: tuple[QueueName, ...] = ("load", "store")
"""Causes of stalls of the HWCs: loads that are not finished, stores that are not finished."""


@dataclass(frozen=True)
class ClusterConfiguration:
    """A cluster whose HWCs are those of ``hwc``, made for each layer: lanes, loop order, bytes of local memories."""

    hwc: Configuration
    cluster: Cluster

    kind = "cluster"

    @property
    def budget(self) -> int:
        """Bytes of the local memories of each HWC."""
        return self.hwc.budget

    @property
    def shape(self) -> str:
        """The lanes of each HWC as text."""
        return self.hwc.shape

    @property
    def order(self) -> str | None:
        """The loop order asked for."""
        return self.hwc.order

    @property
    def slack(self) -> float | None:
        """The share by which the bytes of the DRAM may exceed the fewest, for fewer cycles; None: they are the
        fewest."""
        return self.hwc.slack

    @property
    def name(self) -> str:
        """Its name in results and tables."""
        hwc = self.hwc.name.removeprefix(f"{self.hwc.kind} ")
        return f"cluster of {self.cluster.hwcs}, TCDM {self.cluster.tcdm}, {hwc}"

    @property
    def hardware(self) -> Hardware:
        """The hardware as schedules are searched for."""
        return Hardware(
            name="cluster", lanes=self.hwc.lanes, budget=self.budget, order=self.hwc.items, cluster=self.cluster
        )


def plan_on_cluster(layer: Layer, configuration: ClusterConfiguration) -> dict[str, Any]:
    """The best schedule, with the other end where cycles were weighed; `InputError` if there is none."""
    hardware = configuration.hardware
    timed, runs = (judge_of(hardware, timed=timed) for timed in (True, False))
    if configuration.slack is None:
        found = search_cluster(layer, hardware, judge=runs)
    else:
        found = search_fewest_cycles(layer, hardware, timed=timed, runs=runs, slack=configuration.slack, ends=True)
    least: dict[str, int] = {}
    if found.least is not None:
        least["least_traffic_bytes"], utilisation = found.least
        if utilisation:
            least["least_traffic_cycles"] = round(layer.macs / (found.lanes * utilisation))
    return {"schedule": found.schedule.as_data(), "taken": found.need, "complete": found.complete, "least": least}


def predicted_cluster(schedule: Schedule, configuration: ClusterConfiguration) -> OnCluster:
    """The model's prediction of a schedule that was found."""
    return predicted_on_cluster(schedule, configuration.hardware)


def simulate_on_cluster(schedule: Schedule, configuration: ClusterConfiguration, seed: int) -> dict[str, Any]:
    """Run it and compare everything."""
    (result,) = cosimulate_clusters(
        [schedule], configuration.hardware, seed=seed, streams=[zlib.crc32(schedule.layer.name.encode())]
    )
    return {**result.as_json(), "passed": result.passed}
