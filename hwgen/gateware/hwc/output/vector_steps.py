"""The steps that a move of the vector port is made of, a cycle each, and the lanes that each of them takes."""

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import address_bits

__all__ = ["Lanes", "Step", "VectorMove", "group_bits", "log2", "move_signature", "stores"]


class VectorMove(enum.Enum, shape=2):
    """What is to be done with the vector."""

    LOAD_PARTIALS = 0
    STORE_PARTIALS = 1
    STORE_OUTPUTS = 2
    FETCH_BIAS = 3


def move_signature(parameters: HwcParameters) -> wiring.Signature:
    """What a move is begun with.

    Members
    -------
    kind : Out(VectorMove)
    address : Out
        Byte address of the first element, or of the first bias.
    rows, columns : Out
        Elements of a channel of the vector that exist; to fetch biases: one.
    steps, beats : Out
        Cycles that the move takes, and those for one row of lanes: for each word that is asked for or written, or up
        to four outputs that are requantised.
    channel, kept : Out
        To fetch biases: the first one's channel; they are in the store of those that are kept.
    tail, overflows, ends_row : Out
        To store outputs of 8 bits: a bit for each of the last ones of a row; after their cycles there is one more
        for what is left of them; the rows end with this vector, so that words that are not full are written all the
        same.
    """
    return wiring.Signature(
        {
            "kind": Out(VectorMove),
            "address": Out(address_bits(parameters)),
            "rows": Out(range(parameters.vector_lanes.y + 1)),
            "columns": Out(range(parameters.vector_lanes.x + 1)),
            "steps": Out(range(parameters.most_steps + 1)),
            "beats": Out(range(parameters.vector_lanes.x + 1)),
            "channel": Out(parameters.position_bits),
            "kept": Out(1),
            "tail": Out(parameters.requantisers),
            "overflows": Out(1),
            "ends_row": Out(1),
        }
    )


class Lanes:
    """Counts through the lanes of a vector that exist: columns innermost, then rows, then channels. Of records, the
    channel counts the words."""

    def __init__(self, parameters: HwcParameters, name: str) -> None:
        self._parameters = parameters
        self.column = Signal(range(max(parameters.vector_lanes.x, 2)), name=f"{name}_column")
        self.row = Signal(range(max(parameters.vector_lanes.y, 2)), name=f"{name}_row")
        channels = parameters.record_words * parameters.vector_lanes.m
        self.channel = Signal(range(max(channels, 2)), name=f"{name}_channel")

    @property
    def line(self) -> Value:
        """Number of the row of lanes."""
        return ((self.channel << log2(self._parameters.vector_lanes.y)) | self.row)[: self._bits]

    @property
    def _bits(self) -> int:
        return max(1, log2(self._parameters.vector_lanes.m * self._parameters.vector_lanes.y))

    def lane(self, settings: wiring.PureInterface) -> Value:
        """Number of the lane in the vector."""
        lane = ((self.line << log2(self._parameters.vector_lanes.x)) | self.column)[
            : log2(self._parameters.vector_lanes.product)
        ]
        if not self._parameters.wide_halves:
            return lane
        return Mux(
            settings.wide,
            ((self.wide_line << log2(self._parameters.wide_lanes.x)) | self.column)[: len(lane) - 1],
            lane,
        )

    @property
    def wide_line(self) -> Value:
        """The line as `line` has it, of the lanes for 16-bit operands."""
        return ((self.channel << log2(self._parameters.wide_lanes.y)) | self.row)[: self._bits]


