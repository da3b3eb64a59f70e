"""``hwgen generate``: the Verilog of the HWC, its register map, and the run-time program of each layer."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.generation.request import GenerateRequest
from hwgen.api.operands import OPERAND_FILES
from hwgen.cli.clusters import PartitionOption, ShareOrImageOption
from hwgen.cli.console import Json, print_json
from hwgen.cli.coverage import Partial
from hwgen.cli.pipelines import MacsOption
from hwgen.cli.printers.generated import print_generated
from hwgen.cli.workload import (
    BufferOption,
    FittedOption,
    HardwareOption,
    ObjectiveOption,
    PerLayer,
    ResidentOption,
    SlackOption,
    Workload,
)

__all__ = ["generate"]

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where the files go.")]

KeepInit = Annotated[
    bool, typer.Option("--keep-init", help="Registers have initial values, for targets that load them.")
]


OperandsOption = Annotated[Path | None, typer.Option("--operands", metavar="DIR", help=OPERAND_FILES)]


def generate(
    workload: Workload,
    *,
    output: Folder,
    buffer: BufferOption = None,
    hardware: HardwareOption = None,
    per_layer: PerLayer = False,
    objective: ObjectiveOption = None,
    slack: SlackOption = None,
    partial: Partial = False,
    fitted: FittedOption = False,
    operands: OperandsOption = None,
    macs: MacsOption = None,
    clusters: ShareOrImageOption = None,
    partition: PartitionOption = None,
    resident: ResidentOption = False,
    keep_init: KeepInit = False,
    as_json: Json = False,
) -> None:
    """Write Verilog, register map and programs for schedules (a SET is scheduled first) or a depth-first solution.

    A quantised network, MODEL.onnx or MODEL.tflite, becomes programs of a cluster with requantisation scaled, with
    its weights; what the cluster cannot run is left to software between. If no hardware is given:
    cluster_64_vector, with --resident.
    """
    found = GenerateRequest(
        workload=workload, output=output, buffer=buffer, hardware=hardware, per_layer=per_layer, objective=objective,
        slack=slack, partial=partial, fitted=fitted, operands=operands, macs=macs, clusters=clusters,
        partition=partition, resident=resident, keep_init=keep_init,
    ).answer()  # fmt: skip
    if as_json:
        print_json(found.document())
    else:
        print_generated(found)
