"""``hwgen predict``: the exact counts, buffer needs and cycles of a schedule, without a simulation."""

from typing import Annotated

import typer

from hwgen.api.depth_first import StackPrediction
from hwgen.api.predictions import PredictRequest
from hwgen.cli.console import Json, print_json
from hwgen.cli.pipelines import DramOption, MacsOption, print_stack_prediction
from hwgen.cli.printers.predictions import print_layer
from hwgen.cli.workload import FillsOption, HardwareOption, HierarchyOption

__all__ = ["Schedules", "predict"]

Schedules = Annotated[list[str], typer.Argument(metavar="SCHEDULE...", help="Schedule files, or folders of them.")]
Elements = Annotated[bool, typer.Option("--elements", help="Add elements to the bytes and words of the JSON counts.")]


def predict(
    schedules: Schedules,
    *,
    hardware: HardwareOption = None,
    elements: Elements = False,
    macs: MacsOption = None,
    dram: DramOption = None,
    hierarchy: HierarchyOption = None,
    fills: FillsOption = False,
    as_json: Json = False,
) -> None:
    """Print the exact counts, buffer needs and cycles of schedules: on a given HWC, or the smallest that runs them.

    Of a schedule that no HWC runs the cycles are the least that any hardware with three ports takes. A schedule of
    two memory levels is counted at both, on the given cluster or on four HWCs, its program included. A depth-first
    solution: what each of its stacks holds, moves and takes. With --hierarchy: counts by the level that serves,
    what each level has to hold, and energy.
    """
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