class Step:
    """The step at hand, in registers: one word that is asked for or written, or outputs of 8 bits of a row of lanes.

    Members, all of them signals
    ----------------------------
    kind, rows, kept
        What the move does; rows of lanes of a channel; it reads biases that are kept. They stay after its last step.
    on
        There is a step; nothing else of it means anything without.
    left, is_last, is_final
        Steps that the move still has, this one with them; it has no other; it has none and stores.
    begins_line, ends_line
        It is the first one, the last one of its row of lanes.
    beat
        Steps that the row still has, this one with them.
    lanes
        The first lane that it takes; with outputs of 8 bits the column counts the groups of a row.
    following, next_group
        Of the next step; and the group of lanes that it takes: as many as are requantised in a cycle.
    address
        Of the first element of its row.
    ends_row, overflows
        As `move_signature`'s.
    offset, all_bytes, tail_bytes
        Where in a word the rows begin; or the step, if a word has several. The bytes of that word, and of the next
        one, that all outputs of a group are, and those that a row's last ones are.
    packs, halves
        It takes outputs of 8 bits, one of 16 bits.
    """

    def __init__(self, parameters: HwcParameters, settings: wiring.PureInterface) -> None:
        self._parameters, self._settings = p, _ = (parameters, settings)
        self.kind, self.on, self.kept = Signal(VectorMove), Signal(name="steps_on"), Signal(name="kept")
        self.left = Signal(range(p.most_steps + 1))
        self.is_last, self.is_final = Signal(), Signal()
        # A row of one lane takes a step.
        self._several_beats = p.vector_lanes.x > 1
        self.begins_line, self.ends_line = Signal(init=1), Signal(init=1)
        self._beats = Signal(range(p.vector_lanes.x + 1), name="beats")
        self.beat = Signal.like(self._beats, name="beat")
        self.lanes, self.following = Lanes(p, "at"), Lanes(p, "next")
        self.next_group = Signal(group_bits(p))
        self.rows = Signal(range(p.vector_lanes.y + 1))
        address = address_bits(p)
        self.address, self._plane_address = (
            Signal(address, name="row_address"),
            Signal(address, name="plane_address"),
        )
        self.ends_row, self.overflows = Signal(), Signal()
        self.offset = Signal(2)
        reach = WORD_BYTES + p.requantisers - 1
        self.all_bytes, self.tail_bytes = Signal(reach), Signal(reach)
        if p.steps_in_word > 1:
            self._row_offset, self._tail = Signal.like(self.offset), Signal(p.requantisers)
        self.packs, self.halves, self._outputs = Signal(), Signal(), Signal(name="outputs")

    def follow(self, m: Module, *, start: Value, move: wiring.PureInterface, goes: Value, active: Value) -> None:
        """Take the steps of one ``move`` after the other, each of them when it ``goes``.

        A move begins with ``start``, and is ``active`` from the cycle after that until it ends.
        """
        p, settings = self._parameters, self._settings
        wide = settings.wide if p.wide else C(0, 1)
        m.d.comb += [
            self._outputs.eq(self.kind == VectorMove.STORE_OUTPUTS),
            self.packs.eq(self._outputs & ~wide),
            self.halves.eq(self._outputs & wide),
        ]
        next_plane = Signal.like(self.address)
        with m.If(active):
            # Biases, or words of records, are one after the other, as channels of one element.
            plane: Value = settings.output_plane
            if p.loads_sums:
                plane = Mux(self._outputs, settings.output_plane, settings.partial_plane)
            plane = Mux(self.kind == VectorMove.FETCH_BIAS, WORD_BYTES, plane)
            m.d.comb += next_plane.eq(self._plane_address + plane)
        ends_channel = self._follow_lanes(m)
        # What only steps use is taken whenever there is no other step, which is known early.
        with m.If(goes | ~self.on):
            with m.If(self.is_last | ~self.on):
                self._take_first(m, start, move)
            with m.Else():
                self._take_next(m, ends_channel, next_plane)
        with m.If(start):
            m.d.sync += [self.kind.eq(move.kind), self.rows.eq(move.rows), self.on.eq(1)]
            if p.bias_words:
                m.d.sync += self.kept.eq(move.kept & (move.kind == VectorMove.FETCH_BIAS))
        with m.Elif(goes & self.is_last):
            m.d.sync += self.on.eq(0)

    def _follow_lanes(self, m: Module) -> Signal:
        """The lanes of the next step; returns whether a channel ends if a row does."""
        p, lanes, following, ends_channel = self._parameters, self.lanes, self.following, Signal(init=1)
        if p.vector_lanes.y > 1:
            ends = self.ends_line & ends_channel
            m.d.comb += [
                ends_channel.eq(lanes.row + 1 == self.rows),
                following.row.eq(Mux(ends, 0, lanes.row + self.ends_line)),
            ]
        else:
            ends = self.ends_line
        if self._several_beats:
            m.d.comb += following.column.eq(Mux(self.ends_line, 0, lanes.column + 1))
        else:
            ends = ends if p.vector_lanes.y > 1 else C(1)
        m.d.comb += following.channel.eq(lanes.channel + ends)
        together = log2(p.requantisers)
        packed = (following.line << (log2(p.vector_lanes.x) - together)) | following.column
        single = following.lane(self._settings)[together:]
        if p.loads_sums or p.wide:
            packed = Mux(self.packs, packed, single)
        m.d.comb += self.next_group.eq(packed)
        return ends_channel

    def _take_first(self, m: Module, start: Value, move: wiring.PureInterface) -> None:
        """Set the state that the first step of a move finds."""
        p = self._parameters
        all_outputs = C((1 << p.requantisers) - 1, p.requantisers)
        m.d.sync += [
            self.left.eq(move.steps),
            self.is_last.eq(move.steps == 1),
            self.is_final.eq(start & (move.steps == 1) & stores(move.kind)),
            self.ends_row.eq(move.ends_row),
            self.overflows.eq(move.overflows),
            self.address.eq(move.address),
            self._plane_address.eq(move.address),
            self.offset.eq(move.address[:2]),
            self.all_bytes.eq(all_outputs << move.address[:2]),
            self.tail_bytes.eq(move.tail << move.address[:2]),
            self.lanes.column.eq(0),
            self.lanes.row.eq(0),
            self.lanes.channel.eq(0),
        ]
        if p.steps_in_word > 1:
            m.d.sync += [self._row_offset.eq(move.address[:2]), self._tail.eq(move.tail)]
        if self._several_beats:
            m.d.sync += [
                self._beats.eq(move.beats),
                self.beat.eq(move.beats),
                self.begins_line.eq(1),
                self.ends_line.eq(move.beats == 1),
            ]

    def _take_next(self, m: Module, ends_channel: Signal, next_plane: Signal) -> None:
        """Along the row of lanes, else to the next row, else to the next channel."""
        p, settings, ends_line, following = self._parameters, self._settings, self.ends_line, self.following
        m.d.sync += [
            self.left.eq(self.left - 1),
            self.is_last.eq(self.left == 2),
            self.is_final.eq((self.left == 2) & stores(self.kind)),
            self.lanes.column.eq(following.column),
            self.lanes.row.eq(following.row),
            self.lanes.channel.eq(following.channel),
        ]
        if self._several_beats:
            m.d.sync += [
                self.beat.eq(Mux(ends_line, self._beats, self.beat - 1)),
                self.begins_line.eq(ends_line),
                ends_line.eq(Mux(ends_line, self._beats == 1, self.beat == 2)),
            ]
        if p.steps_in_word > 1:
            offset = Signal.like(self.offset)
            m.d.comb += offset.eq(Mux(ends_line, self._row_offset, self.offset + p.requantisers))
            m.d.sync += [
                self.offset.eq(offset),
                self.all_bytes.eq(C((1 << p.requantisers) - 1, p.requantisers) << offset),
                self.tail_bytes.eq(self._tail << offset),
            ]
        with m.If(ends_line):
            if p.vector_lanes.y > 1:
                with m.If(ends_channel):
                    m.d.sync += [self.address.eq(next_plane), self._plane_address.eq(next_plane)]
                with m.Else():
                    pitch = Mux(self._outputs, settings.output_pitch, settings.partial_pitch)
                    m.d.sync += self.address.eq(self.address + pitch)
            else:
                m.d.sync += [self.address.eq(next_plane), self._plane_address.eq(next_plane)]


def stores(kind: Value) -> Value:
    """Whether a move of that kind writes."""
    return (kind == VectorMove.STORE_OUTPUTS) | (kind == VectorMove.STORE_PARTIALS)


def group_bits(parameters: HwcParameters) -> int:
    """Width of the number of a group of lanes: as many as are requantised in a cycle."""
    return max(1, log2(parameters.vector_lanes.product // parameters.requantisers))


def log2(power: int) -> int:
    """The logarithm of a power of two."""
    return power.bit_length() - 1
