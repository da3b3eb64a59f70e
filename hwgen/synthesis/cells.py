"""Cells of an ECP5, and gates of no technology: what Yosys' netlists consist of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import takewhile
from typing import Any, Self

from hwgen.tools.toolchain import ToolError

__all__ = ["Area", "Gates", "area_of", "block_of", "blocks_of", "cells_of", "gate_blocks_of", "gates_of"]

TRANSISTORS: dict[str, int] = {
    "$_NOT_": 2, "$_BUF_": 0, "$_NAND_": 4, "$_NOR_": 4, "$_AND_": 6, "$_OR_": 6, "$_XOR_": 12, "$_XNOR_": 12,
    "$_ANDNOT_": 6, "$_ORNOT_": 6, "$_MUX_": 12, "$_NMUX_": 10, "$_AOI3_": 6, "$_OAI3_": 6, "$_AOI4_": 8,
    "$_OAI4_": 8,
}  # fmt: skip
"""CMOS transistors of a gate, as Yosys' `stat -tech cmos` has them; a NAND of two inputs has four."""
FLIP_FLOP = 16
ENABLED, RESET = 12, 6
"""Transistors of a plain flip-flop; more for an enable (a multiplexer), for a synchronous reset (an AND)."""


@dataclass(frozen=True)
class Area:
    """Cells of an ECP5.

    Members
    -------
    luts : LUT4 in use for logic: for carries two a cell.
    lut_rams : memories of 16 words of 4 bits, in LUTs (each takes the place of six LUT4).
    ffs : flip-flops.
    dsps : multipliers of 18 x 18 bits.
    block_rams : of 18 Kibit.
    """

    luts: int = 0
    lut_rams: int = 0
    ffs: int = 0
    dsps: int = 0
    block_rams: int = 0

    @property
    def lut4_equivalents(self) -> int:
        """LUT4, and six for each memory of 16 words."""
        return self.luts + 6 * self.lut_rams

    def __add__(self, other: Self) -> "Area":
        return Area(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


@dataclass(frozen=True)
class Gates:
    """Area in gates of no technology.

    Members
    -------
    nand2 : logic and flip-flops, in NAND gates of two inputs (four transistors each); memories are not among it.
    flip_flops : their number; they are part of ``nand2``.
    buffer_bits : of the I, W and O memories.
    queue_bits : of all other memory arrays.
    """

    nand2: int = 0
    flip_flops: int = 0
    buffer_bits: int = 0
    queue_bits: int = 0

    @property
    def memory_bits(self) -> int:
        """Bits of all memory arrays."""
        return self.buffer_bits + self.queue_bits

    def __add__(self, other: Self) -> "Gates":
        return Gates(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def _operand(name: str, memories: Mapping[str, str]) -> str | None:
    return next((operand[0] for operand, begin in memories.items() if name.startswith(begin)), None)


KINDS = {
    "LUT4": Area(luts=1),
    "CCU2C": Area(luts=2),
    "TRELLIS_DPR16X4": Area(lut_rams=1),
    "TRELLIS_FF": Area(ffs=1),
    "MULT18X18D": Area(dsps=1),
    "DP16KD": Area(block_rams=1),
    "PDPW16KD": Area(block_rams=1),
    "PFUMX": Area(),  # multiplexers that every pair of LUTs brings along
    "L6MUX21": Area(),
    "$scopeinfo": Area(),  # a module that was flattened
    "EHXPLLL": Area(),
    "TRELLIS_IO": Area(),
}
"""What each type of cell takes."""
PARTED = frozenset({"input", "output", "core", "dma"})
"""Blocks that are so large that their parts are told."""


def _area(name: str, cell: Mapping[str, Any]) -> Area:
    if cell["type"] not in KINDS:
        raise ToolError(f"synthesis: {name}: a cell of unknown type {cell['type']}")
    return KINDS[cell["type"]]


def area_of(cells: Mapping[str, Any]) -> Area:
    """All cells of a netlist."""
    return sum((_area(name, cell) for name, cell in cells.items()), Area())


def blocks_of(cells: Mapping[str, Any]) -> dict[str, Area]:
    """The cells of a flattened netlist by the block that they are in: the instances in their names. The top's own are
    in the block of no name."""
    found: dict[str, Area] = {}
    for name, cell in cells.items():
        block = block_of(name)
        found[block] = found.get(block, Area()) + _area(name, cell)
    return {block: found[block] for block in sorted(found)}


def gate_blocks_of(cells: Mapping[str, Any]) -> dict[str, Gates]:
    """The same of a netlist of gates, whose memories are left as they are: all their bits are ``queue_bits``."""
    parts: dict[str, dict[str, Any]] = {}
    for name, cell in cells.items():
        parts.setdefault(block_of(name), {})[name] = cell
    return {block: gates_of(parts[block], {}) for block in sorted(parts)}


def block_of(name: str) -> str:
    """The block that a cell of a flattened netlist is in: the instances in its name."""
    # The fields of a signal have names like instances; such a signal is a port, or stands in brackets.
    own = takewhile(lambda part: "__" not in part and "[" not in part, name.split(".")[:-1])
    parts = [re.sub(r"\$\d+$", "", part) for part in own]
    depth = next((i for i, part in enumerate(parts) if part not in PARTED), len(parts))
    return ".".join(parts[: depth + 1])


def cells_of(cells: Mapping[str, Any], memories: Mapping[str, str]) -> tuple[Area, dict[str, Area]]:
    """Logic, and buffers by operand, of a netlist of ECP5 cells.

    A buffer's own are its memory cells; the registers and multiplexers around them are logic.
    """
    logic, buffers = Area(), {operand[0]: Area() for operand in memories}
    for name, cell in cells.items():
        area = _area(name, cell)
        operand = _operand(name, memories)
        if operand is not None and (area.lut_rams or area.block_rams):
            buffers[operand] += area
        else:
            logic += area
    return logic, buffers


def gates_of(cells: Mapping[str, Any], memories: Mapping[str, str]) -> Gates:
    """Gates and bits of a netlist whose memories are left as they are."""
    transistors = flip_flops = buffer_bits = queue_bits = 0
    for name, cell in cells.items():
        kind = cell["type"]
        if kind.startswith("$mem"):
            size = int(cell["parameters"]["SIZE"], 2) * int(cell["parameters"]["WIDTH"], 2)
            if _operand(name, memories) is None:
                queue_bits += size
            else:
                buffer_bits += size
        elif kind == "$scopeinfo":
            continue
        elif kind in TRANSISTORS:
            transistors += TRANSISTORS[kind]
        elif match := re.fullmatch(r"\$_(S?)DFF(C?)(E?)_[NP01]+_", kind):
            flip_flops += 1
            transistors += FLIP_FLOP + (ENABLED if match[3] else 0) + (RESET if match[1] else 0)
        else:
            raise ToolError(f"synthesis: {name}: a gate of unknown type {kind}")
    return Gates(-(-transistors // 4), flip_flops, buffer_bits, queue_bits)
