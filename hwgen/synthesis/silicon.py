"""HWCs, clusters and pipelines in the cells of a standard-cell library: area by block, memories, clock, leakage.

Memories inside of HWCs, queues and pipelines are counted as flip-flops with the logic that reads and writes them. The
shared memory of a cluster is not: it is as many macros as the library has for it, or left out, with its bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from re import sub
from typing import Any

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.export.cached import generated, generated_cluster
from hwgen.export.pipeline import pipeline_verilog
from hwgen.ir.document import InputError
from hwgen.synthesis.liberty import FAN_OUT, Library, Macro, read_library
from hwgen.synthesis.standard_cells import CellArea, LongestPath, Mapped, Memory, mapped_to_cells

__all__ = ["Cells", "MemoryUse", "Silicon", "mapped_around", "mapped_hwc", "read_cells", "silicon", "tiled"]

Tell = Callable[[str], None]
SHARED = "tcdm.bank_"
"""How the names of the memories begin that are the shared memory of a cluster."""
ALWAYS_LEFT_OUT = (
    "wires, a clock tree, buffers of nets with many readers, room between cells: the area is the sum of cells",
    "power of switching, and so the energy of a multiply-accumulate: it needs what a run switches in the netlist",
)


@dataclass(frozen=True)
class Cells:
    """A library of cells, and the macros of memories that were given with it."""

    library: Library
    macros: tuple[Macro, ...] = ()


@dataclass(frozen=True)
class MemoryUse:
    """Memories of one size.

    Members
    -------
    name : of them; digits that tell them apart are ``*``.
    number, words, bits : how many there are, and the size of each.
    counted : ``flip-flops``, ``macros`` or ``left out``.
    macro, macros : which macro is taken, and how many of it for all of them; None and 0 otherwise.
    um2 : of the macros.
    """

    name: str
    number: int
    words: int
    bits: int
    counted: str
    macro: str | None = None
    macros: int = 0
    um2: float = 0.0

    @property
    def size(self) -> int:
        """All bits."""
        return self.number * self.words * self.bits

    def to_dict(self) -> dict[str, Any]:
        """An entry of the document."""
        return {**asdict(self), "all_bits": self.size}


@dataclass(frozen=True)
class Silicon:
    """A design in cells of a library.

    Members
    -------
    cells : the library, and macros.
    blocks : cells by block; macros are a block of their own.
    memories : all memories and how they are counted.
    critical : the longest path between flip-flops; of a cluster that of its HWC or of what is around, the longer one.
    tools : versions.
    """

    cells: Cells
    blocks: Mapping[str, CellArea]
    memories: tuple[MemoryUse, ...]
    critical: LongestPath | None
    tools: Mapping[str, str]

    @property
    def whole(self) -> CellArea:
        """All blocks."""
        return sum(self.blocks.values(), CellArea())

    @property
    def area_um2(self) -> float:
        """Area of all of it in um2."""
        return self.whole.um2

    @property
    def clock_mhz(self) -> float | None:
        """The clock of the longest path: of logic and flip-flops, without wires; None without delays."""
        return None if self.critical is None else 1e3 / self.critical.ns

    @property
    def corner(self) -> str:
        """The library and its corner."""
        return self.cells.library.corner

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is not in the figures, a line each."""
        lines = [
            f"memory {one.name}: {one.number} of {one.words:,} words of {one.bits} bits, {one.size:,} bits: "
            "an SRAM's, of which the library has no macro"
            for one in self.memories
            if one.counted == "left out"
        ]
        if self.clock_mhz is None:
            lines.append("clock: the library has no delays of an inverter and of flip-flops, or no path was found")
        else:
            lines.append(
                f"clock: it is of logic and flip-flops alone, each cell with {FAN_OUT} inputs like its own as its "
                "load; wires, the clock tree, ports and macros are not in it"
            )
        return (*lines, *ALWAYS_LEFT_OUT)

    def document(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "area_um2": round(self.area_um2, 3),
            "blocks": [
                {"block": name, "area_um2": round(one.um2, 3), "cells": one.cells, "flip_flops": one.flip_flops}
                for name, one in self.blocks.items()
            ],
            "clock_mhz": None if self.clock_mhz is None else round(self.clock_mhz, 1),
            "critical": None if self.critical is None else asdict(self.critical),
            "corner": self.corner,
            "power": {"leakage_mw": round(self.whole.leakage_mw, 6), "energy_per_mac_pj": None},
            "memories": [one.to_dict() for one in self.memories],
            "left_out": list(self.left_out),
        }


