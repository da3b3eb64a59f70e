"""Conversion between a vector and its words: four outputs become bytes of a word, or one sum is a word."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.lanes import FEW_LINES
from hwgen.gateware.hwc.output.vector_steps import Step, VectorMove, log2, stores
from hwgen.gateware.hwc.output.wide_words import place_in_row
from hwgen.gateware.lib.requantise import Clip, connected_clip
from hwgen.gateware.lib.rounding import RoundingShift, beyond, rest_bits
from hwgen.gateware.lib.scaling import LOW_BITS, PRODUCT_BITS, Scaling, below_half

__all__ = ["TOTAL_BITS", "Leaving", "value_bits"]

WAITING_BYTES = WORD_BYTES - 1
"""Most bytes of a word that is not full yet."""
TOTAL_BITS = 33
"""Bits of a sum with its bias."""


class _Word:
    """What becomes of the outputs at hand: a word to write if it ``leaves``, with these bytes."""

    def __init__(self) -> None:
        self.leaves = Signal()
        self.enable = Signal(WORD_BYTES)


class Leaving:
    """The last stage: an access, and how its word is made of the outputs, or sum, that were shifted a cycle before.

    Outputs that do not fill a word wait for the next vector of their rows. Where sums are scaled, all that is known
    of an access passes through as many more registers as its outputs do.

    Members
    -------
    asks : Signal
        There is an access: ``move`` says what for.
    place : Signal
        Where its word is in its row, if the port is wider than a word.
    steps : Signal
        A bit for each stage before it: there is a step. The first stage is bit 0.
    """

    def __init__(self, parameters: HwcParameters, settings: wiring.PureInterface) -> None:
        self._parameters, self._settings = parameters, settings
        lines = parameters.vector_lanes.m * parameters.vector_lanes.y
        self.asks, self._write, self.move = Signal(), Signal(), Signal(VectorMove)
        self.place = Signal(place_in_row(parameters))
        self._address, self._enable = Signal(30), Signal(WORD_BYTES)
        # What is left of sums, or of one, that were shifted right, to be clipped; or a sum.
        self._value = Signal(value_bits(parameters), name="outgoing")
        self._outputs, self._half_output = Signal(8 * parameters.requantisers), Signal(16)
        # Outputs of 8 bits are packed; those of 16 bits are halves, the upper one goes out with the other.
        self._packs, self._halves, self._upper = Signal(), Signal(), Signal()
        self._offset, self._before, self._kept = Signal(2), Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        self._line = Signal(max(1, log2(lines)))
        self.steps = Signal(parameters.scaling) if parameters.scaling else C(0, 0)
        self._fronts: list[tuple[Signal, Signal]] = []

    @property
    def busy(self) -> Value:
        """Whether there is an access, or a step before it."""
        return self.asks | self.steps.any() if self._parameters.scaling else self.asks

    def take(
        self, m: Module, step: Step, totals: Sequence[Value], scale: Value, *, goes: Value, active: Value
    ) -> None:
        """What the step at hand takes: outputs of 8 bits, else one sum or output.

        Parameters
        ----------
        totals
            The sums of the step, of 33 bits, with the biases if outputs are wanted of them.
        scale
            Their multiplier, or 1 where no outputs are wanted, and shift, if sums are scaled.
        goes, active
            As `Step.follow`'s.
        """
        p = self._parameters
        asks, enable, value = Signal(), Signal(WORD_BYTES), Signal.like(self._value)
        moves = Signal()
        m.d.comb += moves.eq(step.on & goes)
        one = totals[0]
        if len(totals) > 1:
            one = Array(totals)[step.lanes.lane(self._settings)[: log2(len(totals))]]
        if p.scaled:
            self._scale(m, step, totals, scale, goes)
        else:
            rests = self._requantise(m, totals, step.packs & step.on)
        word = self._pack(m, step, step.packs & active, goes)
        column: Value = step.lanes.column << 2
        if p.wide:
            half = self._pack_half(m, step, step.halves & active, goes)
            rest = self._requantise_half(m, one, step.halves & step.on)
            column = Mux(step.halves, step.lanes.column << 1, column)
        if p.steps_in_word > 1:
            column = Mux(step.packs, step.lanes.column << log2(p.requantisers), column)
        with m.If(step.packs):
            m.d.comb += [asks.eq(word.leaves), enable.eq(word.enable)]
            if not p.scaled:
                m.d.comb += value.eq(rests)
        with m.Else():
            m.d.comb += [asks.eq(1), enable.eq(~0)]
            if p.loads_sums and not p.scaled:
                m.d.comb += value.eq(one)
            if p.wide:
                with m.If(step.halves):
                    m.d.comb += [asks.eq(half.leaves), enable.eq(half.enable), value.eq(rest)]
        with m.If(goes):
            m.d.sync += [
                self._front(self.asks).eq(moves & asks & ~step.kept),
                self._front(self._packs).eq(moves & step.packs),
            ]
            if p.wide:
                m.d.sync += self._halves.eq(moves & step.halves)
            address = step.address + column if p.vector_lanes.x > 1 else step.address
            m.d.sync += [
                self._front(self.move).eq(step.kind),
                self._front(self._address).eq(address[2:]),
                self._front(self._write).eq(stores(step.kind)),
                self._front(self._enable).eq(enable),
            ]
            if not p.scaled:
                m.d.sync += self._value.eq(value)
            if self._parameters.ports.O > WORD_BITS:
                outputs, biases = step.packs | step.halves, step.kind == VectorMove.FETCH_BIAS
                place = self._front(self.place)
                m.d.sync += [
                    place.line.eq(
                        Mux(step.halves, step.lanes.wide_line, step.lanes.line) if p.wide else step.lanes.line
                    ),
                    # Each bias is a row of its own in the vector; in memory they are side by side.
                    place.left.eq(Mux(biases, step.left, step.beat if p.vector_lanes.x > 1 else 1)),
                    place.begins.eq(Mux(biases, step.lanes.channel == 0, step.begins_line)),
                    place.ends.eq(step.ends_line & (step.ends_row | ~outputs)),
                ]
        self._pass(m, moves, goes)

    def _front(self, last: Any) -> Any:
        """The register of the first stage from which ``last`` takes what it has."""
        if not self._parameters.scaling:
            return last
        front = Signal.like(last, name=f"front_{len(self._fronts)}")
        self._fronts.append((front, last))
        return front

    def _pass(self, m: Module, moves: Value, goes: Value) -> None:
        """Pass steps from stage to stage, up to the last one."""
        if not self._parameters.scaling:
            return
        with m.If(goes):
            m.d.sync += self.steps.eq(Cat(moves, self.steps[:-1]))
            for number, (front, last) in enumerate(self._fronts):
                for stage in range(1, self._parameters.scaling):
                    later = Signal.like(front, name=f"stage_{stage}_{number}")
                    m.d.sync += later.eq(front)
                    front = later
                m.d.sync += last.eq(front)

    def leave(self, m: Module, request: stream.Interface, *, goes: Value) -> None:
        """Outputs, clipped, are moved to their place in the word, after those of the row that wait."""
        p = self._parameters
        word, stays, writes, waits = Signal(32), Signal(8 * WAITING_BYTES, name="stays"), Signal(), Signal()
        m.d.comb += waits.eq(goes & writes)
        old = self._waiting(m, stays, waits)
        # Where outputs begin in a word they are turned, not shifted: those beyond its end come round to the next one.
        together = p.requantisers
        turned = [
            Array(self._outputs.word_select(i, 8) for i in range(together))[(b - self._offset)[: log2(together)]]
            if together > 1
            else self._outputs
            for b in range(WORD_BYTES)
        ]
        m.d.comb += [word.eq(self._value if p.loads_sums else 0), stays.eq(_bytes(self._before, old, turned))]
        if p.wide:
            with m.If(self._halves):
                m.d.comb += [
                    word.eq(Cat(Mux(self._upper, old[:16], self._half_output), self._half_output)),
                    stays.eq(self._half_output),
                    writes.eq(1),
                ]
        with m.If(self._packs):
            m.d.comb += [word.eq(Cat(_bytes(self._kept, old, turned), turned[-1])), writes.eq(1)]
        m.d.comb += [
            request.valid.eq(self.asks),
            request.payload.address.eq(self._address << 2),
            request.payload.write.eq(self._write),
            request.payload.enable.eq(self._enable),
            request.payload.data.eq(word),
        ]

    def _waiting(self, m: Module, stays: Signal, writes: Signal) -> Value:
        """What waits of the row of lanes at hand; ``stays`` takes its place. Up to three outputs of 8 bits, or one of
        16 bits, for each row."""
        shape = self._parameters.vector_lanes
        if shape.m * shape.y <= FEW_LINES:
            lines = [Signal(8 * WAITING_BYTES, name=f"waiting_{line}") for line in range(shape.m * shape.y)]
            for number, line in enumerate(lines):
                with m.If(writes & (self._line == number)):
                    m.d.sync += line.eq(stays)
            return lines[0] if len(lines) == 1 else Mux(self._line[0], lines[1], lines[0])
        m.submodules.waiting = waiting = Memory(shape=8 * WAITING_BYTES, depth=shape.m * shape.y, init=[])
        write, read = waiting.write_port(), waiting.read_port(domain="comb")
        m.d.comb += [write.en.eq(writes), write.addr.eq(self._line), write.data.eq(stays), read.addr.eq(self._line)]
        return read.data

    def _pack(self, m: Module, step: Step, enabled: Value, goes: Value) -> _Word:
        """Outputs of a row of lanes: which bytes of a word they are, with those of the row that wait."""
        reach = len(step.all_bytes)
        enable, used = Signal(reach), Signal(WORD_BYTES)
        waiting_enable, carried = Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        before, rest = Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        flushes, has_tail = Signal(), Signal()
        word = _Word()
        with m.If(enabled):
            if self._parameters.vector_lanes.x == 1:  # a row of one lane: its output is inside the word
                m.d.comb += [enable.eq(step.all_bytes), before.eq(waiting_enable)]
            else:
                m.d.comb += [
                    flushes.eq(step.overflows & step.ends_line),
                    has_tail.eq(Mux(step.overflows, step.beat == 2, step.ends_line)),
                    enable.eq(Mux(has_tail, step.tail_bytes, step.all_bytes)),
                    before.eq(Mux(step.begins_line, waiting_enable, carried)),
                ]
            m.d.comb += [
                used.eq(enable[:WORD_BYTES] | before),
                word.leaves.eq(used[-1] | (step.ends_line & step.ends_row)),
                rest.eq(Mux(used[-1], enable[WORD_BYTES:], used[:WAITING_BYTES])),
                word.enable.eq(Mux(flushes, carried, used)),
            ]
            with m.If(goes):
                m.d.sync += [
                    carried.eq(rest),
                    self._front(self._offset).eq(step.offset),
                    self._front(self._before).eq(before & ~used[-1].replicate(WAITING_BYTES)),
                    self._front(self._kept).eq(before | flushes.replicate(WAITING_BYTES)),
                    self._front(self._line).eq(step.lanes.line),
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

    def _scale(self, m: Module, step: Step, totals: Sequence[Value], scale: Value, goes: Value) -> None:
        """The outputs of the sums, or one sum, through the stages of `Scaling`."""
        p, settings = self._parameters, self._settings
        shifts = [Signal(len(scale.shift), name=f"shift_{stage}") for stage in range(2)]
        mask, below, twice = Signal(PRODUCT_BITS + 1), Signal(PRODUCT_BITS), Signal()
        units = [Scaling(rounding=p.rounding) for _ in totals]
        for i, (unit, total) in enumerate(zip(units, totals, strict=True)):
            m.submodules[f"scaling_{i}"] = unit
            m.d.comb += [
                unit.advance.eq(goes),
                unit.total.eq(total),
                unit.multiplier.eq(scale.multiplier),
                unit.twice.eq(twice),
                unit.shift.eq(shifts[1]),
                unit.beyond.eq(mask),
                unit.below.eq(below),
                unit.zero_out.eq(settings.zero_out),
                unit.low.eq(settings.low),
                unit.high.eq(settings.high),
            ]
        m.d.comb += self._outputs.eq(Cat(unit.value.as_unsigned() for unit in units))
        with m.If(goes):
            m.d.sync += [
                shifts[0].eq(scale.shift),
                shifts[1].eq(shifts[0]),
                mask.eq(beyond(shifts[0], LOW_BITS, PRODUCT_BITS)),
                twice.eq(scale.twice),
                below.eq(below_half(shifts[0], twice)),
            ]
        if not p.loads_sums:
            return
        sums = [unit.product[:32] for unit in units]
        if len(units) > 1:
            lanes = [Signal(log2(len(units)), name=f"lane_{stage}") for stage in range(2)]
            with m.If(goes):
                m.d.sync += [lanes[0].eq(step.lanes.lane(settings)), lanes[1].eq(lanes[0])]
            sums = [Array(sums)[lanes[1]]]
        passing = Signal(32)
        with m.If(goes):
            m.d.sync += [passing.eq(sums[0]), self._value.eq(passing)]

    def _requantise(self, m: Module, totals: Sequence[Value], enable: Value) -> Value:
        """What is left of the sums; a cycle later it becomes their outputs."""
        settings, rests, outputs, beyond_these = self._settings, [], [], Signal(TOTAL_BITS + 1)
        how, size = self._parameters.rounding, rest_bits(8, self._parameters.rounding)
        m.d.sync += beyond_these.eq(beyond(settings.shift, 8, TOTAL_BITS))
        for i, total in enumerate(totals):
            m.submodules[f"rounding_{i}"] = rounding = RoundingShift(sum_bits=TOTAL_BITS, rounding=how)
            m.submodules[f"clip_{i}"] = clip = Clip(rounding=how)
            m.d.comb += [
                rounding.enable.eq(enable),
                rounding.sum.eq(total),
                rounding.shift.eq(settings.shift),
                rounding.beyond.eq(beyond_these),
                clip.enable.eq(self._packs),
                clip.rest.eq(self._value.word_select(i, size)),
                *connected_clip(clip, settings),
            ]
            rests.append(rounding.rest)
            outputs.append(clip.value.as_unsigned())
        m.d.comb += self._outputs.eq(Cat(*outputs))
        return Cat(*rests)

    def _requantise_half(self, m: Module, total: Value, enable: Value) -> Value:
        """The same of one sum that becomes an output of 16 bits."""
        how = self._parameters.rounding
        m.submodules.rounding_wide = rounding = RoundingShift(bits=16, sum_bits=TOTAL_BITS, rounding=how)
        m.submodules.clip_wide = clip = Clip(bits=16, rounding=how)
        m.d.sync += rounding.beyond.eq(beyond(self._settings.shift, 16, TOTAL_BITS))
        m.d.comb += [
            rounding.enable.eq(enable),
            rounding.sum.eq(total),
            rounding.shift.eq(self._settings.shift),
            clip.enable.eq(self._halves),
            clip.rest.eq(self._value),
            *connected_clip(clip, self._settings),
            self._half_output.eq(clip.value.as_unsigned()),
        ]
        return rounding.rest


def value_bits(parameters: HwcParameters) -> int:
    """Width of what is left of the sums of a step: for each output, or a whole sum."""
    whole = 32 if parameters.loads_sums else rest_bits(16, parameters.rounding) if parameters.wide else 0
    return max(0 if parameters.scaled else rest_bits(8, parameters.rounding) * parameters.requantisers, whole, 1)


def _bytes(kept: Value, old: Value, fresh: Sequence[Value]) -> Value:
    """The bytes that are kept, and fresh ones."""
    return Cat(*(Mux(keep, old.word_select(b, 8), fresh[b]) for b, keep in enumerate(kept)))
