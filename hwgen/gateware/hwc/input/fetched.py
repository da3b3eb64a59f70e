"""What the fetcher of the input knows of the tile, the row and the line at hand, and of the word that may be next."""

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring

__all__ = ["FetchedLine", "FetchedTile", "FreeElements", "NextWord", "RoomForWord", "RowBegin"]


class FetchedLine:
    """The words of one channel of the row at hand; offsets count bytes of the row's slab."""

    def __init__(self, tile: wiring.PureInterface, flat: int, channel_lanes: int, in_word: int) -> None:
        self.address, self.word_address = Signal.like(tile.address), Signal.like(tile.address)
        self.words_left = Signal.like(tile.words)
        self.end = Signal(flat)
        self.at, self.phase = Signal(signed(flat + 1)), Signal(2)
        # It is the last word of the line, the last line of the row, the last row of the tile; all of it, or there is
        # no word: what comes next is the next tile's, as far as it is offered.
        self.last_word, self.last_line, self.last_row, self.loads = Signal(), Signal(), Signal(), Signal(init=1)
        # With lanes along c: the memory of the channel, and where its line begins; lines of the others are beside it.
        self.channel_lane = Signal(range(channel_lanes)) if channel_lanes > 1 else None
        self.begin = Signal(flat)
        # Its used bytes; elements of the ring that it needs, and whether they are free.
        self.enable, self.need, self.fits = Signal(in_word), Signal(signed(flat + 2)), Signal()


@dataclass(frozen=True)
class NextWord:
    """A word that may be the next one: what there is to know about it before it is known whether it is.

    Members
    -------
    reach : elements of the slab up to it, where the stride is 1.
    """

    last: Value
    last_line: Value
    last_row: Value
    phase: Value
    at: Value
    end: Value
    reach: Value


@dataclass(frozen=True)
class RoomForWord:
    """Whether there will be room for a word that may be the next one: for the whole slab, up to the end of its line,
    up to its last element. What registers have is compared, and among the comparisons is chosen."""

    slab: Value
    end: Value
    reach: Value


class FetchedTile:
    """What does not change within a tile, and what changes from row to row."""

    def __init__(self, tile: wiring.PureInterface, word: int) -> None:
        self.channels, self.words = Signal.like(tile.channels), Signal.like(tile.words)
        self.single_word, self.single_channel = Signal(), Signal()
        self.first, self.last = Signal.like(tile.first), Signal.like(tile.last)
        self.quotient, self.phase = Signal.like(tile.quotient), Signal(2)
        # The quotient, and a word further.
        self.reach = Signal(signed(len(tile.quotient) + word.bit_length()))
        self.gaps, self.kernel_columns = Signal(), Signal(2)
        self.row_gaps, self.kernel_rows, self.gap = Signal(), Signal(2), Signal(2)
        self.rows_left, self.run_left = Signal.like(tile.rows), Signal(2)
        # Behind the row at hand is a gap; rows of the image from it to the next one, modulo 4.
        self.at_gap, self.step = Signal(), Signal(2)
        self.channels_left = Signal.like(tile.channels)
        self.row_address, self.slot = Signal.like(tile.address), Signal.like(tile.slot)
        self.slid = Signal()


class FreeElements:
    """The number of free elements of the ring; while a tile is ``active``, what that one's row leaves: ``spare``."""

    def __init__(self, free: Value, active: Value | None = None, spare: Value | None = None) -> None:
        self._free, self._active, self._spare = free, active, spare

    def has(self, elements: Value) -> Value:
        """Whether this number of elements will be free."""
        enough = ~(self._free - elements)[-1]
        if self._active is None or self._spare is None:
            return enough
        return Mux(self._active, ~(self._spare - elements)[-1], enough)


class RowBegin:
    """What the next row begins with, of the tile at hand or of the next one.

    Which of them is known early in a cycle; whether the row begins is not.
    """

    def __init__(
        self, m: Module, tile: FetchedTile, incoming: wiring.PureInterface, pitch: Value, loads: Signal
    ) -> None:
        def either(name: str) -> Signal:
            of_next, of_tile = getattr(incoming, name), getattr(tile, name)
            value = Signal.like(of_next, name=f"begin_{name}")
            m.d.comb += value.eq(Mux(loads, of_next, of_tile))
            return value

        self.loads = loads
        self.words, self.channels = either("words"), either("channels")
        self.single_word, self.single_channel = either("single_word"), either("single_channel")
        self.first, self.last, self.quotient, self.phase = (
            either(name) for name in ("first", "last", "quotient", "phase")
        )
        self.gaps, self.kernel_columns = either("gaps"), either("kernel_columns")
        threefold, step = Signal(len(pitch) + 2), tile.step
        self.last_row = Signal(name="begin_last_row")
        m.d.sync += threefold.eq(pitch + (pitch << 1))
        # From the row at hand to the next one of the tile.
        self.distance = Mux(step[1], Mux(step[0], threefold, pitch << 1), Mux(step[0], pitch, pitch << 2))
        m.d.comb += self.last_row.eq(Mux(loads, incoming.single_row, tile.rows_left == 2))
