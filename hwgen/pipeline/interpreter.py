"""A planned stack run tile by tile in numpy: lines as the pipeline sees them, every pixel to or from DRAM counted.

What a tile's stages read is cut out of the tile's own lines and nothing else: a column that the plan does not bring
is not there. Rows compute by `hwgen.golden_network` on those columns. DRAM gives what was written before, no more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hwgen.golden_network import RowData, row_output
from hwgen.ir.network import Node
from hwgen.model.fusion import Traffic
from hwgen.model.fusion_graph import Edge
from hwgen.pipeline.tiles import EdgePlan, MapPlan, StackPlan, StagePlan

__all__ = ["Memory", "NotWritten", "run_stack"]

Int8 = NDArray[np.int8]


class NotWritten(RuntimeError):
    """A pixel is read from DRAM that nobody has written yet."""


@dataclass
class _Region:
    data: Int8
    there: NDArray[np.bool_]


@dataclass
class Memory:
    """DRAM: maps by number, [channels, rows, columns] as the network has them, with what is written of each."""

    regions: dict[int, _Region] = field(default_factory=dict)

    def put(self, number: int, data: Int8) -> None:
        """A whole map."""
        self.regions[number] = _Region(data.copy(), np.ones(data.shape[1:], bool))

    def whole(self, number: int) -> Int8:
        """A whole map; `NotWritten` if a pixel is missing."""
        region = self.regions[number]
        if not region.there.all():
            raise NotWritten(f"map {number} is not complete")
        return region.data


def run_stack(plan: StackPlan, rows: Mapping[str, RowData], memory: Memory) -> Traffic:
    """Run all tiles of a stack on what is in memory, where its outputs land.

    Gives what moved, weights left out. `NotWritten` if the plan forgets something.
    """
    return _Run(plan, rows, memory).run()


class _Run:
    def __init__(self, plan: StackPlan, rows: Mapping[str, RowData], memory: Memory) -> None:
        self.plan, self.rows, self.memory = plan, rows, memory
        self.traffic = Traffic()
        self.lines: dict[int, Int8] = {}
        """The tile's lines of each map, overlap included: [channels, lines, columns]."""
        for one in plan.maps:
            if one.number not in memory.regions:
                shape = (one.lines, one.columns) if plan.axis == "W" else (one.columns, one.lines)
                data = np.zeros((one.channels, *shape), np.int8)
                memory.regions[one.number] = _Region(data, np.zeros(shape, bool))

    def run(self) -> Traffic:
        for tile in range(self.plan.factor):
            stages = iter(self.plan.stages)
            for one in self.plan.maps:
                if one.source:
                    in_ring = any(not edge.through_dram for edge in self._edges(one.number))
                    new = self._read(one, one.tiles[tile].old, one.tiles[tile].end, "input" if in_ring else None)
                else:
                    new = self._made(next(stages), tile)
                self._take(one, tile, new)
        return self.traffic

    def _edges(self, number: int) -> list[EdgePlan]:
        return [entry for stage in self.plan.stages for entry in stage.edges if entry.edge.producer == number]

    def _take(self, one: MapPlan, tile: int, new: Int8) -> None:
        """Put a tile's lines together, and write what has to be written."""
        at = one.tiles[tile]
        assert new.shape == (one.channels, one.lines, at.new)
        overlap = self._read(one, at.begin, at.old, "overlap_in")
        self.lines[one.number] = np.concatenate([overlap, new], axis=2)
        if one.source:
            return
        if one.written or one.skips:
            self._write(one, at.old, new, "output" if one.written else "skip_out")
        else:
            self._write(one, at.end - at.saved, new[:, :, at.new - at.saved :], "overlap_out")

    def _made(self, stage: StagePlan, tile: int) -> Int8:
        target = self.plan.by_number[stage.number]
        made = range(target.tiles[tile].old, target.tiles[tile].end)
        if not made:
            return np.zeros((target.channels, target.lines, 0), np.int8)
        node, data = _transposed(stage, self.rows.get(stage.node.name, RowData()), turned=self.plan.axis == "H")
        match stage.node.op:
            case "add" | "concat":
                operands = {
                    self.plan.by_number[entry.edge.producer].name: self._operand(entry, tile, made)
                    for entry in stage.edges
                }
                node = node.model_copy(update={"input_width": len(made), "output_width": len(made)})
                return row_output(node, data, [operands[name] for name in stage.node.inputs])
            case "pixel_shuffle":
                return self._shuffled(stage, node, tile, made)
        (entry,) = stage.edges
        lines, before, after = self._window(entry.edge, tile, made)
        size = lines.shape[2]
        top, _, bottom, _ = node.padding
        update = {"input_width": size, "output_width": len(made), "padding": (top, before, bottom, after)}
        return row_output(node.model_copy(update=update), data, [lines])

    def _window(self, edge: Edge, tile: int, made: range) -> tuple[Int8, int, int]:
        """The columns that the windows of a tile read, and how much padding is before and after them."""
        source, reach = self.plan.by_number[edge.producer], edge.along(self.plan.axis)
        if edge.kind == "whole":
            return self._columns(source, tile, 0, source.columns), 0, 0
        first, last = reach.first(made.start), reach.last(made.stop - 1)
        begin, end = max(first, 0), min(last + 1, source.columns)
        return self._columns(source, tile, begin, end), begin - first, last + 1 - end

    def _columns(self, source: MapPlan, tile: int, begin: int, end: int) -> Int8:
        at = source.tiles[tile]
        if begin < at.begin or end > at.end:
            raise NotWritten(f"{source.name}: columns {begin} to {end} in a tile of {at.begin} to {at.end}")
        return self.lines[source.number][:, :, begin - at.begin : end - at.begin]

    def _operand(self, entry: EdgePlan, tile: int, made: range) -> Int8:
        source = self.plan.by_number[entry.edge.producer]
        if entry.through_dram:
            return self._read(source, made.start, made.stop, "skip_in")
        return self._columns(source, tile, made.start, made.stop)

    def _shuffled(self, stage: StagePlan, node: Node, tile: int, made: range) -> Int8:
        (entry,) = stage.edges
        factor = node.factor or 1
        begin, end = made.start // factor, (made.stop - 1) // factor + 1
        lines = self._columns(self.plan.by_number[entry.edge.producer], tile, begin, end)
        if self.plan.axis == "H":  # the channels of a pixel, transposed
            square = lines.reshape(node.output_channels, factor, factor, *lines.shape[1:])
            lines = square.transpose(0, 2, 1, 3, 4).reshape(lines.shape)
        update = {"input_width": end - begin, "output_width": (end - begin) * factor}
        pixels = row_output(node.model_copy(update=update), RowData(), [lines])
        skipped = made.start - begin * factor
        return pixels[:, :, skipped : skipped + len(made)]

    def _read(self, one: MapPlan, begin: int, end: int, kind: str | None) -> Int8:
        data, there = self._view(one, begin, end)
        if not there.all():
            raise NotWritten(f"{one.name}: columns {begin} to {end} are not all in DRAM")
        if kind is not None:
            self._count(kind, data.size)
        return data.copy()

    def _write(self, one: MapPlan, begin: int, data: Int8, kind: str) -> None:
        place, there = self._view(one, begin, begin + data.shape[2])
        assert not there.any(), f"{one.name}: written twice"
        place[:], there[:] = data, True
        self._count(kind, data.size)

    def _view(self, one: MapPlan, begin: int, end: int) -> tuple[Int8, NDArray[np.bool_]]:
        region = self.memory.regions[one.number]
        if self.plan.axis == "W":
            return region.data[:, :, begin:end], region.there[:, begin:end]
        return region.data.transpose(0, 2, 1)[:, :, begin:end], region.there.T[:, begin:end]

    def _count(self, kind: str, elements: int) -> None:
        self.traffic = replace(self.traffic, **{kind: getattr(self.traffic, kind) + elements})


def _transposed(stage: StagePlan, data: RowData, *, turned: bool) -> tuple[Node, RowData]:
    """A row in scan order: lines for rows, columns for columns."""
    if not turned:
        return stage.node, data
    node = stage.node
    update = {
        "kernel": stage.kernel, "stride": stage.stride, "padding": stage.padding,
        "input_height": node.input_width, "input_width": node.input_height,
        "output_height": node.output_width, "output_width": node.output_height,
    }  # fmt: skip
    weights = np.ascontiguousarray(data.weights.transpose(0, 1, 3, 2))
    return node.model_copy(update=update), replace(data, weights=weights)
