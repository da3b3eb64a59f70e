"""A quantised network as files: the cluster that runs it, its program, and its weights."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import typer

from hwgen.arch.layout import Region
from hwgen.campaigns.clustered.order import turns
from hwgen.campaigns.clustered.plan import VECTOR_KINDS, ClusterPlan, plan_cluster
from hwgen.campaigns.network import weighted
from hwgen.cli.commands.generate.folders import Contents
from hwgen.cli.console import is_given, note, print_json, print_table, progress
from hwgen.cli.workload import read_hardware
from hwgen.export.cached import generated_cluster
from hwgen.export.cluster import cluster_digest, cluster_files_of
from hwgen.export.driver.programs import Tensor
from hwgen.export.manifest import Design, GeneratedLayer, write_generated
from hwgen.export.network_program import network_program_files
from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.hardware import Hardware
from hwgen.ir.onnx.graph import safe_name
from hwgen.quantised.graph import Graph
from hwgen.quantised.kinds import Convolution, Dequantise, HostOperator, Node, Product, Quantise, View
from hwgen.quantised.onnx.reader import read_quantised

__all__ = ["generate_network", "network_on"]


def network_on(
    names: Sequence[str], hardware: str | None, unfit: Mapping[str, object]
) -> tuple[Path, Hardware] | None:
    """The file of a quantised network, and the cluster that it is for; None for any other workload.

    ``unfit`` : options that are not for a network, by name. Raises `InputError` if one of them is given, or if the
    hardware is no cluster.
    """
    model = Path(names[0])
    machine = read_hardware(hardware) if model.suffix.lower() == ".onnx" and len(names) == 1 else None
    if machine is None or machine.requantisation != "scaled":
        return None
    if machine.cluster is None:
        raise InputError(
            f"hardware {machine.name}: cluster: expected one for a quantised network, whose layers are one program"
        )
    for option, value in unfit.items():
        if is_given(value):
            raise InputError(f"{option}: not for a quantised network, got {model}")
    return model, machine


def generate_network(
    model: Path, machine: Hardware, folder: Path, *, keep_init: bool = False, as_json: bool = False
) -> None:
    """Write the cluster and the network's program; say what was written."""
    note(f"reading {model}")
    graph = read_quantised(model)
    _require_kinds(model, graph, machine)
    with progress(len(weighted(graph)), "scheduling") as step:
        plan = plan_cluster(graph, machine, step)
    _require_whole(model, graph, plan)
    (stretch,), name = plan.stretches, safe_name(model.stem, set())
    program, parameters = stretch.program, stretch.program.hardware
    inputs, outputs = _inputs(model, graph, plan), _outputs(model, graph, plan)
    verilog = generated_cluster(parameters, keep_init=keep_init)
    files = cluster_files_of(parameters, verilog, memory_bytes=plan.size)
    programs = network_program_files(name, program, plan.parameters.tobytes(), inputs, outputs)
    contents: Contents = {**files, **{f"programs/{file}": content for file, content in programs.items()}}
    contents["hardware.yaml"] = dump_yaml(machine.as_data())
    layers = (GeneratedLayer(name=name, number=0),)
    design = Design(folder=".", top="cluster", digest=cluster_digest(parameters), layers=layers)
    stale = write_generated(folder, [design], contents)
    if stale:
        note(f"{folder}: removed {len(stale)} files of an earlier run, such as {stale[0]}")
    if as_json:
        summary = {
            "folder": str(folder),
            "parameters": asdict(parameters),
            "files": sorted(contents),
            "network": name,
            "layers": [layer.node.name for layer in stretch.layers],
            "weights_bytes": len(programs[f"{name}.weights.bin"]),
            "program_bytes": 4 * len(program.words),
            "dram_bytes": plan.size,
        }
        print_json({"networks": [summary]})
        return
    columns = ["folder", "network", "layers", "commands", "program bytes", "weight bytes", "DRAM bytes"]
    row = [str(folder), name, len(stretch.layers), len(program.commands), 4 * len(program.words),
           plan.parameters.size, plan.size]  # fmt: skip
    print_table("Generated network", columns, [row], wide=["commands", "layers"])
    for side, tensors in (("input", inputs), ("output", outputs)):
        for one in tensors:
            shape = "x".join(map(str, one.shape))
            typer.echo(f"{side} {one.name}: {shape} int8 at 0x{one.region.base:x}, "
                       f"{one.scale:g} * (byte - {one.zero_point})")  # fmt: skip


