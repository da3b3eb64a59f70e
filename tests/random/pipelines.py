"""Lowered stacks as stimuli for the simulated pipeline, and what has to come out."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.registers.control import Control
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.lower.pipeline.program import OverlapLine, PipelineProgram
from tests.gateware.pipeline.bench import Stimulus

__all__ = ["expected_streams", "stimuli"]

Maps = Mapping[int, NDArray[np.int8]]
"""All maps of the network by number, [channels, rows, columns]."""


def stimuli(program: PipelineProgram, maps: Maps) -> list[Stimulus]:
    """The load of the weights, then every tile; all that comes from DRAM is what the reference says."""
    beat = program.parameters.weight_beat
    words = _weight_words(program)
    load = [Stimulus({}, {"i_weights": words}, control=Control.LOAD)] if words else []
    assert len(program.weights) == sum(-(-len(word) // beat) * beat for word in words)
    known = pipeline_registers(program.parameters).addresses
    found = []
    for tile in program.tiles:
        streams = {
            one.name: _pixels(program, maps, one.region, tile.streams[one.name].first, tile.streams[one.name].count)
            for one in program.streams
            if one.reads
        }
        if tile.overlap_in:
            streams["i_overlap"] = [pixel for line in tile.overlap_in for pixel in _line(program, maps, line)]
            streams["i_overlap_in_order"] = [bytes([line.map]) for line in tile.overlap_in]
        if tile.overlap_out:
            streams["i_overlap_out_order"] = [bytes([line.map]) for line in tile.overlap_out]
        found.append(Stimulus({name: v for name, v in tile.registers.items() if name in known}, streams))
    return load + found


def expected_streams(program: PipelineProgram, maps: Maps) -> dict[str, list[int]]:
    """The bytes of every output stream over all tiles."""
    found: dict[str, list[int]] = {}
    for tile in program.tiles:
        for one in program.streams:
            if not one.reads:
                columns = tile.streams[one.name]
                made = _pixels(program, maps, one.region, columns.first, columns.count)
                found.setdefault(one.name, []).extend(b"".join(made))
        saved = b"".join(pixel for line in tile.overlap_out for pixel in _line(program, maps, line))
        if any(one.overlap_out for one in program.parameters.maps):
            found.setdefault("o_overlap", []).extend(saved)
    return found


def _scan(program: PipelineProgram, maps: Maps, region: int) -> NDArray[np.int8]:
    """A map as [line, column, channel]."""
    return maps[region].transpose(1, 2, 0) if program.plan.axis == "W" else maps[region].transpose(2, 1, 0)


def _pixels(program: PipelineProgram, maps: Maps, region: int, first: int, count: int) -> list[bytes]:
    part = _scan(program, maps, region)[:, first : first + count]
    return [part[line, column].tobytes() for line in range(part.shape[0]) for column in range(count)]


def _line(program: PipelineProgram, maps: Maps, line: OverlapLine) -> list[bytes]:
    part = _scan(program, maps, program.maps[line.map].graph_number)[line.line, line.first : line.first + line.count]
    return [pixel.tobytes() for pixel in part]


def _weight_words(program: PipelineProgram) -> list[bytes]:
    """The words of the weight port without what fills their last beats."""
    beat, words, at = program.parameters.weight_beat, [], 0
    for index in range(len(program.parameters.stages)):
        for depth, width in program.parameters.memory_words(index).values() if _weighted(program, index) else ():
            for _ in range(depth):
                words.append(program.weights[at : at + width])
                at += -(-width // beat) * beat
    return words


def _weighted(program: PipelineProgram, index: int) -> bool:
    return program.parameters.stages[index].loads_weights