def read_cells(files: Sequence[Path]) -> Cells:
    """The library in Liberty files: one with standard cells, any with macros; raises `InputError`."""
    read = [(file, read_library(file)) for file in files]
    standard = [(file, one) for file, one in read if one.cells]
    if len(standard) != 1:
        told = ", ".join(str(file) for file, _ in standard) or "none"
        raise InputError(f"--liberty: expected one file with standard cells, beside those with macros, got {told}")
    file, library = standard[0]
    if not any(cell.flip_flop for cell in library.cells.values()):
        raise InputError(f"{file}: expected a library with a flip-flop among its cells")
    macros = {name: macro for _, one in read for name, macro in one.macros.items()}
    return Cells(library, tuple(macros.values()))


def silicon(
    parameters: HwcParameters | ClusterParameters | PipelineParameters,
    cells: Cells,
    *,
    tell: Tell = lambda stage: None,
) -> Silicon:
    """A design in the cells of a library; of a cluster one HWC is mapped, and what is around them."""
    tell("writing its Verilog")
    if isinstance(parameters, HwcParameters):
        found = mapped_hwc(parameters, cells, tell=tell)
        return _silicon(cells, found.blocks, found.memories, [found])
    if isinstance(parameters, PipelineParameters):
        found = mapped_to_cells(pipeline_verilog(parameters), "pipeline", cells.library, tell=tell)
        return _silicon(cells, found.blocks, found.memories, [found])
    one = mapped_hwc(parameters.hwc, cells, tell=tell)
    tell("writing the Verilog of the cluster")
    around = mapped_around(parameters, cells, tell=tell)
    number = parameters.hwcs
    blocks = {f"{number} HWC{'s' if number > 1 else ''}": one.whole.times(number), **around.blocks}
    return _silicon(cells, blocks, (*number * one.memories, *around.memories), [one, around])


def mapped_hwc(parameters: HwcParameters, cells: Cells, *, tell: Tell = lambda stage: None) -> Mapped:
    """One HWC in cells."""
    return mapped_to_cells(generated(parameters), "hwc", cells.library, tell=tell)


def mapped_around(parameters: ClusterParameters, cells: Cells, *, tell: Tell = lambda stage: None) -> Mapped:
    """What is around the HWCs of a cluster in cells, its shared memory left as it is."""
    text = generated_cluster(parameters)
    return mapped_to_cells(text, "cluster", cells.library, blackboxes=("hwc",), left=SHARED, tell=tell)


def tiled(words: int, bits: int, number: int, macros: Sequence[Macro]) -> float:
    """um2 of the macros that a number of memories is made of; 0 without macros."""
    return _use("", words, bits, False, number, macros).um2


def _silicon(
    cells: Cells, blocks: Mapping[str, CellArea], memories: Sequence[Memory], parts: Sequence[Mapped]
) -> Silicon:
    """The whole of some parts."""
    used = _used(memories, cells.macros)
    macros = {f"{one.macros} {one.macro}": CellArea(one.um2, one.macros) for one in used if one.macro is not None}
    paths = [part.critical for part in parts if part.critical is not None]
    critical = max(paths, key=lambda path: path.ns, default=None)
    return Silicon(cells, {**blocks, **macros}, used, critical, parts[0].tools)


def _used(memories: Sequence[Memory], macros: Sequence[Macro]) -> tuple[MemoryUse, ...]:
    """Memories that are alike together, the largest first."""
    numbers: dict[tuple[str, int, int, bool], int] = {}
    for one in memories:
        key = sub(r"\d+", "*", one.name), one.words, one.bits, one.as_registers
        numbers[key] = numbers.get(key, 0) + 1
    found = [_use(*key, number, macros) for key, number in numbers.items()]
    return tuple(sorted(found, key=lambda one: (-one.size, one.name)))


def _use(name: str, words: int, bits: int, as_registers: bool, number: int, macros: Sequence[Macro]) -> MemoryUse:
    if as_registers:
        return MemoryUse(name, number, words, bits, "flip-flops")
    if not macros:
        return MemoryUse(name, number, words, bits, "left out")

    def tiles(macro: Macro) -> int:
        return number * -(-words // macro.words) * -(-bits // macro.bits)

    best = min(macros, key=lambda macro: (tiles(macro) * macro.area, macro.name))
    return MemoryUse(name, number, words, bits, "macros", best.name, tiles(best), tiles(best) * best.area)
