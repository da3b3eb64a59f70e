"""``hwgen generate`` of a depth-first solution: the pipeline of each stack, and its program."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hwgen.api.results import Answer
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.export.driver.files import Write, c_tiles
from hwgen.export.manifest import Design, write_generated
from hwgen.export.pipeline import pipeline_digest, pipeline_files_of, pipeline_storage
from hwgen.ir.document import json_text
from hwgen.lower.pipeline.lowering import MACS, lower_stack
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution, read_solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack

__all__ = ["GeneratedPipelines", "generate_stacks"]


@dataclass(frozen=True, repr=False)
class GeneratedPipelines(Answer):
    """The pipeline of each stack of a depth-first solution, and its program, in a folder each."""

    folder: Path
    stacks: tuple[dict[str, Any], ...]
    tiles: tuple[int, ...]

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen generate --json`` prints."""
        return {"hardware": list(self.stacks)}

    def rows(self) -> list[dict[str, object]]:
        """One row a stack: bytes of its memories."""
        return [
            {
                "folder": one["folder"],
                "stack": one["stack"],
                "tiles": tiles,
                **{f"{kind}_bytes": sum(one[kind].values()) for kind in ("rings", "weights", "queues")},
            }
            for one, tiles in zip(self.stacks, self.tiles, strict=True)
        ]

    def summary(self) -> str:
        """Where they are."""
        return f"{len(self.stacks)} pipelines in {self.folder}"


def generate_stacks(path: Path, *, macs: int | None, output: Path, keep_init: bool = False) -> GeneratedPipelines:
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
    document = tuple(
        {"folder": str(folder), "stack": program.plan.name, **pipeline_storage(program.parameters)}
        for folder, _, program in folders
    )
    return GeneratedPipelines(output, document, tuple(program.plan.factor for _, _, program in folders))


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
