"""Moves one lane vector between its register and the shared memory: partial sums in and out, final outputs out."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.params import WORD_BYTES, HwcParameters
from hwgen.gateware.requantise import Requantise
from hwgen.gateware.tcdm import Request

__all__ = ["VectorMove", "VectorPort"]

CAPTURE_CYCLES = 3
"""A vector that is asked for now may be captured so many cycles later."""

WAITING_BYTES = WORD_BYTES - 1
"""Of a word that is not full yet, at most."""


class VectorMove(enum.Enum, shape=2):
    """What is to be done with the vector."""

    LOAD_PARTIALS = 0
    STORE_PARTIALS = 1
    STORE_OUTPUTS = 2
    FETCH_BIAS = 3


class _Lanes:
    """Counts through the lanes of a vector that exist: columns innermost, then rows, then channels."""

    def __init__(self, parameters: HwcParameters, name: str) -> None:
        self._parameters = parameters
        self.column = Signal(range(parameters.lanes), name=f"{name}_column")
        self.row = Signal(range(max(parameters.lane_y, 2)), name=f"{name}_row")
        self.channel = Signal(range(max(parameters.lane_m, 2)), name=f"{name}_channel")

    @property
    def line(self) -> Value:
        """Number of the row of lanes."""
        return ((self.channel << _log2(self._parameters.lane_y)) | self.row)[: self._bits]

    @property
    def _bits(self) -> int:
        return max(1, _log2(self._parameters.lane_m * self._parameters.lane_y))

    @property
    def lane(self) -> Value:
        """Number of the lane."""
        return ((self.line << _log2(self._parameters.lane_x)) | self.column)[: _log2(self._parameters.lanes)]

    @property
    def wide_line(self) -> Value:
        """As `line`, of the lanes for 16-bit operands."""
        return ((self.channel << _log2(self._parameters.wide_lanes[1])) | self.row)[: self._bits]

    @property
    def wide_lane(self) -> Value:
        """As `lane`, of the lanes for 16-bit operands."""
        return ((self.wide_line << _log2(self._parameters.wide_lanes[2])) | self.column)[:3]


class VectorPort(wiring.Component):
    """One register of a vector's width, the biases of its channels, and the moves that can be made.

    A move that stores takes a cycle for each word; outputs are requantised up to four a cycle. Outputs that do not
    fill a word wait for the next vector of their rows: one place for each row of lanes. The rows of a vector are
    aligned alike, so that the same bytes of all of them wait.

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
    channels, rows, columns : In
        Elements of the vector that exist; to fetch biases: how many, as columns of one row and channel.
    ends_row : In(1)
        The rows end with this vector: words that are not full are written all the same.
    output_pitch, output_plane, partial_pitch, partial_plane : In
        Bytes from row to row and from channel to channel.
    shift, relu, ceiling : In
        For outputs.
    wide : In(1)
        Outputs have 16 bits, vectors the lanes for such operands; where generated for it.
    capture : In(1)
        Take ``captured`` as the vector; only while ``free`` is set.
    captured : In
    vector : Out
    loading : Out(1)
        The vector that is being loaded will be complete in three cycles, if nothing stalls.
    kept : In(1)
        The vector was written to the output memory; if it was complete, its move ends.
    free : Out(1)
        There is no move, or it ends in this cycle.
    ending : Out(1)
        The port will be free in three cycles, if nothing stalls.
    done : Out(1)
        A move ends in this cycle.
    busy : Out(1)
        There is a move.
    o_request, i_response
        To the memory port.
    moves : Out(VectorMove)
        In a cluster: the move under way.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = p = parameters
        self._sums = data.ArrayLayout(signed(32), p.lanes)
        super().__init__(
            {
                "start": In(1),
                "move": In(VectorMove),
                "address": In(32),
                "channels": In(range(p.lane_m + 1)),
                "rows": In(range(p.lane_y + 1)),
                "columns": In(range(p.lanes + 1)),
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
        self._move, self._left = Signal(VectorMove), Signal(range(4 * p.lanes))
        # Outputs that do not fill a word yet: up to three of 8 bits, or one of 16 bits, for each row of lanes.
        self._waiting = Signal(8 * WAITING_BYTES * p.lane_m * p.lane_y, name="waiting")
        self._channels, self._rows = Signal.like(self.channels), Signal.like(self.rows)
        self._columns, self._ends_row = Signal.like(self.columns), Signal()
        self._row_address, self._plane_address = Signal(32), Signal(32)
        self._lanes = _Lanes(p, "at")
        self._biases = Signal(32 * p.lane_m)
        self._offset = self._row_address[:2]
        if p.cluster:
            m.d.comb += self.moves.eq(self._move)
        with m.If(self.capture):
            m.d.sync += self.vector.eq(self.captured)
        self._receive(m)
        self._request(m)
        self._begin(m)
        return m

    def _begin(self, m: Module) -> None:
        """A new move; ``left`` counts the cycles that it takes, or the words that it asks for."""
        elements, words = Signal(range(self.parameters.lanes + 1)), Signal.like(self._left)
        reach = self.address[:2] + self.columns
        rows = Signal(range(self.parameters.lanes + 1))
        beats = Signal(range(self.parameters.lanes))
        m.d.comb += [rows.eq(self.channels * self.rows), elements.eq(rows * self.columns)]
        # The words that a row's outputs reach into are one more than the steps of four outputs at most.
        steps = (self.columns + WORD_BYTES - 1)[2:]
        m.d.comb += [
            beats.eq(Mux(self.ends_row & ((reach + WORD_BYTES - 1)[2:] > steps), steps + 1, steps)),
            words.eq(rows * beats),
        ]
        if self._together > 1:
            with m.If((reach < WORD_BYTES) & ~self.ends_row):
                m.d.comb += words.eq(self.parameters.lanes // WORD_BYTES)
        with m.If(self.start):
            stores_steps: Value = self.move == VectorMove.STORE_OUTPUTS
            if self.parameters.wide:
                stores_steps = stores_steps & ~self.wide
            m.d.sync += [
                self.busy.eq(1),
                self._move.eq(self.move),
                self._left.eq(Mux(stores_steps, words, elements)),
                self._channels.eq(self.channels),
                self._rows.eq(self.rows),
                self._columns.eq(self.columns),
                self._ends_row.eq(self.ends_row),
                self._row_address.eq(self.address),
                self._plane_address.eq(self.address),
                self._lanes.column.eq(0),
                self._lanes.row.eq(0),
                self._lanes.channel.eq(0),
            ]

    def _request(self, m: Module) -> None:
        """One word a cycle: lane by lane, or outputs step by step; those of 16 bits lane by lane too."""
        p, lanes, request = self.parameters, self._lanes, self.o_request.payload
        outputs, steps, moves = Signal(), Signal(), Signal()
        asks, enable, word, ends_line = Signal(), Signal(WORD_BYTES), Signal(32), Signal()
        m.d.comb += outputs.eq(self._move == VectorMove.STORE_OUTPUTS)
        m.d.comb += steps.eq(outputs & ~self.wide if p.wide else outputs)
        packed = self._pack(m, steps, moves)
        column: Value = lanes.column << 2
        if p.wide:
            halves = self._pack_halves(m, outputs & self.wide, moves)
            column = Mux(outputs & self.wide, lanes.column << 1, column)
        with m.If(self.busy & (self._left != 0)):
            with m.If(steps):
                m.d.comb += [
                    asks.eq(packed.leaves),
                    enable.eq(packed.enable),
                    word.eq(packed.word),
                    ends_line.eq(packed.ends_line),
                ]
            with m.Else():
                m.d.comb += [
                    asks.eq(1),
                    enable.eq(~0),
                    word.eq(self.vector.as_value().word_select(self._lane(lanes), 32)),
                    ends_line.eq(lanes.column + 1 == self._columns),
                ]
                if p.wide:
                    with m.If(outputs):
                        m.d.comb += [
                            asks.eq(halves.leaves),
                            enable.eq(halves.enable),
                            word.eq(halves.word),
                        ]
            m.d.comb += moves.eq(~asks | self.o_request.ready)
        m.d.comb += [
            self.o_request.valid.eq(asks),
            request.address.eq((self._row_address + column) & ~3),
            request.write.eq(outputs | (self._move == VectorMove.STORE_PARTIALS)),
            request.enable.eq(enable),
            request.data.eq(word),
        ]
        next_plane = Signal(32)
        with m.If(self.busy):
            m.d.comb += next_plane.eq(self._plane_address + Mux(outputs, self.output_plane, self.partial_plane))
        with m.If(moves):
            m.d.sync += [self._left.eq(self._left - 1), lanes.column.eq(lanes.column + 1)]
            with m.If(ends_line):
                m.d.sync += lanes.column.eq(0)
                with m.If(lanes.row + 1 == self._rows):
                    m.d.sync += [
                        lanes.row.eq(0),
                        lanes.channel.eq(lanes.channel + 1),
                        self._row_address.eq(next_plane),
                        self._plane_address.eq(next_plane),
                    ]
                with m.Else():
                    pitch = Mux(outputs, self.output_pitch, self.partial_pitch)
                    m.d.sync += [lanes.row.eq(lanes.row + 1), self._row_address.eq(self._row_address + pitch)]
        self._end(m, moves)

    def _end(self, m: Module, moves: Signal) -> None:
        """When the move ends, and whether that is near."""
        near = Signal()
        with m.Switch(self._move):
            with m.Case(VectorMove.LOAD_PARTIALS):
                m.d.comb += [
                    self.done.eq(self.busy & self._complete & self.kept),
                    self.loading.eq(self.busy & (self._left <= 1)),
                    near.eq(self._left == 0),
                ]
            with m.Case(VectorMove.FETCH_BIAS):
                m.d.comb += [self.done.eq(self.busy & self._completes), near.eq(self._left < CAPTURE_CYCLES)]
            with m.Default():
                m.d.comb += [self.done.eq(moves & (self._left == 1)), near.eq(self._left <= CAPTURE_CYCLES + 1)]
        m.d.comb += [self.free.eq(~self.busy | self.done), self.ending.eq(~self.busy | near)]
        with m.If(self.done & ~self.start):
            m.d.sync += self.busy.eq(0)

    def _pack(self, m: Module, outputs: Signal, moves: Signal) -> "_Packed":
        """Up to four outputs of a row, moved to their place in the word, after those of the row that wait.

        Where lanes along x are fewer than four, four outputs come from several rows: if they fill no word, all of
        them go at once to where outputs wait, else one row after the other is written.
        """
        p, lanes = self.parameters, self._lanes
        across, together = min(p.lane_x, WORD_BYTES), self._together
        taken, enable = Signal(range(across + 1)), Signal(2 * WORD_BYTES - 1)
        waiting, waiting_enable = self._waiting, Signal(WAITING_BYTES)
        before, carried, rest = Signal(WAITING_BYTES), Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        used, flushes, reaches_end, merges = Signal(WORD_BYTES), Signal(), Signal(), Signal()
        packed = _Packed()
        group, sub = self._group(merges)
        old = [Signal(8 * WAITING_BYTES, name=f"old_{i}") for i in range(together)]
        fresh = [Signal(8 * (2 * WORD_BYTES - 1), name=f"fresh_{i}") for i in range(together)]
        merged = [Signal(32, name=f"merged_{i}") for i in range(together)]
        pixels = self._requantised(m, outputs & self.busy, group)
        with m.If(outputs & self.busy):
            # Of a row of fewer than four lanes all outputs are taken; the column then counts groups, or is a flush.
            at = lanes.column << 2
            left = self._columns - at if together == 1 else self._columns
            m.d.comb += [
                flushes.eq((at >= self._columns) & ~merges),
                taken.eq(Mux(left > across, across, left[: taken.shape().width])),
                reaches_end.eq(at + WORD_BYTES >= self._columns),
                enable.eq(Cat(taken > i for i in range(across)) << self._offset),
                before.eq(Mux((lanes.column == 0) | merges, waiting_enable, carried)),
                used.eq(enable[:WORD_BYTES] | before),
                merges.eq(0 if together == 1 else (self._offset + self._columns < WORD_BYTES) & ~self._ends_row),
                packed.leaves.eq(used[-1] | flushes | (reaches_end & self._ends_row)),
                rest.eq(Mux(used[-1], enable[WORD_BYTES:], used[:WAITING_BYTES])),
                packed.enable.eq(Mux(flushes, carried, used)),
                packed.ends_line.eq(
                    flushes | (reaches_end & ~merges & ~(self._ends_row & (enable[WORD_BYTES:] != 0)))
                ),
            ]
            for i in range(together):
                m.d.comb += [
                    old[i].eq(waiting.word_select(self._line_of(group, i), 8 * WAITING_BYTES)),
                    fresh[i].eq(pixels[8 * across * i : 8 * across * (i + 1)] << (self._offset << 3)),
                    merged[i].eq(
                        Cat(
                            *(
                                Mux(before[b], old[i].word_select(b, 8), fresh[i].word_select(b, 8))
                                for b in range(WAITING_BYTES)
                            ),
                            fresh[i].word_select(WAITING_BYTES, 8),
                        )
                    ),
                ]
                here = sub == i if together > 1 else flushes | ~flushes
                with m.If(here):
                    m.d.comb += packed.word.eq(Mux(flushes, old[i], merged[i]))
                with m.If(moves & (here | merges)):
                    m.d.sync += waiting.word_select(self._line_of(group, i), 8 * WAITING_BYTES).eq(
                        Mux(used[-1], fresh[i][32:], merged[i][: 8 * WAITING_BYTES])
                    )
            with m.If(moves):
                m.d.sync += carried.eq(rest)
            with m.If(self.done):
                m.d.sync += waiting_enable.eq(Mux(self._ends_row, 0, rest))
        return packed

    def _lane(self, lanes: _Lanes) -> Value:
        """Number of the lane in the vector."""
        return Mux(self.wide, lanes.wide_lane, lanes.lane) if self.parameters.wide else lanes.lane

    def _pack_halves(self, m: Module, outputs: Value, moves: Signal) -> "_Packed":
        """One output of 16 bits; where it begins a word it waits for the next one, unless the row ends with it."""
        p, lanes = self.parameters, self._lanes
        packed, line = _Packed(), lanes.wide_line
        m.submodules.requantise_wide = unit = Requantise(bits=16)
        waiting = self._waiting
        waits, is_upper, has_lower = Signal(), Signal(), Signal()
        bias = self._biases.word_select(lanes.channel, 32) if p.lane_m > 1 else self._biases
        with m.If(outputs & self.busy):
            m.d.comb += [
                unit.enable.eq(1),
                unit.sum.eq(self.vector.as_value().word_select(lanes.wide_lane, 32).as_signed()),
                unit.bias.eq(bias.as_signed()),
                unit.shift.eq(self.shift),
                unit.relu.eq(self.relu),
                unit.ceiling.eq(self.ceiling),
                is_upper.eq(self._row_address[1] ^ lanes.column[0]),
                has_lower.eq((lanes.column != 0) | waits),
                packed.leaves.eq(is_upper | ((lanes.column + 1 == self._columns) & self._ends_row)),
                packed.enable.eq(Mux(is_upper, Cat(has_lower.replicate(2), C(3, 2)), 3)),
                packed.word.eq(
                    Mux(is_upper, Cat(waiting.word_select(line, 16), unit.value), unit.value.as_unsigned())
                ),
            ]
            with m.If(moves):
                m.d.sync += waiting.word_select(line, 16).eq(unit.value)
            with m.If(self.done):
                m.d.sync += waits.eq(~is_upper & ~self._ends_row)
        return packed

    @property
    def _together(self) -> int:
        """Rows of lanes that four outputs come from."""
        return max(1, WORD_BYTES // self.parameters.lane_x)

    def _group(self, merges: Signal) -> tuple[Value, Value]:
        """Which four lanes are at hand, and which of their rows."""
        p, lanes = self.parameters, self._lanes
        if self._together == 1:
            return ((lanes.line << _log2(p.lane_x // WORD_BYTES)) | lanes.column)[:2], Value.cast(0)
        bits = _log2(self._together)
        return Mux(merges, lanes.column[:2], lanes.line[bits:])[:2], lanes.line[:bits]

    def _line_of(self, group: Value, i: int) -> Value:
        """Number of the row of lanes that the i-th row of a group is."""
        if self._together == 1:
            return self._lanes.line
        return Cat(C(i, _log2(self._together)), group)

    def _requantised(self, m: Module, enable: Value, group: Value) -> Value:
        """The outputs of four lanes."""
        p = self.parameters
        pixels = Signal(8 * WORD_BYTES)
        sums = Signal(32 * WORD_BYTES)
        with m.If(enable):
            m.d.comb += sums.eq(self.vector.as_value().word_select(group, 32 * WORD_BYTES))
        for i in range(WORD_BYTES):
            m.submodules[f"requantise_{i}"] = unit = Requantise()
            line = self._line_of(group, i // min(p.lane_x, WORD_BYTES))
            bias = self._biases.word_select(line[_log2(p.lane_y) :], 32) if p.lane_m > 1 else self._biases
            m.d.comb += [
                unit.enable.eq(enable),
                unit.sum.eq(sums.word_select(i, 32)),
                unit.bias.eq(bias.as_signed()),
                unit.shift.eq(self.shift),
                unit.relu.eq(self.relu),
                unit.ceiling.eq(self.ceiling),
                pixels.word_select(i, 8).eq(unit.value),
            ]
        return pixels

    def _receive(self, m: Module) -> None:
        """Words that arrive go to their lanes, or to the biases."""
        lanes = _Lanes(self.parameters, "received")
        self._complete, self._completes = Signal(), Signal()
        with m.If(self.i_response.valid):
            m.d.sync += lanes.column.eq(lanes.column + 1)
            with m.If(lanes.column + 1 == self._columns):
                m.d.sync += [lanes.column.eq(0), lanes.row.eq(lanes.row + 1)]
                with m.If(lanes.row + 1 == self._rows):
                    m.d.sync += [lanes.row.eq(0), lanes.channel.eq(lanes.channel + 1)]
                    with m.If(lanes.channel + 1 == self._channels):
                        m.d.comb += self._completes.eq(1)
                        m.d.sync += [self._complete.eq(1), lanes.channel.eq(0)]
            with m.If(self._move == VectorMove.FETCH_BIAS):
                m.d.sync += self._biases.word_select(lanes.column, 32).eq(self.i_response.data)
            with m.Else():
                m.d.sync += self.vector.as_value().word_select(self._lane(lanes), 32).eq(self.i_response.data)
        with m.If(self.start):
            m.d.sync += self._complete.eq(0)


class _Packed:
    """What becomes of the outputs at hand: a word to write if it ``leaves``; the last one of its row of lanes."""

    def __init__(self) -> None:
        self.leaves, self.ends_line = Signal(), Signal()
        self.enable, self.word = Signal(WORD_BYTES), Signal(32)


def _log2(power: int) -> int:
    return power.bit_length() - 1
