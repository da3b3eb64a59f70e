"""The load channel of the DMA: descriptors, read bursts, and writes of their data to the TCDM."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.bus import BURST_BEATS, WORD_BYTES
from hwgen.arch.dma import DmaParameters
from hwgen.arch.registers.errors import DmaError
from hwgen.gateware.bus.axi import Response, address_layout, is_error
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.dma.align import ByteAligner
from hwgen.gateware.dma.descriptor_front import ChannelFront
from hwgen.gateware.dma.scatter import Scatterer
from hwgen.gateware.dma.segment import Segmenter
from hwgen.gateware.dma.settings import DmaSettings, wrapped
from hwgen.gateware.dma.walk import LENGTH_BITS
from hwgen.gateware.dma.write import LineWriter
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["LoadChannel", "beat_layout"]


def beat_layout(parameters: DmaParameters) -> data.StructLayout:
    """One beat of a read."""
    return data.StructLayout({"data": parameters.axi_bits, "response": Response, "last": 1})


class LoadChannel(wiring.Component):
    """Executes load descriptors in order: DRAM to TCDM.

    Bursts are requested ahead of the data, across runs and descriptors. After an error the channel requests no
    further burst, and takes back one that it offers; it accepts and discards the beats of outstanding bursts, and
    writes none of them.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    i_word : In(stream)
        Words of descriptors.
    o_burst : Out(stream)
    i_beat : In(stream of `beat_layout`)
    port : Out(TcdmSignature), an array
    settings : In
    halt : In(1)
        Request no further burst; one that is offered is taken back.
    done : Out(1)
        A pulse: all bytes of the next descriptor are in the TCDM.
    idle : Out(1)
        No burst and no TCDM write is outstanding.
    error, error_address : Out
        Why the channel stopped, until reset; `DmaError.NONE` if it has not.
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "i_word": In(stream.Signature(32)),
                "o_burst": Out(stream.Signature(address_layout(last=1))),
                "i_beat": In(stream.Signature(beat_layout(parameters))),
                "port": Out(TcdmSignature()).array(parameters.ports),
                "settings": In(DmaSettings(parameters)),
                "halt": In(1),
                "done": Out(1),
                "idle": Out(1),
                "error": Out(ERROR),
                "error_address": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.front = front = ChannelFront(self.parameters, scatters=True)
        connect(m, flipped(self.i_word), front.i_word)
        connect(m, flipped(self.settings), front.settings)
        failed, on_bus, moving = Signal(), Signal(), Signal()
        unanswered = self._account(m, front, failed)
        placing, writing = self._place(m, front, failed)
        m.d.comb += [
            failed.eq(self.error != DmaError.NONE),
            on_bus.eq(unanswered | front.bursting | writing),
            moving.eq(front.busy | placing),
            self.idle.eq(~on_bus & (failed | self.halt | (front.empty & ~moving))),
        ]
        # A descriptor's error is reported after the previous descriptors have completed, unless they wait for it.
        with m.If(~failed & (front.error != DmaError.NONE) & (front.awaits | (~on_bus & ~moving))):
            m.d.sync += [self.error.eq(front.error), self.error_address.eq(front.error_address)]
        return m

    def _account(self, m: Module, front: ChannelFront, failed: Signal) -> Value:
        """Offer the bursts, and limit how many are outstanding. Returns whether any is outstanding."""
        p = self.parameters
        last, stops = Signal(), Signal()
        offered, taken_back = front.o_burst, Signal()
        bursts, beats = Signal(range(p.outstanding + 1)), Signal(range(p.beats_ahead + BURST_BEATS + 1))
        comes = self.i_beat.valid & self.i_beat.ready
        m.d.comb += [
            last.eq(comes & self.i_beat.payload.last),
            stops.eq(self.halt | failed),
            front.hold.eq(stops | (bursts == p.outstanding) | (beats >= p.beats_ahead)),
            self.o_burst.valid.eq(offered.valid & ~stops),
            self.o_burst.payload.eq(offered.payload),
            offered.ready.eq(self.o_burst.ready | stops),
            taken_back.eq(offered.valid & stops),
        ]
        m.d.sync += [
            bursts.eq(bursts + front.asks - last - taken_back),
            # Those of a burst that is taken back stay counted: no other one follows before `clear`.
            beats.eq(beats + Mux(front.asks, front.length + 1, 0) - comes),
        ]
        return bursts != 0

    def _place(self, m: Module, front: ChannelFront, failed: Signal) -> tuple[Value, Value]:
        """Turn beats into TCDM writes. Returns whether a run is in progress, and whether a write is outstanding."""
        p = self.parameters
        m.submodules.segmenter = segmenter = Segmenter(p, scatters=True)
        m.submodules.aligner = aligner = ByteAligner(p.beat_bytes, LENGTH_BITS)
        m.submodules.scatterer = scatterer = Scatterer(p)
        m.submodules.writer = writer = LineWriter(p)
        for i in range(p.ports):
            connect(m, writer.port[i], flipped(self.port[i]))
        low = (p.beat_bytes - 1).bit_length()
        next_run, next_way = front.o_run.payload.run, front.o_run.payload.way
        next_segment = segmenter.o_segment.payload
        segment, way = Signal.like(next_segment), Signal.like(next_way)
        # Scattered and contiguous runs use different paths; a run waits until the other path is empty.
        apart, segments_begin, bytes_begin = Signal(), Signal(), Signal()
        m.d.comb += [
            apart.eq(next_way.fast_stride != 1),
            segmenter.i_run.valid.eq(front.o_run.valid & ~apart & ~scatterer.busy),
            segmenter.i_run.payload.eq(front.o_run.payload),
            aligner.i_run.valid.eq(segmenter.o_segment.valid),
            aligner.i_run.payload.source.eq(next_segment.dram[:low]),
            aligner.i_run.payload.target.eq(next_segment.tcdm[:2]),
            aligner.i_run.payload.length.eq(next_segment.length),
            aligner.i_run.payload.keeps.eq(next_segment.joins),
            segmenter.o_segment.ready.eq(aligner.i_run.ready),
            segments_begin.eq(aligner.i_run.valid & aligner.i_run.ready),
            scatterer.i_run.valid.eq(front.o_run.valid & apart & ~segmenter.busy & ~aligner.busy),
            scatterer.i_run.payload.source.eq(next_run.dram[:low]),
            scatterer.i_run.payload.tcdm.eq(next_run.tcdm),
            scatterer.i_run.payload.length.eq(next_run.length),
            scatterer.i_run.payload.joins.eq(next_run.joins),
            scatterer.i_run.payload.last.eq(next_run.last),
            scatterer.way.eq(way),
            bytes_begin.eq(scatterer.i_run.valid & scatterer.i_run.ready),
            front.o_run.ready.eq(bytes_begin | (segmenter.i_run.valid & segmenter.i_run.ready)),
        ]
        with m.If(segments_begin):
            m.d.sync += segment.eq(next_segment)
        with m.If(bytes_begin):
            m.d.sync += way.eq(next_way)

        begins, begin = segments_begin | bytes_begin, Mux(segments_begin, next_segment.dram, next_run.dram)
        self._take_beats(m, aligner, scatterer, begins, begin, failed)
        with m.If(~failed & writer.fault):
            m.d.sync += [self.error.eq(DmaError.TCDM_BUS), self.error_address.eq(writer.fault_address)]
        self._lines(m, aligner, scatterer, writer, segment)
        m.d.comb += self.done.eq(writer.done)
        return segmenter.busy | aligner.busy | scatterer.busy, ~writer.idle

    def _take_beats(
        self, m: Module, aligner: ByteAligner, scatterer: Scatterer, begins: Value, begin: Value, failed: Signal
    ) -> None:
        """Pass beats on; discard a beat with an error response and all that follow it.

        ``begins``: a run or segment starts, at DRAM address ``begin``.
        """
        low = (self.parameters.beat_bytes - 1).bit_length()
        beat = self.i_beat.payload
        bad, wanted = Signal(), Signal()
        beat_address = Signal(32)
        m.d.comb += [
            bad.eq(is_error(beat.response)),
            wanted.eq(aligner.wants | scatterer.busy),
            aligner.i_unit.valid.eq(self.i_beat.valid & ~bad & ~failed),
            aligner.i_unit.payload.eq(beat.data),
            scatterer.i_unit.valid.eq(self.i_beat.valid & ~bad & ~failed),
            scatterer.i_unit.payload.eq(beat.data),
            self.i_beat.ready.eq(failed | (wanted & bad) | aligner.i_unit.ready | scatterer.i_unit.ready),
        ]
        with m.If(begins):
            m.d.sync += beat_address.eq(begin)
        with m.Elif(self.i_beat.valid & self.i_beat.ready):
            m.d.sync += beat_address.eq(Cat(C(0, low), beat_address[low:] + 1))
        with m.If(~failed & self.i_beat.valid & wanted & bad):
            m.d.sync += [
                self.error.eq(Mux(beat.response == Response.DECERR, DmaError.AXI_DECODE, DmaError.AXI_SLAVE)),
                self.error_address.eq(beat_address),
            ]

    def _lines(
        self, m: Module, aligner: ByteAligner, scatterer: Scatterer, writer: LineWriter, segment: data.View
    ) -> None:
        """Lines for the writer: consecutive lines of a segment in its ring, or single scattered bytes."""
        p = self.parameters
        unit = aligner.o_unit.payload
        line, later = Signal(p.tcdm_address_bits), Signal(p.tcdm_address_bits)
        packed = Signal.like(writer.i_line.payload)
        m.d.comb += [line.eq(Mux(unit.first, segment.tcdm & ~3, later)), packed.last.eq(unit.last & segment.last)]
        for i, word in enumerate(packed.words):
            m.d.comb += [
                word.address.eq(wrapped(m, line + WORD_BYTES * i, segment.ring_end, segment.ring_size, f"word_{i}")),
                word.enable.eq(unit.enable.word_select(i, WORD_BYTES)),
                word.data.eq(unit.data.word_select(i, 8 * WORD_BYTES)),
            ]
        next_line = wrapped(m, line + p.beat_bytes, segment.ring_end, segment.ring_size, "line")
        with m.If(aligner.o_unit.valid & aligner.o_unit.ready):
            m.d.sync += later.eq(next_line)
        m.d.comb += [
            writer.i_line.valid.eq(aligner.o_unit.valid | scatterer.o_line.valid),
            writer.i_line.payload.eq(Mux(scatterer.busy, scatterer.o_line.payload.as_value(), packed.as_value())),
            aligner.o_unit.ready.eq(writer.i_line.ready),
            scatterer.o_line.ready.eq(writer.i_line.ready),
        ]
