"""The row of a layer on a cluster, from its plan and its run."""

from collections.abc import Mapping
from typing import Any

from hwgen.ir.counts import DIRECTIONS, Access, Counts, Key
from hwgen.ir.schedule import Schedule
from hwgen.model.energy import device_energy, prices_of
from hwgen.model.nest.bounds import bounds
from hwgen.studies.sweep.clusters import WAITS, ClusterConfiguration, predicted_cluster
from hwgen.studies.sweep.rows import Cells, completed, failures_of, hardware_cells, status_of, traffic_cells

__all__ = ["cluster_row"]


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
