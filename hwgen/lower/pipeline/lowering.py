"""From a planned stack to the pipeline that runs it and to its program, tile by tile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.errors import ParameterError
from hwgen.arch.pipeline import (
    ConvStage,
    GlobalPoolStage,
    JoinStage,
    MapParameters,
    Operand,
    PipelineParameters,
    PoolStage,
    ShuffleStage,
    Stage,
)
from hwgen.golden.network import RowData, average_factor, rectified
from hwgen.ir.document import InputError
from hwgen.ir.network import CONVOLUTIONS, Node
from hwgen.lower.pipeline.cycles import in_time
from hwgen.lower.pipeline.lanes import Lanes, Work, beat_for, choose_lanes
from hwgen.lower.pipeline.program import Columns, OverlapLine, PipelineMap, PipelineProgram, Stream, TileProgram
from hwgen.lower.pipeline.queues import with_even_queues
from hwgen.lower.pipeline.tiles import EdgePlan, MapPlan, MapTile, StackPlan, StagePlan
from hwgen.model.pipeline.graph import Reach

__all__ = ["MACS", "OverlapOrder", "lower_stack"]

MACS = 64
"""Multipliers of a pipeline, unless said otherwise."""
STREAM_BEAT = 16
"""Bytes a cycle of a stream of pixels, at most."""
LATE = 0.005
"""Part of the time for a line of a tile that an input stream may be late with one pixel."""
OVERLAP_BEAT = 4
WEIGHT_BEAT = 4
CEILING = 127

OverlapOrder = Callable[[PipelineParameters, TileProgram, Literal["in", "out"]], list[int]]
"""Which map's line comes next at the overlap port, for a tile: map numbers, each as often as it has lines."""


def lower_stack(
    plan: StackPlan,
    rows: Mapping[str, RowData] | None,
    *,
    fetched: bool = True,
    macs: int = MACS,
    order: OverlapOrder = in_time,
) -> PipelineProgram:
    """Choose the pipeline of a stack and write its program; `InputError` for what it cannot do.

    Parameters
    ----------
    plan
        The stack, tile by tile.
    rows
        Weights, biases and shifts by row; None: the program is without them, and software has them.
    fetched
        Whether weights count as traffic.
    macs
        Multipliers of the pipeline, at most.
    order
        How the overlap port's lines are ordered.
    """
    for stage in plan.stages:
        _check(stage, plan.factor)
    works = [_work(plan, stage) for stage in plan.stages]
    lanes, cycles = choose_lanes(works, macs)
    numbering = _Numbering.of(plan)
    try:
        parameters = _parameters(plan, numbering, lanes, cycles)
    except ParameterError as error:
        raise InputError(f"{plan.name}: {error}") from None
    streams = _streams(plan, numbering, parameters)
    tiles = tuple(_tile(plan, numbering, parameters, rows, tile, order) for tile in range(plan.factor))
    weights = b"" if rows is None else _weight_bytes(plan, parameters, rows)
    return PipelineProgram(plan, parameters, numbering.maps, streams, tiles, weights, fetched, cycles)


def _check(stage: StagePlan, factor: int) -> None:
    node = stage.node
    if node.op not in (*CONVOLUTIONS, "pool", "add", "concat", "pixel_shuffle"):
        raise InputError(f"{node.name}: op: a depth-first pipeline has no stage for {node.op}")
    if node.op == "fc" and {stage.edges[0].edge.rows, stage.edges[0].edge.columns} != {Reach()}:
        raise InputError(f"{node.name}: op: a depth-first pipeline has fc on maps of one pixel only")
    if len(set(node.inputs)) < len(node.inputs):
        raise InputError(f"{node.name}: inputs: expected different maps for a pipeline, got one twice")
    if rectified(node) and (node.op in ("concat", "pixel_shuffle") or node.pool == "max"):
        raise InputError(f"{node.name}: activation: a pipeline has none for this operation, got {node.activation}")
    if node.global_pool:
        if factor > 1:
            raise InputError(f"{node.name}: a pipeline has a global pool in stacks of one tile only, got {factor}")
        if stage.padding != (0, 0, 0, 0):
            raise InputError(f"{node.name}: padding: expected none for a global pool in a pipeline")
        return
    top, left, bottom, right = stage.padding
    if max(top, bottom) >= stage.kernel[0] or max(left, right) >= stage.kernel[1]:
        raise InputError(f"{node.name}: padding: expected less than the kernel on every side for a pipeline")


