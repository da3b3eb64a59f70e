"""``hwgen synth``: area and clock of the HWCs that schedules run on."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.cli.console import Json, print_json, print_table, size_text
from hwgen.cli.coverage import Partial
from hwgen.cli.pipelines import MacsOption, solution_file, stack_parameters
from hwgen.cli.stages import stages
from hwgen.cli.workload import (
    BufferOption,
    FittedOption,
    HardwareOption,
    ObjectiveOption,
    PerLayer,
    SlackOption,
    Workload,
    fitted_works,
    left_out,
    tell_set,
    work_of,
)
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.hwc import compile_layer
from hwgen.synth.ecp5 import ABC9, Area, Device, Synthesis, synthesise_hwc, synthesise_pipeline

__all__ = ["Clock", "synth"]

Clock = Annotated[float, typer.Option("--clock", metavar="MHZ", min=1, max=1000, help="Target clock.")]
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
    as_json: Json = False,
) -> None:
    """Synthesise the HWC that schedules run on for an ECP5 (a SET is scheduled first): area, clock, critical path.

    Of a cluster one of its HWCs; of a depth-first solution the pipeline of each stack.
    """
    unfit = {"--buffer": buffer, "--hardware": hardware, "--per-layer": per_layer, "--partial": partial,
             "--fitted": fitted, "--objective": objective, "--traffic-slack": slack}  # fmt: skip
    solution = solution_file(workload, macs, unfit)
    if solution is not None:
        _synthesise_stacks(solution, macs, Device(wanted_mhz=clock, seed=seed), as_json=as_json)
        return
    works = work_of(
        workload, buffer=buffer, hardware=hardware, per_layer=per_layer, objective=objective, slack=slack,
        alone=True, partial=partial,
    )  # fmt: skip
    if fitted:
        works = fitted_works(works)
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


def _synthesise_stacks(path: Path, macs: int | None, device: Device, *, as_json: bool) -> None:
    """The pipeline of each stack; equal ones once."""
    stacks: dict[PipelineParameters, list[str]] = {}
    for name, parameters in stack_parameters(path, macs):
        stacks.setdefault(parameters, []).append(name)
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
    print_table(
        f"{what}: ECP5 LFE5U-{device.size}, speed grade {device.speed}",
        ["", "LUT4", "FF", "DSP 18x18", "block RAM", "LUT RAM 16x4"],
        rows,
    )
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


def _cells(area: Area) -> list[object]:
    return [area.luts, area.ffs, area.dsps, area.block_rams, area.lut_rams]
