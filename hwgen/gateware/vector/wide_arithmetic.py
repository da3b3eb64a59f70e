"""Arithmetic of several elements in a cycle: a tree over those of a window, and a lane for each output."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.registers.vector import vector_registers
from hwgen.arch.requantisation import LOWEST
from hwgen.arch.vector.job import WINDOW_SUM_BITS
from hwgen.arch.vector.shape import STRIP_BITS, VectorShape
from hwgen.gateware.lib.register_bank import settings_signature
from hwgen.gateware.vector.arithmetic import ENDS, VectorArithmetic
from hwgen.gateware.vector.strips import VectorStrips, joined, larger, strip_layout
from hwgen.gateware.vector.wide_walk import wide_step

__all__ = ["WideArithmetic", "wide_output"]

ELEMENT_BITS = 9
"""Bits of an element less its zero point."""


def wide_output(shape: VectorShape) -> data.StructLayout:
    """Outputs that are in one word, their places, and whether they end a row, a channel, all."""
    return data.StructLayout({"bytes": 8 * shape.outputs, "outputs": shape.outputs, **dict.fromkeys(ENDS, 1)})


class WideArithmetic(VectorArithmetic):
    """Outputs from steps and the words that they take.

    Eight stages, a register after each: the bytes of the elements; the tree over those of a window, of which what has
    no window passes it by; the sum or the maximum of the window; then those of `VectorArithmetic`, for each output.
    The output of a window is in all places.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.
    rounding
        How the shift rounds.
    shape
        How wide the unit is.

    Members
    -------
    settings : In
    i_step : In(stream of `wide_step`)
    i_word : In(stream)
        The words that steps take, in their order.
    o_output : Out(stream of `wide_output`)
    """

    def __init__(self, address_bits: int, rounding: str, shape: VectorShape) -> None:
        self._bits, self._rounding, self._shape = address_bits, rounding, shape
        wiring.Component.__init__(
            self,
            {
                "settings": In(settings_signature(vector_registers(address_bits, shape).held)),
                "i_step": In(stream.Signature(wide_step(shape))),
                "i_word": In(stream.Signature(8 * shape.word_bytes)),
                "o_output": Out(stream.Signature(wide_output(shape))),
            },
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        # Before the window's value all waits for a strip to be taken, too.
        advance, flows = Signal(), Signal()
        m.d.comb += advance.eq(~self.o_output.valid | self.o_output.ready)
        step, valid, lanes, firsts, seconds = self._bytes(m, flows)
        strip = self._strip(m, flows, step, valid, lanes) if self._shape.has_strips else None
        step, valid, tree, values, others = self._tree(m, flows, step, valid, lanes, firsts, seconds)
        if strip is None:
            m.d.comb += flows.eq(advance)
        else:
            self._strips(m, advance, flows, step, valid, strip)
        totals, others, complete, ends = self._totals(m, advance, step, valid, tree, values, others)
        scaled = [
            self._scale(m, advance, total, other, f"_{lane}")
            for lane, (total, other) in enumerate(zip(totals, others, strict=True))
        ]
        for name in ("products", "sum", "shifted", "clipped"):
            complete, ends = self._beside(m, advance, complete, ends, name)
        self._through_tables(m, advance, scaled, complete, ends)
        return m

    def _bytes(self, m: Module, advance: Signal) -> "tuple[data.View, Signal, Signal, list[Signal], list[Signal]]":
        """The step; the bytes of a window; those of both operands, each at the place of its output."""
        given, word, shape = self.i_step.payload, self.i_word.payload, self._shape
        takes, goes, bits = Signal(), Signal(), 8 * shape.word_bytes
        held, refilled, now = Signal(bits), Signal(bits), Signal(bits)
        step, valid, lanes = Signal(wide_step(shape)), Signal(), Signal(8 * shape.elements)
        self._entry, self._entries = Signal(), Signal(range(shape.table_words))
        m.d.comb += [
            takes.eq(given.takes | given.refills | given.entry),
            goes.eq(self.i_step.valid & (~takes | self.i_word.valid) & advance),
            self.i_step.ready.eq(goes),
            self.i_word.ready.eq(goes & takes),
            now.eq(Mux(given.takes, word, held)),
            self._entry.eq(goes & given.entry),
        ]
        with m.If(goes & given.takes):
            m.d.sync += held.eq(word)
        with m.If(goes & given.refills):
            m.d.sync += refilled.eq(word)
        with m.If(self._entry):
            m.d.sync += self._entries.eq(self._entries + 1)
        halves = [operand.word_select(given.half, 8 * shape.outputs) for operand in (now, refilled)]
        turned = [byte for half in halves for byte in self._turned(half, given)]
        firsts, seconds = (
            [Signal(signed(8), name=f"{name}_{i}") for i in range(shape.outputs)] for name in ("first", "second")
        )
        of_window = now if shape.elements == shape.word_bytes else now.word_select(given.half, 8 * shape.elements)
        with m.If(advance):
            m.d.sync += [
                valid.eq(goes),
                step.eq(given),
                lanes.eq(of_window),
                *(one.eq(byte) for one, byte in zip([*firsts, *seconds], turned, strict=True)),
            ]
        return step, valid, lanes, firsts, seconds

    def _turned(self, half: Value, step: data.View) -> list[Value]:
        """The bytes of half a word at the places of their outputs."""
        number = self._shape.outputs
        found = Array(half.rotate_right(8 * turn) for turn in range(number))[step.turn]
        return [found[8 * i : 8 * i + 8] for i in range(number)]

    def _strip(self, m: Module, flows: Signal, step: data.View, valid: Signal, lanes: Signal) -> Signal:
        """The maxima or the sums of columns, over the rows of a window."""
        s, columns = self.settings, Signal(STRIP_BITS * self._shape.elements, reset_less=True)
        for i in range(self._shape.elements):
            column, lane = columns.word_select(i, STRIP_BITS), lanes.word_select(i, 8).as_signed()
            largest = Mux(step.first, LOWEST, column[:8].as_signed())
            total = Mux(step.first, 0, column.as_signed())
            element = Mux(step.inside[i], lane, LOWEST)
            less = Mux(step.inside[i], lane - s.zeros_first.as_signed(), 0)
            with m.If(flows & valid):
                m.d.sync += column.eq(Mux(s.mode_average, total + less, larger(largest, element)))
        return columns

    def _strips(
        self, m: Module, advance: Signal, flows: Signal, step: data.View, valid: Signal, columns: Signal
    ) -> None:
        """Windows of strips, each of which waits in a register until it is taken."""
        s, strip = self.settings, Signal(strip_layout(self._shape))
        self._made = made = VectorStrips(self._bits, self._shape)
        m.submodules.strips = made
        wiring.connect(m, wiring.flipped(self.settings), made.settings)
        whole = valid & step.last & s.mode_strips
        m.d.comb += [
            strip.columns.eq(columns),
            *(strip[name].eq(step[name]) for name in ("begins", "lane", "end", "outputs", *ENDS)),
            made.strip.eq(strip),
            made.valid.eq(whole),
            made.advance.eq(advance),
            flows.eq(advance & (~whole | made.ready)),
        ]

    def _tree(
        self,
        m: Module,
        advance: Signal,
        step: data.View,
        valid: Signal,
        lanes: Signal,
        firsts: list[Signal],
        seconds: list[Signal],
    ) -> tuple[data.View, Signal, Signal, list[Signal], list[Signal]]:
        """The sum or the maximum of the elements of a step, and the elements of both operands less their zeros."""
        s, shape = self.settings, self._shape
        elements = [lanes[8 * i : 8 * i + 8].as_signed() for i in range(shape.elements)]
        less = [Mux(step.inside[i], one - s.zeros_first.as_signed(), 0) for i, one in enumerate(elements)]
        counted = [Mux(step.inside[i], one, LOWEST) for i, one in enumerate(elements)]
        tree = Signal(signed(ELEMENT_BITS + (shape.elements - 1).bit_length()), reset_less=True)
        next_step, next_valid = Signal(wide_step(shape), name="tree_step"), Signal(name="tree_valid")
        values, others = (
            [Signal(signed(ELEMENT_BITS), name=f"{name}_{i}", reset_less=True) for i in range(shape.outputs)]
            for name in ("value", "other")
        )
        with m.If(advance):
            m.d.sync += [
                next_step.eq(step),
                next_valid.eq(valid),
                tree.eq(Mux(s.mode_average, joined(less, lambda a, b: a + b), joined(counted, larger))),
                *(value.eq(one - s.zeros_first.as_signed()) for value, one in zip(values, firsts, strict=True)),
                *(value.eq(one - s.zeros_second.as_signed()) for value, one in zip(others, seconds, strict=True)),
            ]
        return next_step, next_valid, tree, values, others

    def _totals(
        self,
        m: Module,
        advance: Signal,
        step: data.View,
        valid: Signal,
        tree: Signal,
        values: list[Signal],
        others: list[Signal],
    ) -> tuple[list[Signal], list[Signal], Signal, Signal]:
        """Sum or maximum of the window, or the elements of what has none; and those of the second operand."""
        s = self.settings
        complete, ends = Signal(), Signal(len(ENDS) + self._shape.outputs)
        total, before = Signal(signed(WINDOW_SUM_BITS)), Signal(signed(WINDOW_SUM_BITS))
        totals = [total, *(Signal.like(one, name=f"total_{i}") for i, one in enumerate(values[1:], 1))]
        seconds = [Signal.like(one, name=f"last_{one.name}") for one in others]
        m.d.comb += before.eq(Mux(step.first, Mux(s.mode_average, 0, LOWEST), total))
        with m.If(advance):
            m.d.sync += [
                complete.eq(valid & step.last),
                ends.eq(Cat(*(step[name] for name in ENDS), step.outputs)),
                *(one.eq(value) for one, value in zip([*totals[1:], *seconds], [*values[1:], *others], strict=True)),
            ]
            with m.If(s.mode_elements):
                m.d.sync += total.eq(values[0])
            with m.Elif(valid):
                m.d.sync += total.eq(Mux(s.mode_average, before + tree, larger(before, tree)))
            if self._shape.has_strips:
                with m.If(s.mode_strips):
                    m.d.sync += total.eq(Mux(s.mode_average, self._made.total, self._made.maximum))
                    m.d.sync += complete.eq(self._made.has)
                    m.d.sync += ends.eq(self._made.ends)
        return totals, seconds, complete, ends

    def _through_tables(
        self, m: Module, advance: Signal, values: list[Signal], complete: Signal, ends: Signal
    ) -> None:
        """The last stage: for each output the entry for the value, or the value. Each has a table of its own."""
        s, shape = self.settings, self._shape
        lane_bits = (shape.word_bytes - 1).bit_length()
        outputs = []
        for lane, own in enumerate(values):
            table = Memory(shape=8 * shape.word_bytes, depth=shape.table_words, init=[])
            m.submodules[f"table_{lane}"] = table
            write, read = table.write_port(), table.read_port()
            place, kept = Signal(8, name=f"place_{lane}"), Signal(8, name=f"kept_{lane}")
            value = own if lane == 0 else Mux(s.mode_elements, own, values[0])
            m.d.comb += [
                write.en.eq(self._entry),
                write.addr.eq(self._entries),
                write.data.eq(self.i_word.payload),
                # The least value has the first entry.
                place.eq(value ^ (LOWEST & 0xFF)),
                read.en.eq(advance & complete),
                read.addr.eq(place[lane_bits:]),
            ]
            with m.If(advance):
                m.d.sync += kept.eq(Mux(s.mode_table, place, value))
            entry = Array(read.data.word_select(i, 8) for i in range(shape.word_bytes))[kept[:lane_bits]]
            outputs.append(Mux(s.mode_table, entry, kept))
        with m.If(advance):
            m.d.sync += [
                self.o_output.valid.eq(complete),
                self.o_output.payload.outputs.eq(ends[len(ENDS) :]),
                *(self.o_output.payload[name].eq(ends[i]) for i, name in enumerate(ENDS)),
            ]
        m.d.comb += self.o_output.payload.bytes.eq(Cat(outputs))
