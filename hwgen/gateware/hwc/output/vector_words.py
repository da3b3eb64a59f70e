"""Between a vector and the words that it is made of: four outputs become bytes of a word, or one sum is a word."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.output.vector_steps import Step, VectorMove, group_bits, log2, stores, together
from hwgen.gateware.lib.requantise import Clip, RoundingShift, beyond, connected_clip

__all__ = ["REST_BITS", "Leaving"]

WAITING_BYTES = WORD_BYTES - 1
"""Of a word that is not full yet, at most."""
REST_BITS = 10
"""Of a sum that was shifted right and is to be clipped to 8 bits."""


class _Word:
    """What becomes of the outputs at hand: a word to write if it ``leaves``, with these bytes."""

    def __init__(self) -> None:
        self.leaves = Signal()
        self.enable = Signal(WORD_BYTES)


class Leaving:
    """The last stage: an access, and how its word is made of the outputs, or sum, that were chosen a cycle before.

    Outputs that do not fill a word wait for the next vector of their rows.

    Members
    -------
    asks : Signal
        There is an access: ``move`` says what for.
    """

    def __init__(self, parameters: HwcParameters, settings: wiring.PureInterface) -> None:
        self._parameters, self._settings = parameters, settings
        lines = parameters.vector_lanes.m * parameters.vector_lanes.y
        self.asks, self._write, self.move = Signal(), Signal(), Signal(VectorMove)
        self._address, self._enable = Signal(30), Signal(WORD_BYTES)
        # A sum, or what is left of four sums or of one that was shifted right: to be clipped.
        self._value = Signal(WORD_BYTES * REST_BITS, name="outgoing")
        self._outputs, self._half_output = Signal(8 * WORD_BYTES), Signal(16)
        # Outputs of 8 bits are packed; those of 16 bits are halves, the upper one goes out with the other.
        self._packs, self._halves, self._upper = Signal(), Signal(), Signal()
        self._offset, self._before, self._kept = Signal(2), Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        self._fills, self._merges = Signal(), Signal()
        self._group, self._sub = Signal(group_bits(parameters)), Signal(2)
        self._line = Signal(max(1, log2(lines)))
        # Up to three outputs of 8 bits, or one of 16 bits, for each row of lanes.
        self._waiting = Signal(8 * WAITING_BYTES * lines, name="waiting")

    def take(self, m: Module, step: Step, sums: Value, shift: Value, *, goes: Value, active: Value) -> None:
        """What the step at hand takes of a vector: an output of 8 bits for each of four sums, else one sum or output.

        Parameters
        ----------
        sums
            The vector's, 32 bits each, with the biases if outputs are wanted of them.
        shift
            How far outputs are still to be shifted.
        goes, active
            As `Step.follow`'s.
        """
        wide = self._parameters.wide
        asks, enable, value = Signal(), Signal(WORD_BYTES), Signal(WORD_BYTES * REST_BITS)
        moves, four = Signal(), Signal(32 * WORD_BYTES)
        m.d.comb += [moves.eq(step.on & goes), four.eq(sums.word_select(step.chosen, 32 * WORD_BYTES))]
        one = four.word_select(step.lanes.lane(self._settings)[:2], 32)
        rests = self._requantise(m, four, shift, step.packs & step.on)
        word = self._pack(m, step, step.packs & active, goes)
        column: Value = step.lanes.column << 2
        if wide:
            half = self._pack_half(m, step, step.halves & active, goes)
            rest = self._requantise_half(m, one, shift, step.halves & step.on)
            column = Mux(step.halves, step.lanes.column << 1, column)
        with m.If(step.packs):
            m.d.comb += [asks.eq(word.leaves), enable.eq(word.enable), value.eq(rests)]
        with m.Else():
            m.d.comb += [asks.eq(1), enable.eq(~0), value.eq(one)]
            if wide:
                with m.If(step.halves):
                    m.d.comb += [asks.eq(half.leaves), enable.eq(half.enable), value.eq(rest)]
        with m.If(goes):
            m.d.sync += [self.asks.eq(moves & asks & ~step.kept), self._packs.eq(moves & step.packs)]
            if wide:
                m.d.sync += self._halves.eq(moves & step.halves)
            m.d.sync += [
                self.move.eq(step.kind),
                self._address.eq((step.address + column)[2:]),
                self._write.eq(stores(step.kind)),
                self._enable.eq(enable),
                self._value.eq(value),
            ]

    def leave(self, m: Module, request: stream.Interface, *, goes: Value) -> None:
        """Outputs, clipped, are moved to their place in the word, after those of the row that wait."""
        p, waiting = self._parameters, self._waiting
        across, rows = min(p.vector_lanes.x, WORD_BYTES), together(p)
        word = Signal(32)
        m.d.comb += word.eq(self._value)
        if p.wide:
            half = waiting.word_select(self._line, 16)
            with m.If(self._halves):
                m.d.comb += word.eq(Cat(Mux(self._upper, half, self._half_output), self._half_output))
            with m.If(goes & self._halves):
                m.d.sync += half.eq(self._half_output)
        with m.If(self._packs):
            for i in range(rows):
                line = self._line if rows == 1 else Cat(C(i, log2(rows)), self._group)
                waits = waiting.word_select(line, 8 * WAITING_BYTES)
                old, merged = Signal(8 * WAITING_BYTES, name=f"old_{i}"), Signal(32, name=f"merged_{i}")
                fresh = Signal(8 * (2 * WORD_BYTES - 1), name=f"fresh_{i}")
                stays = Signal(8 * WAITING_BYTES, name=f"stays_{i}")
                m.d.comb += [
                    old.eq(waits),
                    fresh.eq(self._outputs[8 * across * i : 8 * across * (i + 1)] << (self._offset << 3)),
                    merged.eq(Cat(_bytes(self._kept, old, fresh), fresh[8 * WAITING_BYTES :])),
                    stays.eq(Mux(self._fills, fresh[32:], _bytes(self._before, old, fresh))),
                ]
                here = self._sub == i if rows > 1 else self._packs
                with m.If(here):
                    m.d.comb += word.eq(merged)
                with m.If(goes & (here | self._merges)):
                    m.d.sync += waits.eq(stays)
        m.d.comb += [
            request.valid.eq(self.asks),
            request.payload.address.eq(self._address << 2),
            request.payload.write.eq(self._write),
            request.payload.enable.eq(self._enable),
            request.payload.data.eq(word),
        ]

    def _pack(self, m: Module, step: Step, enabled: Value, goes: Value) -> _Word:
        """Up to four outputs of a row: which bytes of a word they are, with those of the row that wait.

        Where lanes along x are fewer than four, four outputs come from several rows: if they fill no word, all of
        them go at once to where outputs wait, else one row after the other is written.
        """
        enable, used = Signal(2 * WORD_BYTES - 1), Signal(WORD_BYTES)
        waiting_enable, carried = Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        before, rest = Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        flushes, has_tail = Signal(), Signal()
        word = _Word()
        group, sub = step.group()
        with m.If(enabled):
            # Of a row of fewer than four lanes all outputs are taken; the column then counts groups, or is a flush.
            m.d.comb += [
                flushes.eq(step.overflows & step.ends_line),
                has_tail.eq(Mux(step.overflows, step.beat == 2, step.ends_line)),
                enable.eq(Mux(has_tail | step.merges, step.tail_bytes, step.all_bytes)),
                before.eq(Mux(step.begins_line | step.merges, waiting_enable, carried)),
                used.eq(enable[:WORD_BYTES] | before),
                word.leaves.eq(used[-1] | (step.ends_line & step.ends_row)),
                rest.eq(Mux(used[-1], enable[WORD_BYTES:], used[:WAITING_BYTES])),
                word.enable.eq(Mux(flushes, carried, used)),
            ]
            with m.If(goes):
                m.d.sync += [
                    carried.eq(rest),
                    self._offset.eq(step.offset),
                    self._before.eq(before),
                    self._kept.eq(before | flushes.replicate(WAITING_BYTES)),
                    self._fills.eq(used[-1]),
                    self._merges.eq(step.merges),
                    self._group.eq(group),
                    self._sub.eq(sub),
                    self._line.eq(step.lanes.line),
                ]
                with m.If(step.on & step.is_last):
                    m.d.sync += waiting_enable.eq(Mux(step.ends_row, 0, rest))
        return word

    def _pack_half(self, m: Module, step: Step, enabled: Value, goes: Value) -> _Word:
        """One output of 16 bits; where it begins a word it waits for the next one, unless the row ends with it."""
        lanes, word = step.lanes, _Word()
        waits, is_upper, has_lower = Signal(), Signal(), Signal()
        with m.If(enabled):
            m.d.comb += [
                is_upper.eq(step.address[1] ^ lanes.column[0]),
                has_lower.eq((lanes.column != 0) | waits),
                word.leaves.eq(is_upper | (step.ends_line & step.ends_row)),
                word.enable.eq(Mux(is_upper, Cat(has_lower.replicate(2), C(3, 2)), 3)),
            ]
            with m.If(goes):
                m.d.sync += [self._upper.eq(is_upper), self._line.eq(lanes.wide_line)]
            with m.If(goes & step.on & step.is_last):
                m.d.sync += waits.eq(~is_upper & ~step.ends_row)
        return word

    def _requantise(self, m: Module, sums: Value, shift: Value, enable: Value) -> Value:
        """What is left of four sums; a cycle later it becomes their outputs."""
        settings, rests, outputs, beyond_these = self._settings, [], [], Signal(33)
        m.d.sync += beyond_these.eq(beyond(shift, 8, 32))
        for i in range(WORD_BYTES):
            m.submodules[f"rounding_{i}"] = rounding = RoundingShift()
            m.submodules[f"clip_{i}"] = clip = Clip()
            m.d.comb += [
                rounding.enable.eq(enable),
                rounding.sum.eq(sums.word_select(i, 32).as_signed()),
                rounding.shift.eq(shift),
                rounding.beyond.eq(beyond_these),
                clip.enable.eq(self._packs),
                clip.rest.eq(self._value.word_select(i, REST_BITS)),
                *connected_clip(clip, settings),
            ]
            rests.append(rounding.rest)
            outputs.append(clip.value.as_unsigned())
        m.d.comb += self._outputs.eq(Cat(*outputs))
        return Cat(*rests)

    def _requantise_half(self, m: Module, total: Value, shift: Value, enable: Value) -> Value:
        """The same of one sum that becomes an output of 16 bits."""
        m.submodules.rounding_wide = rounding = RoundingShift(bits=16)
        m.submodules.clip_wide = clip = Clip(bits=16)
        m.d.sync += rounding.beyond.eq(beyond(shift, 16, 32))
        m.d.comb += [
            rounding.enable.eq(enable),
            rounding.sum.eq(total.as_signed()),
            rounding.shift.eq(shift),
            clip.enable.eq(self._halves),
            clip.rest.eq(self._value),
            *connected_clip(clip, self._settings),
            self._half_output.eq(clip.value.as_unsigned()),
        ]
        return rounding.rest


def _bytes(kept: Value, old: Value, fresh: Value) -> Value:
    """The bytes that are kept, and fresh ones."""
    return Cat(*(Mux(keep, old.word_select(b, 8), fresh.word_select(b, 8)) for b, keep in enumerate(kept)))
