"""The vectors of the output's boxes, one after the other: what each covers, and its place in the output memory."""

from collections.abc import Callable, Iterable

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import DIMS, OUTPUT_DIMS, REDUCTION, HwcParameters
from hwgen.gateware.hwc.settings import output_capacity, settings_signature
from hwgen.gateware.lib.nest import LevelRegister, LoopNest

__all__ = ["OutputWalk"]


class OutputWalk(wiring.Component):
    """Walks the boxes of the output, and in each its vectors: channels outermost, then rows, then columns.

    A box is one execution of the loop that O is buffered at. Box after box lies in the output memory, each beginning
    ``output_box_vectors`` behind the one before, modulo the memory's depth.

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
    valid : Out(1)
    index : Out
        Number of the vector in its box; boxes at an edge leave some out.
    place : Out
        Where it lies in the output memory.
    channel, row, column : Out
        Its first output channel, row and column.
    channels, rows, columns : Out
        Elements that the vector has.
    leaves_row : Out(1)
        Where it advances, it does so to another row.
    ends_row, ends_channels, ends_box : Out(1)
        It is the last vector of its rows in this box; of its channels; of the box.
    resumes, is_final : Out(1)
        The reduction began before this box; it ends with this box. In a cluster a layer may be a part of it.
    needs_fetch : Out(1)
        The biases of its channels are not kept: this is the first box of those that they are kept for.
    box : Out, one for each of m, y, x
        Where the box begins.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "settings": In(settings_signature(p)),
                "start": In(1),
                "advance": In(1),
                "valid": Out(1),
                "index": Out(p.output_index_bits),
                "place": Out(p.output_index_bits),
                "channel": Out(p.position_bits),
                "row": Out(p.position_bits),
                "column": Out(p.position_bits),
                "channels": Out(range(p.lanes.m + 1)),
                "rows": Out(range(p.lanes.y + 1)),
                "columns": Out(range(p.lanes.x + 1)),
                "leaves_row": Out(1),
                "ends_row": Out(1),
                "ends_channels": Out(1),
                "ends_box": Out(1),
                "resumes": Out(1),
                "is_final": Out(1),
                "needs_fetch": Out(1),
                "box": Out(p.position_bits).array(3),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        # Loops of the box over channels, then rows, then columns; reductions inside it need no steps here.
        outer = range(p.output_marker)
        inner = {dim: [j for j in p.output_tile_loops if p.loops[j] == dim] for dim in OUTPUT_DIMS}
        order = [*outer, *inner["m"], *inner["y"], *inner["x"]]
        m.submodules.nest = nest = LoopNest(loops=[p.loops[j] for j in order], bits=p.position_bits)
        low: dict[str, ValueLike] = dict.fromkeys(DIMS, 0)
        high: dict[str, ValueLike] = {dim: getattr(self.settings, f"extent_{dim}") for dim in DIMS}
        for at, j in enumerate(order):
            dim = p.loops[j]
            if at == p.output_marker:
                m.d.comb += [place.eq(low[d]) for place, d in zip(self.box, OUTPUT_DIMS, strict=True)]
            m.d.comb += [
                nest.extent[at].eq(getattr(self.settings, f"extent_{dim}")),
                nest.step[at].eq(getattr(self.settings, f"step_{j}_{dim}")),
            ]
            low[dim], high[dim] = nest.lo[at], nest.hi[at]
        if len(order) == p.output_marker:
            m.d.comb += [place.eq(low[d]) for place, d in zip(self.box, OUTPUT_DIMS, strict=True)]
        m.d.comb += [nest.start.eq(self.start), nest.advance.eq(self.advance)]
        with m.If(self.start):
            m.d.sync += self.valid.eq(1)
        with m.Elif(self.advance & nest.finished):
            m.d.sync += self.valid.eq(0)
        rows_from = p.output_marker + len(inner["m"])
        columns_from = rows_from + len(inner["y"])
        reductions = [at for at in outer if p.loops[at] in REDUCTION]
        begins, ends = ([self.settings.first_part], [self.settings.last_part]) if p.cluster else ([], [])
        m.d.comb += [
            self.channel.eq(low["m"]),
            self.row.eq(low["y"]),
            self.column.eq(low["x"]),
            self.leaves_row.eq(~_any(nest.turning[columns_from:])),
            self.channels.eq(high["m"] - low["m"]),
            self.rows.eq(high["y"] - low["y"]),
            self.columns.eq(high["x"] - low["x"]),
            self.ends_row.eq(_all(nest.last[columns_from:])),
            self.ends_channels.eq(_all(nest.last[rows_from:])),
            self.ends_box.eq(_all(nest.last[p.output_marker :])),
            self.resumes.eq(~_all([*(nest.first[at] for at in reductions), *begins])),
            self.is_final.eq(_all([*(nest.last[at] for at in reductions), *ends])),
            self.needs_fetch.eq(
                _all(nest.first[j] | ~self.settings.bias_stays[i] for i, j in enumerate(p.bias_loops))
            ),
        ]
        self._place(m, nest, order)
        return m

    def _place(self, m: Module, nest: LoopNest, order: list[int]) -> None:
        """Index in the box, and place in the memory."""
        p, first = self.parameters, self.parameters.output_marker
        steps = {
            at: _adding(getattr(self.settings, f"output_index_step_{j}")) for at, j in enumerate(order) if at >= first
        }
        m.submodules.index = index = LevelRegister(
            loops=len(order), inner=range(first, len(order)), step=steps, shape=self.index.shape()
        )
        fresh = Signal(init=1)
        capacity = output_capacity(p, self.settings)
        base = Signal.like(self.index)
        m.d.comb += [
            index.base.eq(0),
            index.fresh.eq(fresh),
            index.turning.eq(nest.turning),
            index.advance.eq(self.advance),
            self.index.eq(index.value),
            self.place.eq(_modulo(base + index.value, capacity)),
        ]
        with m.If(self.advance):
            m.d.sync += fresh.eq(self.ends_box)
            with m.If(self.ends_box):
                m.d.sync += base.eq(_modulo(base + self.settings.output_box_vectors, capacity))


def _adding(stride: ValueLike) -> Callable[[Value], Value]:
    return lambda value: value + stride


def _modulo(value: Value, depth: Value | int) -> Value:
    """For a value below twice the depth."""
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
