"""The rows of the results, from the records of the steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.ir.counts import OPERANDS, Counts, directions_at, quantities_at
from hwgen.ir.layer import Layer
from hwgen.model.energy import device_energy, prices_of
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.model.nest.bounds import bounds
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.search.core.optimal import Balance
from hwgen.studies.regress.hwc import Row
from hwgen.studies.sweep.tables.columns import COLUMNS, Column, traffic_column

__all__ = ["Cells", "completed", "curve_rows", "failures_of", "no_row", "order_text", "row_of", "status_of"]

Cells = dict[str, Any]


def row_of(
    row: Row,
    *,
    point: str,
    optimum: int,
    asked: Mapping[str, Any],
    file: str,
    simulated: Mapping[str, Any] | None,
    area: Mapping[str, Any] | None,
    balance: Balance | None = None,
    reason: str = "",
    pending: bool = False,
) -> Cells:
    """One row.

    Parameters
    ----------
    balance : what was weighed for the layer; None: nothing was.
    asked : the cells that say what was asked for.
    file : of the schedule.
    simulated : the line of a simulation; None: there is none.
    area : the cells of its synthesis; None: there is none.
    reason : why something is missing that was asked for.
    pending : whether some of it is still to come.
    """
    schedule, p = row.entry.schedule, row.parameters
    prediction = predict(schedule)
    timed = predicted_cycles(schedule, p)
    limit = bounds(schedule.layer, row.configuration.budget, schedule.bits)
    cells: Cells = {
        **asked,
        "point": point,
        "layer": row.layer,
        **hardware_cells(p, prediction.allocation),
        "macs": schedule.layer.macs,
        **traffic_cells(prediction.counts, "predicted"),
        "cycles_predicted": timed.total,
        **{f"stall_{cause}_predicted": number for cause, number in timed.stalls_by_name().items()},
        **({} if balance is None else _ends(balance)),
        "optimum_bytes": optimum,
        "compulsory_bytes": limit.compulsory,
        "bound_bytes": limit.largest,
        "schedule": file,
    }
    prices = prices_of(p, None)
    cells["energy_predicted"] = device_energy(schedule, prediction.counts, prices).total
    total = cells["total_bytes_predicted"]
    spent = timed.total
    wrong: list[str] = []
    if simulated is not None:
        measured = Counts.from_json(simulated["measured"])
        wrong = failures_of(simulated, prediction.counts, measured, limit.largest)
        cells |= traffic_cells(measured, "measured")
        cells["energy_measured"] = device_energy(schedule, measured, prices).total
        cells |= {f"stall_{cause}_measured": number for cause, number in simulated["stalls"]["measured"].items()}
        cells |= {"equal": not prediction.counts.differences(measured), "output_exact": simulated["output_exact"]}
        cells["cycles_measured"] = spent = simulated["cycles"]["measured"]
        total = cells["total_bytes_measured"]
    cells |= {
        "utilisation": round(schedule.layer.macs / (spent * p.lanes.product), 6) if spent else None,
        "optimum_ratio": round(total / optimum, 6),
        "bound_ratio": round(limit.ratio(total), 6),
        "status": status_of(simulated, reason, wrong, pending=pending),
        "reason": reason or "; ".join(wrong),
        **(area or {}),
    }
    return completed(cells)


def no_row(layer: Layer, asked: Mapping[str, Any], status: str, reason: str, point: str) -> Cells:
    """The row of a layer that was left out, with the reason."""
    cells = {**asked, "layer": layer.name, "macs": layer.macs, "status": status, "reason": reason, "point": point}
    return completed(cells)


def curve_rows(layer: Layer, asked: Mapping[str, Any], found: Mapping[str, Mapping[str, int]]) -> list[Cells]:
    """The rows of a layer's curve."""
    return [
        {
            **asked,
            "layer": layer.name,
            "buffer_bytes": int(size),
            **{f"{operand}_bytes": traffic[operand] for operand in OPERANDS},
            "total_bytes": sum(traffic.values()),
            "bound_bytes": bounds(layer, int(size)).largest,
        }
        for size, traffic in found.items()
    ]