def _work(plan: StackPlan, stage: StagePlan) -> Work:
    one = plan.by_number[stage.edges[0].edge.producer if stage.node.global_pool else stage.number]
    return Work.of(stage.node, one.lines * one.columns)


@dataclass(frozen=True)
class _Numbering:
    """The pipeline's maps: those of the graph, but a source that only joins read, through DRAM, is one for each."""

    maps: tuple[PipelineMap, ...]
    of_graph: Mapping[int, int]
    of_edge: Mapping[tuple[int, int], int]

    @classmethod
    def of(cls, plan: StackPlan) -> "_Numbering":
        maps: list[PipelineMap] = []
        of_graph: dict[int, int] = {}
        of_edge: dict[tuple[int, int], int] = {}
        for one in plan.maps:
            if one.source and all(entry.through_dram for _, _, entry in _readers(plan, one.number)):
                for index, place, _ in _readers(plan, one.number):
                    of_edge[index, place] = len(maps)
                    maps.append(PipelineMap(one.number, one.name, (index, place)))
            else:
                of_graph[one.number] = len(maps)
                maps.append(PipelineMap(one.number, one.name))
        return cls(tuple(maps), of_graph, of_edge)

    def read_by(self, index: int, place: int, entry: EdgePlan) -> int:
        """The map of the pipeline that an operand of a stage reads."""
        return self.of_edge.get((index, place), self.of_graph.get(entry.edge.producer, -1))


def _readers(plan: StackPlan, number: int) -> list[tuple[int, int, EdgePlan]]:
    return [
        (index, place, entry)
        for index, stage in enumerate(plan.stages)
        for place, entry in enumerate(stage.edges)
        if entry.edge.producer == number
    ]


# --- parameters ---


def _parameters(plan: StackPlan, numbering: _Numbering, lanes: list[Lanes], cycles: int) -> PipelineParameters:
    maps = []
    for one in numbering.maps:
        source = plan.by_number[one.graph_number]
        # The first pixels of a line may complete no window: then the next ones are wanted at once.
        late = int(LATE * cycles / (source.lines * plan.factor)) if source.source else None
        beat = beat_for(source.channels, source.lines * source.columns, cycles, STREAM_BEAT, late=late)
        if one.for_join is not None:
            made = plan.by_number[plan.stages[one.for_join[0]].number]
            line = max(max(tile.new for tile in made.tiles), 1)
            maps.append(MapParameters(source.channels, 0, line, source.lines, beat, source=True))
        else:
            maps.append(_map(source, beat))
    stages = tuple(_stage(plan, numbering, index, chosen, cycles) for index, chosen in enumerate(lanes))
    return with_even_queues(PipelineParameters(tuple(maps), stages, WEIGHT_BEAT, OVERLAP_BEAT))


def _map(one: MapPlan, beat: int) -> MapParameters:
    return MapParameters(
        one.channels,
        one.ring,
        max(one.line, 1),
        one.lines,
        beat if one.source or one.written or one.skips else 1,
        source=one.source,
        written=one.written or one.skips,
        overlap_in=max(tile.overlap for tile in one.tiles),
        overlap_out=0 if one.in_dram else max(tile.saved for tile in one.tiles),
    )


def _stage(plan: StackPlan, numbering: _Numbering, index: int, lanes: Lanes, cycles: int) -> Stage:
    stage = plan.stages[index]
    node, makes = stage.node, numbering.of_graph[stage.number]
    if node.op in ("add", "concat"):
        operands = tuple(
            _operand(plan, numbering, (index, place), entry, cycles) for place, entry in enumerate(stage.edges)
        )
        return JoinStage(operands, makes, "add" if node.op == "add" else "concat", lanes.outputs)
    reads = numbering.read_by(index, 0, stage.edges[0])
    if node.op == "pixel_shuffle":
        line = max(plan.by_number[stage.edges[0].edge.producer].line, 1)
        return ShuffleStage(reads, makes, node.factor or 1, line, transposed=plan.axis == "H")
    if node.op == "pool":
        kind: Literal["max", "average"] = "max" if node.pool == "max" else "average"
        if node.global_pool:
            return GlobalPoolStage(reads, makes, kind, lanes.outputs)
        return PoolStage(reads, makes, stage.kernel, stage.stride, kind, lanes.outputs)
    return ConvStage(reads, makes, stage.kernel, stage.stride, node.groups, lanes.inputs, lanes.outputs)


