"""``hwgen synth``: area and clock of the HWCs that schedules run on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.arguments import size_text
from hwgen.api.depth_first import solution_file, stack_parameters
from hwgen.api.models import tell_shapes
from hwgen.api.work import Work, fitted_works, left_out, work_of
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.cli.console import Json, print_json, print_table
from hwgen.cli.coverage import Partial
from hwgen.cli.pipelines import MacsOption
from hwgen.cli.stages import stages
from hwgen.cli.workload import (
    BufferOption,
    FittedOption,
    HardwareOption,
    ObjectiveOption,
    PerLayer,
    SlackOption,
    Workload,
    tell_set,
)
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.hwc import compile_layer
from hwgen.synth.blocks import Block, cluster_blocks, hwc_blocks, pipeline_blocks, unseen
from hwgen.synth.ecp5 import ABC9, Area, Device, Synthesis, synthesise_hwc, synthesise_pipeline

__all__ = ["Clock", "synth"]

Clock = Annotated[float, typer.Option("--clock", metavar="MHZ", min=1, max=1000, help="Target clock.")]
Whole = HwcParameters | ClusterParameters | PipelineParameters
CELLS = ("LUT4", "FF", "DSP 18x18", "block RAM", "LUT RAM 16x4")
GATES = ("NAND2", "memory bits")
"""Quantities of no technology: logic and flip-flops in NAND gates of two inputs, memories apart."""
Seed = Annotated[int, typer.Option("--seed", min=1, max=(1 << 31) - 1, help="Seed of the placement.")]


def synth(
    workload: Workload,
    *,
    buffer: BufferOption = None,
    hardware: HardwareOption = None,
    per_layer: PerLayer = False,
    objective: ObjectiveOption = None,
    slack: SlackOption = None,
    partial: Partial = False,
    fitted: FittedOption = False,
    clock: Clock = Device.wanted_mhz,
    seed: Seed = Device.seed,
    macs: MacsOption = None,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Area by block, of a cluster all of it; nothing is placed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Synthesise the HWC that schedules run on for an ECP5 (a SET is scheduled first): area, clock, critical path.

    Of a cluster one of its HWCs, with --blocks all of it; of a depth-first solution the pipeline of each stack; of a
    quantised network the HWC that runs layers of these shapes, which a line says.
    """
    unfit = {"--buffer": buffer, "--hardware": hardware, "--per-layer": per_layer, "--partial": partial,
             "--fitted": fitted, "--objective": objective, "--traffic-slack": slack}  # fmt: skip
    solution = solution_file(workload, macs, unfit)
    if solution is not None:
        device = Device(wanted_mhz=clock, seed=seed)
        _synthesise_stacks(solution, macs, device, blocks=blocks, as_json=as_json)
        return
    works = work_of(
        workload, buffer=buffer, hardware=hardware, per_layer=per_layer, objective=objective, slack=slack,
        alone=True, partial=partial,
    )  # fmt: skip
    tell_shapes(workload, works, given=hardware is not None)
    if fitted:
        works = fitted_works(works)
    if blocks:
        _print_blocks(_whole_hardware(works), as_json=as_json)
        return
    layers: dict[HwcParameters, list[str]] = {}
    for work in works:
        compiled = compile_cluster if work.on_cluster else compile_layer
        for schedule in work.schedules:
            parameters = compiled(schedule, work.hardware).parameters
            layers.setdefault(parameters, []).append(schedule.layer.name)
    device = Device(wanted_mhz=clock, seed=seed)
    found = []
    for parameters, names in layers.items():
        with stages(f"synthesis of the HWC of {_few(names)}") as tell:
            found.append((parameters, names, synthesise_hwc(parameters, device, tell=tell)))
    if as_json:
        print_json({"hardware": [_as_json(*one) for one in found], **left_out(works)})
        return
    for p, names, synthesis in found:
        size = size_text(p.input_bytes + p.weight_bytes + p.output_bytes)
        _print(f"HWC of {size} for {', '.join(names)}", synthesis)
    tell_set(works)


def _whole_hardware(works: Sequence[Work]) -> dict[Whole, list[str]]:
    """What schedules run on, each with the names of their layers."""
    found: dict[Whole, list[str]] = {}
    for work in works:
        for schedule in work.schedules:
            whole: Whole
            if work.on_cluster:
                whole = compile_cluster(schedule, work.hardware).hardware
            else:
                whole = compile_layer(schedule, work.hardware).parameters
            found.setdefault(whole, []).append(schedule.layer.name)
    return found


