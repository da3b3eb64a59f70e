"""The program of a layer on one HWC as files: JSON, a C header, and images of its operands; and read again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.layout import MemoryLayout, Region
from hwgen.arch.registers.control import Status
from hwgen.arch.registers.hwc import hwc_registers, layer_settings
from hwgen.arch.requantisation import scaled_requantisation
from hwgen.export.driver.files import Write, c_program
from hwgen.export.hwc import program_digest
from hwgen.ir.document import InputError, Name, Value, json_text, load_yaml, validated
from hwgen.ir.requantisation import Requantisation
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import Program, require_agreement

__all__ = ["OPERANDS", "ProgramFile", "image_files", "program_files", "read_images"]

OPERANDS = {"input": "I", "weights": "W", "bias": "bias"}
"""Regions that have something in them before a layer runs, and what their operands are called in files."""
KIND = "hwc_program"
ADDRESSES = ("_base", "write_last")
"""What the names of registers end with that hold addresses in the memory."""


class RegionEntry(Value):
    """Bytes of the memory, from its beginning on."""

    base: int
    bytes: int


class RegisterEntry(Value):
    """A register to write; ``in_memory``: its value is an address, the beginning of the memory is added to it."""

    name: str
    address: int
    value: int
    in_memory: bool = False


class StartEntry(Value):
    """The write that starts the layer."""

    address: int
    value: int


class StatusEntry(Value):
    """The register that says how the layer ended, and what it reads if all went well."""

    address: int
    done: int


class ProgramFile(Value):
    """What software does to run a layer: where the tensors are stored, and register values in their order.

    ``hwc`` is the register ``digest`` of the HWC that it runs on.
    """

    layer: Name
    hwc: str
    regions: dict[str, RegionEntry]
    registers: tuple[RegisterEntry, ...]
    start: StartEntry
    status: StatusEntry

    @classmethod
    def of(cls, program: Program) -> Self:
        """A compiled layer."""
        return cls(
            layer=program.schedule.layer.name,
            hwc=program_digest(program.parameters),
            regions={name: RegionEntry(base=one.base, bytes=one.size) for name, one in program.regions.items()},
            registers=tuple(
                RegisterEntry(name=name, address=address, value=value, in_memory=name.endswith(ADDRESSES))
                for name, address, value in program.registers
            ),
            start=StartEntry(address=program.start[0], value=program.start[1]),
            status=StatusEntry(address=program.status, done=int(Status.DONE)),
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read one file; raises `InputError` with one line."""
        data = load_yaml(path)
        if not isinstance(data, dict) or (data.get("format"), data.get("kind")) != (1, KIND):
            raise InputError(f"{path}: expected a program that hwgen generate writes, format 1 and kind {KIND}")
        return validated(cls, {key: value for key, value in data.items() if key not in ("format", "kind")}, str(path))

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format."""
        data = self.model_dump(mode="json")
        for entry in data["registers"]:
            if not entry["in_memory"]:
                del entry["in_memory"]
        return {"format": 1, "kind": KIND, **data}

    @property
    def writes(self) -> list[Write]:
        """The registers for the driver."""
        return [Write(entry.name, entry.address, entry.value, entry.in_memory) for entry in self.registers]

    def _require_settings(self, parameters: HwcParameters, values: Mapping[str, int], where: str) -> None:
        """Refuse other registers than the HWC has, and settings that contradict each other.

        ``values`` : all settings by name, those that are constants of the HWC, too.
        """
        expected = [register.name for register in layer_settings(hwc_registers(parameters))]
        if missing := [name for name in expected if name not in values]:
            raise InputError(f"{where}: registers: expected {missing[0]} among them")
        require_agreement(parameters, values, where)

    def program(self, schedule: Schedule, parameters: HwcParameters, where: str) -> Program:
        """The same for the simulator, with the schedule that it was made of; tensors are where the file says."""
        regions = {name: Region(entry.base, entry.bytes) for name, entry in self.regions.items()}
        try:
            layout = MemoryLayout(schedule=schedule, **regions)
        except TypeError:
            raise InputError(f"{where}: regions: expected input, weights, bias, output and partial") from None
        values = dict(parameters.constants) | {entry.name: entry.value for entry in self.registers}
        self._require_settings(parameters, values, where)
        return Program(
            schedule=schedule,
            parameters=parameters,
            registers=tuple((entry.name, entry.address, entry.value) for entry in self.registers),
            start=(self.start.address, self.start.value),
            status=self.status.address,
            layout=layout,
            requantisation=self._requantisation(schedule, values),
        )

    def _requantisation(self, schedule: Schedule, values: Mapping[str, int]) -> Requantisation:
        """What becomes of sums: what the layer says, or the settings, ``values``, where sums are scaled."""
        said = schedule.layer.requantisation_at(schedule.bits.O)
        if schedule.requantisation == "shift":
            return said
        return scaled_requantisation(values, said.scales)


def _image_name(name: str, region: str) -> str:
    """The file, among the programs, with the bytes of a region."""
    return f"{name}.{region}.bin"


def program_files(
    name: str, program: Program, operands: Mapping[str, NDArray[np.signedinteger]]
) -> dict[str, str | bytes]:
    """The files of a layer: the program as JSON and as C header; images of the operands, given by region.

    ``name`` : what they are called, before the suffix.
    """
    file = ProgramFile.of(program)
    return {
        f"{name}.json": json_text(file.as_data()),
        f"{name}.h": c_program("hwc", file.layer, file.hwc, file.writes, program.regions),
        **image_files(name, program, operands),
    }


def image_files(name: str, program: Program, operands: Mapping[str, NDArray[np.signedinteger]]) -> dict[str, bytes]:
    """The bytes of the regions that operands are given for, by file name; ``name`` as for `program_files`."""
    return {
        _image_name(name, region): program.layout.packed(
            region, operand, zero=program.requantisation.zero_in
        ).tobytes()
        for region, operand in operands.items()
    }


def read_images(folder: Path, name: str, program: Program) -> dict[str, NDArray[np.int8]]:
    """The images of a layer's operands that are in a folder of programs, by region."""
    found = {}
    for region in OPERANDS:
        path = folder / _image_name(name, region)
        if path.exists():
            content = np.frombuffer(path.read_bytes(), np.int8)
            if content.size != program.regions[region].size:
                raise InputError(f"{path}: expected {program.regions[region].size} bytes, got {content.size}")
            found[region] = content
    return found
