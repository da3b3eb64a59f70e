"""The folder of a sweep whose figures are made up, for pages and tables."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hwgen.arch.hwc import ALONG_X
from hwgen.ir.document import dump_yaml
from hwgen.ir.excerpt import at_resolution, excerpt, narrowed
from hwgen.ir.hardware import Cluster
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.model.nest.one_level import predict
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core.optimal import Balance, Cost
from hwgen.studies.regress.hwc import rows_of
from hwgen.studies.regress.plans import Configuration, Entry, Kind, Plan
from hwgen.studies.regress.published_nests import hwce
from hwgen.studies.sweep.clusters import ClusterConfiguration, cluster_row, plan_on_cluster
from hwgen.studies.sweep.depth_first import steps
from hwgen.studies.sweep.depth_first.request import DepthFirstQuestion
from hwgen.studies.sweep.depth_first.rows import front_rows, stack_row
from hwgen.studies.sweep.depth_first.run import solution_file
from hwgen.studies.sweep.depth_first.steps import StackJob
from hwgen.studies.sweep.documents import documents_of, hardware_of, schedule_file
from hwgen.studies.sweep.report.charts import drawn_charts
from hwgen.studies.sweep.report.derived import derived
from hwgen.studies.sweep.report.page import page
from hwgen.studies.sweep.report.results import load_results
from hwgen.studies.sweep.request import Outcome, Question
from hwgen.studies.sweep.rows import row_of
from hwgen.studies.sweep.synthesis import area_cells, area_rows
from hwgen.studies.sweep.tables.files import write_results
from hwgen.synthesis.blocks import Block
from hwgen.synthesis.ecp5 import Area, CriticalPath, Device, Gates, Synthesis
from tests.studies.engine.points import layers_named

__all__ = ["BUDGETS", "depth_first", "page_of", "results"]

BUDGETS = (512, 1024, 2048)


def page_of(folder: Path, title: str) -> str:
    """The page of a sweep's folder."""
    found = derived(load_results(folder))
    return page(found, drawn_charts(found), title)


def results(
    folder: Path,
    *,
    budgets: tuple[int, ...] = BUDGETS,
    shapes: tuple[Lanes, ...] = (ALONG_X,),
    kinds: tuple[Kind, ...] = ("shared", "hwce"),
    clusters: bool = False,
    slack: float | None = None,
) -> Path:
    """A sweep's folder: two layers on HWCs, and on the HWCE, of three sizes; or, besides, on clusters.

    Nothing was run: what was measured is made up, and of the HWCs of 2 KiB nothing was. With ``slack`` cycles were
    weighed: the least traffic would be 100 bytes less in 500 cycles more, the fewest cycles 100 less.
    """
    layers = layers_named("first", "second")
    question = Question(layers, tuple(Configuration("shared", budget) for budget in budgets), layer_set="few")
    rows: list[dict[str, Any]] = []
    documents: dict[str, str] = {}
    wanted = [Configuration(k, b, lanes=lanes, slack=slack) for k in kinds for b in budgets for lanes in shapes]
    for configuration in wanted:
        entries = tuple(Entry(hwce(layer, lanes=configuration.lanes), None) for layer in layers)
        planned = rows_of(Plan(configuration, entries, {}, {layer.name: 100 for layer in layers}))
        on = hardware_of(configuration, planned)
        documents |= documents_of(question, configuration, (entry.schedule for entry in entries), on)
        for row in planned:
            rows.append(_cells(row, question, configuration.budget, simulated=configuration.budget != 2048))
    if clusters:
        for hwcs in (1, 2):
            for layer in layers:
                row, files = _on_cluster(layer, question, hwcs)
                rows.append(row)
                documents |= files
    curves = [
        {"layer": layer.name, "buffer_bytes": size, "I_bytes": 90000 // size, "W_bytes": 200, "O_bytes": 300,
         "total_bytes": 90000 // size + 500, "bound_bytes": 450, "set": "few", "scale": 1,
         "question": question.name}
        for layer in layers for size in (128, *budgets)
    ]  # fmt: skip
    write_results(folder, Outcome(rows, curves, documents, areas=_areas(budgets)), question)
    return folder