def _operand(plan: StackPlan, numbering: _Numbering, place: tuple[int, int], entry: EdgePlan, cycles: int) -> Operand:
    source = plan.by_number[entry.edge.producer]
    reads = numbering.read_by(*place, entry)
    through_dram = entry.through_dram and place not in numbering.of_edge
    beat = beat_for(source.channels, source.lines * source.columns, cycles, STREAM_BEAT)
    # So many pixels are under way in the stages of the longest other path, at full rate.
    queue = 4 * len(plan.stages) + 2
    return Operand(reads, through_dram, queue, beat if through_dram else 1)


# --- streams and tiles ---


def _streams(plan: StackPlan, numbering: _Numbering, parameters: PipelineParameters) -> tuple[Stream, ...]:
    streams = []
    for number, one in enumerate(numbering.maps):
        source, beat = plan.by_number[one.graph_number], parameters.maps[number].beat
        if source.source:
            kind: Literal["input", "skip_in"] = "input" if one.for_join is None else "skip_in"
            streams.append(Stream(f"i_map{number}", True, one.graph_number, kind, beat))
        elif parameters.maps[number].written:
            made: Literal["output", "skip_out"] = "output" if source.written else "skip_out"
            streams.append(Stream(f"o_map{number}", False, one.graph_number, made, beat))
    for index, place in parameters.skips():
        stage = parameters.stages[index]
        assert isinstance(stage, JoinStage)
        region = plan.stages[index].edges[place].edge.producer
        streams.append(Stream(f"i_skip{index}_{place}", True, region, "skip_in", stage.operands[place].beat))
    return tuple(streams)


def _tile(
    plan: StackPlan,
    numbering: _Numbering,
    parameters: PipelineParameters,
    rows: Mapping[str, RowData] | None,
    tile: int,
    order: OverlapOrder,
) -> TileProgram:
    registers: dict[str, int] = {}
    streams: dict[str, Columns] = {}
    for number, one in enumerate(numbering.maps):
        source = plan.by_number[one.graph_number]
        at = _map_tile(plan, one, tile)
        registers |= {
            f"map{number}_line": at.line,
            f"map{number}_lines": source.lines,
            f"map{number}_overlap": at.overlap,
            f"map{number}_saved": 0 if source.in_dram else at.saved,
        }
        if source.source or parameters.maps[number].written:
            streams[f"{'i' if source.source else 'o'}_map{number}"] = Columns(at.old, at.new)
    for index, place in parameters.skips():
        made = plan.by_number[plan.stages[index].number].tiles[tile]
        streams[f"i_skip{index}_{place}"] = Columns(made.old, made.new)
    for index, stage in enumerate(plan.stages):
        registers |= _stage_registers(plan, numbering, index, tile)
        row = None if rows is None else rows.get(stage.node.name, RowData(relu=rectified(stage.node)))
        registers |= _settings(index, stage.node, row)
    incomplete = TileProgram(registers, streams, (), ())
    incoming = _overlap_lines(plan, numbering, tile, order(parameters, incomplete, "in"), incoming=True)
    outgoing = _overlap_lines(plan, numbering, tile, order(parameters, incomplete, "out"), incoming=False)
    return TileProgram(registers, streams, incoming, outgoing)


def _map_tile(plan: StackPlan, one: PipelineMap, tile: int) -> MapTile:
    """The columns of a map in a tile; what is there for one join has that join's."""
    if one.for_join is None:
        return plan.by_number[one.graph_number].tiles[tile]
    made = plan.by_number[plan.stages[one.for_join[0]].number].tiles[tile]
    return MapTile(made.old, made.old, made.end, 0)


