"""``hwgen run``: a quantised network, its layers with weights in the simulated hardware."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from cosim.device.result import LayerResult, NodeResult
from cosim.network.on_cluster import RanProgram, run_clustered
from cosim.network.on_hwc import RanLayer, network_values, run_network
from hwgen.api.arguments import claim_folder
from hwgen.api.cosimulation import tell_wait
from hwgen.api.machines import read_hardware
from hwgen.cli.commands.cosim import Jobs, Sim
from hwgen.cli.commands.network.arrays import random_inputs, read_inputs, write_arrays
from hwgen.cli.commands.network.network import Inputs, Mean, Model, Seed, Std, judgement, runtime_documents
from hwgen.cli.commands.network.pictures import pixels_from
from hwgen.cli.console import Json, note, print_cycles_note, print_json, print_table, printable, progress
from hwgen.cli.names import hardware_names
from hwgen.cli.printers.cosimulations import print_failures
from hwgen.cli.workload import ResidentOption
from hwgen.golden.quantised.comparison import Beside, run_beside
from hwgen.golden.quantised.execution import checked_inputs, execute, images, joined, outside
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import View
from hwgen.lower.network.cluster_plan import ClusterPlan
from hwgen.lower.network.hwc_plan import NetworkPlan
from hwgen.lower.network.layers import refusals, weighted
from hwgen.lower.network.placement import Placement, placement, plan_on
from hwgen.model.system.times import QueueName
from hwgen.readers.integers.reader import read_quantised
from hwgen.report.run.page import run_page

__all__ = ["run"]

Hardware = Annotated[
    str,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="The HWC or the cluster, with requantisation scaled: a hardware file, or a built-in name.",
        autocompletion=hardware_names,
    ),
]
Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Folder for the outputs, the layers' operands, and a page."),
]


@dataclass(frozen=True, eq=False)
class _Done:
    """A run: the network, what ran where, and ONNX Runtime on the same inputs; ``files`` by output.

    ``outputs`` : of the model, as they follow from the hardware. ``programs`` : of a cluster, what ran as one.
    """

    graph: Graph
    plan: NetworkPlan | ClusterPlan
    place: Placement
    ran: Sequence[RanLayer]
    beside: Beside
    outputs: Mapping[str, NDArray]
    files: dict[str, str]
    programs: Sequence[RanProgram] = ()

    @property
    def host(self) -> list[str]:
        """Names of the nodes that the hardware did not run."""
        return [node.name for node in self.place.host(self.graph)]

    @property
    def cycles(self) -> tuple[int, int]:
        """Predicted and measured, of all layers and images; of a cluster, of whole programs."""
        results: Sequence[RanProgram | LayerResult | NodeResult] = self.programs or [one.result for one in self.ran]
        return sum(one.predicted_cycles for one in results), sum(one.cycles for one in results)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the layers that ran, of all images, as the model has them."""
        return sum(one.node.macs for one in self.ran)

    @property
    def zeros(self) -> dict[str, float]:
        """The part of each node's multiplications that the model's operator does not have."""
        return {one.node.name: one.zero_share for one in self.plan.layers if one.zero_share}

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates by what the multipliers could have done while the layers ran."""
        lanes = (
            self.plan.lanes
            if isinstance(self.plan, ClusterPlan)
            else self.plan.layers[0].program.schedule.lanes.product
        )
        return self.macs / max(self.cycles[1] * lanes, 1)

    @property
    def holds(self) -> bool:
        """Whether all checks hold, in the hardware and against ONNX Runtime."""
        passed = all(one.passed for one in self.ran) and all(one.passed for one in self.programs)
        return passed and self.beside.holds and not self.strayed

    @property
    def strayed(self) -> list[str]:
        """Outputs that do not follow from the hardware as they do from the integer reference."""
        wanted = self.beside.outputs
        return [name for name, made in self.outputs.items() if not np.array_equal(made, wanted[name], equal_nan=True)]


def run(
    model: Model,
    *,
    hardware: Hardware,
    output: Output,
    given: Inputs = None,
    mean: Mean = None,
    std: Std = None,
    seed: Seed = None,
    simulator: Sim = "verilator",
    jobs: Jobs = 0,
    resident: ResidentOption = False,
    as_json: Json = False,
) -> int:
    """Run a quantised network: its layers with weights on an HWC or a cluster in the simulator, others on the host.

    The layers run one after the other, with the network's own weights, biases, multipliers, shifts and zero points.
    On a cluster each stretch of layers between nodes of the host is one program. Every output is compared with the
    integer reference, every count with the model, and the reference with ONNX Runtime, or with LiteRT for TFLite.
    """
    if bool(given) == (seed is not None):
        raise InputError("--input, --seed: expected one of them")
    pixels = pixels_from(mean, std, given)
    claim_folder(output)
    machine = read_hardware(hardware)
    assert machine is not None
    if machine.cluster is not None and simulator != "verilator":
        raise InputError("--sim: expected verilator with a cluster")
    if machine.cluster is None and resident:
        raise InputError(f"--resident: expected a cluster, got the HWC {machine.name}")
    note(f"reading {model}")
    graph = read_quantised(model)
    if graph.together:
        note(f"the first axis is no batch of images: {graph.together}")
    arrays = read_inputs(graph, given, pixels) if given else random_inputs(graph, seed or 0)
    where = given[0].rpartition("=")[2] if given else str(model)
    count = checked_inputs(graph, arrays, where)
    with progress(len(weighted(graph)), "scheduling") as step:
        plan = plan_on(graph, machine, step, resident=resident)
    if not plan.layers:
        why = "; ".join(f"{name}: {reason}" for name, reason in refusals(graph, plan.refused).items())
        raise InputError(f"{model}: expected layers with weights that {machine.name} runs, got {why or 'none'}")
    beside = run_beside(model, graph, arrays, where)
    tensors = [execute(graph, image) for image in images(graph, arrays, count)]
    note(f"{simulator}: {len(plan.layers)} layers")
    programs: list[RanProgram] = []
    with progress(len(plan.layers) * count, "cosimulating") as step:
        if isinstance(plan, ClusterPlan):
            programs, values = run_clustered(graph, plan, tensors, output / "layers", tell=tell_wait, progress=step)
            ran = [layer for program in programs for layer in program.layers]
        else:
            ran = run_network(
                plan, tensors, output / "layers", simulator=simulator, jobs=jobs, tell=tell_wait, progress=step
            )
            values = [
                network_values(graph, one, [layer for layer in ran if layer.image == at])
                for at, one in enumerate(tensors)
            ]
    outputs = {name: joined([outside(graph, name, one) for one in values]) for name in graph.outputs}
    files = write_arrays(output, replace(beside, outputs=outputs), tensors=False)
    done = _Done(graph, plan, placement(graph, plan, machine), ran, beside, outputs, files, programs)
    document = _document(done)
    write_atomically(output / "run.html", run_page(document, machine.name).encode())
    if as_json:
        print_json(document)
    else:
        _print(done)
        typer.echo(f"The page of the run: {output / 'run.html'}")
    return 0 if done.holds else 1


def _print(done: _Done) -> None:
    levels = [level for level in ("dram", "tcdm") if level in done.ran[0].result.predicted.levels()]
    rows: list[list[object]] = [
        [
            one.node.name,
            one.image,
            *(
                counts.total_with_bias(level)
                for level in levels
                for counts in (one.result.predicted, one.result.measured)
            ),
            one.result.predicted_cycles,
            one.result.cycles,
            one.result.utilisation,
            one.result.equal,
            one.exact,
        ]
        for one in done.ran
    ]
    bytes_of = [f"{level} bytes {source}" for level in levels for source in ("predicted", "measured")]
    columns = ["layer", "image", *bytes_of, "cycles predicted", "cycles",
               "MAC utilisation", "counts equal", "output exact"]  # fmt: skip
    print_table("Layers in the hardware", columns, rows, wide=["image"])
    print_cycles_note()
    print_failures([one.result for one in done.ran])
    for one in done.ran:
        if one.different:
            typer.echo(f"{one.node.name}: {one.different} elements differ from the integer reference of the network")
    _print_programs(done)
    share, _ = done.graph.share(done.place.here)
    typer.echo(
        f"{len(done.plan.layers)} layers, {share:.2%} of all MACs: {done.cycles[1]:,} cycles "
        f"({done.cycles[0]:,} predicted), MAC utilisation {done.utilisation:.3f}"
    )
    labels = {node.name: node.label for node in done.graph.nodes if not isinstance(node, View)}
    for name, share in done.zeros.items():
        typer.echo(f"{labels[name]} {name}: {share:.0%} of its multiplications are not the model's own")
    for name in (name for name in done.host if name in labels):
        reason = done.place.reasons.get(name)
        typer.echo(printable(f"host: {labels[name]} {name}{f' ({reason})' if reason else ''}"))
    whole = done.beside.whole
    typer.echo(
        f"The integer reference against {done.beside.runtime}: {whole.equal:.4%} equal, ties aside ({whole.ties}), "
        f"largest difference {whole.largest:g}"
    )
    for line in judgement(done.beside):
        typer.echo(printable(line))
    for name in done.strayed:
        typer.echo(printable(f"output {name}: it does not follow from the hardware as from the integer reference"))


def _print_programs(done: _Done) -> None:
    if not isinstance(done.plan, ClusterPlan):
        return
    rows: list[list[object]] = [
        [
            number,
            one.image,
            len(one.layers),
            one.predicted.bytes,
            one.measured.bytes,
            one.predicted_cycles,
            one.cycles,
            one.passed,
        ]
        for number, one in enumerate(done.programs)
    ]
    columns = [
        "program",
        "image",
        "layers",
        "bytes predicted",
        "bytes measured",
        "cycles predicted",
        "cycles",
        "passed",
    ]
    print_table("Programs: one start and one interrupt each", columns, rows)
    for one in done.programs:
        for failure in one.failures:
            typer.echo(failure)
    rooms, kept = done.plan.rooms, done.plan.kept
    if kept:
        stored = sum(one.stored for one in kept.values())
        typer.echo(f"{len(kept)} feature maps stay in the TCDM, {stored} of them stored, too")
    typer.echo(
        f"DRAM: feature maps {rooms.peak:,} bytes at most, at least {rooms.bound:,}; "
        f"weights and biases {done.plan.parameters.size:,}; all {done.plan.size:,}"
    )


def _programs_document(done: _Done) -> dict[str, Any]:
    """What only a cluster has."""
    if not isinstance(done.plan, ClusterPlan):
        return {}
    rooms = done.plan.rooms
    return {
        "programs": [
            {
                "image": one.image,
                "layers": [layer.node.name for layer in one.layers],
                "cycles": {"predicted": one.predicted_cycles, "measured": one.cycles},
                "predicted": asdict(one.predicted),
                "measured": asdict(one.measured),
                "busy": {"predicted": _rounded(one.predicted_busy), "measured": dict(one.busy)},
                "passed": one.passed,
                "failures": list(one.failures),
            }
            for one in done.programs
        ],
        "dram": {
            "peak": rooms.peak,
            "bound": rooms.bound,
            "parameters": done.plan.parameters.size,
            "size": done.plan.size,
        },
        "resident": done.plan.resident_data(),
    }


def _rounded(busy: Mapping[QueueName, float]) -> dict[str, int]:
    return {queue: round(cycles) for queue, cycles in busy.items()}


def _document(done: _Done) -> dict[str, Any]:
    predicted, measured = done.cycles
    layers = [
        {
            "node": one.node.name,
            "kind": one.node.label,
            "shape": list(one.node.shape),
            "image": one.image,
            "exact": one.exact,
            **one.result.as_json(),
        }
        for one in done.ran
    ]
    busy = [each for program in done.programs for each in program.layers_busy]
    for layer, cycles in zip(layers, busy, strict=bool(busy)):
        layer["busy"] = {"predicted": _rounded(cycles)}
    energies = [layer["energy"] for layer in layers]
    return {
        "network": done.graph.name,
        "outputs": done.files,
        "exact": all(one.exact for one in done.ran),
        "host": done.host,
        "refused": refusals(done.graph, done.plan.refused),
        "zeros": {name: round(share, 4) for name, share in done.zeros.items()},
        **runtime_documents(done.beside),
        "layers": layers,
        "cycles": {"predicted": predicted, "measured": measured},
        "utilisation": round(done.utilisation, 4),
        **_programs_document(done),
        "energy": None
        if None in energies
        else {source: sum(one[source]["total"] for one in energies) for source in ("predicted", "measured")},
    }
