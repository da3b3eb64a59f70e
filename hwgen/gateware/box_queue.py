"""The bookkeeping of a buffet: boxes that are announced, filled in order, handed over, released and freed."""

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["BOXES_AHEAD", "BoxQueue"]

BOXES_AHEAD = 2
WORDS_AHEAD = 4


class BoxQueue(wiring.Component):
    """Keeps account of the boxes of one operand between its address generator and the sequencer.

    The address generator announces each box with its token and with what the box before it no longer leaves in the
    ring; then it asks for the box's words, one entry each, and ends the box. Entries meet the words that the memory
    answers with, in order. A box whose end has been reached gives its token to the sequencer. When the sequencer
    releases a box, what the next one does not keep becomes free: at once if the next one is announced already, else
    as soon as it is. So fetching runs ahead as far as the ring has room, and no further than `BOXES_AHEAD` boxes.

    Parameters
    ----------
    token
        Shape of what the sequencer learns about a box.
    entry
        Shape of what the writer must know about a word.
    room
        Width of a number of units of the ring (what a unit is, is up to the address generator).

    Members
    -------
    i_box : In(stream)
        A box begins: its ``token``; ``drop``, the units that it does not keep of the box before.
    claim : In(1)
        One more unit of the ring is about to be filled.
    used : Out(room)
        Units claimed and not yet free again.
    i_entry : In(stream)
        One word was asked for (``end`` clear), or the box is complete (``end`` set).
    i_response : In
        Words as they come from the memory.
    o_word : Out(stream)
        An entry with its word.
    o_token : Out(stream)
        The next box that is complete.
    release : In(1)
        The box in use has been used for the last time.
    """

    def __init__(self, *, token: ShapeLike, entry: ShapeLike, room: int) -> None:
        self._box = data.StructLayout({"token": token, "drop": room})
        self._entry = data.StructLayout({"end": 1, "place": entry})
        self._room = room
        super().__init__(
            {
                "i_box": In(stream.Signature(self._box)),
                "claim": In(1),
                "used": Out(room),
                "i_entry": In(stream.Signature(self._entry)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
                "o_word": Out(stream.Signature(data.StructLayout({"place": entry, "data": 32}))),
                "o_token": Out(stream.Signature(token)),
                "release": In(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        token_width = Shape.cast(self._box["token"].shape).width
        m.submodules.tokens = tokens = SyncFIFO(width=token_width, depth=BOXES_AHEAD)
        m.submodules.drops = drops = SyncFIFO(width=self._room, depth=BOXES_AHEAD)
        m.submodules.entries = entries = SyncFIFO(width=self._entry.size, depth=WORDS_AHEAD)
        m.submodules.words = words = SyncFIFO(width=32, depth=WORDS_AHEAD)

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

        # Filled. As many words are on their way as entries wait for them, so there is always room for an answer.
        entry = data.View(self._entry, entries.r_data)
        completes = entries.r_rdy & entry.end
        m.d.comb += [
            self.i_entry.ready.eq(entries.w_rdy),
            entries.w_en.eq(self.i_entry.valid),
            entries.w_data.eq(self.i_entry.payload),
            words.w_en.eq(self.i_response.valid),
            words.w_data.eq(self.i_response.data),
            self.o_word.valid.eq(entries.r_rdy & ~entry.end & words.r_rdy),
            self.o_word.payload.place.eq(entry.place),
            self.o_word.payload.data.eq(words.r_data),
            words.r_en.eq(self.o_word.valid & self.o_word.ready),
            entries.r_en.eq(completes | words.r_en),
        ]

        # Handed over.
        complete = Signal(range(BOXES_AHEAD + 1))
        m.d.comb += [
            self.o_token.valid.eq(tokens.r_rdy & (complete != 0)),
            self.o_token.payload.eq(tokens.r_data),
            tokens.r_en.eq(self.o_token.valid & self.o_token.ready),
        ]
        m.d.sync += complete.eq(complete + completes - tokens.r_en)

        # Released and freed.
        released = Signal(range(BOXES_AHEAD + 2))
        m.d.comb += drops.r_en.eq((released != 0) & drops.r_rdy)
        m.d.sync += [
            released.eq(released + self.release - drops.r_en),
            self.used.eq(self.used + self.claim - Mux(drops.r_en, drops.r_data, 0)),
        ]
        return m
