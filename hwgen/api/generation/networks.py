"""A quantised network as files: the cluster that runs it, its programs, and its weights."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hwgen.api.arguments import is_given
from hwgen.api.generation.folders import Contents
from hwgen.api.machines import HardwareLike, read_hardware
from hwgen.api.progress import note, remark, steps
from hwgen.api.results import Answer
from hwgen.arch.bus import WORD_BYTES
from hwgen.export.cached import generated_cluster
from hwgen.export.cluster import cluster_digest, cluster_files_of
from hwgen.export.manifest import Design, GeneratedLayer, write_generated
from hwgen.export.network_program import Exchanged, network_program_files, program_names
from hwgen.ir.document import InputError, dump_yaml, is_model
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import plain_name
from hwgen.ir.network.kinds import Dequantise, Quantise
from hwgen.lower.network.cluster_plan import ClusterPlan, Stretch, plan_cluster
from hwgen.lower.network.exchange import HostNode, host_nodes, inputs_of, outputs_of
from hwgen.lower.network.layers import refusals, weighted
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.onnx.reader import is_quantised

__all__ = ["GeneratedNetwork", "generate_network", "network_on", "require_whole"]


@dataclass(frozen=True, repr=False, eq=False)
class GeneratedNetwork(Answer):
    """A quantised network as programs of a cluster, with what software does between them.

    Members
    -------
    plan : the layers, their schedules, their places.
    programs : the names of the programs.
    exchanged : what software writes before and reads after each.
    host : what software computes.
    files : all files by their path inside the folder.
    """

    folder: Path
    network: str
    plan: ClusterPlan
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
            "layers": [layer.node.name for layer in plan.layers],
            "programs": [_summary(*one) for one in zip(self.programs, plan.stretches, strict=True)],
            "host": [asdict(node) for node in self.host],
            "resident": plan.resident_data(),
            "weights_bytes": plan.parameters.size,
            "dram_bytes": plan.size,
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
        return f"{len(self.programs)} programs of {self.network}, and their cluster, in {self.folder}"


def network_on(
    names: Sequence[str], hardware: HardwareLike | None, unfit: Mapping[str, object]
) -> tuple[Path, Hardware] | None:
    """The file of a quantised network, and the cluster that it is for; None for any other workload.

    ``unfit`` : options that are not for a network, by name. Raises `InputError` if one of them is given, or if the
    hardware is no cluster.
    """
    model = Path(names[0] if len(names) == 1 else "")
    machine = read_hardware(hardware) if is_model(model) else None
    if machine is None or machine.requantisation != "scaled":
        return None
    if machine.cluster is None:
        raise InputError(
            f"hardware {machine.name}: cluster: expected one for a quantised network, whose layers are programs"
        )
    for option, value in unfit.items():
        if is_given(value):
            raise InputError(f"{option}: not for a quantised network, got {model}")
    return model, machine


def require_whole(names: Sequence[str], *, partial: bool) -> None:
    """Refuse a quantised network of which only the shapes of its layers would be generated; say it with ``partial``.

    An HWC's files, and those of a cluster whose requantisation is not scaled, are of layers: weights, sums, pools and
    whatever else a network has are not in them.
    """
    model = Path(names[0] if len(names) == 1 else "")
    if not is_model(model) or not is_quantised(model):
        return
    graph = read_quantised(model)
    layers = {node.name for node in weighted(graph)}
    others = Counter(
        node.label
        for node in graph.nodes
        if node.moves and node.name not in layers and not isinstance(node, Quantise | Dequantise)
    )
    lost = ", ".join(["the weights", *(f"{count} x {label}" for label, count in sorted(others.items()))])
    if not partial:
        raise InputError(
            f"{model}: a quantised network, of which only the shapes of its {len(layers)} layer(s) would be "
            f"generated, without {lost}: expected a cluster with requantisation scaled (--hardware), or --partial"
        )
    remark(f"{model}: left out: {lost}")


def generate_network(
    model: Path,
    machine: Hardware,
    folder: Path,
    *,
    resident: bool = False,
    keep_init: bool = False,
) -> GeneratedNetwork:
    """Write the cluster and the network's programs."""
    note(f"reading {model}")
    graph = read_quantised(model)
    if graph.together:
        note(f"the first axis is no batch of images: {graph.together}")
    with steps(len(weighted(graph)), "scheduling") as step:
        plan = plan_cluster(graph, machine, step, resident=resident)
    if not plan.stretches:
        why = "; ".join(f"{name}: {reason}" for name, reason in refusals(graph, plan.refused).items())
        raise InputError(f"{model}: expected layers with weights that {machine.name} runs, got {why or 'none'}")
    host = host_nodes(graph, plan)
    name, parameters = plain_name(model.stem) or "network", plan.stretches[0].program.hardware
    exchanged = [
        Exchanged(stretch.program, inputs_of(graph, plan, number), outputs_of(graph, plan, number))
        for number, stretch in enumerate(plan.stretches)
    ]
    verilog = generated_cluster(parameters, keep_init=keep_init)
    files = cluster_files_of(parameters, verilog, memory_bytes=plan.size)
    programs = network_program_files(name, exchanged, plan.parameters.tobytes(), [asdict(node) for node in host])
    contents: Contents = {**files, **{f"programs/{file}": content for file, content in programs.items()}}
    contents["hardware.yaml"] = dump_yaml(machine.as_data())
    listed = (GeneratedLayer(name=name, number=0),)
    design = Design(folder=".", top="cluster", digest=cluster_digest(parameters), layers=listed)
    names = program_names(name, len(exchanged))
    stale = write_generated(folder, [design], contents)
    if stale:
        note(f"{folder}: removed {len(stale)} files of an earlier run, such as {stale[0]}")
    return GeneratedNetwork(folder, name, plan, tuple(names), tuple(exchanged), tuple(host), tuple(sorted(contents)))


def _summary(name: str, stretch: Stretch) -> Mapping[str, object]:
    program_bytes = WORD_BYTES * len(stretch.program.words)
    return {
        "name": name,
        "layers": [layer.node.name for layer in stretch.layers],
        "program_bytes": program_bytes,
    }
