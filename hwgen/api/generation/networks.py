"""A quantised network as files: the cluster that runs it, its programs, and its weights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hwgen.api.generation.folders import Contents
from hwgen.api.progress import note, steps
from hwgen.api.results import Answer
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import SystemParameters
from hwgen.export.cached import generated_cluster, generated_system
from hwgen.export.cluster import cluster_digest, cluster_files_of
from hwgen.export.manifest import Design, GeneratedLayer, write_generated
from hwgen.export.network_program import Exchanged, network_program_files, program_names
from hwgen.export.system import system_digest, system_files_of
from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import plain_name
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.cluster_plan import ClusterPlan, Stretch, plan_cluster
from hwgen.lower.network.exchange import HostNode, Tensor, host_nodes, inputs_of, outputs_of
from hwgen.lower.network.layers import nothing_runs, weighted
from hwgen.lower.system.networks import NetworkSystem, PlacedProgram
from hwgen.readers.integers.reader import read_quantised

__all__ = ["GeneratedNetwork", "generate_network"]


@dataclass(frozen=True, repr=False, eq=False)
class GeneratedNetwork(Answer):
    """A quantised network as programs of a cluster, with what software does between them.

    Members
    -------
    plan : the layers, their schedules, their places.
    clusters : how many there are on one DRAM; each has the programs, for an image of its own.
    programs : the names of the programs.
    exchanged : what software writes before and reads after each, of the first cluster.
    host : what software computes.
    files : all files by their path inside the folder.
    """

    folder: Path
    network: str
    plan: ClusterPlan
    clusters: int
    programs: tuple[str, ...]
    exchanged: tuple[Exchanged, ...]
    host: tuple[HostNode, ...]
    files: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen generate --json`` prints."""
        plan = self.plan
        summary = {
            "folder": str(self.folder),
            "parameters": asdict(plan.stretches[0].program.hardware),
            "files": list(self.files),
            "network": self.network,
            "clusters": self.clusters,
            "layers": [layer.node.name for layer in plan.layers],
            "programs": [_summary(*one) for one in zip(self.programs, plan.stretches, strict=True)],
            "host": [asdict(node) for node in self.host],
            "resident": plan.resident_data(),
            "weights_bytes": plan.parameters.size,
            "dram_bytes": NetworkSystem(plan, self.clusters).size,
        }
        return {"networks": [summary]}

    def rows(self) -> list[dict[str, object]]:
        """One row a program."""
        return [
            {
                "program": name,
                "layers": len(stretch.layers),
                "commands": len(stretch.program.commands),
                "program_bytes": WORD_BYTES * len(stretch.program.words),
            }
            for name, stretch in zip(self.programs, self.plan.stretches, strict=True)
        ]

    def summary(self) -> str:
        """What was written, and where."""
        where = "their cluster" if self.clusters == 1 else f"{self.clusters} clusters"
        return f"{len(self.programs)} programs of {self.network}, and {where}, in {self.folder}"


def generate_network(
    model: Path,
    machine: Hardware,
    folder: Path,
    *,
    resident: bool = False,
    keep_init: bool = False,
    clusters: int = 1,
) -> GeneratedNetwork:
    """Write the cluster, or several on one DRAM, and the network's programs."""
    note(f"reading {model}")
    graph = read_quantised(model)
    if graph.together:
        note(f"the first axis is no batch of images: {graph.together}")
    with steps(len(weighted(graph)), "scheduling") as step:
        plan = plan_cluster(graph, machine, step, resident=resident, clusters=clusters)
    if not plan.stretches:
        raise InputError(f"{model}: {nothing_runs(graph, machine.name, plan.refused)}")
    system, host = NetworkSystem(plan, clusters), host_nodes(graph, plan)
    name, parameters = plain_name(model.stem) or "network", plan.stretches[0].program.hardware
    exchanged = [_exchanged(graph, system, cluster) for cluster in range(clusters)]
    contents: Contents = {"hardware.yaml": dump_yaml(machine.as_data())}
    top: Literal["cluster", "system"] = "cluster"
    if clusters == 1:
        verilog, digest = generated_cluster(parameters, keep_init=keep_init), cluster_digest(parameters)
        contents |= cluster_files_of(parameters, verilog, memory_bytes=plan.size)
    else:
        several, top = SystemParameters(parameters, clusters), "system"
        contents |= system_files_of(several, generated_system(several, keep_init=keep_init))
        digest = system_digest(several)
    for cluster, programs in enumerate(exchanged):
        files = network_program_files(
            name, programs, plan.parameters.tobytes(), [asdict(node) for node in host],
            cluster=None if clusters == 1 else cluster,
        )  # fmt: skip
        contents |= {f"programs/{file}": content for file, content in files.items()}
    listed = (GeneratedLayer(name=name, number=0),)
    design = Design(folder=".", top=top, digest=digest, layers=listed)
    names = program_names(name, len(plan.stretches))
    stale = write_generated(folder, [design], contents)
    if stale:
        note(f"{folder}: removed {len(stale)} files of an earlier run, such as {stale[0]}")
    return GeneratedNetwork(
        folder, name, plan, clusters, tuple(names), tuple(exchanged[0]), tuple(host), tuple(sorted(contents))
    )


def _exchanged(graph: Graph, system: NetworkSystem, cluster: int) -> list[Exchanged]:
    """The programs of a cluster, and its maps."""
    found = []
    for number in range(len(system.plan.stretches)):
        placed = system.program(number, cluster)
        inputs, outputs = (of(graph, system.plan, number) for of in (inputs_of, outputs_of))
        found.append(Exchanged(placed, *([_placed(one, placed) for one in some] for some in (inputs, outputs))))
    return found


def _placed(tensor: Tensor, program: PlacedProgram) -> Tensor:
    region = tensor.region
    return replace(tensor, region=replace(region, base=program.place(region.base)))


def _summary(name: str, stretch: Stretch) -> Mapping[str, object]:
    program_bytes = WORD_BYTES * len(stretch.program.words)
    return {"name": name, "layers": [layer.node.name for layer in stretch.layers], "program_bytes": program_bytes}
