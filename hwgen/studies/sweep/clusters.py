"""Points on a cluster: the best schedule of two memory levels of a layer, and what its run measures."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cosim.cluster.results import cosimulate_clusters
from hwgen.ir.counts import DIRECTIONS, Access, Counts, Key
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import OnCluster, judge_of, predicted_on_cluster
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.model.energy import device_energy, prices_of
from hwgen.model.nest.bounds import bounds
from hwgen.model.system.times import QueueName
from hwgen.search.cluster.fewest_cycles import search_fewest_cycles
from hwgen.search.cluster.least_cycles import search_least_cycles
from hwgen.search.cluster.optimal import search_cluster
from hwgen.search.hwc.balanced import ANY_TRAFFIC
from hwgen.studies.regress.plans import Configuration
from hwgen.studies.sweep.rows import Cells, completed, failures_of, hardware_cells, status_of, traffic_cells

__all__ = ["ClusterConfiguration", "cluster_row", "plan_on_cluster", "simulate_on_cluster"]


WAITS: tuple[QueueName, ...] = ("load", "store")
"""Causes of stalls of the HWCs: loads that are not finished, stores that are not finished."""


@dataclass(frozen=True)
class ClusterConfiguration:
    """A cluster whose HWCs are those of ``hwc``, made for each layer: lanes, loop order, bytes of local memories."""

    hwc: Configuration
    cluster: Cluster

    kind = engine = "cluster"

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
        fewest, `ANY_TRAFFIC`: the cycles are, whatever is moved."""
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
    elif configuration.slack == ANY_TRAFFIC:
        estimate = partial(estimated_cycles, hardware=hardware, ordered=False)
        found = search_least_cycles(layer, hardware, timed=timed, estimate=estimate)
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


# --- rows ---


def cluster_row(
    plan: Mapping[str, Any],
    configuration: ClusterConfiguration,
    *,
    point: str,
    asked: Mapping[str, Any],
    file: str,
    simulated: Mapping[str, Any] | None,
    area: Mapping[str, Any] | None = None,
    reason: str = "",
    pending: bool = False,
) -> Cells:
    """One row; parameters as those of `hwgen.studies.sweep.rows.row_of`."""
    schedule = Schedule.from_data(plan["schedule"])
    found = predicted_cluster(schedule, configuration)
    parameters, times = found.parameters, found.times
    assert parameters is not None
    assert times is not None
    allocated = parameters.input_bytes + parameters.weight_bytes + parameters.output_bytes
    # Sums may be in local buffers while the TCDM has only room for their outputs: both count.
    on_chip = configuration.cluster.tcdm + configuration.cluster.hwcs * allocated
    limit = bounds(schedule.layer, on_chip, schedule.bits)
    cells: Cells = {
        **asked,
        "point": point,
        "layer": schedule.layer.name,
        **hardware_cells(parameters, found.prediction.local.allocation),
        "tcdm_taken_bytes": plan["taken"],
        "search_complete": plan["complete"],
        "macs": schedule.layer.macs,
        **traffic_cells(found.prediction.counts, "predicted", dram=True),
        "cycles_predicted": round(times.total),
        **{f"wait_{who}_predicted": round(times.waits.get(("compute", who), 0)) for who in WAITS},
        **plan["least"],
        "compulsory_bytes": limit.compulsory,
        "bound_bytes": limit.largest,
        "schedule": file,
    }
    prices = prices_of(parameters, configuration.cluster)
    cells["energy_predicted"] = device_energy(schedule, found.prediction.counts, prices).total
    total, spent = cells["dram_total_bytes_predicted"], cells["cycles_predicted"]
    wrong: list[str] = []
    if simulated is not None:
        measured = Counts.from_json(simulated["measured"])
        expected, counted = _of_tensors(found.prediction.counts), _of_tensors(measured)
        wrong = failures_of(simulated, expected, counted, limit.largest, "dram")
        cells |= traffic_cells(measured, "measured", dram=True)
        cells["energy_measured"] = device_energy(schedule, measured, prices).total
        registers = simulated["stalls"]["measured"]
        cells |= {f"wait_{who}_measured": registers[f"wait_compute_for_{who}"] for who in WAITS}
        cells |= {"equal": not expected.differences(counted), "output_exact": simulated["output_exact"]}
        cells["cycles_measured"] = spent = simulated["cycles"]["measured"]
        total = cells["dram_total_bytes_measured"]
    lanes = configuration.cluster.hwcs * parameters.lanes.product
    cells |= {
        "utilisation": round(schedule.layer.macs / (spent * lanes), 6) if spent else None,
        "bound_ratio": round(limit.ratio(total), 6),
        "status": status_of(simulated, reason, wrong, pending=pending),
        "reason": reason or "; ".join(wrong),
        **(area or {}),
    }
    return completed(cells)


def _of_tensors(counts: Counts) -> Counts:
    """Counts without the program's; partial sums and outputs are one where they are written: they share addresses."""
    found: dict[Key, Access] = {}
    for (level, operand, direction), access in counts.accesses.items():
        if operand in DIRECTIONS:
            key: Key = (level, operand, "write" if direction == "write_partial" else direction)
            found[key] = found.get(key, Access()) + access
    return Counts(found)
