"""Depth-first solutions in ``hwgen generate`` and ``hwgen cosim``: a pipeline for each stack."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cosim.pipeline.comparison import StackResult, StackRun, prepare, run_stacks
from cosim.pipeline.data import random_network_data
from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.campaigns.pipeline_cases import CaseSize
from hwgen.cli.console import is_given, note, print_cycles_note, print_json, print_table, progress
from hwgen.export.manifest import Design, write_generated
from hwgen.export.pipeline import pipeline_digest, pipeline_files_of, pipeline_storage
from hwgen.ir.document import InputError, write_atomically
from hwgen.lower.pipeline.cycles import predict_tile
from hwgen.lower.pipeline.lowering import MACS, lower_stack
from hwgen.lower.pipeline.program import KINDS, PipelineProgram
from hwgen.lower.pipeline.solution import Solution, is_solution, read_solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack, stack_cost
from hwgen.tools.toolchain import Simulator

__all__ = [
    "MacsOption",
    "cosim_stacks",
    "generate_stacks",
    "predict_stacks",
    "print_sizes",
    "print_stacks",
    "solution_file",
    "stack_parameters",
]

MacsOption = Annotated[
    int | None,
    typer.Option(
        "--macs",
        min=1,
        max=1 << 16,
        help=f"Multipliers of each pipeline of a depth-first solution: {MACS} by default.",
    ),
]

FRONT_FILE = "front.yaml"
"""What ``depth-first`` writes without --memory."""
STALL_RATE = 80
"""Cycles of 256 in which a stream stalls, with --stalls."""


def solution_file(names: Sequence[str], macs: int | None, unfit: Mapping[str, object]) -> Path | None:
    """The depth-first solution among a command's arguments, as a file or the folder that it is in; None without one.

    ``unfit``: options that do not apply to a solution, by name. Raises `InputError` if one of them is given.
    """
    path = Path(names[0]) if len(names) == 1 else None
    if path is not None and path.is_dir():
        path = _solution_in(path)
    if path is None or not is_solution(path):
        if macs is not None:
            raise InputError("--macs: expected with a depth-first solution")
        return None
    for option, value in unfit.items():
        if is_given(value):
            raise InputError(f"{option}: not for a depth-first solution, got {path}")
    return path


def _solution_in(folder: Path) -> Path | None:
    """The solution in a folder that ``depth-first`` wrote; None if there is none."""
    files = sorted(folder.glob("*.yaml"))
    found = [path for path in files if is_solution(path)]
    if len(found) > 1:
        raise InputError(f"{folder}: expected one depth-first solution, got {', '.join(path.name for path in found)}")
    if not found and [path.name for path in files] == [FRONT_FILE]:
        raise InputError(
            f"{folder / FRONT_FILE}: a front of many solutions; for one of them: "
            "hwgen depth-first NET --memory SIZE -o DIR"
        )
    return found[0] if found else None


def stack_parameters(path: Path, macs: int | None) -> list[tuple[str, PipelineParameters]]:
    """Name of each stack of a solution, and what its pipeline is generated for."""
    solution = read_solution(path)
    return [
        (solution.name(stack), lower_stack(plan_stack(solution, stack), None, macs=macs or MACS).parameters)
        for stack in solution.stacks
    ]


def predict_stacks(path: Path, *, macs: int | None, as_json: bool) -> None:
    """Print what every stack of a solution moves, holds and takes: memory, traffic by kind, cycles."""
    solution = read_solution(path)
    entries: list[dict[str, Any]] = []
    for stack in solution.stacks:
        program = lower_stack(plan_stack(solution, stack), None, macs=macs or MACS)
        cost, traffic = stack_cost(solution.graph, stack), solution.traffic(stack)
        weights = cost.weights if solution.weights == "resident" else 0
        entries.append({
            "stack": solution.name(stack),
            "factor": stack.factor,
            "memory": {"rings": cost.ring_elements, "in_flight": cost.in_flight, "weights": weights},
            "traffic": {kind: getattr(traffic, kind) for kind in (*KINDS, "weights")},
            "total_bytes": traffic.total,
            "cycles": sum(predict_tile(program.parameters, tile) for tile in program.tiles),
        })  # fmt: skip
    total = sum(entry["total_bytes"] for entry in entries)
    cycles = sum(entry["cycles"] for entry in entries)
    if as_json:
        print_json({"file": str(path), "stacks": entries, "total_bytes": total, "cycles": cycles})
        return
    rows: list[list[object]] = [
        [entry["stack"], entry["factor"], *entry["memory"].values(), *entry["traffic"].values(), entry["total_bytes"],
         entry["cycles"]]
        for entry in entries
    ]  # fmt: skip
    rows.append(["all", None, *[None] * (3 + len(KINDS) + 1), total, cycles])
    kinds = [kind.replace("_", " ") for kind in (*KINDS, "weights")]
    columns = ["stack", "tiles", "rings", "in flight", "resident weights", *kinds, "bytes", "cycles"]
    title = f"Depth-first execution of {solution.network.network} ({path}), in bytes"
    print_table(title, columns, rows, wide=["in flight", *kinds])


def cosim_stacks(
    path: Path,
    *,
    macs: int | None,
    simulator: Simulator,
    jobs: int,
    seed: int,
    stalls: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Run every stack of a solution on its pipeline. Its inputs come from the integer reference."""
    solution = read_solution(path)
    data = random_network_data(solution.network, np.random.default_rng(seed))
    runs = [
        prepare(solution.name(stack), solution, stack, data, macs=macs or MACS, random=seed + 1,
                stall_rate=STALL_RATE if stalls else 0)
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
        write_atomically(output, json.dumps(document, indent=1) + "\n")
    if as_json:
        print_json(document)
    else:
        print_stacks(results)
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


def print_sizes(sizes: Sequence[tuple[str, CaseSize]]) -> None:
    """Print which parts of published networks are simulated, by name, and at which sizes."""
    rows: list[list[object]] = [
        [name, _shape(size.input), _shape(size.published_input), "all" if size.divisor == 1 else f"1/{size.divisor}",
         size.macs, size.published_macs, "as published" if size.is_published else "cut down"]
        for name, size in sizes
    ]  # fmt: skip
    columns = ["stack", "input", "input published", "channels", "MACs", "MACs published", "what it is"]
    wide = ["channels", "MACs published", "input published"]
    print_table("What is simulated (inputs: channels x height x width)", columns, rows, wide=wide)


def _shape(sizes: tuple[int, int, int]) -> str:
    return " x ".join(map(str, sizes))


def generate_stacks(path: Path, *, macs: int | None, output: Path, as_json: bool) -> None:
    """Write Verilog, register map and program of every stack's pipeline, one folder each."""
    solution = read_solution(path)
    folders = [
        (output / f"stack{number}", stack, lower_stack(plan_stack(solution, stack), None, macs=macs or MACS))
        for number, stack in enumerate(solution.stacks)
    ]
    files: dict[str, str | bytes] = {
        f"{folder.name}/{name}": text
        for folder, stack, program in folders
        for name, text in _files(solution, stack, program).items()
    }
    designs = [
        Design(folder=folder.name, top="pipeline", digest=pipeline_digest(program.parameters), layers=())
        for folder, _, program in folders
    ]
    write_generated(output, designs, files)
    document = [
        {"folder": str(folder), "stack": program.plan.name, **pipeline_storage(program.parameters)}
        for folder, _, program in folders
    ]
    if as_json:
        print_json({"hardware": document})
        return
    rows: list[list[object]] = []
    for (folder, _, program), one in zip(folders, document, strict=True):
        sums = [sum(pipeline_storage(program.parameters)[kind].values()) for kind in ("rings", "weights", "queues")]
        rows.append([str(folder), one["stack"], program.plan.factor, *sums])
    columns = ["folder", "stack", "tiles", "ring bytes", "weight bytes", "queue bytes"]
    print_table("Generated pipelines", columns, rows)


def _files(solution: Solution, stack: Stack, program: PipelineProgram) -> dict[str, str]:
    """All files of a stack's pipeline and its program."""
    return {**pipeline_files_of(program.parameters), "program.json": _program(solution, stack, program)}


def _program(solution: Solution, stack: Stack, program: PipelineProgram) -> str:
    """The program of a stack for software: maps in DRAM; for each tile registers, streams and overlap order."""
    addresses = pipeline_registers(program.parameters).addresses
    plan = program.plan
    data = {
        "stack": plan.name,
        "network": solution.network.network,
        "lines_along": plan.axis,
        "traffic": asdict(solution.traffic(stack)),
        "maps": [
            {"region": one.number, "name": one.name, "channels": one.channels, "lines": one.lines,
             "columns": one.columns}
            for one in plan.maps
        ],
        "streams": [asdict(stream) for stream in program.streams],
        "tiles": [
            {
                "registers": [{"name": name, "address": addresses[name], "value": value}
                              for name, value in tile.registers.items() if name in addresses],
                "streams": {name: asdict(columns) for name, columns in tile.streams.items()},
                "overlap_in": [line.map for line in tile.overlap_in],
                "overlap_out": [line.map for line in tile.overlap_out],
            }
            for tile in program.tiles
        ],
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"
