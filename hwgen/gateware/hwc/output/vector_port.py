"""Moves one lane vector between its register and the shared memory: partial sums in and out, final outputs out."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.latency import CAPTURE
from hwgen.gateware.bus.tcdm import Request
from hwgen.gateware.hwc.output.bias_store import BiasStore
from hwgen.gateware.hwc.output.vector_steps import Lanes, Step, VectorMove, move_signature
from hwgen.gateware.hwc.output.vector_words import Leaving
from hwgen.gateware.hwc.settings import settings_signature

__all__ = ["VectorMove", "VectorPort"]


class VectorPort(wiring.Component):
    """One register of a vector's width, the biases of its channels, and the moves that can be made.

    A move that stores takes a cycle for each word; outputs are requantised up to four a cycle. Outputs that do not
    fill a word wait for the next vector of their rows: one place for each row of lanes. The rows of a vector are
    aligned alike, so that the same bytes of all of them wait.

    There are three stages: biases are added where a vector is captured; what a step takes is chosen and shifted; a
    cycle later it is clipped and packed, and a word leaves. All requests pass through the last stage, in order.

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
    capture : In(1)
        Take ``captured`` as the vector, with the biases if ``i_move`` stores outputs; only while ``takes`` is set.
    captured : In
    vector : Out
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
        To the memory port.
    moves : Out(VectorMove)
        In a cluster: the move that ``o_request`` belongs to.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = p = parameters
        self._sums = data.ArrayLayout(signed(32), p.vector_lanes.product)
        super().__init__(
            {
                "settings": In(settings_signature(p)),
                "start": In(1),
                "i_move": In(move_signature(p)),
                "capture": In(1),
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
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        step, leaving = Step(p, self.settings), Leaving(p, self.settings)
        self._active, self._columns = Signal(), Signal.like(self.i_move.columns)
        self._biases, self._received = Signal(32 * p.vector_lanes.m), Lanes(p, "received")
        # Answers that are still to come.
        self._awaited, self._last_awaited = Signal(range(p.vector_lanes.product + 1)), Signal()
        # The vector is loaded; the lanes whose word has come. Nothing is under way, or the last bias is there.
        self._loads, self._arrives, self._open = Signal(), Signal(p.vector_lanes.product), Signal(init=1)
        # A sum and its bias have a bit more than a sum: they are halved, as far as the shift allows. It is one bit
        # less then; which bits it leaves above those that are wanted.
        self._halves, shift = Signal(), Signal(range(31), name="shift_left_over")
        m.d.sync += [
            self._halves.eq(self.settings.shift >= 2),
            shift.eq(Mux(self.settings.shift >= 2, self.settings.shift - 1, self.settings.shift)),
        ]
        goes = Signal()
        m.d.comb += [
            # What asks depends on registers alone; that the word before leaves is known late.
            goes.eq(~leaving.asks | self.o_request.ready),
            self.busy.eq(self._active | leaving.asks),
        ]
        if p.cluster:
            m.d.comb += self.moves.eq(leaving.move)
        self._capture(m)
        self._answer(m, step, goes)
        self._receive(m, step)
        leaving.take(m, step, self.vector.as_value(), shift, goes=goes, active=self._active)
        leaving.leave(m, self.o_request, goes=goes)
        step.follow(m, start=self.start, move=self.i_move, goes=goes, active=self._active)
        with m.If(self.start):
            m.d.sync += [
                self._active.eq(1),
                self._columns.eq(self.i_move.columns),
                self._awaited.eq(self.i_move.steps),
                self._last_awaited.eq(self.i_move.steps == 1),
            ]
        self._end(m, step, goes)
        return m

    def _capture(self, m: Module) -> None:
        """A vector, with the biases of its channels if its outputs are wanted."""
        p = self.parameters
        adds = Signal()
        m.d.comb += adds.eq(self.i_move.kind == VectorMove.STORE_OUTPUTS)
        biases: list[Value] = [
            self._biases.word_select(channel, 32).as_signed() for channel in range(p.vector_lanes.m)
        ]
        for lane in range(p.vector_lanes.product):
            total = Signal(signed(33), name=f"total_{lane}")
            chosen = biases[lane // (p.lanes.y * p.lanes.x)]
            if p.wide and lane < p.vector_lanes.product // 2:
                across = p.wide_lanes.y * p.wide_lanes.x
                chosen = Mux(self.settings.wide, biases[lane // across], chosen)
            m.d.comb += total.eq(self.captured[lane])
            with m.If(adds):
                m.d.comb += total.eq(self.captured[lane] + chosen)
            # In 32 bits: the last one is not needed where it is shifted out beside the one that rounds. Else only
            # outputs beyond all that are wanted have 33 bits, and stay beyond.
            uppermost = Mux(total[31] ^ total[32], total[31], total[30])
            kept = Mux(adds & self._halves, total[1:], Cat(total[:30], uppermost, total[32]))
            if p.loads_sums:
                kept = Mux(self._loads, self.i_response.data, kept)
            with m.If(self.capture | self._arrives[lane] if p.loads_sums else self.capture):
                m.d.sync += self.vector[lane].eq(kept)

    def _end(self, m: Module, step: Step, goes: Signal) -> None:
        """When the move ends, and whether that is near."""
        near, fetches, kept, completes = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            self._loads.eq(self._active & (step.kind == VectorMove.LOAD_PARTIALS)),
            fetches.eq(self._active & (step.kind == VectorMove.FETCH_BIAS)),
            kept.eq(self._loads & self._complete & self.kept),
            completes.eq(self._complete | (self._answers & self._last_awaited)),
        ]
        m.d.sync += self._open.eq(~self.start & (self.done | ~self._active | (fetches & completes)))
        with m.If(self._loads):
            m.d.comb += near.eq(~step.on)
        with m.Elif(fetches):
            m.d.comb += near.eq(~step.on | step.is_last)
        with m.Else():
            m.d.comb += near.eq(~self._active | (step.left <= CAPTURE + 2))
        m.d.comb += [
            self.loading.eq(self._loads & (~step.on | (step.is_last & goes))),
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
        """Words that arrive go to their lanes, or to the biases."""
        lanes = self._received
        self._complete = Signal()
        with m.If(self._answers):
            m.d.sync += self._complete.eq(self._last_awaited)
            m.d.sync += [self._awaited.eq(self._awaited - 1), self._last_awaited.eq(self._awaited == 2)]
            m.d.sync += lanes.column.eq(lanes.column + 1)
            with m.If(lanes.column + 1 == self._columns):
                m.d.sync += [lanes.column.eq(0), lanes.row.eq(lanes.row + 1)]
                with m.If(lanes.row + 1 == step.rows):
                    m.d.sync += [lanes.row.eq(0), lanes.channel.eq(lanes.channel + 1)]
            with m.If(self._last_awaited):
                m.d.sync += lanes.channel.eq(0)
            with m.If(step.kind == VectorMove.FETCH_BIAS):
                m.d.sync += self._biases.word_select(lanes.column, 32).eq(self._answer_data)
            with m.Else():
                m.d.comb += self._arrives.bit_select(lanes.lane(self.settings), 1).eq(1)
        with m.If(self.start):
            m.d.sync += self._complete.eq(0)
