"""The weights' stream: packed boxes in fetch order, kept in a ring of words."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.gateware.nest import LoopNest
from hwgen.gateware.params import HwcParameters
from hwgen.gateware.settings import settings_signature
from hwgen.gateware.tcdm import Request, read_request

__all__ = ["WeightStream"]

BOXES_AHEAD = 2
WORDS_AHEAD = 4


class WeightStream(wiring.Component):
    """Fetch, keep, and free the weights.

    A box is what one iteration of the marked loop uses, in the order of its first use, starting on a word. Boxes lie
    in memory in the order in which they are first fetched, so the address only ever counts on, and goes back where a
    loop over output rows or columns starts its next iteration.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
    o_request, i_response
        To the memory port.
    o_token : Out(stream)
        The first word of a box that is completely in the ring. Taken at its first use.
    release : In(1)
        The box in use has been used for the last time.
    read_word, read_byte : In, read_data : Out(8)
        One weight, one cycle later.
    overflow : Out(1)
        A box is larger than the ring.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.index = max(1, (parameters.weight_depth - 1).bit_length())
        super().__init__({
            "settings": In(settings_signature(parameters)),
            "start": In(1),
            "o_request": Out(stream.Signature(Request)),
            "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
            "o_token": Out(stream.Signature(self.index)),
            "release": In(1),
            "read_word": In(self.index),
            "read_byte": In(2),
            "read_data": Out(8),
            "overflow": Out(1),
        })

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        settings, bits, index = self.settings, p.position_bits, self.index
        walked = p.loops[: p.weight_marker + 1]
        m.submodules.nest = nest = LoopNest(loops=walked, bits=bits)
        for j, dim in enumerate(walked):
            m.d.comb += [nest.extent[j].eq(getattr(settings, f"extent_{dim}")), nest.step[j].eq(getattr(settings, f"step_{j}_{dim}"))]

        extents = []
        for dim in "mckl":
            if dim in walked:
                j = max(j for j, d in enumerate(walked) if d == dim)
                extents.append(nest.hi[j] - nest.lo[j])
            else:
                extents.append(getattr(settings, f"extent_{dim}"))

        m.submodules.tokens = tokens = SyncFIFO(width=index, depth=BOXES_AHEAD)
        m.submodules.drops = drops = SyncFIFO(width=index + 1, depth=BOXES_AHEAD)
        entry_layout = data.StructLayout({"end": 1, "word": index})
        m.submodules.entries = entries = SyncFIFO(width=entry_layout.size, depth=WORDS_AHEAD)
        m.submodules.words = words = SyncFIFO(width=32, depth=WORDS_AHEAD)
        entry = Signal(entry_layout)
        m.d.comb += entries.w_data.eq(entry)

        # An iteration keeps the box where the marked loop runs over output rows or columns.
        holds = p.weight_marker < len(p.loops) and p.loops[p.weight_marker] in "yx"
        fetches = Signal(init=1)
        address = Signal(32)
        # Where the address goes back to; the marked loop itself fetches nothing again.
        reused = [j for j, dim in enumerate(walked) if dim in "yx" and j != p.weight_marker]
        loop_address = {j: Signal(32, name=f"address_{j}") for j in reused}

        size = Signal(32)
        words_left = Signal(30)
        bytes_in_last = Signal(2)
        write_word = Signal(index)
        used, live = Signal(index + 1), Signal(index + 1)
        first_box = Signal(init=1)
        claim = Signal()
        overflow_size = p.weight_depth
        enable = Signal(4)
        with m.Switch(bytes_in_last):
            for rest in range(4):
                with m.Case(rest):
                    m.d.comb += enable.eq((1 << rest) - 1 if rest else 0xF)

        with m.FSM(name="fetch"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.comb += nest.start.eq(1)
                    m.d.sync += address.eq(settings.weight_base)
                    m.d.sync += [base.eq(settings.weight_base) for base in loop_address.values()]
                    m.next = "Size-0"
            factors = [extents[0], *extents[1:]]
            for i in range(4):
                with m.State(f"Size-{i}"):
                    m.d.sync += size.eq(factors[0] if i == 0 else (size[:16] * factors[i]))
                    m.next = f"Size-{i + 1}" if i < 3 else "Announce"
            with m.State("Announce"):
                with m.If(~fetches):
                    m.d.comb += tokens.w_data.eq(box_word := Signal(index, name="box_word"))
                with m.Else():
                    m.d.comb += tokens.w_data.eq(write_word)
                with m.If(tokens.w_rdy & (drops.w_rdy | first_box)):
                    m.d.comb += [tokens.w_en.eq(1), drops.w_en.eq(~first_box)]
                    m.d.comb += drops.w_data.eq(Mux(fetches, live, 0))
                    m.d.sync += first_box.eq(0)
                    m.next = "End-Box"
                    with m.If(fetches):
                        m.d.sync += [
                            box_word.eq(write_word),
                            live.eq((size + 3) >> 2),
                            words_left.eq((size + 3) >> 2),
                            bytes_in_last.eq(size[:2]),
                        ]
                        m.next = "Fetch"
                        with m.If(((size + 3) >> 2) > overflow_size):
                            m.next = "Overflow"
            with m.State("Overflow"):
                m.d.comb += self.overflow.eq(1)
            with m.State("Fetch"):
                is_last = words_left == 1
                ready = entries.w_rdy & (used != p.weight_depth)
                m.d.comb += [
                    self.o_request.valid.eq(ready),
                    self.o_request.payload.eq(read_request(address, Mux(is_last, enable, 0xF))),
                    entry.word.eq(write_word),
                ]
                with m.If(ready & self.o_request.ready):
                    m.d.comb += [entries.w_en.eq(1), claim.eq(1)]
                    m.d.sync += [
                        address.eq(address + 4),
                        words_left.eq(words_left - 1),
                        write_word.eq(Mux(write_word == p.weight_depth - 1, 0, write_word + 1)),
                    ]
                    with m.If(is_last):
                        m.next = "End-Box"
            with m.State("End-Box"):
                m.d.comb += entry.end.eq(1)
                with m.If(entries.w_rdy):
                    m.d.comb += [entries.w_en.eq(1), nest.advance.eq(1)]
                    m.d.sync += fetches.eq(~nest.turning[p.weight_marker] if holds else 1)
                    # A loop over y or x uses the same weights again: back to where its execution began.
                    begin = Signal(32, name="begin")
                    m.d.comb += begin.eq(address)
                    for j, base in loop_address.items():
                        with m.If(nest.turning[j]):
                            m.d.comb += begin.eq(base)
                    m.d.sync += address.eq(begin)
                    for j, base in loop_address.items():
                        with m.If(nest.turning[:j].any()):
                            m.d.sync += base.eq(begin)
                    m.next = "Size-0"
                    with m.If(nest.finished):
                        m.next = "Idle"

        self._account(m, drops, claim, used)
        self._fill(m, entries, words, entry_layout, tokens)
        return m

    def _account(self, m: Module, drops: SyncFIFO, claim: Signal, used: Signal) -> None:
        """Words in use: claimed before they are filled, dropped when their last box is released."""
        released = Signal(range(BOXES_AHEAD + 3))
        drop = Signal()
        m.d.comb += [drop.eq((released != 0) & drops.r_rdy), drops.r_en.eq(drop)]
        m.d.sync += [
            released.eq(released + self.release - drop),
            used.eq(used + claim - Mux(drop, drops.r_data, 0)),
        ]

    def _fill(
        self, m: Module, entries: SyncFIFO, words: SyncFIFO, layout: data.StructLayout, tokens: SyncFIFO
    ) -> None:
        """Write the words that arrive; a box that is complete lets its token go."""
        m.submodules.memory = memory = Memory(shape=32, depth=self.parameters.weight_depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        entry = data.View(layout, entries.r_data)
        arrived = Signal(range(BOXES_AHEAD + 2))
        box_arrives = Signal()
        byte = Signal(2)
        m.d.sync += byte.eq(self.read_byte)
        m.d.comb += [
            words.w_data.eq(self.i_response.data),
            words.w_en.eq(self.i_response.valid),
            write.addr.eq(entry.word),
            write.data.eq(words.r_data),
            read.addr.eq(self.read_word),
            self.read_data.eq(read.data.word_select(byte, 8)),
        ]
        with m.If(entries.r_rdy & entry.end):
            m.d.comb += [entries.r_en.eq(1), box_arrives.eq(1)]
        with m.Elif(entries.r_rdy & words.r_rdy):
            m.d.comb += [entries.r_en.eq(1), words.r_en.eq(1), write.en.eq(1)]
        m.d.comb += [
            self.o_token.valid.eq(tokens.r_rdy & (arrived != 0)),
            self.o_token.payload.eq(tokens.r_data),
            tokens.r_en.eq(self.o_token.valid & self.o_token.ready),
        ]
        m.d.sync += arrived.eq(arrived + box_arrives - tokens.r_en)
