"""A lowered stack run in numpy, tile by tile, from nothing but its program: registers, streams, images.

Every stage takes the columns that its registers name out of the lines of its tile, and weights come out of the image
that the weight port gets. Pixels in DRAM can be read once they were written; each one that moves is counted by the
kind of its stream. What the pipeline does cycle by cycle is left out: within a tile, maps are made one by one.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import ConvStage, GlobalPoolStage, JoinStage, PoolStage, ShuffleStage
from hwgen.golden.convolution import requantise
from hwgen.ir.network import Network
from hwgen.lower.pipeline.program import KINDS, OverlapLine, PipelineProgram, TileProgram
from hwgen.model.pipeline.cost import Traffic
from hwgen.model.pipeline.graph import Graph, LineAxis

__all__ = ["Memory", "MisledError", "interpret"]

Int8 = NDArray[np.int8]


class MisledError(RuntimeError):
    """The program asks for what is not there, or leaves something over."""


@dataclass
class Memory:
    """DRAM: maps by number, [channels, rows, columns] as the network has them, and which pixels were written."""

    data: dict[int, Int8] = field(default_factory=dict)
    there: dict[int, NDArray[np.bool_]] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network) -> "Memory":
        """Room for every map of a network."""
        memory = cls()
        for number, one in enumerate(Graph.of(network).maps):
            memory.data[number] = np.zeros((one.channels, one.height, one.width), np.int8)
            memory.there[number] = np.zeros((one.height, one.width), bool)
        return memory

    def put(self, number: int, data: Int8) -> None:
        """Write a whole map."""
        self.data[number][:] = data
        self.there[number][:] = True

    def columns(self, number: int, axis: LineAxis, begin: int, end: int) -> tuple[Int8, NDArray[np.bool_]]:
        """Columns of a map in scan order, [channels, lines, columns], and which of its pixels were written: views."""
        if axis == "W":
            return self.data[number][:, :, begin:end], self.there[number][:, begin:end]
        return self.data[number].transpose(0, 2, 1)[:, :, begin:end], self.there[number].T[:, begin:end]


def interpret(program: PipelineProgram, memory: Memory) -> Traffic:
    """Run a program on what is in memory, where its outputs land. Gives what moved, with weights if fetched."""
    run = _Run(program, memory)
    for tile in program.tiles:
        run.tile(tile)
    counts = {kind: run.counts[kind] for kind in KINDS}
    return Traffic(**counts, weights=sum(w.size for w, _ in run.weights.values()) if program.fetched else 0)


class _Run:
    def __init__(self, program: PipelineProgram, memory: Memory) -> None:
        self.program, self.memory, self.parameters = program, memory, program.parameters
        self.counts: Counter[str] = Counter()
        self.weights = dict(_weights(program))
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
            raise MisledError("overlap is left over")

    def _take(self, tile: TileProgram, number: int, queue: deque[Int8]) -> None:
        """All lines of a map: overlap, then what is new; written where it has to be."""
        registers, one = tile.registers, self.parameters.maps[number]
        length, lines, overlap = (registers[f"map{number}_{what}"] for what in ("line", "lines", "overlap"))
        if length > one.line or lines > one.lines or overlap > one.overlap_in:
            raise MisledError(
                f"map {number}: {lines} lines of {length}, {overlap} of them overlap: more than there is"
            )
        old = np.zeros((one.channels, lines, overlap), np.int8)
        if overlap:
            old[:] = np.stack([queue.popleft() for _ in range(lines)], axis=1)
        maker = self.parameters.maker(number)
        new = self._stream_in(tile, f"i_map{number}") if maker is None else self._made(tile, maker)
        if new.shape != (one.channels, lines, length - overlap):
            raise MisledError(f"map {number}: {new.shape} new pixels for {lines} lines of {length - overlap}")
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
        data, there = self.memory.columns(region, self.program.plan.axis, first, first + count)
        if not there.all():
            raise MisledError(f"{self._name(region)}: columns {first} to {first + count} are not all in DRAM")
        self.counts[kind] += data.size
        return data.copy()

    def _write(self, region: int, first: int, new: Int8, kind: str) -> None:
        data, there = self.memory.columns(region, self.program.plan.axis, first, first + new.shape[2])
        if there.any() or data.shape != new.shape:
            raise MisledError(f"{self._name(region)}: columns from {first} are written twice, or are not there")
        data[:], there[:] = new, True
        self.counts[kind] += new.size

    def _overlap_line(self, line: OverlapLine) -> Int8:
        region = self.program.maps[line.map].graph_number
        data, there = self.memory.columns(region, self.program.plan.axis, line.first, line.first + line.count)
        if not there[line.line].all():
            raise MisledError(f"{self._name(region)}: overlap of line {line.line} is not in DRAM")
        self.counts["overlap_in"] += data[:, line.line].size
        return data[:, line.line].copy()

    def _save(self, line: OverlapLine, saved: int) -> None:
        region = self.program.maps[line.map].graph_number
        data, there = self.memory.columns(region, self.program.plan.axis, line.first, line.first + line.count)
        if there[line.line].any() or saved != line.count:
            raise MisledError(f"{self._name(region)}: overlap of line {line.line} is written twice, or is not there")
        data[:, line.line] = self.lines[line.map][:, line.line, -saved:]
        there[line.line] = True
        self.counts["overlap_out"] += data[:, line.line].size

    def _name(self, region: int) -> str:
        return self.program.plan.by_number[region].name

    # --- stages ---

    def _made(self, tile: TileProgram, index: int) -> Int8:
        stage = self.parameters.stages[index]
        channels = self.parameters.maps[stage.makes].channels
        registers = {
            name.removeprefix(f"stage{index}_"): value
            for name, value in tile.registers.items()
            if name.startswith(f"stage{index}_")
        }
        match stage:
            case ConvStage():
                windows, _ = self._windows(stage, registers)
                weights, bias = self.weights[index]
                return _clipped(_convolved(windows, weights, stage.groups), bias, registers)
            case PoolStage():
                return _pooled(*self._windows(stage, registers), stage.kind, registers)
            case GlobalPoolStage():
                lines = self.lines[stage.reads]
                pixels = lines.reshape(channels, 1, 1, 1, -1)
                return _pooled(pixels, np.ones(pixels.shape[1:], bool), stage.kind, registers)
            case JoinStage():
                operands = [self._operand(tile, index, place, registers) for place in range(len(stage.operands))]
                if stage.kind == "concat":
                    return np.concatenate(operands)
                return _clipped(np.sum(np.array(operands, np.int64), axis=0), np.zeros(1, np.int32), registers)
            case ShuffleStage():
                return self._shuffled(stage, registers)

    def _windows(self, stage: ConvStage | PoolStage, registers: dict[str, int]) -> tuple[Int8, NDArray[np.bool_]]:
        """The windows of a stage, [channels, lines, columns, across, along], and which of their pixels are there."""
        lines = self.lines[stage.reads]
        across, there_across = _taps(
            registers["lines"], stage.stride[0], registers["first_line"], stage.kernel[0], lines.shape[1]
        )
        along, there_along = _taps(
            registers["columns"], stage.stride[1], registers["first_column"], stage.kernel[1], lines.shape[2]
        )
        there = there_across[:, None, :, None] & there_along[None, :, None, :]
        if not there.size:
            return np.zeros((lines.shape[0], *there.shape), np.int8), there
        found = lines[:, across[:, None, :, None], along[None, :, None, :]]
        return np.where(there, found, np.int8(0)), there

    def _operand(self, tile: TileProgram, index: int, place: int, registers: dict[str, int]) -> Int8:
        stage = self.parameters.stages[index]
        assert isinstance(stage, JoinStage)
        if stage.operands[place].through_dram:
            return self._stream_in(tile, f"i_skip{index}_{place}")
        first = registers[f"first_{place}"]
        found = self.lines[stage.operands[place].reads][:, :, first : first + registers["columns"]]
        if found.shape[2] < registers["columns"]:
            raise MisledError(f"stage {index}: operand {place} ends before the last column")
        return found

    def _shuffled(self, stage: ShuffleStage, registers: dict[str, int]) -> Int8:
        lines, factor = self.lines[stage.reads], stage.factor
        split = lines.reshape(-1, factor, factor, *lines.shape[1:])
        order = (0, 3, 2, 4, 1) if stage.transposed else (0, 3, 1, 4, 2)
        pixels = split.transpose(order).reshape(split.shape[0], lines.shape[1] * factor, lines.shape[2] * factor)
        first = registers["first_column"]
        return pixels[:, :, first : first + registers["columns"]]


def _taps(count: int, stride: int, first: int, kernel: int, size: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Along one axis: which index each tap [output, tap] reads, and whether it is there."""
    places = np.arange(count)[:, None] * stride + first - (kernel - 1) + np.arange(kernel)
    there = (places >= 0) & (places < size)
    return np.clip(places, 0, max(size - 1, 0)), there


