# amaranth: UnusedElaboratable=no
"""A generated depth-first pipeline as text: Verilog, register map, summary. All derives from `PipelineParameters`."""

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.registers.errors import PipelineError
from hwgen.arch.registers.pipeline import PIPELINE_IDENTITY, pipeline_registers
from hwgen.export.conversion import MemoryArray, converted, kept_memories, tool_versions
from hwgen.export.driver.files import driver_files
from hwgen.export.example.system import front_end_files
from hwgen.export.joined import FrontEnd, ports_of
from hwgen.export.manifest import core_file, waivers
from hwgen.export.registers.files import register_files
from hwgen.gateware.pipeline.pipeline import Pipeline
from hwgen.ir.document import json_text

__all__ = ["pipeline_digest", "pipeline_files_of", "pipeline_memories", "pipeline_storage", "pipeline_verilog"]


@lru_cache(maxsize=32)
def pipeline_verilog(parameters: PipelineParameters, *, keep_init: bool = False) -> str:
    """Verilog of one pipeline, top module ``pipeline``; the same text for the same parameters, run after run.

    ``keep_init`` : with initial values of the registers, see `converted`.
    """
    stages = ", ".join(type(stage).__name__ for stage in parameters.stages)
    heading = (
        f"// pipeline: {len(parameters.maps)} maps; {stages}; generated, do not edit.\n"
        f"// Parameters and tools: {pipeline_digest(parameters)}\n"
    )
    return heading + converted(Pipeline(parameters), "pipeline", keep_init=keep_init)


def pipeline_digest(parameters: PipelineParameters) -> str:
    """The digest of the parameters and of the tools that the Verilog depends on."""
    text = json.dumps({"parameters": asdict(parameters), "tools": tool_versions()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=32)
def pipeline_memories(parameters: PipelineParameters) -> tuple[MemoryArray, ...]:
    """Every memory array of a pipeline."""
    return kept_memories(repr(parameters), lambda: Pipeline(parameters), "pipeline")


def pipeline_storage(parameters: PipelineParameters) -> dict[str, dict[str, int]]:
    """Bytes of a pipeline's storage.

    ``rings`` has each map's line memory, ``shuffles`` the lines that a pixel shuffle puts in order, ``weights`` each
    convolution's weights, ``biases`` their biases, ``tables`` those of each lookup: from the memory arrays, and from
    the parameters where a memory is one word and so a register. ``queues`` are all other arrays, by the block that
    they are in. Registers: ``in_flight`` are the newest pixels of the maps, ``windows`` what stages and taps have
    just read, ``collected`` the pixels that stages put together, ``streams`` those that input streams do.
    """
    rings: dict[str, int] = {}
    shuffles: dict[str, int] = {}
    weights: dict[str, int] = {}
    biases: dict[str, int] = {}
    tables: dict[str, int] = {}
    queues: dict[str, int] = {}
    for number, one in enumerate(parameters.maps):
        rings[f"map{number}"] = one.elements if one.pixels == 1 else 0
    for index in range(len(parameters.stages)):
        words = parameters.memory_words(index)
        for kind, found in (("weights", weights), ("bias", biases), ("table", tables), ("memory", shuffles)):
            if kind in words:
                depth, width = words[kind]
                found[f"stage{index}"] = width if depth == 1 else 0
    for array in pipeline_memories(parameters):
        parent = array.parent
        block, inner = parent[1], parent[-2] if parent[-1] == "words" else parent[-1]
        target = {"ring": rings, "weights": weights, "bias": biases, "memory": shuffles}.get(inner)
        if inner.startswith("table_"):
            target = tables
        if target is None:
            queues[block] = queues.get(block, 0) + -(-array.bits // 8)
        else:
            target[block] += array.bits // 8
    channels = [one.channels for one in parameters.maps]
    return {
        "rings": rings,
        "shuffles": shuffles,
        "weights": weights,
        "biases": biases,
        "tables": tables,
        "queues": queues,
        "in_flight": {f"map{number}": each for number, each in enumerate(channels)},
        "windows": {
            f"stage{index}": stage.read_registers(parameters.maps) for index, stage in enumerate(parameters.stages)
        },
        "collected": {f"stage{index}": channels[stage.makes] for index, stage in enumerate(parameters.stages)},
        "streams": _streams(parameters),
    }


def _streams(parameters: PipelineParameters) -> dict[str, int]:
    """Bytes of the pixels and words that come in beats."""
    maps = parameters.maps
    found = {f"map{number}": maps[number].channels for number in parameters.sources}
    for index, place in parameters.skips():
        found[f"operand{index}_{place}"] = maps[parameters.operand(index, place).reads].channels
    found |= {"overlap": max((one.channels for one in maps if one.overlap_in), default=0)}
    words = [parameters.memory_words(index) for index in range(len(parameters.stages))]
    loaded = zip(words, parameters.stages, strict=True)
    loads = (max(width for _, width in each.values()) for each, stage in loaded if stage.loads_weights)
    return {**found, "weights": sum(loads)}


def pipeline_files_of(parameters: PipelineParameters, *, keep_init: bool = False) -> dict[str, str]:
    """One pipeline, file by file: Verilog, lint waivers, register map (see `register_files`), core file, summary.

    ``keep_init`` : the Verilog has initial values of the registers.
    """
    values = asdict(parameters)
    kinds = [type(stage).__name__ for stage in parameters.stages]
    stages = [{"kind": kind, **fields} for kind, fields in zip(kinds, values["stages"], strict=True)]
    summary = {
        "parameters": {**values, "stages": stages},
        "digest": pipeline_digest(parameters),
        "storage": pipeline_storage(parameters),
        "errors": {code.name: code.value for code in PipelineError},
    }
    front_end = front_end_files(FrontEnd.of("pipeline", ports_of(Pipeline(parameters))), PIPELINE_IDENTITY)
    return {
        "pipeline.v": pipeline_verilog(parameters, keep_init=keep_init),
        **front_end,
        "pipeline.vlt": waivers("pipeline"),
        "pipeline.json": json_text(summary, indent=2),
        **register_files(pipeline_registers(parameters)),
        **driver_files(pipeline_registers(parameters)),
        "pipeline.core": core_file("pipeline", "Depth-first pipeline", front_end),
    }
