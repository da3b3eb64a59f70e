"""The control of a buffet: tiles are pushed, filled in order, passed to the sequencer, released and freed."""

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS
from hwgen.arch.latency import TILES_AHEAD, WORDS_AHEAD
from hwgen.gateware.lib.short_queue import ShortQueue

__all__ = ["TileQueue", "WordQueue"]


class TileQueue(wiring.Component):
    """Tracks the tiles of one operand between its fetcher and the sequencer.

    Each tile is pushed with its token and with the number of units of the previous tile that it does not reuse. A
    tile that is complete passes its token to the sequencer. When the sequencer releases a tile, the units that the
    next tile does not reuse are freed: at once if the next tile has been pushed, otherwise when it is pushed. So
    tiles are prefetched as far as the ring has room, at most `TILES_AHEAD` of them.

    Parameters
    ----------
    token
        Shape of the token that the sequencer receives for a tile.
    capacity
        Units of the ring. The fetcher defines the unit.
    tells_alone
        Whether ``alone`` is used.
    tells_spare
        Whether ``spare`` is used.

    Members
    -------
    i_tile : In(stream)
        Pushes a tile: its ``token``; ``drop``: units of the previous tile that it does not reuse.
    reserves : In(1)
        Reserves units of the ring.
    reserve : In
        How many; not on the critical path.
    free : Out
        Free units.
    spare : Out
        Free units less ``reserve`` as it was in the cycle before. From a register, which leaves no subtraction to the
        end of a cycle. Only if ``tells_spare``.
    completes : In(1)
        A pulse: the next tile is complete.
    o_token : Out(stream)
        The token of the next complete tile.
    release : In(1)
        The current tile has been used for the last time.
    alone : Out(1)
        Every tile before the last one pushed (perhaps in this cycle) is released. Only if ``tells_alone``.
    """

    def __init__(
        self, *, token: ShapeLike, capacity: int, tells_alone: bool = False, tells_spare: bool = False
    ) -> None:
        self._capacity, self._room = capacity, capacity.bit_length()
        self._tells_alone, self._tells_spare = tells_alone, tells_spare
        self._tile = data.StructLayout({"token": token, "drop": self._room})
        super().__init__(
            {
                "i_tile": In(stream.Signature(self._tile)),
                "reserve": In(self._room),
                "reserves": In(1),
                "free": Out(self._room, init=capacity),
                "completes": In(1),
                "o_token": Out(stream.Signature(token)),
                "release": In(1),
                **({"alone": Out(1)} if tells_alone else {}),
                **({"spare": Out(signed(self._room + 1))} if tells_spare else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        token_width = Shape.cast(self._tile["token"].shape).width
        assert TILES_AHEAD == 2, "the queues are short"
        m.submodules.tokens = tokens = ShortQueue(width=token_width)
        m.submodules.drops = drops = ShortQueue(width=self._room)

        # Pushed. The first tile has no predecessor to drop units of.
        is_first = Signal(init=1)
        taken = self.i_tile.valid & self.i_tile.ready
        m.d.comb += [
            self.i_tile.ready.eq(tokens.w_rdy & drops.w_rdy),
            tokens.w_en.eq(taken),
            tokens.w_data.eq(self.i_tile.payload.token),
            drops.w_en.eq(taken & ~is_first),
            drops.w_data.eq(self.i_tile.payload.drop),
        ]
        with m.If(taken):
            m.d.sync += is_first.eq(0)

        # Passed to the sequencer. A tile is pushed before it is complete, so its token is present.
        complete = Signal(range(TILES_AHEAD + 1))
        m.d.comb += [
            self.o_token.valid.eq(complete != 0),
            self.o_token.payload.eq(tokens.r_data),
            tokens.r_en.eq(self.o_token.valid & self.o_token.ready),
        ]
        with m.If(self.completes | tokens.r_en):
            m.d.sync += complete.eq(complete + self.completes - tokens.r_en)

        # Released and freed.
        released, another = Signal(range(TILES_AHEAD + 2)), Signal()
        m.d.sync += another.eq(self.release)
        m.d.comb += drops.r_en.eq(((released != 0) | another) & drops.r_rdy)
        if self._tells_alone:
            m.d.comb += self.alone.eq(~drops.r_rdy & (is_first | ~self.i_tile.valid))
        with m.If(another | drops.r_en):
            m.d.sync += released.eq(released + another - drops.r_en)
        # `reserves` is on the critical path, so it only selects between two sums.
        freed = Signal(self._room)
        m.d.comb += freed.eq(self.free + Mux(drops.r_en, drops.r_data, 0))
        with m.If(self.reserves | drops.r_en):
            m.d.sync += self.free.eq(Mux(self.reserves, freed - self.reserve, freed))
        if self._tells_spare:
            m.d.sync += self.spare.eq(Mux(self.reserves, freed - (self.reserve << 1), freed - self.reserve))
        return m


class WordQueue(wiring.Component):
    """Matches the answers of the memory with the requested words.

    Parameters
    ----------
    place
        Shape of the place of a word in the ring; None: words are written in consecutive places.
    waits
        Whether the writer has back-pressure; otherwise it accepts every word at once. With back-pressure the data of
        an accepted word follow three cycles later.
    ahead
        Entries that wait, at most.
    width
        Bits of a word.

    Members
    -------
    i_entry : In(stream)
        A word was requested (``word``), or a tile ends (``end``), or both: the tile ends with this word.
    i_response : In
        Words from the memory.
    o_word : Out(stream)
        An entry with its word.
    expected : Out(1)
        The current entry has a word, whether or not it has arrived. Not on the critical path.
    completes : Out(1)
        A tile is complete: all of its words have been accepted.
    """

    def __init__(
        self, *, place: ShapeLike | None, waits: bool, ahead: int = WORDS_AHEAD, width: int = WORD_BITS
    ) -> None:
        self._waits, self._ahead, self._width = waits, ahead, width
        where: dict[str, ShapeLike] = {} if place is None else {"place": place}
        self._entry = data.StructLayout({"word": 1, "end": 1, **where})
        super().__init__(
            {
                "i_entry": In(stream.Signature(self._entry)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(width)})),
                "o_word": Out(stream.Signature(data.StructLayout({"data": width, **where}))),
                "expected": Out(1),
                "completes": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.entries = entries = SyncFIFO(width=self._entry.size, depth=self._ahead)
        entry, word = data.View(self._entry, entries.r_data), self.o_word
        taken = Signal()
        m.d.comb += [
            self.i_entry.ready.eq(entries.w_rdy),
            entries.w_en.eq(self.i_entry.valid),
            entries.w_data.eq(self.i_entry.payload),
            taken.eq(word.valid & word.ready),
            self.expected.eq(entries.r_rdy & entry.word),
            entries.r_en.eq(entries.r_rdy & (taken | ~entry.word)),
            self.completes.eq(entries.r_en & entry.end),
        ]
        if "place" in dict(self._entry):
            m.d.comb += word.payload.place.eq(entry.place)
        answered: Value = self.i_response.valid
        answer: Value = self.i_response.data
        if self._waits:
            answered, answer = self._keep(m, taken)
        m.d.comb += [word.valid.eq(self.expected & answered), word.payload.data.eq(answer)]
        return m

    def _keep(self, m: Module, taken: Signal) -> tuple[Value, Value]:
        """A ring of words. Returns whether it has a word, and the word that was accepted last.

        There are as many outstanding words as waiting entries, so there is always room for an answer. The place of an
        accepted word is not overwritten before the end of the third cycle after: its entry is free in the next cycle,
        and a word arrives at least two cycles after its request.
        """
        m.submodules.answers = words = Memory(shape=self._width, depth=self._ahead, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        oldest, level = Signal(range(self._ahead)), Signal(range(self._ahead + 1))
        taken_before = [Signal(range(self._ahead), name=f"taken_{age}") for age in (1, 2)]
        m.d.comb += [write.en.eq(self.i_response.valid), write.data.eq(self.i_response.data)]
        with m.If(self.i_response.valid):
            m.d.sync += write.addr.eq(self._next_place(write.addr))
        for earlier, place in zip((oldest, *taken_before), (*taken_before, read.addr), strict=True):
            m.d.sync += place.eq(earlier)
        with m.If(taken):
            m.d.sync += oldest.eq(self._next_place(oldest))
        with m.If(self.i_response.valid ^ taken):
            m.d.sync += level.eq(Mux(taken, level - 1, level + 1))
        return (level != 0) | self.i_response.valid, read.data

    def _next_place(self, place: Value) -> Value:
        """The next place of the ring of words."""
        return Mux(place == self._ahead - 1, 0, place + 1)
