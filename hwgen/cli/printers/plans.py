"""Plans as tables."""

from collections.abc import Sequence
from itertools import zip_longest
from math import ceil
from typing import Any

import typer

from hwgen.api.arguments import size_text
from hwgen.api.cluster_search import lanes_chosen
from hwgen.api.scheduling.buffers import BufferPlan, bounds_of
from hwgen.api.scheduling.busy import BusyPlan
from hwgen.api.scheduling.clusters import ClusterPlan
from hwgen.api.scheduling.hierarchies import HierarchyPlan, energy_unit, gap_text
from hwgen.api.scheduling.plan import Plan
from hwgen.api.work import time_and_area
from hwgen.cli.console import print_table
from hwgen.cli.coverage import tell_activations
from hwgen.cli.workload import tell_balance
from hwgen.ir.layer import Layer
from hwgen.search.cluster.optimal import ClusterResult
from hwgen.search.core.optimal import Result
from hwgen.search.objectives.of_cluster import CYCLES
from hwgen.search.objectives.of_hwc import HWC_OBJECTIVES

__all__ = ["print_plan"]

CLUSTER_COLUMNS = (
    "layer",
    "DRAM bytes",
    "/ compulsory",
    "TCDM bytes",
    "TCDM taken",
    "utilisation",
    "in cycles",
    "proven",
    "gap",
    "seconds",
)


def print_plan(plan: Plan) -> None:
    """Print the schedules, what they cost, and what was weighed for them."""
    match plan:
        case BufferPlan():
            _print_of_buffers(plan)
        case ClusterPlan():
            _print_on_cluster(plan)
        case BusyPlan():
            _print_busy(plan)
        case HierarchyPlan():
            _print_on_hierarchy(plan)
    tell_activations(plan.coverage)


def _print_of_buffers(plan: BufferPlan) -> None:
    columns = [
        "layer",
        "buffer",
        "needs",
        "bytes",
        "words",
        "/ compulsory",
        "/ bound",
        "schedules covered",
        "pruned",
        "seconds",
    ]
    rows = [
        [
            result.schedule.layer.name,
            size_text(result.buffer_bytes),
            result.need.total,
            result.total_bytes,
            result.counts.total_words(),
            result.total_bytes / bounds_of(result).compulsory,
            bounds_of(result).ratio(result.total_bytes),
            result.covered,
            result.pruned,
            result.seconds,
        ]
        for result in plan.results
    ]
    fewest = f"Schedules of the {plan.aim} found within the slack of the least traffic"
    ranking = HWC_OBJECTIVES.get(plan.objective)
    title = fewest if ranking is None else f"Schedules of least {ranking.title}"
    if ranking is not None and ranking.biases:
        columns.insert(4, "with bias")
        for row, result in zip(rows, plan.results, strict=True):
            row.insert(4, result.counts.total_with_bias())
    wide = ["words", "/ compulsory", "seconds", "pruned", "schedules covered"]
    print_table(title, columns, rows, wide=wide)
    _print_weighed(plan.results)
    for one, machine in zip_longest(plan.balances, plan.runs_on):
        tell_balance(one, time_and_area(one, machine))


def _print_weighed(results: Sequence[Result]) -> None:
    """What was chosen for each layer, and what both ends would be."""
    rows = [
        [
            result.schedule.layer.name,
            size_text(result.buffer_bytes),
            str(result.schedule.lanes),
            *(number for cost in result.balance.ends for number in (cost.total_bytes, cost.cycles)),
        ]
        for result in results
        if result.balance is not None
    ]
    if rows:
        columns = ["layer", "buffer", "lanes", "bytes", "cycles", "least bytes", "cycles ", "bytes ", "fewest cycles"]
        print_table("What was weighed: the choice, the least traffic, the fewest cycles", columns, rows)


def _print_on_cluster(plan: ClusterPlan) -> None:
    rows = [_row(one.schedule.layer, one, timed=plan.timed) for one in plan.found.results]
    columns = list(CLUSTER_COLUMNS)
    if plan.objective == CYCLES:
        columns[1:1] = ["cycles", "at least"]
    elif plan.objective not in (None, "dram-bytes"):
        columns.insert(1, f"{plan.objective} ({plan.found.results[0].unit})")
    title = f"least {'DRAM bytes' if plan.objective in (None, 'dram-bytes') else plan.objective}, then TCDM bytes"
    if plan.found.results[0].slack is not None:
        title = f"fewest cycles within {100 * plan.found.results[0].slack:g} % of the least DRAM bytes"
    elif plan.objective == CYCLES:
        title = "fewest cycles, then DRAM bytes"
    print_table(f"Schedules of {title}", columns, rows, wide=["TCDM taken", "utilisation", "seconds"])
    _print_together(plan)
    if plan.asked.lanes is None:
        typer.echo(lanes_chosen(plan.found))


def _print_together(plan: ClusterPlan) -> None:
    found = plan.together()
    rows: list[list[object]] = [["these schedules", *_figures(found)]]
    if found["fewest_bytes"] is not None:
        rows.append(["fewest DRAM bytes", *_figures(found["fewest_bytes"])])
    if plan.found.tried:
        rows.append(["each layer on HWCs of its own", *_figures(found["alone"])])
    if len(rows) > 1:
        print_table("All layers", ["", "DRAM bytes", "TCDM bytes", "cycles (predicted)"], rows)


def _figures(sums: dict[str, Any]) -> list[object]:
    return ["" if sums.get(key) is None else sums[key] for key in ("total_bytes", "tcdm_bytes", "cycles")]


def _row(layer: Layer, found: ClusterResult, *, timed: bool) -> list[object]:
    compulsory = layer.input_elements + layer.weight_elements + layer.output_elements
    return [
        layer.name,
        *(
            []
            if found.objective == "dram-bytes"
            else [round(found.value), None if found.bound is None else ceil(found.bound)]
            if found.objective == CYCLES
            else [found.value]
        ),
        found.dram_bytes,
        found.dram_bytes / compulsory,
        found.tcdm_bytes,
        found.need,
        found.utilisation,
        found.judged if timed else "",
        "yes" if found.complete else "no",
        "" if found.gap is None else f"{100 * found.gap:.2f} %",
        found.seconds,
    ]


def _print_busy(plan: BusyPlan) -> None:
    rows = [
        [
            choice.schedule.layer.name,
            choice.hardware.name,
            str(choice.hardware.lanes),
            choice.total_bytes,
            choice.cycles,
            choice.utilisation,
        ]
        for choice in plan.choices.choices
    ]
    columns = ["layer", "hardware", "lanes", "bytes", "cycles (estimated)", "utilisation (estimated)"]
    print_table(f"Schedules of little traffic for busy lanes, {size_text(plan.size)}", columns, rows)
    print_table(
        "All layers", ["HWCs", "bytes", "/ without hardware", "mean utilisation (estimated)"],
        [[len(plan.choices.hardware), plan.choices.total_bytes, plan.choices.ratio, plan.choices.utilisation]],
    )  # fmt: skip


def _print_on_hierarchy(plan: HierarchyPlan) -> None:
    columns = ["layer", energy_unit(plan.goal), "bound", "gap", "memory pJ", "MAC pJ", "seconds"]
    rows = [
        [one.schedule.layer.name, one.value, one.bound, gap_text(one), one.energy.memory, one.energy.mac, one.seconds]
        for one in plan.results
    ]
    print_table(f"Schedules of least {plan.goal} on {plan.hierarchy.name}", columns, rows, wide=["seconds"])
