"""The weights' stream: packed boxes in fetch order, kept in a ring of words."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.gateware.box_queue import BoxQueue
from hwgen.gateware.byte_memory import ByteMemory
from hwgen.gateware.nest import LoopNest
from hwgen.gateware.params import WORD_BYTES, HwcParameters
from hwgen.gateware.settings import settings_signature
from hwgen.gateware.tcdm import Request, read_request

__all__ = ["WeightStream"]


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
    read_address : In
        Of a byte in the ring.
    read_data : Out
        As many consecutive weights from there as there are lanes along m, one cycle later.
    overflow : Out(1)
        A box is larger than the ring.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.index = max(1, (parameters.weight_depth - 1).bit_length())
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_request": Out(stream.Signature(Request)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
                "o_token": Out(stream.Signature(self.index)),
                "release": In(1),
                "read_address": In((parameters.weight_bytes - 1).bit_length()),
                "read_data": Out(data.ArrayLayout(8, parameters.lane_m)),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings, index = self.parameters, self.settings, self.index
        m.submodules.boxes = boxes = BoxQueue(token=index, entry=index, room=index + 1)
        connect(m, flipped(self.i_response), boxes.i_response)
        connect(m, boxes.o_token, flipped(self.o_token))
        m.d.comb += boxes.release.eq(self.release)
        self._hold(m, boxes)

        m.submodules.nest = nest = LoopNest(loops=p.loops[: p.weight_marker + 1], bits=p.position_bits)
        ranges = nest.follow(m, settings)
        extents = [ranges.high[dim] - ranges.low[dim] for dim in "mckl"]
        fetches, address = self._address(m, nest)

        size, words, words_left = Signal(32), Signal(30), Signal(30)
        # Words are written one after the other; a box that is held begins where it was written.
        write_word, box_word, live = Signal(index), Signal(index), Signal(index + 1)
        enable = Signal(4)
        m.d.comb += [
            words.eq((size + 3) >> 2),
            boxes.i_box.payload.token.eq(Mux(fetches, write_word, box_word)),
            boxes.i_box.payload.drop.eq(Mux(fetches, live, 0)),
            enable.eq(Mux((words_left == 1) & (size[:2] != 0), (1 << size[:2]) - 1, 0xF)),
        ]
        entry, request = boxes.i_entry, self.o_request
        with m.FSM(name="fetch"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.comb += nest.start.eq(1)
                    m.next = "Size-0"
            for i, extent in enumerate(extents):
                with m.State(f"Size-{i}"):
                    m.d.sync += size.eq(size[:16] * extent if i else extent)
                    m.next = f"Size-{i + 1}" if i + 1 < len(extents) else "Announce"
            with m.State("Announce"):
                m.d.comb += boxes.i_box.valid.eq(1)
                with m.If(boxes.i_box.ready):
                    m.next = "End-Box"
                    with m.If(fetches):
                        m.d.sync += [box_word.eq(write_word), live.eq(words), words_left.eq(words)]
                        m.next = "Fetch"
                        with m.If(words > p.weight_depth):
                            m.next = "Overflow"
            with m.State("Overflow"):
                m.d.comb += self.overflow.eq(1)
            with m.State("Fetch"):
                room = boxes.used != p.weight_depth
                m.d.comb += [
                    request.valid.eq(room & entry.ready),
                    request.payload.eq(read_request(address, enable)),
                    entry.valid.eq(room & request.ready),
                    entry.payload.place.eq(write_word),
                ]
                with m.If(room & entry.ready & request.ready):
                    m.d.comb += boxes.claim.eq(1)
                    m.d.sync += [
                        address.eq(address + 4),
                        words_left.eq(words_left - 1),
                        write_word.eq(Mux(write_word == p.weight_depth - 1, 0, write_word + 1)),
                    ]
                    with m.If(words_left == 1):
                        m.next = "End-Box"
            with m.State("End-Box"):
                m.d.comb += [entry.payload.end.eq(1), entry.valid.eq(1)]
                with m.If(entry.ready):
                    m.d.comb += nest.advance.eq(1)
                    m.next = "Size-0"
                    with m.If(nest.finished):
                        m.next = "Idle"
        return m

    def _address(self, m: Module, nest: LoopNest) -> tuple[Signal, Signal]:
        """Whether the present iteration fetches its box; and the address of the next word.

        A loop over output rows or columns uses the same weights again: the address goes back to where the loop's
        execution began. The marked loop itself, if it is such a loop, holds its box and fetches nothing again.
        """
        p = self.parameters
        fetches, address = Signal(init=1), Signal(32)
        holds = p.weight_marker < len(p.loops) and p.loops[p.weight_marker] in "yx"
        begins = {
            j: Signal(32, name=f"begin_{j}")
            for j, dim in enumerate(nest.loops)
            if dim in "yx" and j != p.weight_marker
        }
        following = Signal(32)
        m.d.comb += following.eq(address)
        for j, begin in begins.items():
            with m.If(nest.turning[j]):
                m.d.comb += following.eq(begin)
        with m.If(nest.start):
            m.d.sync += address.eq(self.settings.weight_base)
            m.d.sync += [begin.eq(self.settings.weight_base) for begin in begins.values()]
        with m.Elif(nest.advance):
            m.d.sync += [address.eq(following), fetches.eq(~nest.turning[p.weight_marker] if holds else 1)]
            for j, begin in begins.items():
                with m.If(nest.turning[:j].any()):
                    m.d.sync += begin.eq(following)
        return fetches, address

    def _hold(self, m: Module, boxes: BoxQueue) -> None:
        """The ring: words in, bytes out."""
        p = self.parameters
        depth = p.weight_bytes // p.weight_banks
        m.submodules.memory = memory = ByteMemory(depth=depth, banks=p.weight_banks, lanes=p.lane_m)
        m.d.comb += [
            boxes.o_word.ready.eq(1),
            memory.write_enable.eq(boxes.o_word.valid.replicate(WORD_BYTES)),
            memory.write_address.eq(boxes.o_word.payload.place << 2),
            memory.write_data.eq(boxes.o_word.payload.data),
            memory.read_address.eq(self.read_address),
            self.read_data.eq(memory.read_data),
        ]