def completed(cells: Cells, columns: Sequence[Column] = COLUMNS) -> Cells:
    """The cells of all columns, in their order."""
    return {column.name: cells.get(column.name) for column in columns}


def failures_of(
    simulated: Mapping[str, Any], predicted: Counts, measured: Counts, bound: int, level: str = "tcdm"
) -> list[str]:
    """What is wrong with a simulation, a line each, whatever its record says of itself.

    ``predicted`` : by the model as it is today. ``bound`` : no schedule moves fewer bytes at ``level``.
    """
    lines = list(simulated["failures"]) or ([] if simulated["passed"] else ["failed"])
    if not lines:
        lines += [
            f"{operand} {direction} at {where}: {theirs} {quantity}, predicted {mine}"
            for (where, operand, direction), quantity, mine, theirs in predicted.differences(measured)
        ]
        if not simulated["output_exact"]:
            lines.append("output: not that of the reference")
    if measured.total_bytes(level) < bound:
        lines.append(f"{measured.total_bytes(level)} bytes at {level}, and no schedule moves fewer than {bound}")
    return lines


def status_of(simulated: Mapping[str, Any] | None, reason: str, wrong: Sequence[str], *, pending: bool) -> str:
    """One of `STATUS`."""
    if simulated is not None and wrong:
        return "differs"
    if reason:
        return "failed"
    if pending:
        return "pending"
    return "predicted" if simulated is None else "ok"


def order_text(p: HwcParameters) -> str:
    """An HWC's loops, outermost first, with its buffers above them."""
    marks = {"I": p.input_marker, "W": p.weight_marker, "O": p.output_marker}
    words = []
    for j, loop in enumerate(p.loops):
        above = "".join(array for array, place in marks.items() if place == j)
        words += [f"[{above}]", loop] if above else [loop]
    return " ".join(words)


def hardware_cells(p: HwcParameters, need: PerOperand) -> Cells:
    """An HWC, and what a schedule needs of its memories."""
    return {
        "hardware_lanes": str(p.lanes),
        "hardware_order": order_text(p),
        "input_buffer_bytes": p.input_bytes,
        "weight_buffer_bytes": p.weight_bytes,
        "output_buffer_bytes": p.output_bytes,
        "allocated_bytes": p.input_bytes + p.weight_bytes + p.output_bytes,
        "bias_store_bytes": SUM_BYTES * p.bias_words,
        "input_need_bytes": need.I,
        "weight_need_bytes": need.W,
        "output_need_bytes": need.O,
    }


def traffic_cells(counts: Counts, source: str, *, dram: bool = False) -> Cells:
    """What the HWCs' ports move, and with ``dram`` the DMA at the DRAM."""
    cells: Cells = {}
    for level, prefix in (("tcdm", ""), ("dram", "dram_"))[: 1 + dram]:
        for operand, directions in directions_at(level).items():
            for direction in directions:
                access = counts[level, operand, direction]
                for quantity in quantities_at(level):
                    cells[traffic_column(operand, direction, quantity, source, level)] = getattr(access, quantity)
        cells[f"{prefix}total_bytes_{source}"] = counts.total_bytes(level)
        cells[f"{prefix}total_with_bias_{source}"] = counts.total_with_bias(level)
    return cells


def _ends(balance: Balance) -> Cells:
    """What the least traffic and the fewest cycles would be."""
    least, fewest = balance.least_traffic, balance.fewest_cycles
    return {
        "least_traffic_bytes": least.total_bytes,
        "least_traffic_cycles": least.cycles,
        "fewest_cycles_bytes": fewest.total_bytes,
        "fewest_cycles": fewest.cycles,
    }
