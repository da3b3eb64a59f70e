"""A quantised network whole: what of it hardware can run, and its integer reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.arguments import claim_folder
from hwgen.api.arrays import random_inputs, read_inputs, write_arrays
from hwgen.api.machines import HardwareLike, read_hardware
from hwgen.api.pictures import pixels_from
from hwgen.api.progress import note, steps
from hwgen.api.results import Answer
from hwgen.api.runtime import runtime_documents
from hwgen.api.session import call
from hwgen.golden.quantised.comparison import Beside, run_beside
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node
from hwgen.lower.network.layers import weighted
from hwgen.lower.network.placement import Placement, placement, plan_on, possible_placement
from hwgen.readers.integers.reader import read_quantised

__all__ = ["QuantisedNetwork", "QuantisedRequest"]


@dataclass(frozen=True, repr=False, eq=False)
class QuantisedNetwork(Answer):
    """The nodes of a quantised network, where each runs, and the integer reference on some inputs.

    Members
    -------
    beside : the reference and its comparison; None without inputs.
    files : the file of each output.
    """

    graph: Graph
    place: Placement
    beside: Beside | None
    files: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether the comparison holds, or nothing was compared."""
        return self.beside is None or self.beside.holds

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen network --json`` prints."""
        return _document(self.graph, self.place, self.beside, self.files)

    def rows(self) -> list[dict[str, object]]:
        """One row a node."""
        return [
            {"node": node.name, "kind": node.label, "macs": node.macs,
             "runs_on": self.place.runs_on(node)}
            for node in self.graph.nodes
        ]  # fmt: skip

    def summary(self) -> str:
        """What hardware runs of it."""
        macs, _ = self.graph.share(self.place.here)
        return f"Network {self.graph.name}: {len(self.graph.nodes)} nodes, {macs:.2%} of all MACs in hardware"


@dataclass(frozen=True, kw_only=True)
class QuantisedRequest:
    """What is to be said of a network; with inputs, or a seed for random ones, its reference runs."""

    model: Path
    hardware: HardwareLike | None = None
    given: list[str] | None = None
    mean: str | None = None
    std: str | None = None
    seed: int | None = None
    output: Path | None = None
    tensors: bool = False

    @call
    def answer(self) -> QuantisedNetwork:
        """Read the network, place it, run its reference."""
        if self.given and self.seed is not None:
            raise InputError("--seed: not with --input")
        pixels = pixels_from(self.mean, self.std, self.given)
        runs = bool(self.given) or self.seed is not None
        for option, value in (("-o", self.output is not None), ("--tensors", self.tensors)):
            if value and not runs:
                raise InputError(f"{option}: expected with --input or --seed")
        if self.tensors and self.output is None:
            raise InputError("--tensors: expected with -o")
        claim_folder(self.output)
        note(f"reading {self.model}")
        graph = read_quantised(self.model)
        if graph.together:
            note(f"the first axis is no batch of images: {graph.together}")
        place = _placed(graph, read_hardware(self.hardware))
        if not runs:
            return QuantisedNetwork(graph, place, None, {})
        arrays = read_inputs(graph, self.given, pixels) if self.given else random_inputs(graph, self.seed or 0)
        where = self.given[0].rpartition("=")[2] if self.given else str(self.model)
        images = len(next(iter(arrays.values()))) if graph.batch != 1 else 1
        with steps(len(graph.nodes) * images, graph.name) as step:
            beside = run_beside(self.model, graph, arrays, where, step)
        files = {} if self.output is None else write_arrays(self.output, beside, tensors=self.tensors)
        return QuantisedNetwork(graph, place, beside, files)


def _placed(graph: Graph, hardware: Hardware | None) -> Placement:
    if hardware is None:
        return possible_placement(graph)
    with steps(len(weighted(graph)), "scheduling") as step:
        return placement(graph, plan_on(graph, hardware, step), hardware)


def _document(graph: Graph, place: Placement, beside: Beside | None, files: Mapping[str, str]) -> dict[str, Any]:
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
        "runs_on": place.runs_on(node),
        "reason": place.reasons.get(node.name),
    }
