"""Pipelines of depth-first solutions in the simulator, and tables of what was simulated."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import typer

from cosim.pipeline.comparison import STALL_RATE, StackResult, StackRun, prepare, run_stacks
from cosim.pipeline.data import random_network_data
from hwgen.api.depth_first import dram_port
from hwgen.arch.pipeline import MoverParameters
from hwgen.cli.console import note, print_cycles_note, print_json, print_table, progress
from hwgen.ir.document import json_text, write_atomically
from hwgen.lower.pipeline.lowering import MACS
from hwgen.lower.pipeline.program import KINDS
from hwgen.lower.pipeline.solution import read_solution
from hwgen.tools.toolchain import Simulator

__all__ = ["cosim_stacks", "print_accesses", "print_stacks"]


def cosim_stacks(
    path: Path,
    *,
    macs: int | None,
    dram: str | None,
    simulator: Simulator,
    jobs: int,
    seed: int,
    stalls: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Run every stack of a solution on its pipeline. Its inputs come from the integer reference.

    ``dram``: the hardware whose DRAM the pipelines are on; None: the harness plays the memory at every stream.
    """
    solution, port = read_solution(path), dram_port(dram)
    movers, timing = (None, None) if port is None else (MoverParameters(port.axi_bits), port.dram)
    data = random_network_data(solution.network, np.random.default_rng(seed))
    runs = [
        prepare(solution.name(stack), solution, stack, data, macs=macs or MACS, random=seed + 1,
                stall_rate=STALL_RATE if stalls else 0, movers=movers, dram=timing)
        for stack in solution.stacks
    ]  # fmt: skip
    note(f"{simulator}: {len(runs)} stacks; the first run of each builds its simulator")

    def run(one: StackRun) -> StackResult:
        (result,) = run_stacks([one], simulator=simulator)
        step()
        return result

    with progress(len(runs), "cosimulating") as step, ThreadPoolExecutor(jobs) as pool:
        results = [result.as_json() for result in pool.map(run, runs)]
    document = {"results": results}
    if output is not None:
        write_atomically(output, json_text(document))
    if as_json:
        print_json(document)
    else:
        print_stacks(results)
        if port is not None:
            print_accesses(results)
    return 0 if not any(result["failures"] for result in results) else 1


def print_stacks(results: Sequence[dict[str, Any]], more: Sequence[tuple[str, str]] = ()) -> None:
    """Print traffic by kind and cycles of every stack, then one line for each failure."""
    kinds = [*KINDS, "weights"]
    names = [kind.replace("_", " ") for kind in kinds]
    rows: list[list[object]] = []
    for result in results:
        cycles = result["cycles"]
        rows.append([
            result["stack"], result["factor"], *(result["measured"][kind] for kind in kinds),
            result["equal"], result["output_exact"], cycles["predicted"], cycles["measured"], cycles["slowest_stage"],
        ])  # fmt: skip
    columns = [
        "stack",
        "tiles",
        *names,
        "as predicted",
        "output exact",
        "cycles predicted",
        "cycles",
        "slowest stage",
    ]
    title = "Bytes to and from DRAM in depth-first execution, measured at the pipeline's streams"
    print_table(title, columns, rows, wide=["tiles", *names, "slowest stage"])
    print_cycles_note()
    for stack, failure in [*((one["stack"], failure) for one in results for failure in one["failures"]), *more]:
        typer.echo(f"{stack}: {failure}")


def print_accesses(results: Sequence[dict[str, Any]]) -> None:
    """Print what every stack asked of the DRAM, over all of its streams."""
    names = ["bytes", "beats", "axi_bursts", "blocks", "row_misses"]
    rows: list[list[object]] = [
        [result["stack"], *(sum(stream[name] for stream in result["dram"].values()) for name in names)]
        for result in results
    ]
    print_table("Accesses of the DRAM", ["stack", *(name.replace("_", " ") for name in names)], rows)
