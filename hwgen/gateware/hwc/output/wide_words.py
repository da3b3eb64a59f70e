"""A wide port of the output: words of 32 bits are joined to words of the port, and words that are read are split."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.bus.tcdm import Request, request_layout, response_signature
from hwgen.gateware.hwc.output.vector_steps import log2

__all__ = ["WideWords", "place_in_row", "rows_of_lanes"]


def rows_of_lanes(parameters: HwcParameters) -> int:
    """Rows of lanes of a vector: words of so many rows may wait at a time."""
    return parameters.vector_lanes.m * parameters.vector_lanes.y


def place_in_row(parameters: HwcParameters) -> data.StructLayout:
    """Where a word of 32 bits is in its row.

    ``line`` is the number of its row of lanes. ``left`` : words of the row that the vector still has, this one among
    them. It ``begins`` the row's part of the vector. It ``ends`` what is joined: no word of the row is written after
    it before the tile ends.
    """
    lines, most = rows_of_lanes(parameters), parameters.most_steps
    return data.StructLayout({"line": max(1, log2(lines)), "left": range(most + 1), "begins": 1, "ends": 1})


class WideWords(wiring.Component):
    """Joins the accesses of a port of 32 bits to those of a wider one.

    Words that are written wait until theirs of the port is complete, or their row ends: a place for each row of
    lanes. Words of a row that are read follow each other: the first one of each word of the port reads all of them,
    and the answer is given out word by word, one a cycle. Neither takes a cycle more than a port of 32 bits would.

    Parameters
    ----------
    parameters
        What the HWC is generated for, with an output port of more than 32 bits.

    Members
    -------
    i_request : In(stream of Request)
        Words of 32 bits; ``place`` is the `place_in_row` of the one that is offered.
    o_response : Out
        Answers to reads, in order.
    o_request : Out(stream), i_response : In
        To the memory port.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        width = parameters.ports.O
        self._words, self._bytes = width // WORD_BITS, width // 8
        super().__init__(
            {
                "i_request": In(stream.Signature(Request)),
                "place": In(place_in_row(parameters)),
                "o_response": Out(response_signature()),
                "o_request": Out(stream.Signature(request_layout(width))),
                "i_response": In(response_signature(width)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        given, asked = self.i_request, self.o_request
        sub = given.payload.address[2 : 2 + log2(self._words)]
        reads, may_read = self._read(m, sub)
        joined, leaves = self._join(m, sub)
        accesses = Signal()
        m.d.comb += [
            accesses.eq(Mux(given.payload.write, leaves, reads)),
            asked.valid.eq(given.valid & accesses & (given.payload.write | may_read)),
            given.ready.eq(Mux(accesses, asked.ready & (given.payload.write | may_read), 1)),
            asked.payload.address.eq(given.payload.address & ~(self._bytes - 1)),
            asked.payload.write.eq(given.payload.write),
            asked.payload.data.eq(joined.data),
            asked.payload.enable.eq(Mux(given.payload.write, joined.enable, self._read_enable(sub))),
        ]
        return m

    def _join(self, m: Module, sub: Value) -> tuple[data.View, Value]:
        """The word of the port as far as it has been written, and whether it leaves now."""
        given, place = self.i_request, self.place
        layout = data.StructLayout({"data": 8 * self._bytes, "enable": self._bytes})
        m.submodules.waiting = memory = Memory(shape=layout.size, depth=1 << len(place.line), init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        old, joined = data.View(layout, read.data), Signal(layout)
        waits = Signal(1 << len(place.line))
        leaves, goes = Signal(), Signal()
        held = Mux(waits.bit_select(place.line, 1), old.enable, 0)
        fresh = Signal(self._bytes)
        m.d.comb += [
            fresh.eq(given.payload.enable << (sub << log2(WORD_BYTES))),
            joined.enable.eq(held | fresh),
            *(
                joined.data.word_select(byte, 8).eq(
                    Mux(
                        fresh[byte],
                        given.payload.data.word_select(byte % WORD_BYTES, 8),
                        old.data.word_select(byte, 8),
                    )
                )
                for byte in range(self._bytes)
            ),
            leaves.eq(place.ends | sub.all()),
            goes.eq(given.valid & given.ready & given.payload.write),
            read.addr.eq(place.line),
            write.addr.eq(place.line),
            write.data.eq(joined.as_value()),
            write.en.eq(goes),
        ]
        with m.If(goes):
            m.d.sync += waits.bit_select(place.line, 1).eq(~leaves)
        return joined, leaves

    def _read_enable(self, sub: Value) -> Value:
        """Enables of the words that are read together: from the present one on, as many as the row has."""
        end = sub + self.place.left
        return Cat(((sub <= i) & (end > i)).replicate(WORD_BYTES) for i in range(self._words))

    def _read(self, m: Module, sub: Value) -> tuple[Value, Value]:
        """Whether the present word needs an access of its own, and whether one may be made."""
        depth = self.parameters.in_flight + 2
        entry = data.StructLayout({"first": len(sub), "more": len(sub)})
        m.submodules.entries = entries = SyncFIFO(width=entry.size, depth=depth)
        m.submodules.answers = answers = Memory(shape=8 * self._bytes, depth=depth, init=[])
        write, read = answers.write_port(), answers.read_port(domain="comb")
        oldest, offered = data.View(entry, entries.r_data), data.View(entry, entries.w_data)
        given, place, response = self.i_request, self.place, self.i_response
        reads, level, at = Signal(), Signal(range(depth + 1)), Signal(len(sub))
        room, word, last, ends = Signal.like(sub), Signal(8 * self._bytes), Signal(), Signal()
        m.d.comb += [
            reads.eq(~given.payload.write & (place.begins | (sub == 0))),
            entries.w_en.eq(given.valid & given.ready & reads),
            offered.first.eq(sub),
            room.eq(~sub),
            offered.more.eq(Mux(place.left > room, room, place.left - 1)),
            word.eq(Mux(level == 0, response.data, read.data)),
            self.o_response.valid.eq((level != 0) | response.valid),
            self.o_response.data.eq(word.word_select((oldest.first + at)[: len(sub)], WORD_BITS)),
            last.eq(at == oldest.more),
            ends.eq(self.o_response.valid & last),
            entries.r_en.eq(ends),
            write.en.eq(response.valid),
            write.data.eq(response.data),
        ]
        with m.If(self.o_response.valid):
            m.d.sync += at.eq(Mux(last, 0, at + 1))
        with m.If(response.valid):
            m.d.sync += write.addr.eq(Mux(write.addr == depth - 1, 0, write.addr + 1))
        with m.If(ends):
            m.d.sync += read.addr.eq(Mux(read.addr == depth - 1, 0, read.addr + 1))
        with m.If(response.valid ^ ends):
            m.d.sync += level.eq(Mux(ends, level - 1, level + 1))
        return reads, entries.w_rdy
