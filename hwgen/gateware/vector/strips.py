"""Windows from strips: the columns in a word, of each the maximum or the sum over the rows of a window."""

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.registers.vector import vector_registers
from hwgen.arch.requantisation import LOWEST
from hwgen.arch.vector.shape import STRIP_BITS, VectorShape
from hwgen.gateware.lib.register_bank import settings_signature
from hwgen.gateware.vector.arithmetic import ENDS

__all__ = ["VectorStrips", "joined", "larger", "strip_layout"]


def strip_layout(shape: VectorShape) -> data.StructLayout:
    """A strip: its columns, whether a row begins with it, its first and last column, the place of the row's first
    output, and whether the strip is the last one of its row, of its channel, of all."""
    place = range(shape.elements)
    ends = dict.fromkeys(ENDS, 1)
    return data.StructLayout(
        {
            "columns": STRIP_BITS * shape.elements,
            "begins": 1,
            "lane": place,
            "end": place,
            "outputs": shape.outputs,
            **ends,
        }
    )


class VectorStrips(wiring.Component):
    """Holds a strip and the one before it, and makes in each cycle the maximum or the sum of a window that ends in
    the later one.

    A strip is taken in the cycle in which the last window that ends in the one before is made. Windows are at most a
    column wider than a strip.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.
    shape
        How wide the unit is.

    Members
    -------
    settings : In
    advance : In(1)
        What is made is taken.
    valid : In(1), ready : Out(1), strip : In(strip_layout)
        A strip, which is taken if all three are set.
    has : Out(1)
        A window is made.
    maximum, total : Out(signed)
        What it is, for either mode.
    ends : Out
        Whether it is the last one of its row, of its channel, of all; the place of its output.
    """

    def __init__(self, address_bits: int, shape: VectorShape) -> None:
        self._shape = shape
        super().__init__(
            {
                "settings": In(settings_signature(vector_registers(address_bits, shape).held)),
                "advance": In(1),
                "valid": In(1),
                "ready": Out(1),
                "strip": In(strip_layout(shape)),
                "has": Out(1),
                "maximum": Out(signed(8)),
                "total": Out(signed(STRIP_BITS + (2 * shape.elements - 1).bit_length())),
                "ends": Out(len(ENDS) + shape.outputs),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        s, size = self.settings, self._shape.elements
        now, before = Signal(strip_layout(self._shape)), Signal(STRIP_BITS * size)
        # Columns count from the strip before this one.
        there, place = Signal(), Signal(self._shape.outputs)
        first, last = Signal(range(3 * size)), Signal(range(3 * size))
        last_after, first_after, final = Signal.like(last), Signal.like(first), Signal()
        m.d.comb += [
            self.has.eq(there & (last <= now.end + size)),
            last_after.eq(Mux(self.has, last + s.stride_columns, last)),
            first_after.eq(Mux(self.has, first + s.stride_columns, first)),
            final.eq(last_after > now.end + size),
            self.ready.eq(final | ~there),
            self.ends.eq(Cat(*(now[name] & final for name in ENDS), place)),
        ]
        with m.If(self.advance):
            m.d.sync += [last.eq(last_after), first.eq(first_after)]
            with m.If(self.has):
                m.d.sync += place.eq(place.rotate_left(1))
            with m.If(self.valid & self.ready):
                m.d.sync += [now.eq(self.strip), before.eq(now.columns), there.eq(1)]
                m.d.sync += [last.eq(last_after - size), first.eq(first_after - size)]
                with m.If(self.strip.begins):
                    m.d.sync += [
                        first.eq(self.strip.lane + size),
                        last.eq(self.strip.lane + s.kernel_columns + (size - 1)),
                        place.eq(self.strip.outputs),
                    ]
        columns = Cat(before, now.columns)
        # The last column of a window is in the later strip.
        inside = [(first <= i) & (last >= i if i > size else 1) for i in range(2 * size)]
        held = [columns.word_select(i, STRIP_BITS).as_signed() for i in range(2 * size)]
        elements = [Mux(one, column[:8].as_signed(), LOWEST) for one, column in zip(inside, held, strict=True)]
        sums = [Mux(one, column, 0) for one, column in zip(inside, held, strict=True)]
        m.d.comb += [
            self.maximum.eq(joined(elements, larger)),
            self.total.eq(joined(sums, lambda one, other: one + other)),
        ]
        return m


def larger(one: Value, other: Value) -> Value:
    """The larger of two values."""
    return Mux(one > other, one, other)


def joined(values: list[Value], join: Callable[[Value, Value], Value]) -> Value:
    """All values in one, by a tree; a power of two of them."""
    while len(values) > 1:
        values = [join(values[i], values[i + 1]) for i in range(0, len(values), 2)]
    return values[0]
