"""Moves one lane vector between its register and the shared memory: partial sums in and out, final outputs out."""

from amaranth.hdl import Array, C, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.requantisation import CHANNEL_SHIFT_BITS, MULTIPLIER_BITS
from hwgen.gateware.bus.tcdm import Request
from hwgen.gateware.hwc.output.bias_store import BiasStore
from hwgen.gateware.hwc.output.vector_steps import Lanes, Step, VectorMove, move_signature
from hwgen.gateware.hwc.output.vector_words import TOTAL_BITS, Leaving
from hwgen.gateware.hwc.output.wide_words import place_in_row
from hwgen.gateware.hwc.settings import settings_signature

__all__ = ["CHANNEL_SCALE", "VectorMove", "VectorPort", "held_lanes"]

CHANNEL_SCALE = data.StructLayout({"multiplier": MULTIPLIER_BITS, "shift": CHANNEL_SHIFT_BITS, "twice": 1})
"""The second word of a channel's record."""


def held_lanes(parameters: HwcParameters) -> range:
    """The lanes that the register of a vector has: without those that the first step takes at once, unless vectors
    are loaded into it, or steps take these lanes one by one."""
    p, together = parameters, parameters.requantisers
    return range(0 if p.loads_sums or (p.wide and together > 1) else together, p.vector_lanes.product)


