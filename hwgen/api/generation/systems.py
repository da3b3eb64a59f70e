"""Several clusters on one DRAM as files: Verilog, registers, and for each layer the program of every cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from hwgen.api.generation.folders import Contents, grouped, program_names, schedule_file
from hwgen.api.sharing import Sharing
from hwgen.api.work import Work
from hwgen.arch.system import SystemParameters
from hwgen.export.cached import generated_system
from hwgen.export.cluster_program import cluster_program_files
from hwgen.export.system import system_digest, system_files_of
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.system.choice import fastest_partition
from hwgen.lower.system.program import SystemProgram, compile_system

__all__ = ["GeneratedSystem", "make_systems"]


@dataclass(frozen=True)
class GeneratedSystem:
    """One system: its folder, its files by name, and the programs that run on it."""

    folder: Path
    parameters: SystemParameters
    files: Mapping[str, str]
    programs: tuple[SystemProgram, ...]
    top: Literal["system"] = "system"

    @property
    def digest(self) -> str:
        """Names the state of its Verilog."""
        return system_digest(self.parameters)

    def contents(self) -> Contents:
        """All of its files; the program of cluster n is in ``programs/LAYER.cluster<n>.*``."""
        contents: Contents = dict(self.files)
        for name, program in zip(program_names(self.programs), self.programs, strict=True):
            for number, share in enumerate(program.programs):
                files = cluster_program_files(name, share, number, program.layout)
                contents |= {f"programs/{file}": text for file, text in files.items()}
            contents |= schedule_file(name, program.schedule)
        return contents

    def as_json(self) -> dict[str, object]:
        """What was generated: files, parameters, layers with what each cluster computes of them."""
        return {
            "folder": str(self.folder),
            "parameters": asdict(self.parameters),
            "files": sorted(self.files),
            "layers": [
                {
                    "layer": program.schedule.layer.name,
                    "dram_bytes": program.dram_size,
                    "shares": [
                        {
                            "output_channels": [share.outputs, share.outputs + share.layer.output_channels],
                            "output_rows": [share.rows, share.rows + share.layer.output_height],
                        }
                        for share in program.shares
                    ],
                }
                for program in self.programs
            ],
        }


def make_systems(
    works: Sequence[Work], folder: Path, sharing: Sharing, *, keep_init: bool = False
) -> list[GeneratedSystem]:
    """Generate the system of each work for ``folder``; several of them get a folder inside it each."""
    if any(not work.on_cluster for work in works):
        raise InputError("--clusters: expected schedules of two memory levels")

    def compiled(schedule: Schedule, hardware: Hardware | None) -> SystemProgram:
        partition = sharing.partition or fastest_partition(schedule, hardware, sharing.clusters)
        return compile_system(schedule, hardware, sharing.clusters, partition)

    def make(inside: Path, parameters: SystemParameters, members: tuple[SystemProgram, ...]) -> GeneratedSystem:
        text = generated_system(parameters, keep_init=keep_init)
        return GeneratedSystem(inside, parameters, system_files_of(parameters, text), members)

    def parameters_of(program: SystemProgram) -> SystemParameters:
        return SystemParameters(program.programs[0].hardware, sharing.clusters)

    return grouped(works, folder, compiled, parameters_of, make)
