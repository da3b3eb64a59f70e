"""The steps that a move of the vector port is made of, a cycle each, and the lanes that each of them takes."""

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters

__all__ = ["Lanes", "Step", "VectorMove", "group_bits", "log2", "move_signature", "stores", "together"]


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
    address : Out(32)
        Byte address of the first element, or of the first bias.
    rows, columns : Out
        Elements of a channel of the vector that exist; to fetch biases: how many, as columns of one row.
    steps, beats : Out
        Cycles that the move takes, and those for one row of lanes: for each word that is asked for or written, or up
        to four outputs that are requantised.
    channel, kept : Out
        To fetch biases: the first one's channel; they are in the store of those that are kept.
    tail, overflows, merges, ends_row : Out
        To store outputs of 8 bits: a bit for each of the last ones of a row; after their cycles there is one more
        for what is left of them; they fill no word and go to where they wait; the rows end with this vector, so that
        words that are not full are written all the same.
    """
    return wiring.Signature(
        {
            "kind": Out(VectorMove),
            "address": Out(32),
            "rows": Out(range(parameters.vector_lanes.y + 1)),
            "columns": Out(range(parameters.vector_lanes.product + 1)),
            "steps": Out(range(parameters.vector_lanes.product + 1)),
            "beats": Out(range(parameters.vector_lanes.product + 1)),
            "channel": Out(parameters.position_bits),
            "kept": Out(1),
            "tail": Out(WORD_BYTES),
            "overflows": Out(1),
            "merges": Out(1),
            "ends_row": Out(1),
        }
    )


class Lanes:
    """Counts through the lanes of a vector that exist: columns innermost, then rows, then channels."""

    def __init__(self, parameters: HwcParameters, name: str) -> None:
        self._parameters = parameters
        self.column = Signal(range(parameters.vector_lanes.product), name=f"{name}_column")
        self.row = Signal(range(max(parameters.vector_lanes.y, 2)), name=f"{name}_row")
        self.channel = Signal(range(max(parameters.vector_lanes.m, 2)), name=f"{name}_channel")

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
        if not self._parameters.wide:
            return lane
        return Mux(
            settings.wide,
            ((self.wide_line << log2(self._parameters.wide_lanes.x)) | self.column)[: len(lane) - 1],
            lane,
        )

    @property
    def wide_line(self) -> Value:
        """As `line`, of the lanes for 16-bit operands."""
        return ((self.channel << log2(self._parameters.wide_lanes.y)) | self.row)[: self._bits]


class Step:
    """The step at hand, in registers: one word that is asked for or written, or up to four outputs of 8 bits.

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
    lanes, chosen
        The first lane that it takes, and which four lanes it is one of.
    address
        Of the first element of its row.
    ends_row, overflows, merges
        As `move_signature`'s.
    offset, all_bytes, tail_bytes
        Where in a word the rows begin. The bytes of that word, and of the next one, that four outputs of a row are,
        and those that its last ones are.
    packs, halves
        It takes outputs of 8 bits, one of 16 bits.
    """

    def __init__(self, parameters: HwcParameters, settings: wiring.PureInterface) -> None:
        self._parameters, self._settings = parameters, settings
        self.kind, self.on, self.kept = Signal(VectorMove), Signal(name="steps_on"), Signal(name="kept")
        self.left = Signal(range(parameters.vector_lanes.product + 1))
        self.is_last, self.is_final = Signal(), Signal()
        self.begins_line, self.ends_line = Signal(), Signal()
        self._beats, self.beat = Signal.like(self.left, name="beats"), Signal.like(self.left, name="beat")
        self.lanes, self.chosen = Lanes(parameters, "at"), Signal(group_bits(parameters))
        self.rows = Signal(range(parameters.vector_lanes.y + 1))
        self.address, self._plane_address = Signal(32, name="row_address"), Signal(32, name="plane_address")
        self.ends_row, self.overflows, self.merges = Signal(), Signal(), Signal()
        self.offset = Signal(2)
        self.all_bytes, self.tail_bytes = Signal(2 * WORD_BYTES - 1), Signal(2 * WORD_BYTES - 1)
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
        next_plane = Signal(32)
        with m.If(active):
            plane = Mux(self._outputs, settings.output_plane, settings.partial_plane)
            m.d.comb += next_plane.eq(self._plane_address + plane)
        following, ends_channel = self._following(m)
        # What only steps use is taken whenever there is no other step, which is known early.
        with m.If(goes | ~self.on):
            with m.If(self.is_last | ~self.on):
                self._take_first(m, start, move)
            with m.Else():
                self._take_next(m, following, ends_channel, next_plane)
        with m.If(start):
            m.d.sync += [self.kind.eq(move.kind), self.rows.eq(move.rows), self.on.eq(1)]
            if p.bias_words:
                m.d.sync += self.kept.eq(move.kept & (move.kind == VectorMove.FETCH_BIAS))
        with m.Elif(goes & self.is_last):
            m.d.sync += self.on.eq(0)

    def group(self, lanes: Lanes | None = None) -> tuple[Value, Value]:
        """Which four lanes are at hand, and which of their rows; or with others than the lanes at hand."""
        p, lanes = self._parameters, lanes or self.lanes
        if together(p) == 1:
            group = (lanes.line << log2(p.vector_lanes.x // WORD_BYTES)) | lanes.column
            return group[: group_bits(p)], Value.cast(0)
        bits = log2(together(p))
        return Mux(self.merges, lanes.column, lanes.line[bits:])[: group_bits(p)], lanes.line[:bits]

    def _following(self, m: Module) -> tuple[Lanes, Signal]:
        """The lanes of the next step; whether a channel ends if a row does."""
        lanes, following, ends_channel = self.lanes, Lanes(self._parameters, "next"), Signal()
        m.d.comb += [
            ends_channel.eq(lanes.row + 1 == self.rows),
            following.column.eq(Mux(self.ends_line, 0, lanes.column + 1)),
            following.row.eq(lanes.row),
            following.channel.eq(lanes.channel),
        ]
        with m.If(self.ends_line):
            with m.If(ends_channel):
                m.d.comb += [following.row.eq(0), following.channel.eq(lanes.channel + 1)]
            with m.Else():
                m.d.comb += following.row.eq(lanes.row + 1)
        return following, ends_channel

    def _take_first(self, m: Module, start: Value, move: wiring.PureInterface) -> None:
        """As the first step of a move finds it."""
        across = min(self._parameters.vector_lanes.x, WORD_BYTES)
        m.d.sync += [
            self.left.eq(move.steps),
            self.is_last.eq(move.steps == 1),
            self.is_final.eq(start & (move.steps == 1) & stores(move.kind)),
            self._beats.eq(move.beats),
            self.beat.eq(move.beats),
            self.begins_line.eq(1),
            self.ends_line.eq(move.beats == 1),
            self.ends_row.eq(move.ends_row),
            self.overflows.eq(move.overflows),
            self.merges.eq(move.merges),
            self.address.eq(move.address),
            self._plane_address.eq(move.address),
            self.offset.eq(move.address[:2]),
            self.all_bytes.eq(C((1 << across) - 1) << move.address[:2]),
            self.tail_bytes.eq(move.tail << move.address[:2]),
            self.lanes.column.eq(0),
            self.lanes.row.eq(0),
            self.lanes.channel.eq(0),
            self.chosen.eq(0),
        ]

    def _take_next(self, m: Module, following: Lanes, ends_channel: Signal, next_plane: Signal) -> None:
        """Along the row of lanes, else to the next row, else to the next channel."""
        settings, ends_line = self._settings, self.ends_line
        m.d.sync += [
            self.left.eq(self.left - 1),
            self.is_last.eq(self.left == 2),
            self.is_final.eq((self.left == 2) & stores(self.kind)),
            self.beat.eq(Mux(ends_line, self._beats, self.beat - 1)),
            self.begins_line.eq(ends_line),
            ends_line.eq(Mux(ends_line, self._beats == 1, self.beat == 2)),
            self.lanes.column.eq(following.column),
            self.lanes.row.eq(following.row),
            self.lanes.channel.eq(following.channel),
            self.chosen.eq(Mux(self.packs, self.group(following)[0], following.lane(settings)[2:])),
        ]
        with m.If(ends_line):
            with m.If(ends_channel):
                m.d.sync += [self.address.eq(next_plane), self._plane_address.eq(next_plane)]
            with m.Else():
                pitch = Mux(self._outputs, settings.output_pitch, settings.partial_pitch)
                m.d.sync += self.address.eq(self.address + pitch)


def stores(kind: Value) -> Value:
    """Whether a move of that kind writes."""
    return (kind == VectorMove.STORE_OUTPUTS) | (kind == VectorMove.STORE_PARTIALS)


def together(parameters: HwcParameters) -> int:
    """Rows of lanes that four outputs come from."""
    return max(1, WORD_BYTES // parameters.vector_lanes.x)


def group_bits(parameters: HwcParameters) -> int:
    """Width of the number of four lanes."""
    return max(1, log2(parameters.vector_lanes.product // WORD_BYTES))


def log2(power: int) -> int:
    """Of a power of two."""
    return power.bit_length() - 1
