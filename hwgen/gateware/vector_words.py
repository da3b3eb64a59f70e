"""Between a vector and the words that it is made of: which lanes are at hand, and how four outputs become a word."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import enum, stream

from hwgen.gateware.params import WORD_BYTES, HwcParameters

__all__ = ["REST_BITS", "WAITING_BYTES", "Lanes", "Leaving", "Packed", "VectorMove", "leave", "log2", "together"]

WAITING_BYTES = WORD_BYTES - 1
"""Of a word that is not full yet, at most."""
REST_BITS = 10
"""Of a sum that was shifted right and is to be clipped to 8 bits."""


class VectorMove(enum.Enum, shape=2):
    """What is to be done with the vector."""

    LOAD_PARTIALS = 0
    STORE_PARTIALS = 1
    STORE_OUTPUTS = 2
    FETCH_BIAS = 3


class Lanes:
    """Counts through the lanes of a vector that exist: columns innermost, then rows, then channels."""

    def __init__(self, parameters: HwcParameters, name: str) -> None:
        self._parameters = parameters
        self.column = Signal(range(parameters.lanes), name=f"{name}_column")
        self.row = Signal(range(max(parameters.lane_y, 2)), name=f"{name}_row")
        self.channel = Signal(range(max(parameters.lane_m, 2)), name=f"{name}_channel")

    @property
    def line(self) -> Value:
        """Number of the row of lanes."""
        return ((self.channel << log2(self._parameters.lane_y)) | self.row)[: self._bits]

    @property
    def _bits(self) -> int:
        return max(1, log2(self._parameters.lane_m * self._parameters.lane_y))

    @property
    def lane(self) -> Value:
        """Number of the lane."""
        return ((self.line << log2(self._parameters.lane_x)) | self.column)[: log2(self._parameters.lanes)]

    @property
    def wide_line(self) -> Value:
        """As `line`, of the lanes for 16-bit operands."""
        return ((self.channel << log2(self._parameters.wide_lanes[1])) | self.row)[: self._bits]

    @property
    def wide_lane(self) -> Value:
        """As `lane`, of the lanes for 16-bit operands."""
        return ((self.wide_line << log2(self._parameters.wide_lanes[2])) | self.column)[:3]


class Packed:
    """What becomes of the outputs at hand: a word to write if it ``leaves``."""

    def __init__(self) -> None:
        self.leaves = Signal()
        self.enable = Signal(WORD_BYTES)


class Leaving:
    """Between the stages: an access, and how its word is made of the outputs, or sum, at hand."""

    def __init__(self, parameters: HwcParameters) -> None:
        self.asks, self.write, self.move = Signal(), Signal(), Signal(VectorMove)
        self.address, self.enable = Signal(30), Signal(WORD_BYTES)
        # A sum, or what is left of four sums or of one that was shifted right: to be clipped.
        self.value = Signal(WORD_BYTES * REST_BITS, name="outgoing")
        self.outputs, self.half_output = Signal(8 * WORD_BYTES), Signal(16)
        # Outputs of 8 bits are packed; those of 16 bits are halves, the upper one goes out with the other.
        self.packs, self.halves, self.upper = Signal(), Signal(), Signal()
        self.offset, self.before, self.kept = Signal(2), Signal(WAITING_BYTES), Signal(WAITING_BYTES)
        self.fills, self.merges = Signal(), Signal()
        self.group, self.sub = Signal(2), Signal(2)
        self.line = Signal(max(1, log2(parameters.lane_m * parameters.lane_y)))


def leave(
    m: Module, p: HwcParameters, leaving: Leaving, waiting: Signal, request: stream.Interface, goes: Signal
) -> None:
    """The last stage: outputs, clipped, are moved to their place in the word, after those of the row that wait."""
    across, rows = min(p.lane_x, WORD_BYTES), together(p)
    word, values = Signal(32), leaving.outputs
    m.d.comb += word.eq(leaving.value)
    if p.wide:
        half = waiting.word_select(leaving.line, 16)
        with m.If(leaving.halves):
            m.d.comb += word.eq(Cat(Mux(leaving.upper, half, leaving.half_output), leaving.half_output))
        with m.If(goes & leaving.halves):
            m.d.sync += half.eq(leaving.half_output)
    with m.If(leaving.packs):
        for i in range(rows):
            line = leaving.line if rows == 1 else Cat(C(i, log2(rows)), leaving.group)
            waits = waiting.word_select(line, 8 * WAITING_BYTES)
            old, merged = Signal(8 * WAITING_BYTES, name=f"old_{i}"), Signal(32, name=f"merged_{i}")
            fresh = Signal(8 * (2 * WORD_BYTES - 1), name=f"fresh_{i}")
            stays = Signal(8 * WAITING_BYTES, name=f"stays_{i}")
            m.d.comb += [
                old.eq(waits),
                fresh.eq(values[8 * across * i : 8 * across * (i + 1)] << (leaving.offset << 3)),
                merged.eq(Cat(_bytes(leaving.kept, old, fresh), fresh[8 * WAITING_BYTES :])),
                stays.eq(Mux(leaving.fills, fresh[32:], _bytes(leaving.before, old, fresh))),
            ]
            here = leaving.sub == i if rows > 1 else leaving.packs
            with m.If(here):
                m.d.comb += word.eq(merged)
            with m.If(goes & (here | leaving.merges)):
                m.d.sync += waits.eq(stays)
    m.d.comb += [
        request.valid.eq(leaving.asks),
        request.payload.address.eq(leaving.address << 2),
        request.payload.write.eq(leaving.write),
        request.payload.enable.eq(leaving.enable),
        request.payload.data.eq(word),
    ]


def _bytes(kept: Value, old: Value, fresh: Value) -> Value:
    """The bytes that are kept, and fresh ones."""
    return Cat(*(Mux(keep, old.word_select(b, 8), fresh.word_select(b, 8)) for b, keep in enumerate(kept)))


def together(parameters: HwcParameters) -> int:
    """Rows of lanes that four outputs come from."""
    return max(1, WORD_BYTES // parameters.lane_x)


def log2(power: int) -> int:
    """Of a power of two."""
    return power.bit_length() - 1