def _stage_registers(plan: StackPlan, numbering: _Numbering, index: int, tile: int) -> dict[str, int]:
    stage = plan.stages[index]
    makes = plan.by_number[stage.number]
    made, prefix = makes.tiles[tile], f"stage{index}"
    if stage.node.op in ("add", "concat"):
        firsts = {}
        for place, entry in enumerate(stage.edges):
            if entry.through_dram and (index, place) not in numbering.of_edge:
                continue
            at = _map_tile(plan, numbering.maps[numbering.read_by(index, place, entry)], tile)
            firsts[f"{prefix}_first_{place}"] = made.old - at.begin if made.new else 0
        return {f"{prefix}_columns": made.new, **firsts}
    if stage.node.global_pool:
        return {}
    begin = plan.by_number[stage.edges[0].edge.producer].tiles[tile].begin
    if stage.node.op == "pixel_shuffle":
        first = made.old - (stage.node.factor or 1) * begin if made.new else 0
        return {f"{prefix}_columns": made.new, f"{prefix}_first_column": first}
    top, left, _, _ = stage.padding
    first = made.old * stage.stride[1] + stage.kernel[1] - 1 - left - begin if made.new else 0
    return {
        f"{prefix}_lines": makes.lines,
        f"{prefix}_columns": made.new,
        f"{prefix}_first_line": stage.kernel[0] - 1 - top,
        f"{prefix}_first_column": first,
    }


def _settings(index: int, node: Node, row: RowData | None) -> dict[str, int]:
    """The registers of a stage's arithmetic; without a row's data, all but its shift."""
    prefix = f"stage{index}"
    relu = rectified(node) if row is None else row.relu
    clip = {f"{prefix}_relu": int(relu), f"{prefix}_ceiling": CEILING}
    if node.op in (*CONVOLUTIONS, "add"):
        return clip if row is None else {f"{prefix}_shift": row.shift, **clip}
    if node.op == "pool" and node.pool == "avg":
        multiplier, shift = average_factor(node.kernel[0] * node.kernel[1])
        return {f"{prefix}_multiplier": multiplier, f"{prefix}_shift": shift, **clip}
    return {}


def _overlap_lines(
    plan: StackPlan, numbering: _Numbering, tile: int, maps: list[int], *, incoming: bool
) -> tuple[OverlapLine, ...]:
    seen: dict[int, int] = {}
    lines = []
    for number in maps:
        at = plan.by_number[numbering.maps[number].graph_number].tiles[tile]
        line = seen[number] = seen.get(number, -1) + 1
        first, count = (at.begin, at.overlap) if incoming else (at.end - at.saved, at.saved)
        lines.append(OverlapLine(number, line, first, count))
    return tuple(lines)


# --- weights ---


def _weight_bytes(plan: StackPlan, parameters: PipelineParameters, rows: Mapping[str, RowData]) -> bytes:
    parts: list[NDArray[np.uint8]] = []
    for index, stage in enumerate(parameters.stages):
        if not isinstance(stage, ConvStage):
            continue
        row = rows[plan.stages[index].node.name]
        weights = row.weights if plan.axis == "W" else row.weights.transpose(0, 1, 3, 2)
        outputs, inputs = stage.output_lanes, stage.input_lanes
        count, channels, across, along = weights.shape
        blocks = weights.reshape(count // outputs, outputs, channels // inputs, inputs, across, along)
        # words by output block, taps, input block; in each the output lanes, then the input lanes
        words = blocks.transpose(0, 4, 5, 2, 1, 3).reshape(-1, outputs * inputs)
        parts.append(_in_beats(np.ascontiguousarray(words).view(np.uint8), parameters.weight_beat))
        biases = np.ascontiguousarray(row.bias.astype("<i4").reshape(-1, outputs)).view(np.uint8)
        parts.append(_in_beats(biases.reshape(-1, outputs * 4), parameters.weight_beat))
    return b"".join(part.tobytes() for part in parts)


def _in_beats(words: NDArray[np.uint8], beat: int) -> NDArray[np.uint8]:
    """Words [word, byte], each padded to whole beats."""
    return np.pad(words, ((0, 0), (0, -words.shape[1] % beat)))
