"""Runs of networks depth-first as tables."""

import typer

from hwgen.api.depth_first_runs import DepthFirstRun
from hwgen.cli.pipelines import print_host
from hwgen.cli.printers.cosimulations import print_stacks
from hwgen.cli.printers.quantised import print_beside
from hwgen.cli.printers.runs import print_on_hardware

__all__ = ["print_depth_first_run"]


def print_depth_first_run(done: DepthFirstRun) -> None:
    """Print stacks, what was compared, and what the host did."""
    several = max(one.image for one in done.ran) > 0
    results = [one.result.as_json() for one in done.ran]
    for one, result in zip(done.ran, results, strict=True):
        if several:
            result["stack"] = f"image {one.image}: {result['stack']}"
    print_stacks(results)
    predicted, measured = done.both_cycles
    typer.echo(
        f"{len(done.planned.beginning.nodes)} nodes in {len(done.planned.solution.stacks)} stacks: {measured:,} "
        f"cycles ({predicted:,} predicted), MAC utilisation {done.utilisation:.3f}, {done.bytes:,} bytes"
    )
    if done.rest is not None:
        print_on_hardware(done.rest)
        typer.echo(f"Stacks, then {done.rest.place.hardware}: {done.cycles:,} cycles")
    print_host(done.planned.host)
    print_beside(done.beside, done.strayed)
