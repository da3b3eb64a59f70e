"""HWCs as files: Verilog, register map, and the run-time program of each layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from hwgen.api.generation.folders import Made, grouped
from hwgen.api.operands import Operands, read_operands
from hwgen.api.work import Work
from hwgen.arch.hwc import HwcParameters
from hwgen.export.cached import generated
from hwgen.export.hwc import digest, files_of, storage
from hwgen.export.hwc_program import program_files
from hwgen.lower.hwc import Program, compile_layer

__all__ = ["GeneratedHwc", "make_hardware"]


@dataclass(frozen=True)
class GeneratedHwc(Made[HwcParameters, Program]):
    """One HWC: its folder, its files by name, the programs that run on it, and the operands of some of them."""

    operands: tuple[Operands, ...]
    top: ClassVar[Literal["hwc"]] = "hwc"

    @property
    def digest(self) -> str:
        """Names the state of its Verilog."""
        return digest(self.parameters)

    @property
    def memories(self) -> dict[str, int]:
        """Bytes that the I, W and O memories of the Verilog hold."""
        return storage(self.parameters)["memories"]

    @property
    def sizes(self) -> dict[str, object]:
        """Bytes of each memory, and of all that are allocated to operands."""
        return {"allocated_bytes": sum(self.memories.values()), **storage(self.parameters)}

    def program_files(self, name: str, number: int) -> Mapping[str, str | bytes]:
        """The program of a layer, with its operands if they are given."""
        return program_files(name, self.programs[number], self.operands[number])

    @property
    def layers(self) -> list[str]:
        """The layers by name."""
        return [program.schedule.layer.name for program in self.programs]


def make_hardware(
    works: Sequence[Work], folder: Path, operands: Path | None = None, *, keep_init: bool = False
) -> list[GeneratedHwc]:
    """Generate the HWC of each work for ``folder``; several HWCs get a folder inside it each.

    ``operands`` : a folder with the layers' operands. ``keep_init`` : registers have initial values.
    """

    def make(inside: Path, parameters: HwcParameters, members: tuple[Program, ...]) -> GeneratedHwc:
        given = tuple(read_operands(operands, program.schedule) for program in members)
        text = generated(parameters, keep_init=keep_init)
        return GeneratedHwc(inside, parameters, files_of(parameters, text), members, given)

    return grouped(works, folder, compile_layer, lambda program: program.parameters, make)
