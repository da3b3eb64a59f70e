"""Runs of networks depth-first as tables."""

import typer

from hwgen.api.depth_first_runs import DepthFirstRun
from hwgen.api.runtime import judgement
from hwgen.cli.console import printable
from hwgen.cli.pipelines import print_host
from hwgen.cli.printers.cosimulations import print_stacks

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
    print_host(done.planned.host)
    whole = done.beside.whole
    typer.echo(
        f"The integer reference against {done.beside.runtime}: {whole.equal:.4%} equal, ties aside ({whole.ties}), "
        f"largest difference {whole.largest:g}"
    )
    for line in judgement(done.beside):
        typer.echo(printable(line))
    for name in done.strayed:
        typer.echo(printable(f"output {name}: it does not follow from the hardware as from the integer reference"))
