"""Rows of a box of the input: which of them are new, and which stay in the ring."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring

from hwgen.gateware.lib.nest import Ranges
from hwgen.gateware.lib.stride import times_stride

__all__ = ["Rows"]


class Rows:
    """Rows of the box; they count from the padding's edge."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        # The box's first row and the one behind its last; rows of the kernel, and whether the stride jumps over some.
        self.corner, self.behind = Signal(bits + 3), Signal(bits + 3)
        self.kernel, self.gaps = Signal(bits), Signal()
        # Rows above the first new one, those of them that lie in the ring, new ones, the first new one, and how many
        # new ones lie there without a gap.
        self.skipped, self.kept, self.new = Signal(bits + 3), Signal(bits + 3), Signal(bits + 3)
        self.first_new, self.run = Signal(bits + 3), Signal(2)
        # The first row behind the last box that is still in the ring, or in the image; the first one below it.
        self._next_new, self._bottom = Signal(bits + 3), Signal(bits + 3)
        # The first one of the rows at hand: all of them, or those up to a gap; how many, and how often others follow.
        self._at, self._span, self._left = Signal(bits + 3), Signal(bits + 3), Signal(bits)
        # Rows from there to the image, to the first new row, to the image's end.
        self._to = [Signal(signed(bits + 4), name=f"to_{name}") for name in ("image", "new", "bottom")]
        # Of the rows counted last: how many lie above each of these, the first one, and whether there are any.
        self._above = [Signal(bits + 3, name=f"above_{name}") for name in ("image", "new", "bottom")]
        self._counted_at, self._counted = Signal(bits + 3), Signal()

    def follow(self, m: Module, settings: wiring.PureInterface, ranges: Ranges) -> None:
        """The box's rows two cycles after the nest has moved, as long as it stays."""
        bits, stride, low, high = self._bits, settings.stride_y, ranges.low, ranges.high
        first, end, more = Signal(bits + 2), Signal(bits + 2), Signal(bits)
        m.d.sync += [
            first.eq(times_stride(low["y"], stride)),
            end.eq(times_stride(high["y"], stride)),
            self.kernel.eq(Value.cast(high["k"]) - low["k"]),
            more.eq(Value.cast(high["y"]) - low["y"] - 1),
            self.corner.eq(first + low["k"]),
            self.behind.eq(end + high["k"] - stride),
            self.gaps.eq(self.kernel < stride),
            self._bottom.eq(settings.padding_top + settings.input_height),
        ]
        self._more = more

    def begin(self, m: Module, settings: wiring.PureInterface, keeps: Value) -> None:
        """Before they are counted; those that lie in the ring are new if the box keeps nothing."""
        top, new = settings.padding_top, Mux(keeps, self._next_new, settings.padding_top)
        m.d.sync += [
            *(to.eq(row - self.corner) for to, row in zip(self._to, (top, new, self._bottom), strict=True)),
            self._at.eq(self.corner),
            self._span.eq(Mux(self.gaps, self.kernel, self.behind - self.corner)),
            self._left.eq(Mux(self.gaps, self._more, 0)),
            *(number.eq(0) for number in (self.skipped, self.kept, self.new)),
        ]

    def count(self, m: Module, settings: wiring.PureInterface) -> Value:
        """All of them at once, or, where they have gaps, the rows of one output row a cycle; whether that is all."""
        m.d.sync += [
            *(
                above.eq(Mux(to < 0, 0, Mux(to > self._span, self._span, to)))
                for above, to in zip(self._above, self._to, strict=True)
            ),
            *(to.eq(to - settings.stride_y) for to in self._to),
            self._counted_at.eq(self._at),
            self._at.eq(self._at + settings.stride_y),
            self._left.eq(self._left - 1),
            self._counted.eq(1),
        ]
        return self._left == 0

    def add(self, m: Module) -> None:
        """The rows that have been counted, a cycle later."""
        image, new, bottom = self._above
        m.d.sync += self._counted.eq(0)
        with m.If(self._counted):
            m.d.sync += [
                self.skipped.eq(self.skipped + new),
                self.kept.eq(self.kept + new - image),
                self.new.eq(self.new + bottom - new),
            ]
            with m.If(self.new == 0):
                m.d.sync += [self.first_new.eq(self._counted_at + new), self.run.eq(self.kernel - new)]

    def end(self, m: Module, settings: wiring.PureInterface) -> None:
        """Rows of the next box from here on are new."""
        top, behind = settings.padding_top, self.behind
        m.d.sync += self._next_new.eq(Mux(behind <= top, top, Mux(behind > self._bottom, self._bottom, behind)))
