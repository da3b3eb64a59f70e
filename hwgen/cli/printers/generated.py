"""What was generated, as tables."""

from collections.abc import Sequence

import typer

from hwgen.api.generation.clusters import GeneratedCluster
from hwgen.api.generation.hwcs import GeneratedHwc
from hwgen.api.generation.networks import GeneratedNetwork
from hwgen.api.generation.pipelines import GeneratedPipelines
from hwgen.api.generation.request import Generated, GeneratedLayers
from hwgen.api.generation.systems import GeneratedSystem
from hwgen.arch.bus import WORD_BYTES
from hwgen.cli.console import print_table, printable
from hwgen.cli.workload import tell_set
from hwgen.export.hwc import storage
from hwgen.ir.layer import Layer
from hwgen.lower.network.exchange import HostNode
from hwgen.lower.system.networks import NetworkSystem
from hwgen.lower.system.program import SystemProgram

__all__ = ["print_generated"]


def print_generated(found: Generated) -> None:
    """Print what was written, a row for each design, layer or program."""
    match found:
        case GeneratedLayers():
            if found.systems:
                _print_systems(found.systems)
            if found.clusters:
                _print_clusters(found.clusters)
            if found.hwcs:
                _print_hwcs(found.hwcs)
            tell_set(found.works)
        case GeneratedNetwork():
            _print_network(found)
            _print_host(found.host, len(found.exchanged))
        case GeneratedPipelines():
            _print_pipelines(found)


def _print_pipelines(found: GeneratedPipelines) -> None:
    rows = [list(row.values()) for row in found.rows()]
    columns = ["folder", "stack", "tiles", "ring bytes", "weight bytes", "queue bytes"]
    print_table("Generated pipelines", columns, rows)


def _print_hwcs(hwcs: Sequence[GeneratedHwc]) -> None:
    """One row per HWC."""
    rows: list[list[object]] = []
    for one in hwcs:
        memories, stored = one.memories, storage(one.parameters)
        rows.append([
            str(one.folder), len(one.programs), " ".join(one.parameters.loops), memories["I"], memories["W"],
            memories["O"], sum(memories.values()), stored["bias_store"]["B"], sum(stored["beside"].values()),
        ])  # fmt: skip
    columns = ["folder", "layers", "loops", "I bytes", "W bytes", "O bytes", "together", "biases",
               "queues, registers"]  # fmt: skip
    print_table("Generated hardware", columns, rows, wide=["biases", "queues, registers"])


def _print_clusters(generated: Sequence[GeneratedCluster]) -> None:
    """One row per layer."""
    rows: list[list[object]] = [
        [str(one.folder), program.schedule.layer.name, len(program.placement.walk.tiles), len(program.commands),
         4 * len(program.words), program.placement.size, program.dram_size]
        for one in generated
        for program in one.programs
    ]  # fmt: skip
    columns = ["folder", "layer", "tiles", "commands", "program bytes", "TCDM bytes", "DRAM bytes"]
    print_table("Generated clusters", columns, rows, wide=["commands", "tiles"])


def _print_systems(generated: Sequence[GeneratedSystem]) -> None:
    """One row per layer."""
    rows: list[list[object]] = [
        [str(one.folder), program.schedule.layer.name, len(program.shares),
         " x ".join(str(number) for number in _parts(program)), program.dram_size]
        for one in generated
        for program in one.programs
    ]  # fmt: skip
    columns = ["folder", "layer", "clusters", "shares of channels x rows", "DRAM bytes"]
    print_table("Generated systems", columns, rows)


def _parts(program: SystemProgram) -> tuple[int, int]:
    """The numbers of parts into which the output's channels and rows are shared."""
    return len({share.outputs for share in program.shares}), len({share.rows for share in program.shares})


def _print_network(found: GeneratedNetwork) -> None:
    plan, names, exchanged = found.plan, found.programs, found.exchanged
    system = NetworkSystem(plan, found.clusters)
    columns = ["program", "layers", "commands", "bytes", "maps that stay", "cycles predicted", "DRAM bytes"]
    rows: list[list[object]] = [
        [one, len(stretch.layers), len(stretch.program.commands), WORD_BYTES * len(stretch.program.words),
         len(stretch.kept.maps), round(forecast.cycles), forecast.bytes]
        for number, (one, stretch) in enumerate(zip(names, plan.stretches, strict=True))
        for forecast in (system.forecast(number),)
    ]  # fmt: skip
    print_table("Programs: one start and one interrupt each", columns, rows)
    typer.echo(f"{found.folder}: weights {plan.parameters.size:,} bytes, all of the DRAM {system.size:,} bytes")
    if found.clusters > 1:
        typer.echo(
            f"{found.clusters} clusters, each with these programs for an image of its own: the files of each are "
            "programs/*.cluster*; the places here are those of cluster 0"
        )
    for name, one in zip(names, exchanged, strict=True):
        for side, tensors in (("input", one.inputs), ("output", one.outputs)):
            for tensor in tensors:
                shape = "x".join(map(str, tensor.shape))
                own = "" if tensor.layer is None else f", laid out from {_shape_of_input(tensor.layer.of_network)},"
                typer.echo(
                    f"{name}: {side} {printable(tensor.name)}: {shape} int8{own} at 0x{tensor.region.base:x}, "
                    f"{tensor.scale:g} * (byte - {tensor.zero_point})"
                )


def _shape_of_input(layer: Layer) -> str:
    return f"{layer.input_channels}x{layer.input_height}x{layer.input_width}"


def _print_host(host: Sequence[HostNode], programs: int) -> None:
    for one in host:
        when = f"before program {one.before}" if one.before < programs else "after the last program"
        reason = f" ({one.reason})" if one.reason else ""
        typer.echo(printable(f"software, {when}: {one.kind} {one.name}{reason}"))
