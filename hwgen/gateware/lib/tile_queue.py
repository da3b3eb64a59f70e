"""The bookkeeping of a buffet: boxes that are announced, filled in order, handed over, released and freed."""

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["BOXES_AHEAD", "BoxQueue", "WordQueue"]

BOXES_AHEAD = 2
WORDS_AHEAD = 3
"""As many accesses as the bus answers in a row without a pause, and not one more."""


class BoxQueue(wiring.Component):
    """Keeps account of the boxes of one operand between its fetcher and the sequencer.

    Each box is announced with its token and with what it no longer needs of what the box before it left in the ring.
    A box that is complete gives its token to the sequencer. When the sequencer releases a box, what the next one does
    not keep becomes free: at once if the next one is announced already, else as soon as it is. So fetching runs ahead
    as far as the ring has room, and no further than `BOXES_AHEAD` boxes.

    Parameters
    ----------
    token
        Shape of what the sequencer learns about a box.
    capacity
        Units of the ring (what a unit is, is up to the fetcher).
    tells_alone
        Whether somebody wants to know ``alone``.

    Members
    -------
    i_box : In(stream)
        A box begins: its ``token``; ``drop``, the units that it does not keep of the box before.
    claims : In(1)
        Units of the ring are filled from now on.
    claim : In
        How many; known early in a cycle.
    free : Out
        Units not claimed, or free again.
    completes : In(1)
        The next box is complete (a pulse).
    o_token : Out(stream)
        The next box that is complete.
    release : In(1)
        The box in use has been used for the last time.
    alone : Out(1)
        Every box before the last one is released, which may be announced just now. Where it is wanted.
    """

    def __init__(self, *, token: ShapeLike, capacity: int, tells_alone: bool = False) -> None:
        self._capacity, self._room, self._tells_alone = capacity, capacity.bit_length(), tells_alone
        self._box = data.StructLayout({"token": token, "drop": self._room})
        super().__init__(
            {
                "i_box": In(stream.Signature(self._box)),
                "claim": In(self._room),
                "claims": In(1),
                "free": Out(self._room, init=capacity),
                "completes": In(1),
                "o_token": Out(stream.Signature(token)),
                "release": In(1),
                **({"alone": Out(1)} if tells_alone else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        token_width = Shape.cast(self._box["token"].shape).width
        m.submodules.tokens = tokens = SyncFIFO(width=token_width, depth=BOXES_AHEAD)
        m.submodules.drops = drops = SyncFIFO(width=self._room, depth=BOXES_AHEAD)

        # Announced: there is nothing before the first box that could be dropped.
        is_first = Signal(init=1)
        taken = self.i_box.valid & self.i_box.ready
        m.d.comb += [
            self.i_box.ready.eq(tokens.w_rdy & drops.w_rdy),
            tokens.w_en.eq(taken),
            tokens.w_data.eq(self.i_box.payload.token),
            drops.w_en.eq(taken & ~is_first),
            drops.w_data.eq(self.i_box.payload.drop),
        ]
        with m.If(taken):
            m.d.sync += is_first.eq(0)

        # Handed over. A box is announced before it is complete: its token is there.
        complete = Signal(range(BOXES_AHEAD + 1))
        m.d.comb += [
            self.o_token.valid.eq(complete != 0),
            self.o_token.payload.eq(tokens.r_data),
            tokens.r_en.eq(self.o_token.valid & self.o_token.ready),
        ]
        with m.If(self.completes | tokens.r_en):
            m.d.sync += complete.eq(complete + self.completes - tokens.r_en)

        # Released and freed.
        released, another = Signal(range(BOXES_AHEAD + 2)), Signal()
        m.d.sync += another.eq(self.release)
        m.d.comb += drops.r_en.eq(((released != 0) | another) & drops.r_rdy)
        if self._tells_alone:
            m.d.comb += self.alone.eq(~drops.r_rdy & (is_first | ~self.i_box.valid))
        with m.If(another | drops.r_en):
            m.d.sync += released.eq(released + another - drops.r_en)
        # Whether units are claimed is known late in a cycle: it chooses between two sums.
        freed = Signal(self._room)
        m.d.comb += freed.eq(self.free + Mux(drops.r_en, drops.r_data, 0))
        with m.If(self.claims | drops.r_en):
            m.d.sync += self.free.eq(Mux(self.claims, freed - self.claim, freed))
        return m


class WordQueue(wiring.Component):
    """Brings the answers of the memory together with what was asked for.

    Parameters
    ----------
    place
        Shape of what the writer must know about a word; None: nothing, words go one behind the other.
    waits
        Whether the writer may let a word wait; else it takes each one as it comes. If it may, the data of a word that
        is taken follow three cycles later.

    Members
    -------
    i_entry : In(stream)
        A word was asked for (``word``), or a box ends (``end``) that needs none, or both: with this word it ends.
    i_response : In
        Words as they come from the memory.
    o_word : Out(stream)
        An entry with its word.
    expected : Out(1)
        The entry at hand has a word, whether or not it has come: known early in a cycle.
    completes : Out(1)
        A box is complete: all its words have been taken.
    """

    def __init__(self, *, place: ShapeLike | None, waits: bool) -> None:
        self._waits = waits
        where: dict[str, ShapeLike] = {} if place is None else {"place": place}
        self._entry = data.StructLayout({"word": 1, "end": 1, **where})
        super().__init__(
            {
                "i_entry": In(stream.Signature(self._entry)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
                "o_word": Out(stream.Signature(data.StructLayout({"data": 32, **where}))),
                "expected": Out(1),
                "completes": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.entries = entries = SyncFIFO(width=self._entry.size, depth=WORDS_AHEAD)
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
        """A ring of words: whether there is one, and the one that was taken last.

        As many words are on their way as entries wait for them, so there is always room for an answer; and the place
        of a word that is taken is not written before the end of the third cycle after: an entry is free in the next
        one, and a word comes two cycles after it was asked for, if not later.
        """
        m.submodules.answers = words = Memory(shape=32, depth=WORDS_AHEAD, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        oldest, level = Signal(range(WORDS_AHEAD)), Signal(range(WORDS_AHEAD + 1))
        taken_before = [Signal(range(WORDS_AHEAD), name=f"taken_{age}") for age in (1, 2)]
        m.d.comb += [write.en.eq(self.i_response.valid), write.data.eq(self.i_response.data)]
        with m.If(self.i_response.valid):
            m.d.sync += write.addr.eq(_behind(write.addr))
        for earlier, place in zip((oldest, *taken_before), (*taken_before, read.addr), strict=True):
            m.d.sync += place.eq(earlier)
        with m.If(taken):
            m.d.sync += oldest.eq(_behind(oldest))
        with m.If(self.i_response.valid ^ taken):
            m.d.sync += level.eq(Mux(taken, level - 1, level + 1))
        return (level != 0) | self.i_response.valid, read.data


def _behind(place: Value) -> Value:
    """The next place of the ring of words."""
    return Mux(place == WORDS_AHEAD - 1, 0, place + 1)
