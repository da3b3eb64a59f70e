"""Runs of networks as tables."""

import typer

from hwgen.api.network_runs import NetworkRun
from hwgen.cli.console import print_cycles_note, print_table, printable
from hwgen.cli.printers.cosimulations import print_failures
from hwgen.cli.printers.forecasts import tell_beside
from hwgen.cli.printers.quantised import print_beside, print_host
from hwgen.lower.network.cluster_plan import ClusterPlan

__all__ = ["print_on_hardware", "print_run"]


def print_run(done: NetworkRun) -> None:
    """Print layers, programs, and what was compared."""
    print_on_hardware(done)
    labels = {node.name: node.label for node in done.graph.nodes}
    for name, share in done.zeros.items():
        typer.echo(f"{labels[name]} {name}: {share:.0%} of its multiplications are not the model's own")
    print_host(done.graph, done.place)
    print_beside(done.beside, done.strayed)
    wrong = [one for one in done.ran if not one.passed]
    if wrong:
        names = printable(", ".join(dict.fromkeys(one.node.name for one in wrong)))
        typer.echo(
            f"FAILED: {len(wrong)} of {len(done.ran)} layers are not as they have to be in the hardware: {names}"
        )


def print_on_hardware(done: NetworkRun) -> None:
    """Print layers and programs."""
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
    wide = [bytes_of[1], "MAC utilisation", bytes_of[0], *bytes_of[2:], "image"]
    print_table("Layers in the hardware", columns, rows, wide=wide)
    if isinstance(done.plan, ClusterPlan):
        tell_beside(done.beside_layers)
    clustered = isinstance(done.plan, ClusterPlan)
    print_cycles_note([(one.result.predicted_cycles, one.result.cycles) for one in done.ran], clustered=clustered)
    print_failures([one.result for one in done.ran])
    for one in done.ran:
        if one.different:
            typer.echo(f"{one.node.name}: {one.different} elements differ from the integer reference of the network")
    _print_programs(done)
    share, _ = done.graph.share(done.place.here)
    typer.echo(
        f"{len(done.plan.layers)} layers, {share:.2%} of all MACs: {done.cycles:,} cycles "
        f"({done.both_cycles[0]:,} predicted), MAC utilisation {done.utilisation:.3f}"
    )


def _print_programs(done: NetworkRun) -> None:
    if not isinstance(done.plan, ClusterPlan):
        return
    several = done.clusters > 1
    rows: list[list[object]] = [
        [
            number,
            one.image,
            *([one.cluster] if several else []),
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
        *(["cluster"] if several else []),
        "layers",
        "own bytes predicted",
        "own bytes measured",
        "cycles predicted",
        "cycles",
        "passed",
    ]
    wide = ["own bytes predicted", "layers", "image"]
    print_table("Programs: one start and one interrupt each; their own bytes at the DRAM", columns, rows, wide=wide)
    for one in done.programs:
        for failure in one.failures:
            typer.echo(failure)
    rooms, kept = done.plan.rooms, done.plan.kept
    if kept:
        stored = sum(one.stored for one in kept.values())
        typer.echo(f"{len(kept)} feature maps stay in the TCDM, {stored} of them stored, too")
    typer.echo(
        f"Room in the DRAM: {done.plan.size:,} bytes, {rooms.peak:,} of it for feature maps (bound {rooms.bound:,}), "
        f"{done.plan.parameters.size:,} for weights and biases"
    )
