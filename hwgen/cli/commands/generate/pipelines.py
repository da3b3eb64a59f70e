"""``hwgen generate`` of a depth-first solution: the pipeline of each stack, and its program."""

from dataclasses import asdict
from pathlib import Path

from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.cli.console import print_json, print_table
from hwgen.export.driver.programs import Write, c_tiles
from hwgen.export.manifest import Design, write_generated
from hwgen.export.pipeline import pipeline_digest, pipeline_files_of, pipeline_storage
from hwgen.ir.document import json_text
from hwgen.lower.pipeline.lowering import MACS, lower_stack
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution, read_solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack

__all__ = ["generate_stacks"]


def generate_stacks(path: Path, *, macs: int | None, output: Path, as_json: bool, keep_init: bool = False) -> None:
    """Write Verilog, register map and program of every stack's pipeline, one folder each."""
    solution = read_solution(path)
    folders = [
        (output / f"stack{number}", stack, lower_stack(plan_stack(solution, stack), None, macs=macs or MACS))
        for number, stack in enumerate(solution.stacks)
    ]
    files: dict[str, str | bytes] = {
        f"{folder.name}/{name}": text
        for folder, stack, program in folders
        for name, text in _files(solution, stack, program, keep_init=keep_init).items()
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


def _files(solution: Solution, stack: Stack, program: PipelineProgram, *, keep_init: bool) -> dict[str, str]:
    """All files of a stack's pipeline and its program."""
    files = pipeline_files_of(program.parameters, keep_init=keep_init)
    addresses = pipeline_registers(program.parameters).addresses
    tiles = [
        [Write(name, addresses[name], value) for name, value in tile.registers.items() if name in addresses]
        for tile in program.tiles
    ]
    header = c_tiles("pipeline", pipeline_digest(program.parameters), tiles)
    return {**files, "program.json": _program(solution, stack, program), "program.h": header}


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
    return json_text(data)
