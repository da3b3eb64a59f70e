"""Area and clock of what was synthesised, as tables."""

import typer

from hwgen.api.arguments import size_text
from hwgen.api.synthesis import Design, Synthesised
from hwgen.arch.hwc import HwcParameters
from hwgen.cli.console import print_table
from hwgen.cli.workload import tell_set
from hwgen.synthesis.blocks import Block
from hwgen.synthesis.cells import Area
from hwgen.synthesis.ecp5 import ABC9, Synthesis
from hwgen.synthesis.silicon import Silicon

__all__ = ["print_part", "print_synthesised"]

CELLS = ("LUT4", "FF", "DSP 18x18", "block RAM", "LUT RAM 16x4")
GATES = ("NAND2", "memory bits")
"""Quantities of no technology: logic and flip-flops in NAND gates of two inputs, memories apart."""
BUFFERS = {"M": "rings of maps", "S": "memories of stages"}


def print_synthesised(found: Synthesised) -> None:
    """Print each design; below them what all layers of a set have in common."""
    for design in found.designs:
        if design.silicon is not None:
            _print_silicon(_title(design), design.silicon)
        elif design.whole is None:
            _print_blocks(design)
        else:
            _print_whole(_title(design), design.whole)
        _print_estimates(design)
    if found.works and not any(one.blocks for one in found.designs):
        tell_set(found.works)


def print_part(whose: str, part: str, found: dict[str, Area]) -> None:
    """The areas of a part of the hardware, before all is known: gates take as long again, a cluster twice that."""
    rows = [[name or "(top)", area.lut4_equivalents, *_cells(area)] for name, area in found.items()]
    print_table(f"So far: {part} of {whose}", ["block", "LUT4 equivalents", *CELLS], rows)


def _title(design: Design) -> str:
    p, names = design.parameters, ", ".join(design.names)
    if not isinstance(p, HwcParameters):
        return f"{design.kind} of {names}"
    size = size_text(p.input_bytes + p.weight_bytes + p.output_bytes)
    return f"HWC of {size} {'of' if design.alone else 'for'} {names}"


def _print_blocks(design: Design) -> None:
    whole = {**design.blocks, "together": sum(design.blocks.values(), Block())}
    rows = [
        [
            name or "(top)",
            block.area.lut4_equivalents,
            *_cells(block.area),
            block.gates.nand2,
            block.gates.memory_bits,
        ]
        for name, block in whole.items()
    ]
    columns = ["block", "LUT4 equivalents", *CELLS, *GATES]
    print_table(f"{design.kind} of {', '.join(design.names)}", columns, rows)


def _print_whole(what: str, found: Synthesis) -> None:
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


def _print_estimates(design: Design) -> None:
    """Print what the design was estimated to take beside what it takes, where the estimate covers it."""
    guess, area, mhz = design.estimated, design.area, design.clock_mhz
    if guess is None:
        return
    pairs: list[tuple[str, float | None, float | None]] = [
        ("LUT4 equivalents", guess.lut4, area.lut4_equivalents),
        ("FF", guess.flip_flops, area.ffs),
        ("DSP 18x18", guess.dsps, area.dsps),
        ("block RAM", guess.block_rams, area.block_rams),
        ("MHz", guess.mhz and round(guess.mhz, 1), mhz and round(mhz, 1)),
    ]
    rows = [
        [what, f"{expected:,}", f"{found:,}", f"{100 * (expected / found - 1):+.1f} %" if found else ""]
        for what, expected, found in pairs
        if expected is not None and found is not None
    ]
    print_table("Estimates beside it", ["", "estimated", "synthesised", "off"], rows)


def _print_silicon(what: str, found: Silicon) -> None:
    rows: list[list[object]] = [
        [name or "(top)", round(block.um2), block.cells, block.flip_flops]
        for name, block in (*found.blocks.items(), ("together", found.whole))
    ]
    print_table(f"{what}: {found.corner}", ["block", "um2", "cells", "flip-flops"], rows)
    uses = [
        [one.name, one.number, one.words, one.bits, one.size,
         one.counted if one.macro is None else f"{one.macros} {one.macro}, {one.um2:,.0f} um2"]
        for one in found.memories
    ]  # fmt: skip
    print_table("Memories", ["memory", "number", "words", "bits a word", "bits", "counted as"], uses)
    typer.echo(f"area: {found.area_um2 / 1e6:.3f} mm2 of cells")
    path = found.critical
    if path is not None:
        typer.echo(
            f"clock: {1e3 / path.ns:.0f} MHz of logic alone: {path.start} -> {path.end}, {path.ns:.2f} ns through "
            f"{path.levels} cells"
        )
    typer.echo(f"leakage: {found.whole.leakage_mw:.4f} mW")
    for line in found.left_out:
        typer.echo(f"left out: {line}")


def _cells(area: Area) -> list[object]:
    return [area.luts, area.ffs, area.dsps, area.block_rams, area.lut_rams]
