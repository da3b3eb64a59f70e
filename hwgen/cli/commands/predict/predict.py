"""``hwgen predict``: the exact counts, buffer needs and cycles of a schedule, without a simulation."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.arguments import refuse
from hwgen.api.depth_first import StackPrediction, memory_size
from hwgen.api.depth_first_networks import DepthFirstForecastRequest, model_among
from hwgen.api.forecasts import ForecastRequest
from hwgen.api.networks import is_model
from hwgen.api.predictions import PredictRequest
from hwgen.cli.clusters import ImageOnEachOption
from hwgen.cli.console import Json, print_json
from hwgen.cli.jobs import hardware_names
from hwgen.cli.pipelines import (
    DepthFirstOption,
    DramOption,
    MacsOption,
    MemoryOption,
    UntilOption,
    print_depth_first_forecast,
    print_stack_prediction,
)
from hwgen.cli.printers.forecasts import print_forecast
from hwgen.cli.printers.predictions import print_layer, print_together
from hwgen.cli.workload import FillsOption, HierarchyOption, ResidentOption

__all__ = ["Schedules", "predict"]

Schedules = Annotated[
    list[str], typer.Argument(metavar="SCHEDULE...", help="Schedule files, folders of them, or one quantised model.")
]
Machines = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE[,FILE...]",
        help="A hardware file, or a built-in name: what the schedules run on. Of a model several, by commas.",
        autocompletion=hardware_names,
    ),
]
Clock = Annotated[
    float | None, typer.Option("--mhz", help="Of a model: a clock, for images a second; else an estimate.")
]
ByLayer = Annotated[bool, typer.Option("--layers", help="Of a model: a table of its nodes for each hardware, too.")]
Elements = Annotated[bool, typer.Option("--elements", help="Add elements to the bytes and words of the JSON counts.")]


def predict(
    schedules: Schedules,
    *,
    hardware: Machines = None,
    resident: ResidentOption = False,
    mhz: Clock = None,
    clusters: ImageOnEachOption = None,
    layers: ByLayer = False,
    elements: Elements = False,
    macs: MacsOption = None,
    dram: DramOption = None,
    depth_first: DepthFirstOption = False,
    memory: MemoryOption = None,
    until: UntilOption = None,
    hierarchy: HierarchyOption = None,
    fills: FillsOption = False,
    as_json: Json = False,
) -> None:
    """Print the exact counts, buffer needs and cycles of schedules: on a given HWC, or the smallest that runs them.

    Of a schedule that no HWC runs the cycles are the least that any hardware with three ports takes. A schedule of
    two memory levels is counted at both, on the given cluster or on four HWCs, its program included. A depth-first
    solution: what each of its stacks holds, moves and takes. With --hierarchy: counts by the level that serves,
    what each level has to hold, and energy. Of a quantised model (ONNX, TFLite) a line for each hardware: what it
    takes for one image, as `hwgen run` predicts it; with --clusters for an image on each; with --depth-first the
    stacks that it begins with, and, with --hardware, what follows on this cluster.
    """
    if depth_first:
        others = {"--mhz": mhz, "--clusters": clusters, "--layers": layers, "--elements": elements,
                  "--hierarchy": hierarchy, "--fills": fills}  # fmt: skip
        refuse(others, "not with --depth-first")
        forecast = DepthFirstForecastRequest(
            model=model_among(schedules), memory=None if memory is None else memory_size(memory), macs=macs,
            dram=dram, hardware=hardware, resident=resident, until=until,
        ).answer()  # fmt: skip
        if as_json:
            print_json(forecast.document())
        else:
            print_depth_first_forecast(forecast)
        return
    refuse({"--memory": memory, "--until": until}, "expected with --depth-first")
    if len(schedules) == 1 and is_model(schedules[0]):
        others = {"--elements": elements, "--macs": macs, "--dram": dram, "--hierarchy": hierarchy, "--fills": fills}
        refuse(others, "not with a model")
        machines = [] if hardware is None else hardware.split(",")
        found_for = ForecastRequest(
            model=Path(schedules[0]), machines=machines, resident=resident, mhz=mhz, clusters=clusters
        ).answer()
        if as_json:
            print_json(found_for.document())
        else:
            print_forecast(found_for, layers=layers)
        return
    options = {"--resident": resident, "--mhz": mhz, "--clusters": clusters, "--layers": layers}
    refuse(options, "expected with one quantised model")
    found = PredictRequest(
        schedules=schedules,
        hardware=hardware,
        hierarchy=hierarchy,
        fills=fills,
        elements=elements,
        macs=macs,
        dram=dram,
    ).answer()
    if as_json:
        print_json(found.document())
    elif isinstance(found, StackPrediction):
        print_stack_prediction(found)
    else:
        for one in found.layers:
            print_layer(one)
        print_together(found.layers)
