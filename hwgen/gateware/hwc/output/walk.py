"""The vectors of the output's tiles, one after the other: what each covers, and its place in the output memory."""

from collections.abc import Iterable

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import OUTPUT_DIMS, REDUCTION, HwcParameters
from hwgen.gateware.hwc.settings import nest_of, output_capacity, settings_signature
from hwgen.gateware.hwc.widths import extent_bits
from hwgen.gateware.lib.nest import LoopNest, SteppedValue

__all__ = ["OutputWalk"]


class OutputWalk(wiring.Component):
    """Walks the tiles of the output, and in each its vectors: channels outermost, then rows, then columns.

    A tile is one execution of the loop that O is buffered at. Tiles are stored one after the other in the output
    memory, each ``output_box_vectors`` after the previous one, modulo the memory's depth.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Go to the first vector.
    advance : In(1)
        Go to the next vector; after the last one ``valid`` is clear.
    index_advance : In(1)
        The same for ``index`` alone: in the same cycle, or in the one before it.
    valid : Out(1)
    index : Out
        Number of the vector in its tile; tiles at an edge leave some out.
    place : Out
        Where it lies in the output memory.
    channel, row, column : Out
        Its first output channel, row and column.
    next_channel : Out
        The first output channel of the next vector.
    channels, rows, columns : Out
        Elements that the vector has.
    leaves_row : Out(1)
        Where it advances, it does so to another row.
    ends_row, ends_channels, ends_tile : Out(1)
        It is the last vector of its rows in this tile; of its channels; of the tile.
    resumes, is_final : Out(1)
        The reduction began before this tile; it ends with this tile. In a cluster a layer may be a part of it.
    needs_fetch : Out(1)
        The biases of its channels are not kept: this is the first tile of those that they are kept for.
    tile : Out, one for each of m, y, x
        Where the tile begins.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "settings": In(settings_signature(p)),
                "start": In(1),
                "advance": In(1),
                "index_advance": In(1),
                "valid": Out(1),
                "index": Out(p.output_index_bits),
                "place": Out(p.output_index_bits),
                "channel": Out(p.position_bits),
                "next_channel": Out(p.position_bits),
                "row": Out(p.position_bits),
                "column": Out(p.position_bits),
                "channels": Out(range(p.lanes.m + 1)),
                "rows": Out(range(p.lanes.y + 1)),
                "columns": Out(range(p.lanes.x + 1)),
                "leaves_row": Out(1),
                "ends_row": Out(1),
                "ends_channels": Out(1),
                "ends_tile": Out(1),
                "resumes": Out(1),
                "is_final": Out(1),
                "needs_fetch": Out(1),
                "tile": Out(p.position_bits).array(3),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        # Loops of the tile over channels, then rows, then columns; reductions inside it need no steps here.
        outer = range(p.output_marker)
        inner = {dim: [j for j in p.output_tile_loops if p.loops[j] == dim] for dim in OUTPUT_DIMS}
        order = [*outer, *inner["m"], *inner["y"], *inner["x"]]
        nest, sizes = nest_of(m, p, self.settings, order, OUTPUT_DIMS)
        m.submodules.nest = nest
        for dim, place, tile in zip(OUTPUT_DIMS, (self.channel, self.row, self.column), self.tile, strict=True):
            self._coordinate(m, nest, order, dim, place, tile)
        m.d.comb += [nest.start.eq(self.start), nest.advance.eq(self.advance)]
        with m.If(self.start):
            m.d.sync += self.valid.eq(1)
        with m.Elif(self.advance & nest.finished):
            m.d.sync += self.valid.eq(0)
        rows_from = p.output_marker + len(inner["m"])
        columns_from = rows_from + len(inner["y"])
        reductions = [at for at in outer if p.loops[at] in REDUCTION]
        begins, ends = ([self.settings.first_part], [self.settings.last_part]) if p.cluster else ([], [])
        stays = Signal(max(len(p.bias_loops), 1))
        if p.bias_loops:
            m.d.comb += stays.eq(self.settings.bias_stays)
        m.d.comb += [
            self.leaves_row.eq(~_any(nest.turning[columns_from:])),
            self.channels.eq(sizes["m"]),
            self.rows.eq(sizes["y"]),
            self.columns.eq(sizes["x"]),
            self.ends_row.eq(nest.ended[columns_from]),
            self.ends_channels.eq(nest.ended[rows_from]),
            self.ends_tile.eq(nest.ended[p.output_marker]),
            self.resumes.eq(~_all([*(nest.first[at] for at in reductions), *begins])),
            self.is_final.eq(_all([*(nest.last[at] for at in reductions), *ends])),
            self.needs_fetch.eq(_all(nest.first[j] | ~stays[i] for i, j in enumerate(p.bias_loops))),
        ]
        self._place(m, nest, order)
        return m

    def _coordinate(self, m: Module, nest: LoopNest, order: list[int], dim: str, place: Value, tile: Value) -> None:
        """Where a vector begins along one dimension, and where its tile does."""
        loops, bits = self.parameters.loops, extent_bits(self.parameters, dim)
        steps = [at for at, j in enumerate(order) if loops[j] == dim]
        outside = [at for at in steps if at < self.parameters.output_marker]
        name = f"low_{dim}"
        m.submodules[name] = low = SteppedValue(
            loops=len(order), inner=range(len(order)), steps=steps, shape=bits, step_bits=bits
        )
        low.follow(m, nest, self.start | self.advance, nest.finished)
        m.d.comb += [
            *(getattr(low, f"step_{at}").eq(getattr(self.settings, f"step_{order[at]}_{dim}")) for at in steps),
            place.eq(low.value),
            *([self.next_channel.eq(low.following)] if dim == "m" else []),
            tile.eq(getattr(low, f"level_{outside[-1]}") if outside else 0),
        ]

    def _place(self, m: Module, nest: LoopNest, order: list[int]) -> None:
        """Index in the tile, and place in the memory."""
        p, first = self.parameters, self.parameters.output_marker
        steps, bits = range(first, len(order)), len(self.index)
        m.submodules.index = index = SteppedValue(
            loops=len(order), inner=steps, steps=steps, shape=bits, step_bits=bits
        )
        index.follow(m, nest, self.start | self.index_advance, nest.ended[first])
        capacity = output_capacity(p, self.settings)
        base = Signal.like(self.index)
        m.d.comb += [
            *(
                getattr(index, f"step_{at}").eq(getattr(self.settings, f"output_index_step_{order[at]}"))
                for at in steps
            ),
            self.index.eq(index.value),
            self.place.eq(_modulo(base + index.value, capacity)),
        ]
        with m.If(self.advance & self.ends_tile):
            m.d.sync += base.eq(_modulo(base + self.settings.output_box_vectors, capacity))


def _modulo(value: Value, depth: Value | int) -> Value:
    """The value modulo the depth, for values below twice the depth."""
    return Mux(value >= depth, value - depth, value)


def _all(flags: Iterable[Value]) -> Value:
    result = Value.cast(1)
    for flag in flags:
        result = flag & result
    return result


def _any(flags: Iterable[Value]) -> Value:
    result = Value.cast(0)
    for flag in flags:
        result = flag | result
    return result
