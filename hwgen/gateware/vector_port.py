"""Moves one lane vector between its register and the shared memory: partial sums in and out, final outputs out."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.params import WORD_BYTES, HwcParameters
from hwgen.gateware.requantise import Clip, RoundingShift, beyond
from hwgen.gateware.tcdm import Request
from hwgen.gateware.vector_words import (
    REST_BITS,
    WAITING_BYTES,
    Lanes,
    Leaving,
    Packed,
    VectorMove,
    leave,
    log2,
    together,
)

__all__ = ["VectorMove", "VectorPort"]

CAPTURE_CYCLES = 3
"""A vector that is asked for now may be captured so many cycles later."""


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
    start : In(1)
        Begin ``move`` with what goes with it; only while ``free`` is set.
    move : In(VectorMove)
    address : In(32)
        Byte address of the first element, or of the first bias.
    rows, columns : In
        Elements of a channel of the vector that exist; to fetch biases: how many, as columns of one row.
    steps, beats : In
        Cycles that the move takes, and those for one row of lanes: for each word that is asked for or written, or up
        to four outputs that are requantised.
    tail, overflows, merges, ends_row : In
        To store outputs of 8 bits: a bit for each of the last ones of a row; after their cycles there is one more
        for what is left of them; they fill no word and go to where they wait; the rows end with this vector, so that
        words that are not full are written all the same.
    output_pitch, output_plane, partial_pitch, partial_plane : In
        Bytes from row to row and from channel to channel.
    shift, relu, ceiling : In
        For outputs.
    wide : In(1)
        Outputs have 16 bits, vectors the lanes for such operands; where generated for it.
    capture : In(1)
        Take ``captured`` as the vector, with the biases if ``move`` stores outputs; only while ``takes`` is set.
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
        self._sums = data.ArrayLayout(signed(32), p.lanes)
        super().__init__(
            {
                "start": In(1),
                "move": In(VectorMove),
                "address": In(32),
                "rows": In(range(p.lane_y + 1)),
                "columns": In(range(p.lanes + 1)),
                "steps": In(range(p.lanes + 1)),
                "beats": In(range(p.lanes + 1)),
                "tail": In(WORD_BYTES),
                "overflows": In(1),
                "merges": In(1),
                "ends_row": In(1),
                "output_pitch": In(32),
                "output_plane": In(32),
                "partial_pitch": In(32),
                "partial_plane": In(32),
                "shift": In(5),
                "relu": In(1),
                "ceiling": In(p.operand_bits - 1),
                **({"wide": In(1)} if p.wide else {}),
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
        self._move, self._left = Signal(VectorMove), Signal.like(self.steps)
        # A step is to be made; it is the last one of the move, of its row of lanes; that row's first one.
        self._steps_on, self._is_last = Signal(name="steps_on"), Signal(name="is_last")
        self._ends_line, self._begins_line = Signal(name="ends_line"), Signal(name="begins_line")
        self._beats, self._beat = Signal.like(self.beats, name="beats"), Signal.like(self.beats, name="beat")
        # Outputs that do not fill a word yet: up to three of 8 bits, or one of 16 bits, for each row of lanes.
        self._waiting = Signal(8 * WAITING_BYTES * p.lane_m * p.lane_y, name="waiting")
        self._rows = Signal.like(self.rows)
        self._ends_row, self._overflows = Signal(), Signal()
        self._columns = Signal.like(self.columns)
        self._row_address, self._plane_address = Signal(32), Signal(32)
        self._lanes, self._received = Lanes(p, "at"), Lanes(p, "received")
        self._biases = Signal(32 * p.lane_m)
        # The bytes of a word, and of the next one, that four outputs of a row are, and those that its last ones are.
        self._offset = Signal(2)
        self._all_bytes, self._tail_bytes = Signal(2 * WORD_BYTES - 1), Signal(2 * WORD_BYTES - 1)
        self._active, self._leaving = Signal(), Leaving(p)
        # Which four lanes are at hand. Fewer outputs than a word has, from several rows, go to where they wait.
        self._chosen, self._merges = Signal(log2(p.lanes) - 2, name="chosen"), Signal(name="merging")
        # Answers that are still to come.
        self._awaited, self._last_awaited = Signal(range(p.lanes + 1)), Signal()
        # The vector is loaded; the lanes whose word has come.
        self._loads, self._arrives = Signal(), Signal(p.lanes)
        # Nothing is under way, or the last bias is there; the step at hand is the last one of a move that stores.
        self._open, self._is_final = Signal(init=1), Signal()
        # A sum and its bias have a bit more than a sum: they are halved, as far as the shift allows. It is one bit
        # less then; which bits it leaves above those that are wanted.
        self._halves, self._shift = Signal(), Signal(range(31), name="shift_left_over")
        m.d.sync += [
            self._halves.eq(self.shift >= 2),
            self._shift.eq(Mux(self.shift >= 2, self.shift - 1, self.shift)),
        ]
        m.d.comb += self.busy.eq(self._active | self._leaving.asks)
        if p.cluster:
            m.d.comb += self.moves.eq(self._leaving.move)
        self._capture(m)
        self._receive(m)
        self._request(m)
        self._begin(m)
        return m

    def _capture(self, m: Module) -> None:
        """A vector, with the biases of its channels if its outputs are wanted."""
        p = self.parameters
        adds = Signal()
        m.d.comb += adds.eq(self.move == VectorMove.STORE_OUTPUTS)
        biases: list[Value] = [self._biases.word_select(channel, 32).as_signed() for channel in range(p.lane_m)]
        _, wide_rows, wide_columns = p.wide_lanes
        for lane in range(p.lanes):
            total = Signal(signed(33), name=f"total_{lane}")
            chosen = biases[lane // (p.lane_y * p.lane_x)]
            if p.wide and lane < p.lanes // 2:
                chosen = Mux(self.wide, biases[lane // (wide_rows * wide_columns)], chosen)
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

    def _begin(self, m: Module) -> None:
        """A new move. What only its steps use is taken whenever there is no other step, which is known early."""
        with m.If(self.start):
            m.d.sync += [
                self._active.eq(1),
                self._move.eq(self.move),
                self._rows.eq(self.rows),
                self._columns.eq(self.columns),
                self._awaited.eq(self.steps),
                self._last_awaited.eq(self.steps == 1),
            ]

    def _first_step(self, m: Module) -> None:
        """As the first step of a move finds it; ``left`` counts the cycles that it takes, or words it asks for."""
        across = min(self.parameters.lane_x, WORD_BYTES)
        m.d.sync += [
            self._left.eq(self.steps),
            self._is_last.eq(self.steps == 1),
            self._is_final.eq(self.start & (self.steps == 1) & _stores(self.move)),
            self._beats.eq(self.beats),
            self._beat.eq(self.beats),
            self._begins_line.eq(1),
            self._ends_line.eq(self.beats == 1),
            self._ends_row.eq(self.ends_row),
            self._overflows.eq(self.overflows),
            self._merges.eq(self.merges),
            self._row_address.eq(self.address),
            self._plane_address.eq(self.address),
            self._offset.eq(self.address[:2]),
            self._all_bytes.eq(C((1 << across) - 1) << self.address[:2]),
            self._tail_bytes.eq(self.tail << self.address[:2]),
            self._lanes.column.eq(0),
            self._lanes.row.eq(0),
            self._lanes.channel.eq(0),
            self._chosen.eq(0),
        ]

    def _request(self, m: Module) -> None:
        """One step a cycle: lane by lane, or outputs four by four; those of 16 bits lane by lane too."""
        p, lanes, leaving = self.parameters, self._lanes, self._leaving
        outputs, steps, moves = Signal(), Signal(), Signal()
        asks, enable, value = Signal(), Signal(WORD_BYTES), Signal(WORD_BYTES * REST_BITS)
        ends_line, ends_channel = self._ends_line, Signal()
        m.d.comb += outputs.eq(self._move == VectorMove.STORE_OUTPUTS)
        m.d.comb += steps.eq(outputs & ~self.wide if p.wide else outputs)
        # What asks depends on registers alone; that the word before leaves is known late.
        goes = Signal()
        m.d.comb += [
            goes.eq(~leaving.asks | self.o_request.ready),
            moves.eq(self._steps_on & goes),
            ends_channel.eq(lanes.row + 1 == self._rows),
        ]
        sums = self._select(m)
        rests = self._requantised(m, sums, steps & self._steps_on)
        packed = self._pack(m, steps, goes)
        column: Value = lanes.column << 2
        if p.wide:
            halves = self._pack_halves(m, outputs & self.wide, goes)
            rest = self._requantised_half(m, outputs & self.wide & self._steps_on)
            column = Mux(outputs & self.wide, lanes.column << 1, column)
        with m.If(steps):
            m.d.comb += [
                asks.eq(packed.leaves),
                enable.eq(packed.enable),
                value.eq(rests),
            ]
        with m.Else():
            m.d.comb += [
                asks.eq(1),
                enable.eq(~0),
                value.eq(self._sum),
            ]
            if p.wide:
                with m.If(outputs):
                    m.d.comb += [
                        asks.eq(halves.leaves),
                        enable.eq(halves.enable),
                        value.eq(rest),
                    ]
        with m.If(goes):
            m.d.sync += [leaving.asks.eq(moves & asks), leaving.packs.eq(moves & steps)]
            if p.wide:
                m.d.sync += leaving.halves.eq(moves & outputs & self.wide)
        with m.If(goes):
            m.d.sync += [
                leaving.move.eq(self._move),
                leaving.address.eq((self._row_address + column)[2:]),
                leaving.write.eq(outputs | (self._move == VectorMove.STORE_PARTIALS)),
                leaving.enable.eq(enable),
                leaving.value.eq(value),
            ]
        leave(m, p, leaving, self._waiting, self.o_request, goes)
        following = Lanes(p, "next")
        m.d.comb += [
            following.column.eq(Mux(ends_line, 0, lanes.column + 1)),
            following.row.eq(lanes.row),
            following.channel.eq(lanes.channel),
        ]
        with m.If(ends_line):
            with m.If(ends_channel):
                m.d.comb += [following.row.eq(0), following.channel.eq(lanes.channel + 1)]
            with m.Else():
                m.d.comb += following.row.eq(lanes.row + 1)
        chosen = Mux(steps, self._group(following)[0], self._lane(following)[2:])
        next_plane = Signal(32)
        with m.If(self._active):
            m.d.comb += next_plane.eq(self._plane_address + Mux(outputs, self.output_plane, self.partial_plane))
        with m.If(goes | ~self._steps_on):
            with m.If(self._is_last | ~self._steps_on):
                self._first_step(m)
            with m.Else():
                m.d.sync += [
                    self._left.eq(self._left - 1),
                    self._is_last.eq(self._left == 2),
                    self._is_final.eq((self._left == 2) & _stores(self._move)),
                    self._beat.eq(Mux(ends_line, self._beats, self._beat - 1)),
                    self._begins_line.eq(ends_line),
                    ends_line.eq(Mux(ends_line, self._beats == 1, self._beat == 2)),
                    lanes.column.eq(following.column),
                    lanes.row.eq(following.row),
                    lanes.channel.eq(following.channel),
                    self._chosen.eq(chosen),
                ]
                with m.If(ends_line):
                    with m.If(ends_channel):
                        m.d.sync += [self._row_address.eq(next_plane), self._plane_address.eq(next_plane)]
                    with m.Else():
                        pitch = Mux(outputs, self.output_pitch, self.partial_pitch)
                        m.d.sync += self._row_address.eq(self._row_address + pitch)
        with m.If(self.start):
            m.d.sync += self._steps_on.eq(1)
        with m.Elif(goes & self._is_last):
            m.d.sync += self._steps_on.eq(0)
        self._end(m, goes)

    def _end(self, m: Module, goes: Signal) -> None:
        """When the move ends, and whether that is near."""
        near, fetches, kept, completes = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            self._loads.eq(self._active & (self._move == VectorMove.LOAD_PARTIALS)),
            fetches.eq(self._active & (self._move == VectorMove.FETCH_BIAS)),
            kept.eq(self._loads & self._complete & self.kept),
            completes.eq(self._complete | (self.i_response.valid & self._last_awaited)),
        ]
        m.d.sync += self._open.eq(~self.start & (self.done | ~self._active | (fetches & completes)))
        with m.If(self._loads):
            m.d.comb += near.eq(~self._steps_on)
        with m.Elif(fetches):
            m.d.comb += near.eq(~self._steps_on | self._is_last)
        with m.Else():
            m.d.comb += near.eq(~self._active | (self._left <= CAPTURE_CYCLES + 2))
        m.d.comb += [
            self.loading.eq(self._loads & (~self._steps_on | (self._is_last & goes))),
            self.takes.eq(self._open | (self._is_final & goes)),
            self.done.eq((self._open & self._active) | kept | (self._is_final & goes)),
            self.free.eq(self.takes | kept),
            self.ending.eq(near),
        ]
        with m.If(self.done & ~self.start):
            m.d.sync += self._active.eq(0)

    def _pack(self, m: Module, outputs: Signal, goes: Signal) -> "Packed":
        """Up to four outputs of a row: which bytes of a word they are, with those of the row that wait.

        Where lanes along x are fewer than four, four outputs come from several rows: if they fill no word, all of
        them go at once to where outputs wait, else one row after the other is written.
        """
        lanes, leaving = self._lanes, self._leaving
        enable, used = Signal(2 * WORD_BYTES - 1), Signal(WORD_BYTES)
        waiting_enable, carried = Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        before, rest = Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        flushes, has_tail, merges = Signal(), Signal(), self._merges
        packed = Packed()
        group, sub = self._group(lanes)
        with m.If(outputs & self._active):
            # Of a row of fewer than four lanes all outputs are taken; the column then counts groups, or is a flush.
            m.d.comb += [
                flushes.eq(self._overflows & self._ends_line),
                has_tail.eq(Mux(self._overflows, self._beat == 2, self._ends_line)),
                enable.eq(Mux(has_tail | merges, self._tail_bytes, self._all_bytes)),
                before.eq(Mux(self._begins_line | merges, waiting_enable, carried)),
                used.eq(enable[:WORD_BYTES] | before),
                packed.leaves.eq(used[-1] | (self._ends_line & self._ends_row)),
                rest.eq(Mux(used[-1], enable[WORD_BYTES:], used[:WAITING_BYTES])),
                packed.enable.eq(Mux(flushes, carried, used)),
            ]
            with m.If(goes):
                m.d.sync += [
                    carried.eq(rest),
                    leaving.offset.eq(self._offset),
                    leaving.before.eq(before),
                    leaving.kept.eq(before | flushes.replicate(WAITING_BYTES)),
                    leaving.fills.eq(used[-1]),
                    leaving.merges.eq(merges),
                    leaving.group.eq(group),
                    leaving.sub.eq(sub),
                    leaving.line.eq(lanes.line),
                ]
                with m.If(self._steps_on & self._is_last):
                    m.d.sync += waiting_enable.eq(Mux(self._ends_row, 0, rest))
        return packed

    def _select(self, m: Module) -> Value:
        """The sums of four lanes: those of a group, or those of which one is at hand."""
        narrow = Signal(32 * WORD_BYTES)
        m.d.comb += narrow.eq(self.vector.as_value().word_select(self._chosen, 32 * WORD_BYTES))
        self._sum = narrow.word_select(self._lane(self._lanes)[:2], 32)
        return narrow

    def _pack_halves(self, m: Module, outputs: Value, goes: Signal) -> "Packed":
        """One output of 16 bits; where it begins a word it waits for the next one, unless the row ends with it."""
        lanes, leaving = self._lanes, self._leaving
        packed = Packed()
        waits, is_upper, has_lower = Signal(), Signal(), Signal()
        with m.If(outputs & self._active):
            m.d.comb += [
                is_upper.eq(self._row_address[1] ^ lanes.column[0]),
                has_lower.eq((lanes.column != 0) | waits),
                packed.leaves.eq(is_upper | (self._ends_line & self._ends_row)),
                packed.enable.eq(Mux(is_upper, Cat(has_lower.replicate(2), C(3, 2)), 3)),
            ]
            with m.If(goes):
                m.d.sync += [leaving.upper.eq(is_upper), leaving.line.eq(lanes.wide_line)]
            with m.If(goes & self._steps_on & self._is_last):
                m.d.sync += waits.eq(~is_upper & ~self._ends_row)
        return packed

    def _lane(self, lanes: Lanes) -> Value:
        """Number of the lane in the vector."""
        return Mux(self.wide, lanes.wide_lane, lanes.lane) if self.parameters.wide else lanes.lane

    def _group(self, lanes: Lanes) -> tuple[Value, Value]:
        """Which four lanes are at hand, and which of their rows."""
        p = self.parameters
        if together(self.parameters) == 1:
            return ((lanes.line << log2(p.lane_x // WORD_BYTES)) | lanes.column)[:2], Value.cast(0)
        bits = log2(together(self.parameters))
        return Mux(self._merges, lanes.column[:2], lanes.line[bits:])[:2], lanes.line[:bits]

    def _requantised(self, m: Module, sums: Value, enable: Value) -> Value:
        """What is left of four sums, to which the biases have been added; a cycle later it becomes their outputs."""
        rests, outputs, beyond_these = [], [], Signal(33)
        m.d.sync += beyond_these.eq(beyond(self._shift, 8, 32))
        for i in range(WORD_BYTES):
            m.submodules[f"rounding_{i}"] = rounding = RoundingShift()
            m.submodules[f"clip_{i}"] = clip = Clip()
            m.d.comb += [
                rounding.enable.eq(enable),
                rounding.sum.eq(sums.word_select(i, 32).as_signed()),
                rounding.shift.eq(self._shift),
                rounding.beyond.eq(beyond_these),
                clip.enable.eq(self._leaving.packs),
                clip.rest.eq(self._leaving.value.word_select(i, REST_BITS)),
                clip.relu.eq(self.relu),
                clip.ceiling.eq(self.ceiling),
            ]
            rests.append(rounding.rest)
            outputs.append(clip.value.as_unsigned())
        m.d.comb += self._leaving.outputs.eq(Cat(*outputs))
        return Cat(*rests)

    def _requantised_half(self, m: Module, enable: Value) -> Value:
        """The same of one sum that becomes an output of 16 bits."""
        m.submodules.rounding_wide = rounding = RoundingShift(bits=16)
        m.submodules.clip_wide = clip = Clip(bits=16)
        m.d.sync += rounding.beyond.eq(beyond(self._shift, 16, 32))
        m.d.comb += [
            rounding.enable.eq(enable),
            rounding.sum.eq(self._sum.as_signed()),
            rounding.shift.eq(self._shift),
            clip.enable.eq(self._leaving.halves),
            clip.rest.eq(self._leaving.value),
            clip.relu.eq(self.relu),
            clip.ceiling.eq(self.ceiling),
            self._leaving.half_output.eq(clip.value.as_unsigned()),
        ]
        return rounding.rest

    def _receive(self, m: Module) -> None:
        """Words that arrive go to their lanes, or to the biases."""
        lanes = self._received
        self._complete = Signal()
        with m.If(self.i_response.valid):
            m.d.sync += self._complete.eq(self._last_awaited)
            m.d.sync += [self._awaited.eq(self._awaited - 1), self._last_awaited.eq(self._awaited == 2)]
            m.d.sync += lanes.column.eq(lanes.column + 1)
            with m.If(lanes.column + 1 == self._columns):
                m.d.sync += [lanes.column.eq(0), lanes.row.eq(lanes.row + 1)]
                with m.If(lanes.row + 1 == self._rows):
                    m.d.sync += [lanes.row.eq(0), lanes.channel.eq(lanes.channel + 1)]
            with m.If(self._last_awaited):
                m.d.sync += lanes.channel.eq(0)
            with m.If(self._move == VectorMove.FETCH_BIAS):
                m.d.sync += self._biases.word_select(lanes.column, 32).eq(self.i_response.data)
            with m.Else():
                m.d.comb += self._arrives.bit_select(self._lane(lanes), 1).eq(1)
        with m.If(self.start):
            m.d.sync += self._complete.eq(0)


def _stores(move: Value) -> Value:
    return (move == VectorMove.STORE_OUTPUTS) | (move == VectorMove.STORE_PARTIALS)