def _print_blocks(hardware: Mapping[Whole, list[str]], *, as_json: bool) -> None:
    """Area by block of each."""
    documents = []
    for parameters, names in hardware.items():
        arrived = partial(_print_part, _few(names)) if not as_json else unseen
        with stages(f"area of the hardware of {_few(names)}") as tell:
            if isinstance(parameters, HwcParameters):
                what, found = "HWC", hwc_blocks(parameters, tell=tell, arrived=arrived)
            elif isinstance(parameters, ClusterParameters):
                what, found = "Cluster", cluster_blocks(parameters, tell=tell, arrived=arrived)
            else:
                what, found = "Pipeline", pipeline_blocks(parameters, tell=tell, arrived=arrived)
        blocks = {name: {**asdict(block.area), "gates": asdict(block.gates)} for name, block in found.items()}
        documents.append({"of": names, "blocks": blocks})
        if not as_json:
            whole = {**found, "together": sum(found.values(), Block())}
            rows = [[name or "(top)", *_block_cells(block)] for name, block in whole.items()]
            print_table(f"{what} of {', '.join(names)}", ["block", "LUT4 equivalents", *CELLS, *GATES], rows)
    if as_json:
        print_json({"hardware": documents})


def _print_part(of: str, part: str, found: dict[str, Area]) -> None:
    """The areas of a part of the hardware, before all is known: gates take as long again, a cluster twice that."""
    rows = [[name or "(top)", area.lut4_equivalents, *_cells(area)] for name, area in found.items()]
    print_table(f"So far: {part} of {of}", ["block", "LUT4 equivalents", *CELLS], rows)


def _synthesise_stacks(path: Path, macs: int | None, device: Device, *, blocks: bool, as_json: bool) -> None:
    """The pipeline of each stack; equal ones once."""
    stacks: dict[PipelineParameters, list[str]] = {}
    for name, parameters in stack_parameters(path, macs):
        stacks.setdefault(parameters, []).append(name)
    if blocks:
        _print_blocks({one: names for one, names in stacks.items()}, as_json=as_json)  # noqa: C416
        return
    found = []
    for parameters, names in stacks.items():
        with stages(f"synthesis of the pipeline of {_few(names)}") as tell:
            found.append((names, synthesise_pipeline(parameters, device, tell=tell)))
    if as_json:
        print_json({"hardware": [{"stacks": names, **synthesis.as_data()} for names, synthesis in found]})
        return
    for names, synthesis in found:
        _print(f"Pipeline of {', '.join(names)}", synthesis)


def _few(names: list[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def _as_json(parameters: HwcParameters, names: list[str], found: Synthesis) -> dict[str, object]:
    return {"layers": names, "loops": list(parameters.loops), **found.as_data()}


BUFFERS = {"M": "rings of maps", "S": "memories of stages"}


def _print(what: str, found: Synthesis) -> None:
    device = found.device
    rows: list[list[object]] = [["logic", *_cells(found.logic)]]
    rows += [
        [BUFFERS.get(operand, f"buffer {operand}"), *_cells(area)] for operand, area in sorted(found.buffers.items())
    ]
    rows.append(["together", *_cells(found.total)])
    print_table(f"{what}: ECP5 LFE5U-{device.size}, speed grade {device.speed}", ["", *CELLS], rows)
    gates, path = found.gates, found.critical
    typer.echo(f"clock: {found.clock_mhz:.1f} MHz (asked for {device.wanted_mhz:g})")
    typer.echo(
        f"critical path: {path.start} -> {path.end}, {path.ns:.1f} ns "
        f"({path.logic_ns:.1f} in cells, {path.routing_ns:.1f} between them)"
    )
    typer.echo(f"through: {', '.join(path.through)}")
    for name, outer in (
        ("from an input to a register", found.from_inputs),
        ("from a register to an output", found.to_outputs),
        ("from an input to an output", found.across),
    ):
        ends = f"{outer.ns:.1f} ns, {outer.start} -> {outer.end}" if outer else "no path"
        typer.echo(f"{name}: {ends}")
    if found.mapper != ABC9:
        typer.echo(
            f"logic mapped by {found.mapper}, which is slower hardware: the abc9 of Yosys fails on this design"
        )
    typer.echo(
        f"for no technology: {gates.nand2:,} NAND2 of logic, {gates.flip_flops:,} flip-flops among it; apart from it "
        f"buffers of {gates.buffer_bits:,} bits and queues of {gates.queue_bits:,}"
    )


def _block_cells(block: Block) -> list[object]:
    return [block.area.lut4_equivalents, *_cells(block.area), block.gates.nand2, block.gates.memory_bits]


def _cells(area: Area) -> list[object]:
    return [area.luts, area.ffs, area.dsps, area.block_rams, area.lut_rams]
