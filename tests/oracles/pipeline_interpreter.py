"""An interpreter of pipeline programs: a lowered stack run in numpy, tile by tile.

It uses nothing but the program: registers, streams and the image of the weight port. Every stage takes from the lines
of its tile the columns that its registers name. A pixel in DRAM can be read only after it was written. Every pixel
that moves is counted by the kind of its stream. Within a tile the maps are made one after the other; cycles are not
modelled.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.program import KINDS, OverlapLine, PipelineProgram, TileProgram
from hwgen.lower.pipeline.stage import Int8, RunningStage, Words, kind_of_stage
from hwgen.model.pipeline.cost import Traffic
from hwgen.model.pipeline.graph import Graph, LineAxis

__all__ = ["Memory", "ProgramError", "interpret"]


class ProgramError(RuntimeError):
    """The program reads what was not written, or does not use all of its data."""


@dataclass
class Memory:
    """DRAM: maps by number, [channels, rows, columns] as in the network. ``valid``: the pixels that were written."""

    data: dict[int, Int8] = field(default_factory=dict)
    valid: dict[int, NDArray[np.bool_]] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network) -> "Memory":
        """A memory with room for every map of a network."""
        memory = cls()
        for number, one in enumerate(Graph.of(network).maps):
            memory.data[number] = np.zeros((one.channels, one.height, one.width), np.int8)
            memory.valid[number] = np.zeros((one.height, one.width), bool)
        return memory

    def put(self, number: int, data: Int8) -> None:
        """Write a whole map."""
        self.data[number][:] = data
        self.valid[number][:] = True

    def columns(self, number: int, axis: LineAxis, begin: int, end: int) -> tuple[Int8, NDArray[np.bool_]]:
        """Views of columns of a map in scan order, [channels, lines, columns], and of which pixels were written."""
        if axis == "W":
            return self.data[number][:, :, begin:end], self.valid[number][:, begin:end]
        return self.data[number].transpose(0, 2, 1)[:, :, begin:end], self.valid[number].T[:, begin:end]


def interpret(program: PipelineProgram, memory: Memory) -> Traffic:
    """Run a program on a memory, which gets its outputs. Returns the traffic, with weights if they are fetched."""
    run = _Run(program, memory)
    for tile in program.tiles:
        run.tile(tile)
    counts = {kind: run.counts[kind] for kind in KINDS}
    weights = sum(words["weights"].size for words in run.words if "weights" in words)
    return Traffic(**counts, weights=weights if program.fetched else 0)


class _Run:
    def __init__(self, program: PipelineProgram, memory: Memory) -> None:
        self.program, self.memory, self.parameters = program, memory, program.parameters
        self.counts: Counter[str] = Counter()
        self.words = tuple(_words(program))
        self.lines: dict[int, Int8] = {}

    def tile(self, tile: TileProgram) -> None:
        queues: dict[int, deque[Int8]] = {number: deque() for number in range(len(self.parameters.maps))}
        for line in tile.overlap_in:
            queues[line.map].append(self._overlap_line(line))
        for number in range(len(self.parameters.maps)):
            self._take(tile, number, queues[number])
        for line in tile.overlap_out:
            self._save(line, tile.registers[f"map{line.map}_saved"])
        if any(queues.values()):
            raise ProgramError("overlap is left over")

    def _take(self, tile: TileProgram, number: int, queue: deque[Int8]) -> None:
        """All lines of a map: overlap, then new pixels. Written to DRAM if the map has an output stream."""
        registers, one = tile.registers, self.parameters.maps[number]
        length, lines, overlap = (registers[f"map{number}_{what}"] for what in ("line", "lines", "overlap"))
        if length > one.line or lines > one.lines or overlap > one.overlap_in:
            raise ProgramError(
                f"map {number}: {lines} lines of {length}, {overlap} of them overlap: more than valid is"
            )
        old = np.zeros((one.channels, lines, overlap), np.int8)
        if overlap:
            old[:] = np.stack([queue.popleft() for _ in range(lines)], axis=1)
        maker = self.parameters.maker(number)
        new = self._stream_in(tile, f"i_map{number}") if maker is None else self._made(tile, maker)
        if new.shape != (one.channels, lines, length - overlap):
            raise ProgramError(f"map {number}: {new.shape} new pixels for {lines} lines of {length - overlap}")
        self.lines[number] = np.concatenate([old, new], axis=2)
        if one.written:
            self._stream_out(tile, f"o_map{number}", new)

    # --- to and from DRAM ---

    def _stream_in(self, tile: TileProgram, name: str) -> Int8:
        stream, columns = self.program.stream(name), tile.streams[name]
        return self._read(stream.region, columns.first, columns.count, stream.kind)

    def _stream_out(self, tile: TileProgram, name: str, new: Int8) -> None:
        stream, columns = self.program.stream(name), tile.streams[name]
        self._write(stream.region, columns.first, new, stream.kind)

    def _read(self, region: int, first: int, count: int, kind: str) -> Int8:
        data, valid = self.memory.columns(region, self.program.plan.axis, first, first + count)
        if not valid.all():
            raise ProgramError(f"{self._name(region)}: columns {first} to {first + count} are not all in DRAM")
        self.counts[kind] += data.size
        return data.copy()

    def _write(self, region: int, first: int, new: Int8, kind: str) -> None:
        data, valid = self.memory.columns(region, self.program.plan.axis, first, first + new.shape[2])
        if valid.any() or data.shape != new.shape:
            raise ProgramError(f"{self._name(region)}: columns from {first} are written twice, or are not there")
        data[:], valid[:] = new, True
        self.counts[kind] += new.size

    def _overlap_line(self, line: OverlapLine) -> Int8:
        region = self.program.maps[line.map].graph_number
        data, valid = self.memory.columns(region, self.program.plan.axis, line.first, line.first + line.count)
        if not valid[line.line].all():
            raise ProgramError(f"{self._name(region)}: overlap of line {line.line} is not in DRAM")
        self.counts["overlap_in"] += data[:, line.line].size
        return data[:, line.line].copy()

    def _save(self, line: OverlapLine, saved: int) -> None:
        region = self.program.maps[line.map].graph_number
        data, valid = self.memory.columns(region, self.program.plan.axis, line.first, line.first + line.count)
        if valid[line.line].any() or saved != line.count:
            raise ProgramError(f"{self._name(region)}: overlap of line {line.line} is written twice, or is not there")
        data[:, line.line] = self.lines[line.map][:, line.line, -saved:]
        valid[line.line] = True
        self.counts["overlap_out"] += data[:, line.line].size

    def _name(self, region: int) -> str:
        return self.program.plan.by_number[region].name

    # --- stages ---

    def _made(self, tile: TileProgram, index: int) -> Int8:
        """The pixels that a stage makes of the lines of its tile."""
        stage = self.parameters.stages[index]
        operands = [self.lines[read] for read in stage.window_reads]
        operands += [self._operand(tile, index, place) for place in range(len(stage.pixel_operands))]
        running = RunningStage(self.parameters, index, tile.registers)
        return kind_of_stage(stage).run(stage, running, operands, self.words[index])

    def _operand(self, tile: TileProgram, index: int, place: int) -> Int8:
        """The columns of an operand that is read pixel by pixel."""
        operand, columns = self.parameters.operand(index, place), tile.registers[f"stage{index}_columns"]
        if operand.through_dram:
            return self._stream_in(tile, f"i_skip{index}_{place}")
        first = tile.registers[f"stage{index}_first_{place}"]
        found = self.lines[operand.reads][:, :, first : first + columns]
        if found.shape[2] < columns:
            raise ProgramError(f"stage {index}: operand {place} ends before the last column")
        return found


def _words(program: PipelineProgram) -> Iterator[Words]:
    """The words of each stage's memories, out of the weight port's bytes; empty for one that loads none."""
    parameters, image, place = program.parameters, np.frombuffer(program.weights, np.uint8), 0
    beat = parameters.weight_beat if parameters.movers is None else 1
    for index, stage in enumerate(parameters.stages):
        found: dict[str, NDArray[np.uint8]] = {}
        for name, (count, used) in parameters.memory_words(index).items() if stage.loads_weights else ():
            pitch = -(-used // beat) * beat
            found[name] = image[place : place + count * pitch].reshape(count, pitch)[:, :used]
            place += count * pitch
        yield found
    if place != image.size:
        raise ProgramError(f"weights: {image.size - place} bytes are left over")
