"""Clusters as files: Verilog, registers, and the program of each layer as it is stored in DRAM."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from hwgen.arch.cluster import ClusterParameters
from hwgen.cli.commands.generate.folders import Contents, grouped, schedule_file
from hwgen.cli.console import print_table
from hwgen.cli.workload import Work
from hwgen.export.cluster import cluster_digest, cluster_files_of
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster

__all__ = ["GeneratedCluster", "make_clusters", "print_clusters"]


@dataclass(frozen=True)
class GeneratedCluster:
    """One cluster: its folder, its files by name, and the programs that run on it."""

    folder: Path
    parameters: ClusterParameters
    files: Mapping[str, str]
    programs: tuple[ClusterProgram, ...]
    top: Literal["cluster"] = "cluster"

    @property
    def digest(self) -> str:
        """Names the state of its Verilog."""
        return cluster_digest(self.parameters)

    def contents(self) -> Contents:
        """All of its files."""
        contents: Contents = dict(self.files)
        for program in self.programs:
            name = program.schedule.layer.name
            contents[f"programs/{name}.hex"] = "".join(f"{word:08x}\n" for word in program.words.tolist())
            contents[f"programs/{name}.json"] = json.dumps(_program(program), indent=1) + "\n"
            contents |= schedule_file(program.schedule)
        return contents

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


def make_clusters(works: Sequence[Work], folder: Path) -> list[GeneratedCluster]:
    """Generate the cluster of each work for ``folder``; several of them get a folder inside it each."""

    def make(inside: Path, parameters: ClusterParameters, members: tuple[ClusterProgram, ...]) -> GeneratedCluster:
        return GeneratedCluster(inside, parameters, cluster_files_of(parameters), members)

    return grouped(works, folder, compile_cluster, lambda program: program.hardware, make)


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
