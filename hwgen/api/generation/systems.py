"""Several clusters on one DRAM as files: Verilog, registers, and for each layer the program of every cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from hwgen.api.generation.folders import Made, grouped
from hwgen.api.sharing import Sharing
from hwgen.api.work import Work
from hwgen.arch.cluster import SystemParameters
from hwgen.export.cached import generated_system
from hwgen.export.cluster_program import cluster_program_files
from hwgen.export.system import system_digest, system_files_of
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.system.program import SystemProgram, compile_system, fastest_partition

__all__ = ["GeneratedSystem", "make_systems"]


@dataclass(frozen=True)
class GeneratedSystem(Made[SystemParameters, SystemProgram]):
    """One system: its folder, its files by name, and the programs that run on it."""

    top: ClassVar[Literal["system"]] = "system"

    @property
    def digest(self) -> str:
        """Names the state of its Verilog."""
        return system_digest(self.parameters)

    def program_files(self, name: str, number: int) -> Mapping[str, str | bytes]:
        """The programs of a layer; that of cluster n is in ``LAYER.cluster<n>.*``."""
        program, files = self.programs[number], dict[str, str | bytes]()
        for cluster, share in enumerate(program.programs):
            files |= cluster_program_files(name, share, cluster, program.layout)
        return files

    @property
    def layers(self) -> list[dict[str, object]]:
        """Bytes of each layer, and what each cluster computes of it."""
        return [
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
        ]


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
