"""Rows of a tile of the input: which of them are new, and which stay in the ring."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.token import row_shape
from hwgen.gateware.hwc.widths import covered_bits, span_bits, tile_bits

__all__ = ["TileRows"]


class TileRows(wiring.Component):
    """Counts the rows of one tile after the other; rows count from the image's first one.

    All rows are counted at once, or, where the stride jumps over some, those of one output row a cycle. A count
    passes three stages: distances, clipped distances, sums.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    stride, height : In
        Vertical stride; rows of the image.
    corner, span, kernel : In
        The tile's first row, rows from its first output row to its last one, and rows of the kernel. They must stand
        from the cycle before ``begin`` until ``ends``.
    keeps : In(1)
        Some of the tile before stays, from the cycle after ``begin`` on.
    begin : In(1)
        Count the rows of a tile.
    counting : Out(1)
        Rows are still to be counted. The sums are there from the third cycle after the last one in which it is set.
    ends : In(1)
        Rows of the next tile are new from here on. In the second cycle after the last one of ``counting``.
    gaps : Out(1)
        The stride jumps over rows.
    skipped, kept, new : Out
        Rows before the first new one; those of them that are in the ring; new rows.
    first_new, run : Out
        The first new row, and how many there are without a gap.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        bits = parameters.position_bits
        order = range(min(parameters.input_marker + 1, len(parameters.loops)))
        super().__init__(
            {
                "stride": In(3),
                "height": In(bits),
                "corner": In(row_shape(parameters)),
                "span": In(span_bits(parameters, "y")),
                "kernel": In(covered_bits(parameters, order, "k")),
                "keeps": In(1),
                "begin": In(1),
                "counting": Out(1),
                "ends": In(1),
                "gaps": Out(1),
                **{name: Out(tile_bits(parameters, "y")) for name in ("skipped", "kept", "new")},
                "first_new": Out(row_shape(parameters)),
                "run": Out(2),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        total = Signal(max(len(self.span), len(self.kernel)) + 1)
        length = Signal.like(total)
        # The first row after the last tile that is still in the ring, or in the image.
        next_new, after = Signal.like(self.height), Signal(signed(len(self.corner) + 1))
        at, left = Signal.like(self.corner), Signal.like(self.span)
        m.d.sync += [
            self.gaps.eq(self.kernel < self.stride),
            total.eq(self.span + self.kernel),
            length.eq(Mux(self.gaps, self.kernel, total)),
            after.eq(self.corner + total),
        ]
        with m.If(self.ends):
            m.d.sync += next_new.eq(Mux(after < 0, 0, Mux(after > self.height, self.height, after)))
        # Rows from the first one at hand to the image, to the first new row, to the image's end.
        distances = [Signal(signed(len(at) + 1), name=f"to_{name}") for name in ("image", "new", "end")]
        bounds = (Value.cast(0), Mux(self.keeps, next_new, 0), self.height)
        placed, measured = Signal(), Signal()
        with m.If(self.begin):
            m.d.sync += [self.counting.eq(1), at.eq(self.corner), left.eq(Mux(self.gaps, self.span, 0))]
        with m.Else():
            m.d.sync += [at.eq(at + self.stride), left.eq(left - self.stride)]
            with m.If(left == 0):
                m.d.sync += self.counting.eq(0)
        m.d.sync += [to.eq(bound - at) for to, bound in zip(distances, bounds, strict=True)]
        # Of the rows at hand: how many are above each of these.
        above = [Signal.like(length, name=f"above_{name}") for name in ("image", "new", "end")]
        m.d.sync += [
            number.eq(Mux(to < 0, 0, Mux(to > length, length, to)))
            for number, to in zip(above, distances, strict=True)
        ]
        starts = [Signal.like(at, name=f"at_{stage}") for stage in ("placed", "measured")]
        m.d.sync += [starts[0].eq(at), starts[1].eq(starts[0]), placed.eq(self.counting), measured.eq(placed)]
        self._add(m, measured, starts[1], above)
        return m

    def _add(self, m: Module, measured: Value, start: Value, above: list[Signal]) -> None:
        """Add up rows that have been measured."""
        image, new, end = above
        with m.If(self.begin):
            m.d.sync += [self.skipped.eq(0), self.kept.eq(0), self.new.eq(0)]
        with m.Elif(measured):
            m.d.sync += [
                self.skipped.eq(self.skipped + new),
                self.kept.eq(self.kept + new - image),
                self.new.eq(self.new + end - new),
            ]
            with m.If(self.new == 0):
                m.d.sync += [self.first_new.eq(start + new), self.run.eq(self.kernel - new)]
