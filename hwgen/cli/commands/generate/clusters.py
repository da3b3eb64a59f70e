"""Clusters as files: Verilog, registers, and the program of each layer as it is stored in DRAM."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hwgen.arch.cluster import ClusterParameters
from hwgen.cli.commands.generate.folders import write_files, write_grouped, write_program
from hwgen.cli.console import print_table
from hwgen.cli.workload import Work
from hwgen.export.cluster import cluster_files_of
from hwgen.ir.document import write_atomically
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster

__all__ = ["GeneratedCluster", "print_clusters", "write_clusters"]


@dataclass(frozen=True)
class GeneratedCluster:
    """One cluster: its folder, its files by name, and the programs that run on it."""

    folder: Path
    parameters: ClusterParameters
    files: Mapping[str, str]
    programs: tuple[ClusterProgram, ...]

    def write(self) -> None:
        """Write what has changed, each file whole or not at all."""
        write_files(self.folder, self.files)
        for program in self.programs:
            listing = "".join(f"{word:08x}\n" for word in program.words.tolist())
            write_atomically(self.folder / "programs" / f"{program.schedule.layer.name}.hex", listing)
            write_program(self.folder, program.schedule, _program(program))

    def as_json(self) -> dict[str, object]:
        """What was generated: files, parameters, layers."""
        return {
            "folder": str(self.folder),
            "parameters": asdict(self.parameters),
            "files": sorted(self.files),
            "layers": [
                {
                    "layer": program.schedule.layer.name,
                    "tcdm_bytes": program.placement.size,
                    "program_bytes": 4 * len(program.words),
                    "tiles": len(program.placement.walk.tiles),
                }
                for program in self.programs
            ],
        }


def write_clusters(works: Sequence[Work], folder: Path) -> list[GeneratedCluster]:
    """Generate and write the cluster of each work into ``folder``; several of them get a folder inside it each.

    Everything is made before anything is written.
    """

    def make(inside: Path, parameters: ClusterParameters, members: tuple[ClusterProgram, ...]) -> GeneratedCluster:
        return GeneratedCluster(inside, parameters, cluster_files_of(parameters), members)

    return write_grouped(works, folder, compile_cluster, lambda program: program.hardware, make)


def print_clusters(generated: list[GeneratedCluster]) -> None:
    """One row per layer."""
    rows: list[list[object]] = [
        [str(one.folder), program.schedule.layer.name, len(program.placement.walk.tiles), len(program.commands),
         4 * len(program.words), program.placement.size, program.dram_size]
        for one in generated
        for program in one.programs
    ]  # fmt: skip
    columns = ["folder", "layer", "tiles", "commands", "program bytes", "TCDM bytes", "DRAM bytes"]
    print_table("Generated clusters", columns, rows)


def _program(program: ClusterProgram) -> dict[str, object]:
    """What software does to run the layer: where the tensors are stored in DRAM, and the values of the registers.

    The program's words, in the file beside this one, are stored at ``program_address``.
    """
    layout = program.layout
    regions = {"input": layout.inputs, "weights": layout.weights, "bias": layout.bias, "output": layout.output,
               "partial": layout.partial}  # fmt: skip
    return {
        "layer": program.schedule.layer.name,
        "regions": {name: {"base": region.base, "bytes": region.size} for name, region in regions.items()},
        "registers": dict(program.settings),
    }
