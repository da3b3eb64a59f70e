"""Cuts runs into segments that are contiguous in the TCDM."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.dma import DmaParameters
from hwgen.gateware.dma.descriptor_front import placed_layout
from hwgen.gateware.dma.settings import wrapped
from hwgen.gateware.dma.walk import LENGTH_BITS

__all__ = ["Segmenter", "segment_layout"]


def segment_layout(parameters: DmaParameters) -> data.StructLayout:
    """A segment: the addresses of its first byte in DRAM and TCDM, its length in bytes, its ring.

    ``joins``: the next segment starts in the beat of its last byte; ``last``: the final segment of a descriptor.
    """
    bits = parameters.tcdm_address_bits
    return data.StructLayout(
        {
            "dram": 32,
            "tcdm": bits,
            "length": LENGTH_BITS,
            "joins": 1,
            "last": 1,
            "ring_end": bits + 1,
            "ring_size": bits + 1,
        }
    )


class Segmenter(wiring.Component):
    """Offers the segments of runs, one a cycle, without a gap between runs.

    Parameters
    ----------
    parameters
        What the DMA is generated for.
    scatters
        As for the `ChannelFront` that the runs come from.

    Members
    -------
    i_run : In(stream of `placed_layout`)
    o_segment : Out(stream of `segment_layout`)
    busy : Out(1)
    """

    def __init__(self, parameters: DmaParameters, *, scatters: bool) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "i_run": In(stream.Signature(placed_layout(parameters, scatters=scatters))),
                "o_segment": Out(stream.Signature(segment_layout(parameters))),
                "busy": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        now = Signal.like(self.i_run.payload)
        run, way, segment = now.run, now.way, self.o_segment.payload
        gone, ends = Signal(), Signal()
        after = Signal(32)
        m.d.comb += [
            self.o_segment.valid.eq(self.busy),
            segment.dram.eq(run.dram),
            segment.tcdm.eq(run.tcdm),
            ends.eq(run.length <= way.fold),
            segment.length.eq(Mux(ends, run.length, way.fold)),
            after.eq(run.dram + segment.length),
            segment.joins.eq((~ends | run.joins) & ((after & (self.parameters.beat_bytes - 1)) != 0)),
            segment.last.eq(ends & run.last),
            segment.ring_end.eq(way.ring_end),
            segment.ring_size.eq(way.ring_size),
            gone.eq(self.busy & self.o_segment.ready),
            self.i_run.ready.eq(~self.busy | (gone & ends)),
        ]
        next_tcdm = wrapped(m, run.tcdm + way.slow_stride, way.ring_end, way.ring_size, "next")
        with m.If(gone):
            m.d.sync += [run.dram.eq(after), run.tcdm.eq(next_tcdm), run.length.eq(run.length - way.fold)]
        with m.If(self.i_run.ready):
            m.d.sync += self.busy.eq(self.i_run.valid)
            with m.If(self.i_run.valid):
                m.d.sync += now.eq(self.i_run.payload)
        return m