def _require_kinds(model: Path, graph: Graph, machine: Hardware) -> None:
    """Refuse nodes that no cluster like this one runs, before time is spent on the others."""
    for node in sorted(graph.nodes, key=lambda node: isinstance(node, Quantise | Dequantise)):
        reason = _unfit(graph, node, vector=machine.cluster is not None and machine.cluster.vector)
        if reason is not None:
            raise _on_host(model, node, reason)


def _unfit(graph: Graph, node: Node, *, vector: bool) -> str | None:
    """Why a node is the host's; None if it may be the cluster's, or has nothing to do in between."""
    match node:
        case HostOperator():
            return node.reason
        case Quantise() if node.inputs[0] not in graph.inputs:
            return "it is not at an input"
        case Dequantise() if node.output not in graph.outputs:
            return "it is not at an output"
        case View() | Quantise() | Dequantise():
            return None
    if not isinstance(node, (Convolution, Product, *VECTOR_KINDS)):
        return "a cluster has no unit for it"
    if isinstance(node, VECTOR_KINDS) and not vector:
        return "the cluster has no vector unit"
    if any(name in graph.constants for name in node.inputs):
        return "a constant operand is stored there"
    return "the rows of a product of several rows are turned there" if turns(node) else None


def _require_whole(model: Path, graph: Graph, plan: ClusterPlan) -> None:
    """Refuse what turned out not to be one program."""
    for node in graph.nodes:
        if node.name in plan.refused:
            raise _on_host(model, node, plan.refused[node.name])
    if len(plan.stretches) != 1:
        raise InputError(f"{model}: expected layers that make one program, got {len(plan.stretches)}")


def _on_host(model: Path, node: Node, reason: str) -> InputError:
    return InputError(
        f"{model}: {node.label} {node.name}: would run on the host ({reason}): "
        "expected a network that the cluster runs whole; hwgen run takes others"
    )


def _inputs(model: Path, graph: Graph, plan: ClusterPlan) -> list[Tensor]:
    """Named as the model has them, in its order; one that two quantisers read is there twice."""
    found = []
    for name in graph.inputs:
        readers = [node.output for node in graph.nodes if isinstance(node, Quantise) and node.inputs[0] == name]
        found += [_tensor(graph, plan, name, inside) for inside in (name, *readers) if inside in plan.rooms.bases]
    if not found:
        raise InputError(f"{model}: expected layers that read an input")
    return found


def _outputs(model: Path, graph: Graph, plan: ClusterPlan) -> list[Tensor]:
    """Named as the model has them, in its order."""
    made = {node.output: node for node in graph.nodes if isinstance(node, Dequantise)}
    found = []
    for name in graph.outputs:
        inside = made[name].inputs[0] if name in made else name
        if plan.order.roots[inside] not in {layer.node.output for layer in plan.layers}:
            raise InputError(f"{model}: output {name}: expected one that a layer makes")
        one = _tensor(graph, plan, name, inside)
        found.append(replace(one, scale=made[name].scale, zero_point=made[name].zero) if name in made else one)
    return found


def _tensor(graph: Graph, plan: ClusterPlan, name: str, inside: str) -> Tensor:
    """``inside`` : the tensor of int8 that the input or output ``name`` is."""
    tensor = graph.tensors[inside]
    form = tensor.quantisation
    assert form is not None, "only Quantise and Dequantise have tensors of numbers"
    base = plan.rooms.bases[plan.order.roots[inside]]
    return Tensor(name, Region(base, tensor.elements), form.scale, form.zero, tensor.shape)
