"""Clusters as files: Verilog, registers, and the program of each layer as it is stored in DRAM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from hwgen.api.generation.folders import Made, grouped
from hwgen.api.work import Work
from hwgen.arch.cluster import ClusterParameters
from hwgen.export.cached import generated_cluster
from hwgen.export.cluster import cluster_digest, cluster_files_of
from hwgen.export.cluster_program import cluster_program_files
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster

__all__ = ["GeneratedCluster", "make_clusters"]


@dataclass(frozen=True)
class GeneratedCluster(Made[ClusterParameters, ClusterProgram]):
    """One cluster: its folder, its files by name, and the programs that run on it."""

    top: ClassVar[Literal["cluster"]] = "cluster"

    @property
    def digest(self) -> str:
        """Names the state of its Verilog."""
        return cluster_digest(self.parameters)

    def program_files(self, name: str, number: int) -> Mapping[str, str | bytes]:
        """The program of a layer, as it is stored in DRAM."""
        return cluster_program_files(name, self.programs[number])

    @property
    def layers(self) -> list[dict[str, object]]:
        """Bytes and tiles of each layer."""
        return [
            {
                "layer": program.schedule.layer.name,
                "tcdm_bytes": program.placement.size,
                "program_bytes": 4 * len(program.words),
                "tiles": len(program.placement.walk.tiles),
            }
            for program in self.programs
        ]


def make_clusters(works: Sequence[Work], folder: Path, *, keep_init: bool = False) -> list[GeneratedCluster]:
    """Generate the cluster of each work for ``folder``; several of them get a folder inside it each."""

    def make(inside: Path, parameters: ClusterParameters, members: tuple[ClusterProgram, ...]) -> GeneratedCluster:
        return GeneratedCluster(
            inside,
            parameters,
            cluster_files_of(parameters, generated_cluster(parameters, keep_init=keep_init)),
            members,
        )

    return grouped(works, folder, compile_cluster, lambda program: program.hardware, make)
