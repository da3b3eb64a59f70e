"""Walkers that turn descriptors into runs, and runs into AXI bursts."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.descriptor import FIELDS
from hwgen.arch.dma import DmaParameters
from hwgen.gateware.bus.axi import address_layout
from hwgen.gateware.dma.descriptor_reader import checked_layout
from hwgen.gateware.dma.settings import wrapped

__all__ = ["LENGTH_BITS", "BurstSplitter", "RunWalker", "run_layout"]


LENGTH_BITS = next(entry.width for entry in FIELDS if entry.name == "length")


def run_layout(parameters: DmaParameters) -> data.StructLayout:
    """One run: DRAM and TCDM address of its first byte, and its length in bytes.

    ``joins``: the next run is contiguous with it in DRAM; ``last``: the final run of a descriptor.
    """
    return data.StructLayout(
        {"dram": 32, "tcdm": parameters.tcdm_address_bits, "length": LENGTH_BITS, "joins": 1, "last": 1, "tag": 4}
    )


class RunWalker(wiring.Component):
    """Offers the runs of descriptors, one a cycle, without a gap between descriptors.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    i_descriptor : In(stream of `checked_layout`)
    o_run : Out(stream of `run_layout`)
    descriptor : Out(`checked_layout`)
        The descriptor of the offered run.
    busy : Out(1)
    """

    def __init__(self, parameters: DmaParameters) -> None:
        super().__init__(
            {
                "i_descriptor": In(stream.Signature(checked_layout(parameters))),
                "o_run": Out(stream.Signature(run_layout(parameters))),
                "descriptor": Out(checked_layout(parameters)),
                "busy": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        taken, run = self.i_descriptor.payload, self.o_run.payload
        now = self.descriptor
        left_1, left_2 = Signal(16), Signal(16)
        first_dram, first_tcdm = Signal.like(run.dram), Signal.like(run.tcdm)
        dram, tcdm = Signal.like(run.dram), Signal.like(run.tcdm)
        ends_row, gone = Signal(), Signal()
        next_dram = Signal(32)
        m.d.comb += next_dram.eq(Mux(ends_row, first_dram + now.dram_stride_2, dram + now.dram_stride_1))
        m.d.comb += [
            ends_row.eq(left_1 == 1),
            run.dram.eq(dram),
            run.tcdm.eq(tcdm),
            run.length.eq(now.length),
            run.tag.eq(now.tag),
            run.last.eq(ends_row & (left_2 == 1)),
            run.joins.eq(Mux(run.last, now.continues, next_dram == (dram + now.length)[:32])),
            self.o_run.valid.eq(self.busy),
            gone.eq(self.busy & self.o_run.ready),
            self.i_descriptor.ready.eq(~self.busy | (gone & run.last)),
        ]
        base = Mux(ends_row, first_tcdm, tcdm)
        step = Mux(ends_row, now.tcdm_stride_2, now.tcdm_stride_1)
        next_tcdm = wrapped(m, base + step, now.ring_end, now.ring_size, "next")
        with m.If(gone):
            m.d.sync += [dram.eq(next_dram), tcdm.eq(next_tcdm), left_1.eq(left_1 - 1)]
            with m.If(ends_row):
                m.d.sync += [
                    first_dram.eq(next_dram),
                    first_tcdm.eq(next_tcdm),
                    left_1.eq(now.count_1),
                    left_2.eq(left_2 - 1),
                ]
        with m.If(self.i_descriptor.ready):
            m.d.sync += self.busy.eq(self.i_descriptor.valid)
            with m.If(self.i_descriptor.valid):
                m.d.sync += [
                    now.eq(taken),
                    left_1.eq(taken.count_1),
                    left_2.eq(taken.count_2),
                    first_dram.eq(taken.dram_address),
                    dram.eq(taken.dram_address),
                    first_tcdm.eq(taken.tcdm_address),
                    tcdm.eq(taken.tcdm_address),
                ]
        return m


class BurstSplitter(wiring.Component):
    """Merges runs that are contiguous in DRAM, and cuts them into bursts at multiples of `burst_window`.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    i_run : In(stream of `run_layout`)
    o_burst : Out(stream)
        ``last``: the final burst of a descriptor.
    hold : In(1)
        Offer no further burst.
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "i_run": In(stream.Signature(run_layout(parameters))),
                "o_burst": Out(stream.Signature(address_layout(last=1))),
                "hold": In(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        window, beat = self.parameters.burst_window, self.parameters.beat_bytes
        low = (beat - 1).bit_length()
        run, burst = self.i_run.payload, self.o_burst.payload.burst
        # The rest of the run, and the burst that is being assembled.
        inside, rest, later = Signal(), Signal(LENGTH_BITS), Signal(32)
        gathers, begin, gathered = Signal(), Signal(32), Signal(range(window + 1))
        address, left, start = Signal(32), Signal(LENGTH_BITS), Signal(32)
        room, size, total = (Signal(range(window + 1), name=name) for name in ("room", "size", "total"))
        ends, fills, closes, goes = Signal(), Signal(), Signal(), Signal()
        after = Signal(range(window + beat + 1))
        m.d.comb += [
            address.eq(Mux(inside, later, run.dram)),
            left.eq(Mux(inside, rest, run.length)),
            start.eq(Mux(gathers, begin, address)),
            room.eq(window - (address & (window - 1))),
            ends.eq(left <= room),
            fills.eq(left >= room),
            size.eq(Mux(ends, left, room)),
            total.eq(Mux(gathers, gathered, 0) + size),
            closes.eq(fills | ~run.joins),
            after.eq(start[:low] + total),
            burst.address.eq(start),
            burst.length.eq(((after + beat - 1) >> low) - 1),
            burst.user.tag.eq(run.tag),
            burst.user.unused.eq((beat - after[:low])[:low]),
            self.o_burst.payload.last.eq(run.last & ends),
            self.o_burst.valid.eq(self.i_run.valid & ~self.hold & closes),
            goes.eq(self.i_run.valid & ~self.hold & (~closes | self.o_burst.ready)),
            self.i_run.ready.eq(goes & ends),
        ]
        with m.If(goes):
            m.d.sync += [
                inside.eq(~ends),
                rest.eq(left - size),
                later.eq(address + size),
                gathers.eq(~closes),
                begin.eq(start),
                gathered.eq(total),
            ]
        return m
