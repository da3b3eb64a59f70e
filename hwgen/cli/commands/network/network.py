"""``hwgen network``: a quantised network whole, what of it hardware can run, and its integer reference."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import claim_folder
from hwgen.api.arrays import random_inputs, read_inputs, write_arrays
from hwgen.api.machines import read_hardware
from hwgen.api.pictures import pixels_from
from hwgen.api.runtime import judgement, runtime_documents
from hwgen.cli.console import Json, note, print_json, print_table, printable, progress
from hwgen.cli.names import hardware_names
from hwgen.golden.quantised.comparison import Beside, run_beside
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware as Machine
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node
from hwgen.lower.network.layers import weighted
from hwgen.lower.network.placement import Placement, placement, plan_on, possible_placement
from hwgen.readers.integers.reader import read_quantised

__all__ = ["network"]

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A quantised model: ONNX (QDQ or QOperator form), or TFLite (a file *.tflite)."
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="[NAME=]FILE",
        help="An input, as numpy.save wrote it, or a picture (PNG, JPEG), which is scaled to the model's size; with "
        "its name if there are several.",
    ),
]
Mean = Annotated[
    str | None,
    typer.Option(
        "--mean",
        metavar="M[,M,M]",
        help="Of a picture's pixels, 0 to 255, the network's numbers are (pixel - mean) / std: mean, 0 if not given.",
    ),
]
Std = Annotated[
    str | None, typer.Option("--std", metavar="S[,S,S]", help="See --mean: std, 255 if not given, which is 0 to 1.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Run on random inputs of this seed.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for the outputs, as .npy.")
]
Hardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="Say what this HWC or cluster runs, as run does: a hardware file, or a built-in name. If not given: "
        "what the built-in cluster_64_vector can run, memories aside.",
        autocompletion=hardware_names,
    ),
]
Tensors = Annotated[bool, typer.Option("--tensors", help="Write every tensor of the first image, too.")]


def network(
    model: Model,
    *,
    hardware: Hardware = None,
    given: Inputs = None,
    mean: Mean = None,
    std: Std = None,
    seed: Seed = None,
    output: Output = None,
    tensors: Tensors = False,
    as_json: Json = False,
) -> None:
    """Print the nodes of a quantised network, and which of them hardware runs; with an input, run its reference.

    The integer reference says, to the bit, what hardware must make of the input. It is run beside ONNX Runtime,
    or LiteRT for TFLite: each node is compared on what that itself has at its input. Nothing is simulated.
    """
    if given and seed is not None:
        raise InputError("--seed: not with --input")
    pixels = pixels_from(mean, std, given)
    runs = bool(given) or seed is not None
    for option, value in (("-o", output is not None), ("--tensors", tensors)):
        if value and not runs:
            raise InputError(f"{option}: expected with --input or --seed")
    if tensors and output is None:
        raise InputError("--tensors: expected with -o")
    claim_folder(output)
    note(f"reading {model}")
    graph = read_quantised(model)
    if graph.together:
        note(f"the first axis is no batch of images: {graph.together}")
    place = _placed(graph, read_hardware(hardware))
    beside: Beside | None = None
    files: dict[str, str] = {}
    if runs:
        arrays = read_inputs(graph, given, pixels) if given else random_inputs(graph, seed or 0)
        where = given[0].rpartition("=")[2] if given else str(model)
        images = len(next(iter(arrays.values()))) if graph.batch != 1 else 1
        with progress(len(graph.nodes) * images, graph.name) as step:
            beside = run_beside(model, graph, arrays, where, step)
        if output is not None:
            files = write_arrays(output, beside, tensors=tensors)
    if as_json:
        print_json(_document(graph, place, beside, files))
    else:
        _print(graph, place, beside)
    if beside is not None and not beside.holds:
        raise typer.Exit(1)


def _placed(graph: Graph, hardware: Machine | None) -> Placement:
    if hardware is None:
        return possible_placement(graph)
    with progress(len(weighted(graph)), "scheduling") as step:
        return placement(graph, plan_on(graph, hardware, step), hardware)


def _print(graph: Graph, place: Placement, beside: Beside | None) -> None:
    whole = graph.work()
    rows: list[list[object]] = [
        [
            node.name,
            node.label,
            "x".join(map(str, node.shape)),
            node.macs,
            graph.bytes_of(node),
            _percent(node.macs, whole.macs),
            "hardware" if node.name in place.here else "host",
        ]
        for node in graph.nodes
    ]
    rows.append([f"{len(graph.nodes)} nodes", "", "", whole.macs, whole.bytes, "", ""])
    columns = ["node", "kind", "output", "MACs", "bytes", "of all MACs", "runs on"]
    print_table(graph.name, columns, rows, wide=["of all MACs", "output"])
    macs, moved = graph.share(place.here)
    typer.echo(
        f"hardware can run {macs:.2%} of all MACs and {moved:.2%} of all bytes that nodes read and write: "
        f"{place.hardware}"
    )
    for node in place.host(graph):
        if node.name in place.reasons:
            name, share = (node.covers or (node.name,))[0], _percent(node.macs, whole.macs)
            typer.echo(printable(f"host: {node.label} {name} ({place.reasons[node.name]}), {share} of all MACs"))
    if beside is not None:
        _print_run(beside)


def _print_run(beside: Beside) -> None:
    rows: list[list[object]] = [
        [one.name, one.kind, one.elements, one.different, one.ties, one.apart, f"{one.largest:g}", f"{one.equal:.4%}"]
        for one in beside.unlike
    ]
    whole = beside.whole
    rows.append(
        [
            "all nodes",
            "",
            whole.elements,
            whole.different,
            whole.ties,
            whole.apart,
            f"{whole.largest:g}",
            f"{whole.equal:.4%}",
        ]
    )
    columns = ["node", "kind", "elements", "different", "ties", "apart", "largest", "equal"]
    print_table(f"nodes that differ from {beside.runtime}'s", columns, rows)
    for line in judgement(beside):
        typer.echo(printable(line))


def _percent(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.2%}"


def _document(graph: Graph, place: Placement, beside: Beside | None, files: dict[str, str]) -> dict[str, Any]:
    macs, moved = graph.share(place.here)
    whole = graph.work()
    return {
        "network": graph.name,
        "nodes": [_as_data(graph, node, place) for node in graph.nodes],
        "totals": {"macs": whole.macs, "bytes": whole.bytes},
        "hardware": {"name": place.hardware, "macs": macs, "bytes": moved},
        "host": [node.name for node in place.host(graph)],
        "outputs": {name: files.get(name) for name in graph.outputs},
        **runtime_documents(beside),
    }


def _as_data(graph: Graph, node: Node, place: Placement) -> dict[str, Any]:
    return {
        "name": node.name,
        "kind": node.label,
        "onnx": list(node.covers),
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "shape": list(node.shape),
        "macs": node.macs,
        "bytes": graph.bytes_of(node),
        "runs_on": "hardware" if node.name in place.here else "host",
        "reason": place.reasons.get(node.name),
    }
