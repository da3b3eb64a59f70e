"""Fetches a program from DRAM as a stream of words."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dma import CHUNK_BYTES, CHUNKS_AHEAD, DmaParameters
from hwgen.arch.registers.errors import DmaError
from hwgen.gateware.bus.axi import Response, address_layout, is_error
from hwgen.gateware.dma.load import beat_layout
from hwgen.gateware.dma.settings import DmaSettings
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["ProgramFetcher"]


class ProgramFetcher(wiring.Component):
    """Fetches ``words`` words from ``address`` on. A burst is requested only if its buffer space is reserved.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    start : In(1)
        A pulse, while idle.
    address : In(32)
        A multiple of `CHUNK_BYTES`.
    words : In(32)
    settings : In
        The program must be inside the DRAM window.
    o_word : Out(stream)
    o_burst : Out(stream)
    i_beat : In(stream of `beat_layout`)
    halt : In(1)
        Request no further burst; one that is offered is taken back.
    idle : Out(1)
        No burst is outstanding or pending.
    error, error_address : Out
        Why fetching stopped early, until reset; `DmaError.NONE` if it has not.
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "words": In(32),
                "settings": In(DmaSettings(parameters)),
                "o_word": Out(stream.Signature(32)),
                "o_burst": Out(stream.Signature(address_layout())),
                "i_beat": In(stream.Signature(beat_layout(parameters))),
                "halt": In(1),
                "idle": Out(1),
                "error": Out(ERROR),
                "error_address": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        chunk, per_beat = CHUNK_BYTES // p.beat_bytes, p.ports
        room = CHUNKS_AHEAD * chunk
        m.submodules.beats = beats = SyncFIFO(width=p.axi_bits, depth=room)
        next_address, to_ask, to_give = Signal(32), Signal(32), Signal(32)  # both in words
        promised, coming = Signal(range(room + 1)), Signal(range(room + 1))
        failed, asks, given = Signal(), Signal(), Signal()
        burst = self.o_burst.payload.burst
        words, length = Signal(range(CHUNK_BYTES // WORD_BYTES + 1)), Signal(range(chunk + 1))
        whole = to_ask >= CHUNK_BYTES // WORD_BYTES
        offered, stops = Signal(), Signal()
        m.d.comb += [
            failed.eq(self.error != DmaError.NONE),
            words.eq(Mux(whole, CHUNK_BYTES // WORD_BYTES, to_ask)),
            length.eq((words + per_beat - 1) >> (per_beat - 1).bit_length()),
            burst.address.eq(next_address),
            burst.length.eq(length - 1),
            burst.user.tag.eq(OperandTag.P),
            burst.user.unused.eq(((length * per_beat - words) << 2)[:4]),
            stops.eq(failed | self.halt),
            self.o_burst.valid.eq(offered & ~stops),
            asks.eq(self.o_burst.valid & self.o_burst.ready),
            self.idle.eq(~offered & (coming == 0) & (stops | (to_ask == 0))),
        ]
        with m.If(stops):
            m.d.sync += offered.eq(0)
        with m.Elif(asks):
            m.d.sync += [offered.eq(0), next_address.eq(next_address + CHUNK_BYTES), to_ask.eq(to_ask - words)]
        with m.Elif(~offered & (to_ask != 0) & (promised <= room - chunk)):
            m.d.sync += offered.eq(1)

        # The space of a beat is freed with its last word.
        word = Signal(range(max(2, per_beat)))
        leaves = Signal()
        m.d.comb += [
            beats.w_en.eq(self.i_beat.valid & ~failed),
            beats.w_data.eq(self.i_beat.payload.data),
            self.i_beat.ready.eq(1),
            self.o_word.valid.eq(beats.r_rdy & (to_give != 0)),
            self.o_word.payload.eq(beats.r_data.word_select(word, 32)),
            given.eq(self.o_word.valid & self.o_word.ready),
            leaves.eq(given & ((word == per_beat - 1) | (to_give == 1))),
            beats.r_en.eq(leaves),
        ]
        with m.If(given):
            m.d.sync += [to_give.eq(to_give - 1), word.eq(Mux(leaves, 0, word + 1))]
        m.d.sync += [
            promised.eq(promised + Mux(asks, length, 0) - leaves),
            coming.eq(coming + Mux(asks, length, 0) - self.i_beat.valid),
        ]
        self._check(m, failed, coming)
        with m.If(self.start):
            m.d.sync += [next_address.eq(self.address), to_ask.eq(self.words), to_give.eq(self.words)]
        return m

    def _check(self, m: Module, failed: Signal, coming: Signal) -> None:
        """Errors: of the bus, with the address of the beat, and of a program outside of the DRAM window."""
        beat, end = Signal(32), Signal(35)
        response = self.i_beat.payload.response
        m.d.comb += end.eq(self.address + (self.words << 2))
        with m.If(self.i_beat.valid):
            m.d.sync += beat.eq(beat + self.parameters.beat_bytes)
            with m.If(~failed & is_error(response)):
                m.d.sync += [
                    self.error.eq(Mux(response == Response.DECERR, DmaError.AXI_DECODE, DmaError.AXI_SLAVE)),
                    self.error_address.eq(beat),
                ]
        with m.If(self.start):
            m.d.sync += beat.eq(self.address)
            with m.If((self.address & (CHUNK_BYTES - 1)) != 0):
                m.d.sync += [self.error.eq(DmaError.DESCRIPTOR), self.error_address.eq(self.address)]
            with m.Elif((self.address < self.settings.dram_base) | (end > self.settings.dram_end)):
                m.d.sync += [self.error.eq(DmaError.DRAM_WINDOW), self.error_address.eq(self.address)]
