"""``hwgen sweep NET --depth-first``: depth-first points in the RTL."""

import typer

from hwgen.api.arguments import buffer_sizes
from hwgen.api.depth_first import dram_port
from hwgen.cli.commands.depth_first import connected_network
from hwgen.cli.console import print_json, printable
from hwgen.ir.document import InputError
from hwgen.lower.pipeline.lowering import MACS
from hwgen.model.pipeline.graph import Graph
from hwgen.studies.sweep.command_tables import print_files, print_pipelines
from hwgen.studies.sweep.depth_first.request import DepthFirstQuestion
from hwgen.studies.sweep.depth_first.run import DepthFirstSweep
from hwgen.studies.sweep.running import Running
from hwgen.studies.sweep.study import outcome_data

__all__ = ["depth_first_question", "sweep_depth_first"]

MOST_MULTIPLIERS = 1 << 16
LARGEST_MEMORY = 1 << 40


def depth_first_question(
    name: str,
    network_set: str,
    *,
    own_set: bool,
    memory: str | None,
    macs: str | None,
    dram: str | None,
    resolution: str | None,
    phases: bool,
    stalls: bool,
    simulate: bool,
    synthesise: bool,
    synthesis_seconds: float,
    seed: int,
) -> DepthFirstQuestion:
    """What is asked for; `InputError` if it cannot be."""
    if memory is None:
        raise InputError("--memory: expected sizes such as 64KiB,256KiB with --depth-first")
    memories = buffer_sizes(memory, "--memory", largest=LARGEST_MEMORY)
    multipliers = _multipliers(macs)
    port = dram_port(dram)
    network = connected_network(name, resolution, phases=phases)
    Graph.of(network)
    return DepthFirstQuestion(
        network, network_set, tuple(memories), multipliers, phases=phases, port=port, stalls=stalls,
        simulate=simulate, synthesise=synthesise, seed=seed, synthesis_seconds=synthesis_seconds, own_set=own_set,
    )  # fmt: skip


def _multipliers(text: str | None) -> tuple[int, ...]:
    if text is None:
        return (MACS,)
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_MULTIPLIERS for part in parts):
        raise InputError(f"--macs: expected numbers such as 64 or 64,128, 1 to {MOST_MULTIPLIERS}, got {text[:40]!r}")
    return tuple(sorted({int(part) for part in parts}))


def sweep_depth_first(question: DepthFirstQuestion, running: Running, *, as_json: bool) -> int:
    """Run it and print it; the exit status."""
    points = len(question.memories) * len(question.multipliers)
    outcome, tables = running.outcome(DepthFirstSweep, question, points, simulate=question.simulate)
    if as_json:
        print_json({"pipelines": outcome.pipelines, "fronts": outcome.fronts,
                    **outcome_data(outcome, question.provenance())})  # fmt: skip
    else:
        print_pipelines(outcome.pipelines)
        for row in outcome.wrong:
            what = f"{row['memory_bytes']} bytes, {row['multipliers']} multipliers {row['stack'] or ''}".rstrip()
            typer.echo(printable(f"{what}: {row['status']}: {row['reason']}"))
        assert running.output is not None
        print_files(
            running.output, "pipelines", len(outcome.pipelines), len(tables.pipelines), "fronts.csv, solutions"
        )
    return 1 if outcome.wrong else 0