class VectorPort(wiring.Component):
    """One register of a vector's width, the biases of its channels, and the moves that can be made.

    A move that stores takes a cycle for each word; of a row of lanes up to four outputs are requantised in a cycle,
    as many as it has. Outputs that do not fill a word wait for the next vector of their rows: one place for each row
    of lanes. The rows of a vector are aligned alike, so that the same bytes of all of them wait.

    There are three stages: what the next step takes is chosen and gets its bias; it is shifted; a cycle later it is
    clipped and packed, and a word leaves. All requests pass through the last stage, in order.

    Parameters
    ----------
    parameters
        What the HWC is generated for: the shape of the lanes.

    Members
    -------
    settings : In
    start : In(1)
        Begin ``i_move``; only while ``free`` is set.
    i_move : In
        As `move_signature` has it; may change with every cycle.
    arriving : In(1)
        A vector stands at ``captured``: it is taken if ``takes`` is set, with the biases if ``i_move`` stores
        outputs.
    captured : In
    vector : Out
        The vector that was loaded.
    loading : Out(1)
        The vector that is being loaded will be complete in four cycles, if nothing stalls.
    kept : In(1)
        The vector was written to the output memory; if it was complete, its move ends.
    free : Out(1)
        There is no move, or it ends in this cycle.
    takes : Out(1)
        As ``free``, but not where the move that ends is one that loads.
    ending : Out(1)
        The port will be free in four cycles, if nothing stalls.
    done : Out(1)
        A move ends in this cycle.
    busy : Out(1)
        There is a move, or a word that has not left.
    o_request, i_response
        To the memory port, or to `WideWords`.
    moves : Out(VectorMove)
        In a cluster: the move that ``o_request`` belongs to.
    place : Out
        Of the word that is requested, if the memory port is wider than a word: its `place_in_row`.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = p = parameters
        self._sums = data.ArrayLayout(signed(32), p.vector_lanes.product)
        super().__init__(
            {
                "settings": In(settings_signature(p)),
                "start": In(1),
                "i_move": In(move_signature(p)),
                "arriving": In(1),
                "captured": In(self._sums),
                "vector": Out(self._sums),
                "loading": Out(1),
                "kept": In(1),
                "free": Out(1),
                "takes": Out(1),
                "ending": Out(1),
                "done": Out(1),
                "busy": Out(1),
                "o_request": Out(stream.Signature(Request)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
                **({"moves": Out(VectorMove)} if p.cluster else {}),
                **({"place": Out(place_in_row(p))} if p.ports.O > WORD_BITS else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        step, leaving = Step(p, self.settings), Leaving(p, self.settings)
        self._active, self._columns = Signal(), Signal.like(self.i_move.columns)
        self._received = Lanes(p, "received")
        # Answers that are still to come.
        self._awaited, self._last_awaited = Signal(range(p.most_steps + 1)), Signal()
        # The vector is loaded; the lanes whose word has come. Nothing is under way, or the last bias is there.
        self._loads, self._arrives, self._open = Signal(), Signal(p.vector_lanes.product), Signal(init=1)
        goes = Signal()
        m.d.comb += [
            # What asks depends on registers alone; that the word before leaves is known late.
            goes.eq(~leaving.asks | self.o_request.ready),
            self.busy.eq(self._active | leaving.busy),
        ]
        if p.cluster:
            m.d.comb += self.moves.eq(leaving.move)
        if p.ports.O > WORD_BITS:
            m.d.comb += self.place.eq(leaving.place)
        self._capture(m)
        self._answer(m, step, goes)
        self._receive(m, step)
        totals, scale = self._choose(m, step, goes)
        leaving.take(m, step, totals, scale, goes=goes, active=self._active)
        leaving.leave(m, self.o_request, goes=goes)
        step.follow(m, start=self.start, move=self.i_move, goes=goes, active=self._active)
        with m.If(self.start):
            m.d.sync += [
                self._active.eq(1),
                self._columns.eq(self.i_move.columns),
                self._awaited.eq(self.i_move.steps),
                self._last_awaited.eq(self.i_move.steps == 1),
            ]
        self._end(m, step, leaving.steps, goes)
        return m

    def _capture(self, m: Module) -> None:
        """A vector, or a word of one that is loaded."""
        capture = Signal()
        m.d.comb += capture.eq(self.arriving & self.takes)
        for lane in held_lanes(self.parameters):
            if self.parameters.loads_sums:
                with m.If(capture | self._arrives[lane]):
                    m.d.sync += self.vector[lane].eq(Mux(self._loads, self.i_response.data, self.captured[lane]))
            else:
                with m.If(capture):
                    m.d.sync += self.vector[lane].eq(self.captured[lane])

    def _choose(self, m: Module, step: Step, goes: Value) -> tuple[list[Signal], Value]:
        """The sums of the step at hand, in registers: those of a vector that comes, or the next ones of its register,
        each with the bias of its channel if outputs are wanted; and the scale of their channel."""
        p = self.parameters
        together = p.requantisers
        totals = [Signal(signed(TOTAL_BITS), name=f"total_{i}") for i in range(together)]
        # It is free for a vector unless its last step stays, and then nothing is taken.
        comes, adds, bias = Signal(), Signal(), Signal(signed(32), name="bias")
        m.d.comb += [
            comes.eq(self.arriving & (self._open | step.is_final)),
            adds.eq(Mux(comes, self.i_move.kind, step.kind) == VectorMove.STORE_OUTPUTS),
        ]
        channel = Mux(comes, 0, step.following.channel)
        biases = self._biases(m, step, channel)
        scale: Value = C(0)
        if p.scaled:
            scale = Signal(CHANNEL_SCALE, name="scale")
            scales = data.View(CHANNEL_SCALE, self._second_words(m, step, channel))
            with m.If(goes | ~step.on):
                m.d.sync += [
                    scale.multiplier.eq(Mux(adds, scales.multiplier, 1) if p.loads_sums else scales.multiplier),
                    scale.shift.eq(scales.shift),
                    scale.twice.eq(scales.twice & adds if p.loads_sums else scales.twice),
                ]
        m.d.comb += bias.eq(Mux(adds, biases, 0) if p.loads_sums else biases)
        held = [self.vector[lane] if lane in held_lanes(p) else C(0) for lane in range(p.vector_lanes.product)]
        with m.If(goes | ~step.on):
            for i, total in enumerate(totals):
                chosen = Signal(signed(32), name=f"chosen_{i}")
                m.d.comb += chosen.eq(Mux(comes, self.captured[i], Array(held[i::together])[step.next_group]))
                m.d.sync += total.eq(chosen + bias)
        return totals, scale

    def _biases(self, m: Module, step: Step, channel: Value) -> Value:
        """The bias of a channel of the vector."""
        p = self.parameters
        enable = self._answers & (step.kind == VectorMove.FETCH_BIAS)
        if p.scaled:
            enable &= ~self._received.channel[0]
        if p.vector_lanes.m == 1:
            bias = Signal(signed(32), name="only_bias")
            with m.If(enable):
                m.d.sync += bias.eq(self._answer_data)
            return bias
        m.submodules.biases = biases = Memory(shape=signed(32), depth=p.vector_lanes.m, init=[])
        write, read = biases.write_port(), biases.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(enable),
            write.addr.eq(self._received.channel >> 1 if p.scaled else self._received.channel),
            write.data.eq(self._answer_data),
            read.addr.eq(channel),
        ]
        return read.data

    def _second_words(self, m: Module, step: Step, channel: Value) -> Value:
        """The second word of a record: multiplier, shift and way of rounding of a channel of the vector."""
        p, width = self.parameters, CHANNEL_SCALE.size
        enable = self._answers & (step.kind == VectorMove.FETCH_BIAS) & self._received.channel[0]
        if p.vector_lanes.m == 1:
            word = Signal(width, name="only_scale")
            with m.If(enable):
                m.d.sync += word.eq(self._answer_data)
            return word
        m.submodules.scales = scales = Memory(shape=width, depth=p.vector_lanes.m, init=[])
        write, read = scales.write_port(), scales.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(enable),
            write.addr.eq(self._received.channel >> 1),
            write.data.eq(self._answer_data),
            read.addr.eq(channel),
        ]
        return read.data

    def _end(self, m: Module, step: Step, passing: Signal, goes: Signal) -> None:
        """When the move ends, and whether that is near. Steps that are passing have been taken, and ask later."""
        near, fetches, kept, completes = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            self._loads.eq(self._active & (step.kind == VectorMove.LOAD_PARTIALS)),
            fetches.eq(self._active & (step.kind == VectorMove.FETCH_BIAS)),
            kept.eq(self._loads & self._complete & self.kept),
            completes.eq(self._complete | (self._answers & self._last_awaited)),
        ]
        m.d.sync += self._open.eq(~self.start & (self.done | ~self._active | (fetches & completes)))
        # The last step asks now or in the next cycle, and asks in the next cycle.
        asked, asks, has_asked = ~step.on | step.is_last, ~step.on | (step.is_last & goes), ~step.on
        if len(passing):
            asked, has_asked = ~step.on & ~passing[:-1].any(), ~step.on & ~passing.any()
            asks = asked & (~passing[-1] | goes)
        with m.If(self._loads):
            m.d.comb += near.eq(has_asked)
        with m.Elif(fetches):
            m.d.comb += near.eq(asked)
        with m.Else():
            m.d.comb += near.eq(~self._active | (step.left <= self.parameters.capture + 2))
        m.d.comb += [
            self.loading.eq(self._loads & asks),
            self.takes.eq(self._open | (step.is_final & goes)),
            self.done.eq((self._open & self._active) | kept | (step.is_final & goes)),
            self.free.eq(self.takes | kept),
            self.ending.eq(near),
        ]
        with m.If(self.done & ~self.start):
            m.d.sync += self._active.eq(0)

    def _answer(self, m: Module, step: Step, goes: Signal) -> None:
        """Words that arrive: from the shared memory, or biases that are kept."""
        self._answers, self._answer_data = Signal(), Signal(32)
        response = self.i_response
        m.d.comb += [self._answers.eq(response.valid), self._answer_data.eq(response.data)]
        if self.parameters.bias_words:
            m.submodules.bias_store = store = BiasStore(self.parameters)
            m.d.comb += [
                store.start.eq(self.start),
                store.channel.eq(self.i_move.channel),
                store.write.eq(response.valid & (step.kind == VectorMove.FETCH_BIAS)),
                store.data.eq(response.data),
                store.read.eq(step.kept & step.on & goes),
            ]
            with m.If(step.kept):
                m.d.comb += [self._answers.eq(store.answers), self._answer_data.eq(store.answer)]

    def _receive(self, m: Module, step: Step) -> None:
        """Words that arrive go to their lanes, or are biases: one for each channel."""
        lanes, shape = self._received, self.parameters.vector_lanes
        self._complete = Signal()
        is_bias = step.kind == VectorMove.FETCH_BIAS
        ends_line = C(1) if shape.x == 1 else is_bias | (lanes.column + 1 == self._columns)
        ends_channel = ends_line & (is_bias | (lanes.row + 1 == step.rows)) if shape.y > 1 else ends_line
        with m.If(self._answers):
            m.d.sync += self._complete.eq(self._last_awaited)
            m.d.sync += [self._awaited.eq(self._awaited - 1), self._last_awaited.eq(self._awaited == 2)]
            if shape.x > 1:
                m.d.sync += lanes.column.eq(Mux(ends_line, 0, lanes.column + 1))
            if shape.y > 1:
                with m.If(ends_line):
                    m.d.sync += lanes.row.eq(Mux(ends_channel, 0, lanes.row + 1))
            with m.If(self._last_awaited):
                m.d.sync += lanes.channel.eq(0)
            with m.Elif(ends_channel):
                m.d.sync += lanes.channel.eq(lanes.channel + 1)
            with m.If(self._loads):
                m.d.comb += self._arrives.bit_select(lanes.lane(self.settings), 1).eq(1)
        with m.If(self.start):
            m.d.sync += self._complete.eq(0)
