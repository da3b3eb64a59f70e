"""Arithmetic from the elements of windows to outputs: sum or maximum, two multipliers, shift, zero point, clip,
table."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.registers.vector import vector_registers
from hwgen.arch.requantisation import LOWEST
from hwgen.arch.vector.job import VECTOR_MULTIPLIER_BITS, WINDOW_SUM_BITS
from hwgen.arch.vector.shape import NARROW
from hwgen.gateware.lib.register_bank import settings_signature
from hwgen.gateware.lib.rounding import RoundingShift, beyond
from hwgen.gateware.lib.scaling import LOW_BITS, ZeroClip
from hwgen.gateware.vector.walk import STEP

__all__ = ["ENDS", "OUTPUT", "VectorArithmetic"]

OUTPUT = data.StructLayout({"value": 8, "ends_row": 1, "ends_plane": 1, "ends": 1})
"""An output, and whether it is the last one of its row, of its channel, of all."""
ENDS = ("ends_row", "ends_plane", "ends")
LANE_BITS = (WORD_BYTES - 1).bit_length()


class VectorArithmetic(wiring.Component):
    """Outputs from steps and the words that they take.

    Seven stages, a register after each: the bytes of the element; the sum or the maximum of the window; two
    products; their sum; the shift; the clip; the table. All of them wait while an output is not taken.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.
    rounding
        How the shift rounds.

    Members
    -------
    settings : In
    i_step : In(stream of STEP)
    i_word : In(stream)
        The words that steps take, in their order.
    o_output : Out(stream of OUTPUT)
    """

    def __init__(self, address_bits: int, rounding: str) -> None:
        self._rounding = rounding
        super().__init__(
            {
                "settings": In(settings_signature(vector_registers(address_bits).held)),
                "i_step": In(stream.Signature(STEP)),
                "i_word": In(stream.Signature(WORD_BITS)),
                "o_output": Out(stream.Signature(OUTPUT)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        advance = Signal()
        m.d.comb += advance.eq(~self.o_output.valid | self.o_output.ready)
        step, first, second, valid = self._take(m, advance)
        total, other, complete, ends = self._gather(m, advance, step, first, second, valid)
        value = self._scale(m, advance, total, other)
        # Beside the four stages of the scaling.
        for name in ("products", "sum", "shifted", "clipped"):
            complete, ends = self._beside(m, advance, complete, ends, name)
        self._through_table(m, advance, value, complete, ends)
        return m

    def _take(self, m: Module, advance: Signal) -> tuple[data.View, Signal, Signal, Signal]:
        """The step and the bytes of both operands, in registers."""
        given, word = self.i_step.payload, self.i_word.payload
        takes, goes = Signal(), Signal()
        held, refilled, now = Signal(WORD_BITS), Signal(WORD_BITS), Signal(WORD_BITS)
        step, valid = Signal(STEP), Signal()
        first, second = Signal(signed(8)), Signal(signed(8))
        self._entry, self._entries = Signal(), Signal(range(NARROW.table_words))
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
        with m.If(advance):
            m.d.sync += [
                valid.eq(goes),
                step.eq(given),
                first.eq(now.word_select(given.lane, 8)),
                second.eq(refilled.word_select(given.lane, 8)),
            ]
        return step, first, second, valid

    def _gather(
        self, m: Module, advance: Signal, step: data.View, first: Signal, second: Signal, valid: Signal
    ) -> tuple[Signal, Signal, Signal, Signal]:
        """Sum or maximum of the window, and the element of the second operand."""
        s = self.settings
        element, total = Signal(signed(9)), Signal(signed(WINDOW_SUM_BITS))
        other, complete, ends = Signal(signed(9)), Signal(), Signal(len(ENDS))
        before, larger = Signal(signed(WINDOW_SUM_BITS)), Signal()
        m.d.comb += [
            element.eq(first - s.zeros_first.as_signed()),
            before.eq(Mux(step.first, Mux(s.mode_average | s.mode_add, 0, LOWEST), total)),
            larger.eq(element > before),
        ]
        with m.If(advance):
            m.d.sync += [
                complete.eq(valid & step.last),
                ends.eq(Cat(step[name] for name in ENDS)),
                other.eq(second - s.zeros_second.as_signed()),
            ]
            with m.If(valid):
                m.d.sync += total.eq(before)
                with m.If(step.inside & (s.mode_average | s.mode_add)):
                    m.d.sync += total.eq(before + element)
                with m.Elif(step.inside & larger):
                    m.d.sync += total.eq(element)
        return total, other, complete, ends

    def _scale(self, m: Module, advance: Signal, total: Signal, other: Signal, lane: str = "") -> Signal:
        """Two products, their sum, its shift, the clip. ``lane`` : what follows the names of its blocks."""
        s, sum_bits = self.settings, len(total) + VECTOR_MULTIPLIER_BITS + 1
        rounding = RoundingShift(
            bits=LOW_BITS, sum_bits=sum_bits, shift_bits=len(s.mode_shift), rounding=self._rounding
        )
        clip = ZeroClip(rounding=self._rounding)
        m.submodules[f"rounding{lane}"], m.submodules[f"clip{lane}"] = rounding, clip
        first = Signal(signed(len(total) + VECTOR_MULTIPLIER_BITS), reset_less=True)
        second = Signal(signed(len(other) + VECTOR_MULTIPLIER_BITS), reset_less=True)
        both, rest = Signal(signed(sum_bits), reset_less=True), Signal.like(rounding.rest, reset_less=True)
        value, above = Signal(8, reset_less=True), Signal.like(rounding.beyond)
        m.d.sync += above.eq(beyond(s.mode_shift, LOW_BITS, sum_bits))
        m.d.comb += [
            rounding.enable.eq(1),
            rounding.sum.eq(both),
            rounding.shift.eq(s.mode_shift),
            rounding.beyond.eq(above),
            clip.rest.eq(rest),
            clip.zero_out.eq(s.zeros_out),
            clip.low.eq(s.clip_low),
            clip.high.eq(s.clip_high),
        ]
        with m.If(advance):
            m.d.sync += [
                first.eq(total * s.multiplier),
                second.eq(other * s.multiplier_2),
                both.eq(first + second),
                rest.eq(rounding.rest),
                value.eq(clip.value),
            ]
        return value

    @staticmethod
    def _beside(m: Module, advance: Signal, complete: Signal, ends: Signal, name: str) -> tuple[Signal, Signal]:
        """What accompanies a value, a stage later."""
        valid, last = Signal(name=f"{name}_valid"), Signal(len(ends), name=f"{name}_ends")
        with m.If(advance):
            m.d.sync += [valid.eq(complete), last.eq(ends)]
        return valid, last

    def _through_table(self, m: Module, advance: Signal, value: Signal, complete: Signal, ends: Signal) -> None:
        """The last stage: the entry for the value, or the value."""
        m.submodules.table = table = Memory(shape=WORD_BITS, depth=NARROW.table_words, init=[])
        write, read = table.write_port(), table.read_port()
        place, kept = Signal(8), Signal(8)
        m.d.comb += [
            write.en.eq(self._entry),
            write.addr.eq(self._entries),
            write.data.eq(self.i_word.payload),
            # The least value has the first entry.
            place.eq(value ^ (LOWEST & 0xFF)),
            read.en.eq(advance & complete),
            read.addr.eq(place[LANE_BITS:]),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o_output.valid.eq(complete),
                kept.eq(Mux(self.settings.mode_table, place, value)),
                *(self.o_output.payload[name].eq(ends[i]) for i, name in enumerate(ENDS)),
            ]
        entry = Array(read.data.word_select(lane, 8) for lane in range(WORD_BYTES))[kept[:LANE_BITS]]
        m.d.comb += self.o_output.payload.value.eq(Mux(self.settings.mode_table, entry, kept))
