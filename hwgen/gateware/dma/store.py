"""The store channel of the DMA: descriptors, reads from the TCDM, and write bursts."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.dma import LINES_AHEAD, DmaParameters
from hwgen.arch.registers.errors import DmaError
from hwgen.gateware.bus.axi import Register, Response, address_layout, is_error
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.dma.align import ByteAligner
from hwgen.gateware.dma.descriptor_front import ChannelFront
from hwgen.gateware.dma.gather import LineReader
from hwgen.gateware.dma.segment import Segmenter
from hwgen.gateware.dma.settings import DmaSettings
from hwgen.gateware.dma.walk import LENGTH_BITS
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["StoreChannel", "write_beat_layout"]


def write_beat_layout(parameters: DmaParameters) -> data.StructLayout:
    """One beat of a write."""
    return data.StructLayout({"data": parameters.axi_bits, "strobe": parameters.beat_bytes, "last": 1})


class StoreChannel(wiring.Component):
    """Executes store descriptors in order: TCDM to DRAM.

    After an error the channel offers no further burst, and completes the bursts that it has offered with beats whose
    strobes are 0.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    i_word : In(stream)
        Words of descriptors.
    o_burst : Out(stream)
    o_beat : Out(stream of `write_beat_layout`)
        Beats in the order of the bursts, none before its burst is offered. They do not wait until it is accepted.
    i_response : In(stream of Response)
        One for each burst, in order; always accepted.
    port : Out(TcdmSignature), an array
    settings : In
    halt : In(1)
        Offer no further burst.
    done : Out(1)
        A pulse: all bursts of the next descriptor have been answered.
    idle : Out(1)
    error, error_address : Out
        Why the channel stopped, until reset; `DmaError.NONE` if it has not.
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "i_word": In(stream.Signature(32)),
                "o_burst": Out(stream.Signature(address_layout(last=1))),
                "o_beat": Out(stream.Signature(write_beat_layout(parameters))),
                "i_response": In(stream.Signature(Response)),
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
        m.submodules.front = front = ChannelFront(self.parameters, scatters=False)
        m.submodules.aligner = aligner = ByteAligner(self.parameters.beat_bytes, LENGTH_BITS)
        connect(m, flipped(self.i_word), front.i_word)
        connect(m, flipped(self.settings), front.settings)
        connect(m, front.o_burst, flipped(self.o_burst))
        failed, on_bus, moving = Signal(), Signal(), Signal()
        unanswered = self._answer(m, front, failed)
        sending = self._send(m, aligner, failed)
        fetching, reading = self._fetch(m, front, aligner, failed)
        m.d.comb += [
            failed.eq(self.error != DmaError.NONE),
            on_bus.eq(unanswered | front.bursting | sending | reading),
            moving.eq(front.busy | fetching),
            self.idle.eq(~on_bus & (failed | self.halt | (front.empty & ~moving))),
        ]
        # A descriptor's error is reported after the previous descriptors have completed.
        with m.If(~failed & (front.error != DmaError.NONE) & ~on_bus & ~moving):
            m.d.sync += [self.error.eq(front.error), self.error_address.eq(front.error_address)]
        return m

    def _answer(self, m: Module, front: ChannelFront, failed: Signal) -> Value:
        """Accept the responses. Returns whether any burst has no response yet."""
        p = self.parameters
        unanswered = Signal(range(p.outstanding + 1))
        answer = data.StructLayout({"address": 32, "last": 1})
        m.submodules.answers = answers = SyncFIFO(width=answer.size, depth=p.outstanding)
        pushed, awaited = Signal(answer), data.View(answer, answers.r_data)
        response = self.i_response.payload
        bad = Signal()
        m.d.comb += [
            front.hold.eq(self.halt | failed | (unanswered == p.outstanding)),
            pushed.address.eq(self.o_burst.payload.burst.address),
            pushed.last.eq(self.o_burst.payload.last),
            answers.w_en.eq(self.o_burst.valid & self.o_burst.ready),
            answers.w_data.eq(pushed),
            answers.r_en.eq(self.i_response.valid),
            self.i_response.ready.eq(1),
            bad.eq(is_error(response)),
            self.done.eq(self.i_response.valid & awaited.last & ~bad & ~failed),
        ]
        m.d.sync += unanswered.eq(unanswered + front.asks - self.i_response.valid)
        with m.If(self.i_response.valid & bad & ~failed):
            m.d.sync += [
                self.error.eq(Mux(response == Response.DECERR, DmaError.AXI_DECODE, DmaError.AXI_SLAVE)),
                self.error_address.eq(awaited.address),
            ]
        return unanswered != 0

    def _send(self, m: Module, aligner: ByteAligner, failed: Signal) -> Value:
        """Send the beats of the offered bursts. Returns whether any beat is still to be sent."""
        p = self.parameters
        m.submodules.beat = beat = Register(write_beat_layout(p))
        m.submodules.owed = owed = SyncFIFO(width=8, depth=p.outstanding)
        connect(m, beat.o_payload, flipped(self.o_beat))
        number, unit = Signal(8), aligner.o_unit
        # The beats of a burst are owed from its first cycle on the bus, whether or not its address is accepted: AXI
        # allows the slave to wait for them before it accepts the address.
        offered = Signal()
        m.d.sync += offered.eq(self.o_burst.valid & ~self.o_burst.ready)
        # Bytes of the beat that belong to the previous segment.
        joined, joined_enable = Signal(p.axi_bits), Signal(p.beat_bytes)
        together = Cat(
            Mux(joined_enable[b], joined.word_select(b, 8), unit.payload.data.word_select(b, 8))
            for b in range(p.beat_bytes)
        )
        enable = unit.payload.enable | joined_enable
        with m.If(unit.valid & unit.ready):
            m.d.sync += [joined.eq(together), joined_enable.eq(Mux(unit.payload.joins, enable, 0))]
        m.d.comb += [
            owed.w_en.eq(self.o_burst.valid & ~offered),
            owed.w_data.eq(self.o_burst.payload.burst.length),
            beat.i_payload.valid.eq(owed.r_rdy & (failed | (unit.valid & ~unit.payload.joins))),
            beat.i_payload.payload.data.eq(together),
            beat.i_payload.payload.strobe.eq(Mux(failed, 0, enable)),
            beat.i_payload.payload.last.eq(number == owed.r_data),
            unit.ready.eq(~failed & (unit.payload.joins | (owed.r_rdy & beat.i_payload.ready))),
            owed.r_en.eq(beat.i_payload.valid & beat.i_payload.ready & beat.i_payload.payload.last),
        ]
        with m.If(beat.i_payload.valid & beat.i_payload.ready):
            m.d.sync += number.eq(Mux(beat.i_payload.payload.last, 0, number + 1))
        return owed.r_rdy | beat.o_payload.valid

    def _fetch(self, m: Module, front: ChannelFront, aligner: ByteAligner, failed: Signal) -> tuple[Value, Value]:
        """Read the runs from the TCDM. Returns whether a run is in progress, and whether an access is outstanding."""
        p = self.parameters
        m.submodules.lines = lines = LineReader(p)
        for i in range(p.ports):
            connect(m, lines.port[i], flipped(self.port[i]))
        connect(m, lines.o_line, aligner.i_unit)
        m.submodules.segmenter = segmenter = Segmenter(p, scatters=False)
        connect(m, front.o_run, segmenter.i_run)
        shift = aligner.i_run.payload.shape()
        m.submodules.shifts = shifts = SyncFIFO(width=shift.size, depth=LINES_AHEAD)
        segment = segmenter.o_segment
        fresh = Signal(shift)
        m.d.comb += [
            lines.i_run.valid.eq(segment.valid & shifts.w_rdy & ~failed),
            lines.i_run.payload.tcdm.eq(segment.payload.tcdm),
            lines.i_run.payload.length.eq(segment.payload.length),
            lines.i_run.payload.end.eq(segment.payload.ring_end),
            lines.i_run.payload.size.eq(segment.payload.ring_size),
            segment.ready.eq(lines.i_run.ready & shifts.w_rdy & ~failed),
            fresh.source.eq(segment.payload.tcdm[:2]),
            fresh.target.eq(segment.payload.dram),
            fresh.length.eq(segment.payload.length),
            fresh.joins.eq(segment.payload.joins),
            shifts.w_en.eq(lines.i_run.valid & lines.i_run.ready),
            shifts.w_data.eq(fresh),
            aligner.i_run.valid.eq(shifts.r_rdy),
            aligner.i_run.payload.eq(shifts.r_data),
            shifts.r_en.eq(aligner.i_run.ready),
        ]
        with m.If(~failed & lines.fault):
            m.d.sync += [self.error.eq(DmaError.TCDM_BUS), self.error_address.eq(lines.fault_address)]
        return segmenter.busy | lines.busy | shifts.r_rdy | aligner.busy, ~lines.idle