def depth_first(folder: Path) -> Path:
    """The folder of a sweep over depth-first points of a small residual block, with runs that are made up.

    Three memories and two numbers of multipliers; the solutions of the smallest memory were not simulated.
    """
    network = at_resolution(narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 32), 10, 8)
    question = DepthFirstQuestion(network, "block", (64, 200, 4096), (8, 16))
    found = steps.perform(steps.front_step(network, question.memories), lambda stage: None)
    outcome = Outcome(fronts=front_rows(question, found["points"]))
    for point in question.points():
        solution = found["solutions"][str(point.memory)]
        file = solution_file(question, point.memory)
        outcome.documents[file] = dump_yaml(solution)
        for number in range(len(solution["stacks"])):
            job = StackJob(solution, number, point.multipliers, None)
            predicted = steps.perform(steps.predict_step(job), lambda stage: None)
            line = {
                "measured": predicted["traffic"], "dram": {}, "bias": 8, "equal": True, "output_exact": True,
                "passed": True, "failures": [], "cycles": {"measured": predicted["cycles"]}, "utilisation": 0.5,
            }  # fmt: skip
            outcome.pipelines.append(
                stack_row(
                    job, point="p", asked=question.asked(point), file=file, predicted=predicted,
                    simulated=line if point.memory > 64 else None,
                )
            )  # fmt: skip
    write_results(folder, outcome, question)
    return folder


def _cells(row: Any, question: Question, budget: int, *, simulated: bool) -> dict[str, Any]:
    line = {
        "measured": predict(row.entry.schedule).counts.as_json(),
        "equal": True,
        "output_exact": True,
        "passed": True,
        "failures": [],
        "cycles": {"measured": 4000},
        "stalls": {"measured": {"input": 900, "weight": 300, "output": 0}},
    }
    synthesis = Synthesis(
        Device(), 80.0, CriticalPath("a", "b", 1.0, 2.0), Area(5000 + budget, 5, 30, 2, 0),
        {"O": Area(lut_rams=budget // 8)}, Gates(1000, 30, 8 * budget, 64), {},
    )  # fmt: skip
    balance = None
    if row.configuration.slack is not None:
        moved = predict(row.entry.schedule).total_bytes
        took = predicted_cycles(row.entry.schedule, row.parameters).total
        ends = Cost(moved, took), Cost(moved - 100, took + 500), Cost(moved + 300, took - 100)
        balance = Balance(*ends, timed=1, within_slack=2)
    asked = {**question.asked(row.configuration), "simulator": "verilator" if simulated else ""}
    return row_of(
        row, point="p", optimum=100, asked=asked, file=schedule_file(question, row.configuration, row.layer),
        simulated=line if simulated else None, balance=balance,
        area={**area_cells(synthesis), "design": f"hwc{budget}"},
    )  # fmt: skip


def _areas(budgets: tuple[int, ...]) -> list[dict[str, Any]]:
    """Two blocks of each HWC."""
    return [
        row
        for budget in budgets
        for row in area_rows(
            {
                "kind": "hwc",
                "cells": {"design": f"hwc{budget}"},
                "blocks": {
                    "datapath": asdict(Block(Area(4000, 2, 20, 30), Gates(900, 20, 0, 8 * budget))),
                    "": asdict(Block(Area(1000 + budget, 0, 10), Gates(100, 10, 0, 64))),
                },
            }
        )
    ]


def _on_cluster(layer: Layer, question: Question, hwcs: int) -> tuple[dict[str, Any], dict[str, str]]:
    """A layer on a cluster of ``hwcs`` HWCs; the run is made up, and only one HWC was simulated."""
    configuration = ClusterConfiguration(Configuration("per-layer", 512), Cluster(hwcs=hwcs, tcdm=1 << 14))
    plan = plan_on_cluster(layer, configuration)
    schedule = Schedule.from_data(plan["schedule"])
    line = {
        "measured": predict_cluster(schedule, hwcs).counts.as_json(),
        "equal": True,
        "output_exact": True,
        "passed": True,
        "failures": [],
        "cycles": {"measured": 5000},
        "stalls": {"measured": {"wait_compute_for_load": 1000, "wait_compute_for_store": 500}},
    }
    row = cluster_row(
        plan, configuration, point="p", asked=question.asked(configuration),
        file=schedule_file(question, configuration, layer.name), simulated=line if hwcs == 1 else None,
    )  # fmt: skip
    return row, documents_of(question, configuration, [schedule], configuration.hardware)