def _convolved(windows: Int8, weights: Int8, groups: int) -> NDArray[np.int64]:
    channels, lines, columns, across, along = windows.shape
    count, taps = weights.shape[0], across * along
    by_group = windows.reshape(groups, channels // groups, lines * columns, taps).transpose(0, 1, 3, 2)
    pixels = by_group.reshape(groups, channels // groups * taps, lines * columns).astype(np.float64)
    matrices = weights.reshape(groups, count // groups, channels // groups * taps).astype(np.float64)
    sums: NDArray[np.int64] = np.matmul(matrices, pixels).astype(np.int64)
    return sums.reshape(count, lines, columns)


def _clipped(sums: NDArray[np.int64], bias: NDArray[np.int32], registers: dict[str, int]) -> Int8:
    wrapped = sums.astype(np.int32)
    relu, ceiling = bool(registers["relu"]), registers["ceiling"]
    return requantise(wrapped, bias, registers["shift"], relu=relu, ceiling=ceiling).astype(np.int8)


def _pooled(windows: Int8, there: NDArray[np.bool_], kind: str, registers: dict[str, int]) -> Int8:
    made: Int8
    if kind == "max":
        made = np.where(there, windows, np.int8(-128)).max(axis=(3, 4)).astype(np.int8)
        return made
    sums = windows.sum(axis=(3, 4), dtype=np.int64) * registers["multiplier"]
    shift = registers["shift"]
    least = 0 if registers["relu"] else -128
    made = np.clip((sums + (1 << (shift - 1))) >> shift, least, registers["ceiling"]).astype(np.int8)
    return made


def _weights(program: PipelineProgram) -> Iterator[tuple[int, tuple[Int8, NDArray[np.int32]]]]:
    """Weights [M, C/groups, across, along] and biases of each convolution, out of the weight port's bytes."""
    parameters, image, place = program.parameters, np.frombuffer(program.weights, np.uint8), 0
    for index, stage in enumerate(parameters.stages):
        if not isinstance(stage, ConvStage):
            continue
        inputs = parameters.maps[stage.reads].channels // stage.groups
        outputs = parameters.maps[stage.makes].channels
        words, size = parameters.weight_words(index)
        taken = []
        for count, used in ((words, size), (outputs // stage.output_lanes, 4 * stage.output_lanes)):
            pitch = -(-used // parameters.weight_beat) * parameters.weight_beat
            taken.append(image[place : place + count * pitch].reshape(count, pitch)[:, :used])
            place += count * pitch
        o, i = stage.output_lanes, stage.input_lanes
        words_of = taken[0].reshape(outputs // o, *stage.kernel, inputs // i, o, i).transpose(0, 4, 3, 5, 1, 2)
        biases = np.ascontiguousarray(taken[1]).view("<i4").reshape(-1)
        yield index, (words_of.reshape(outputs, inputs, *stage.kernel).view(np.int8), biases.astype(np.int32))
    if place != image.size:
        raise MisledError(f"weights: {image.size - place} bytes are left over")
