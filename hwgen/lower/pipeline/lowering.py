"""Lowering of a planned stack to a pipeline and its program, tile by tile."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline import MapParameters, MoverParameters, Operand, PipelineParameters, Stage
from hwgen.golden.network import RowData, row_requantisation
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Node
from hwgen.lower.pipeline.cycles import service_order
from hwgen.lower.pipeline.lanes import Lanes, Work, choose_lanes, narrowest_beat
from hwgen.lower.pipeline.program import (
    Columns,
    OverlapOrder,
    PipelineMap,
    PipelineProgram,
    Stream,
    TileProgram,
    with_orders,
)
from hwgen.lower.pipeline.queues import with_queues
from hwgen.lower.pipeline.stage import PlannedStage, PlannedTile, kind_of_row, kind_of_stage
from hwgen.lower.pipeline.tiles import EdgePlan, MapPlan, MapTile, StackPlan, StagePlan

__all__ = ["MACS", "lower_stack"]

MACS = 64
"""Multipliers of a pipeline by default."""
STREAM_BEAT = 16
"""Bytes a cycle of a stream of pixels, at most."""
LATE = 0.005
"""Delay that an input stream may add to one pixel, as a part of the time for a line of the tile."""
OVERLAP_BEAT = 4
WEIGHT_BEAT = 4


def lower_stack(
    plan: StackPlan,
    rows: Mapping[str, RowData] | None,
    *,
    fetched: bool = True,
    macs: int = MACS,
    order: OverlapOrder = service_order,
    movers: MoverParameters | None = None,
) -> PipelineProgram:
    """Choose the pipeline of a stack and write its program. Raises `InputError` for rows that no stage can do.

    Parameters
    ----------
    plan
        The stack, tile by tile.
    rows
        Weights, biases and requantisation by row. None: software streams the weights, rows say the requantisation.
    fetched
        Whether weights count as traffic.
    macs
        Multipliers of the pipeline, at most.
    order
        How the overlap port's lines are ordered.
    movers
        What carries the streams from and to a DRAM; None: the pipeline has them as ports.
    """
    for stage in plan.stages:
        _check(stage, plan.factor)
    works = [_work(plan, stage) for stage in plan.stages]
    lanes, cycles = choose_lanes(works, macs)
    numbering = _Numbering.of(plan)
    try:
        parameters = _parameters(plan, numbering, lanes, cycles)
        parameters = replace(_with_queues(plan, parameters, movers), movers=movers)
    except ParameterError as error:
        raise InputError(f"{plan.name}: {error}") from None
    streams = _streams(plan, numbering, parameters)
    tiles = [_tile(plan, numbering, parameters, rows, tile) for tile in range(plan.factor)]
    weights = b"" if rows is None else _weight_bytes(plan, parameters, rows)
    ordered = with_orders(plan, numbering.maps, tiles, order(parameters, tiles))
    return PipelineProgram(plan, parameters, numbering.maps, streams, ordered, weights, fetched, cycles)


def _check(row: StagePlan, tiles: int) -> None:
    kind = kind_of_row(row.node)
    if len(set(row.node.inputs)) < len(row.node.inputs):
        raise InputError(f"{row.node.name}: inputs: expected different maps for a pipeline, got one twice")
    row_requantisation(row.node)
    if row.node.activation is not None and not kind.requantises(row.node):
        raise InputError(
            f"{row.node.name}: activation: a pipeline has none for this operation, got {row.node.activation}"
        )
    kind.check(row, tiles)


def _work(plan: StackPlan, row: StagePlan) -> Work:
    kind = kind_of_row(row.node)
    one = plan.by_number[row.edges[0].edge.producer if kind.works_on_input() else row.number]
    return kind.work(row.node, one.lines * one.columns)


@dataclass(frozen=True)
class _Numbering:
    """The pipeline's maps: those of the graph, except that a source which only joins read, through DRAM, is a map for
    each of these operands."""

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


def _delayed_skips(plan: StackPlan) -> set[tuple[int, int]]:
    """Stage and operand of the skips that movers, which wait for a whole line, bring later than they are needed."""
    return {
        (index, place)
        for index, row in enumerate(plan.stages)
        for place, entry in enumerate(row.edges)
        if entry.through_dram and not entry.after_line and not plan.by_number[entry.edge.producer].source
    }


def _with_queues(
    plan: StackPlan, parameters: PipelineParameters, movers: MoverParameters | None
) -> PipelineParameters:
    """The pipeline with the queues that it needs: a DRAM may hold up any stream, where the streams of others keep
    pace."""
    if movers is None:
        return with_queues(parameters)
    overlap = any(one.overlap_in for one in parameters.maps)
    return with_queues(parameters, _delayed_skips(plan), datapaths=overlap)


def _parameters(plan: StackPlan, numbering: _Numbering, lanes: list[Lanes], cycles: int) -> PipelineParameters:
    maps = []
    for one in numbering.maps:
        source = plan.by_number[one.graph_number]
        # The first pixels of a line may complete no window; the stage then needs the next pixels at once.
        late = int(LATE * cycles / (source.lines * plan.factor)) if source.source else None
        beat = narrowest_beat(source.channels, source.lines * source.columns, cycles, STREAM_BEAT, late=late)
        if one.for_join is not None:
            made = plan.by_number[plan.stages[one.for_join[0]].number]
            line = max(max(tile.new for tile in made.tiles), 1)
            maps.append(MapParameters(source.channels, 0, line, source.lines, beat, source=True))
        else:
            maps.append(_map(source, beat))
    stages = tuple(_stage(plan, numbering, index, chosen, cycles) for index, chosen in enumerate(lanes))
    return PipelineParameters(tuple(maps), stages, WEIGHT_BEAT, OVERLAP_BEAT)


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
    row = plan.stages[index]
    operands = tuple(
        _operand(plan, numbering, (index, place), entry, cycles) for place, entry in enumerate(row.edges)
    )
    sources = tuple(plan.by_number[entry.edge.producer] for entry in row.edges)
    planned = PlannedStage(row, plan.axis, sources, operands, numbering.of_graph[row.number], plan.requantisation)
    stage: Stage = kind_of_row(row.node).stage(planned, lanes)
    return stage


def _operand(plan: StackPlan, numbering: _Numbering, place: tuple[int, int], entry: EdgePlan, cycles: int) -> Operand:
    source = plan.by_number[entry.edge.producer]
    reads = numbering.read_by(*place, entry)
    through_dram = entry.through_dram and place not in numbering.of_edge
    beat = narrowest_beat(source.channels, source.lines * source.columns, cycles, STREAM_BEAT)
    # At full rate this many pixels are inside the stages of the longest other path.
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
        region = plan.stages[index].edges[place].edge.producer
        streams.append(
            Stream(f"i_skip{index}_{place}", True, region, "skip_in", parameters.operand(index, place).beat)
        )
    return tuple(streams)


def _tile(
    plan: StackPlan,
    numbering: _Numbering,
    parameters: PipelineParameters,
    rows: Mapping[str, RowData] | None,
    tile: int,
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
    for index, row in enumerate(plan.stages):
        found = {**_columns(plan, numbering, index, tile), **_arithmetic(plan, row.node, rows)}
        registers |= {f"stage{index}_{name}": value for name, value in found.items()}
    return TileProgram(registers, streams)


def _map_tile(plan: StackPlan, one: PipelineMap, tile: int) -> MapTile:
    """The columns of a map in a tile. A map for a single operand has the columns of its join."""
    if one.for_join is None:
        return plan.by_number[one.graph_number].tiles[tile]
    made = plan.by_number[plan.stages[one.for_join[0]].number].tiles[tile]
    return MapTile(made.old, made.old, made.end, 0)


def _columns(plan: StackPlan, numbering: _Numbering, index: int, tile: int) -> dict[str, int]:
    """The registers that say what a stage makes in a tile."""
    row = plan.stages[index]
    read: list[MapTile | None] = []
    for place, entry in enumerate(row.edges):
        one = numbering.maps[numbering.read_by(index, place, entry)]
        streamed = entry.through_dram and (index, place) not in numbering.of_edge
        read.append(None if streamed else _map_tile(plan, one, tile))
    made = plan.by_number[row.number]
    return kind_of_row(row.node).columns(PlannedTile(row, made.tiles[tile], made.lines, tuple(read)))


def _arithmetic(plan: StackPlan, node: Node, rows: Mapping[str, RowData] | None) -> dict[str, int]:
    """The registers of a stage's arithmetic; without data, as the row says."""
    data = None if rows is None else rows.get(node.name)
    if data is None:
        data = RowData(requantisation=row_requantisation(node))
    return kind_of_row(node).arithmetic(node, data, plan.requantisation)


# --- weights ---


def _weight_bytes(plan: StackPlan, parameters: PipelineParameters, rows: Mapping[str, RowData]) -> bytes:
    """The weights for the port, where each word begins on a new beat; dense for movers, which cut them into beats."""
    beat = parameters.weight_beat if parameters.movers is None else 1
    parts = [
        _in_beats(words, beat)
        for stage, row in zip(parameters.stages, plan.stages, strict=True)
        if stage.loads_weights
        for words in kind_of_stage(stage).weight_words(stage, rows[row.node.name], plan.axis)
    ]
    return b"".join(part.tobytes() for part in parts)


def _in_beats(words: NDArray[np.uint8], beat: int) -> NDArray[np.uint8]:
    """Words [word, byte], each padded to whole beats."""
    return np.pad(words, ((0, 0), (0, -words.shape[1] % beat)))
