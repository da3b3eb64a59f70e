"""Networks depth-first as tables: what is predicted, and runs."""

from collections.abc import Mapping

import typer

from hwgen.api.depth_first_networks import DepthFirstForecast, DepthFirstRun
from hwgen.api.runtime import judgement
from hwgen.cli.console import printable
from hwgen.cli.pipelines import print_stack_prediction
from hwgen.cli.printers.cosimulations import print_stacks

__all__ = ["print_depth_first_forecast", "print_depth_first_run"]


def print_depth_first_forecast(found: DepthFirstForecast) -> None:
    """Print stacks, and what the host does."""
    print_stack_prediction(found.stacks)
    _print_host(found.planned.host)


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
    _print_host(done.planned.host)
    whole = done.beside.whole
    typer.echo(
        f"The integer reference against {done.beside.runtime}: {whole.equal:.4%} equal, ties aside ({whole.ties}), "
        f"largest difference {whole.largest:g}"
    )
    for line in judgement(done.beside):
        typer.echo(printable(line))
    for name in done.strayed:
        typer.echo(printable(f"output {name}: it does not follow from the hardware as from the integer reference"))


def _print_host(host: Mapping[str, str]) -> None:
    for name, reason in host.items():
        typer.echo(printable(f"host: {name} ({reason})"))
