"""The front end of the load and store channels: from descriptor words to AXI bursts and to runs."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.dma import DESCRIPTORS_AHEAD, DmaParameters
from hwgen.gateware.bus.axi import Register, address_layout
from hwgen.gateware.dma.descriptor_reader import DescriptorReader, checked_layout
from hwgen.gateware.dma.settings import DmaSettings
from hwgen.gateware.dma.walk import LENGTH_BITS, BurstSplitter, RunWalker, run_layout
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["ChannelFront", "placed_layout", "way_layout"]


def way_layout(parameters: DmaParameters, *, scatters: bool) -> data.StructLayout:
    """The fields of a checked descriptor that the data path of a run uses."""
    bits = parameters.tcdm_address_bits
    fields = {"ring_end": bits + 1, "ring_size": bits + 1, "fold": LENGTH_BITS, "slow_stride": bits}
    if scatters:
        fields |= {"fast_stride": min(16, bits)}
    return data.StructLayout(fields)


def placed_layout(parameters: DmaParameters, *, scatters: bool) -> data.StructLayout:
    """A ``run`` with the data-path fields (``way``) of its descriptor."""
    return data.StructLayout({"run": run_layout(parameters), "way": way_layout(parameters, scatters=scatters)})


class ChannelFront(wiring.Component):
    """Reads and checks descriptors, walks their runs, and issues their DRAM bursts ahead of the data.

    Parameters
    ----------
    parameters
        What the DMA is generated for.
    scatters
        Whether scattered descriptors are allowed.

    Members
    -------
    i_word : In(stream)
    settings : In
    o_burst : Out(stream)
        ``last``: the final burst of a descriptor. A burst is never withdrawn.
    asks, length : Out
        A pulse in the cycle before a burst is offered, and the number of its beats less one.
    hold : In(1)
        Offer no burst from the next cycle on.
    o_run : Out(stream of `placed_layout`)
        Runs, independent of the bursts: a run may precede or follow its bursts.
    bursting : Out(1)
        A burst is offered.
    busy : Out(1)
        Checked descriptors, or runs of them, are pending.
    empty : Out(1)
        No descriptor is being read.
    awaits : Out(1)
        The last checked descriptor is continued by the next one, which has not arrived.
    error, error_address : Out
        Why the next descriptor is refused; `DmaError.NONE` otherwise.
    """

    def __init__(self, parameters: DmaParameters, *, scatters: bool) -> None:
        self.parameters, self._scatters = parameters, scatters
        self._way = way_layout(parameters, scatters=scatters)
        run = placed_layout(parameters, scatters=scatters)
        super().__init__(
            {
                "i_word": In(stream.Signature(32)),
                "settings": In(DmaSettings(parameters)),
                "o_burst": Out(stream.Signature(address_layout(last=1))),
                "asks": Out(1),
                "length": Out(8),
                "hold": In(1),
                "o_run": Out(stream.Signature(run)),
                "bursting": Out(1),
                "busy": Out(1),
                "empty": Out(1),
                "awaits": Out(1),
                "error": Out(ERROR),
                "error_address": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        m.submodules.reader = reader = DescriptorReader(p, scatters=self._scatters)
        m.submodules.ahead = ahead = RunWalker(p)
        m.submodules.walker = walker = RunWalker(p)
        m.submodules.splitter = splitter = BurstSplitter(p)
        m.submodules.burst = burst = Register(address_layout(last=1))
        checked = reader.o_descriptor
        m.submodules.waiting = waiting = SyncFIFO(width=checked_layout(p).size, depth=DESCRIPTORS_AHEAD)
        connect(m, flipped(self.i_word), reader.i_word)
        connect(m, flipped(self.settings), reader.settings)
        connect(m, ahead.o_run, splitter.i_run)
        connect(m, splitter.o_burst, burst.i_payload)
        connect(m, burst.o_payload, flipped(self.o_burst))

        # Two walkers for each descriptor: one issues its bursts at once, the other follows the data.
        m.d.comb += [
            ahead.i_descriptor.valid.eq(checked.valid & waiting.w_rdy),
            ahead.i_descriptor.payload.eq(checked.payload),
            checked.ready.eq(ahead.i_descriptor.ready & waiting.w_rdy),
            waiting.w_en.eq(checked.valid & ahead.i_descriptor.ready),
            waiting.w_data.eq(checked.payload),
            walker.i_descriptor.valid.eq(waiting.r_rdy),
            walker.i_descriptor.payload.eq(waiting.r_data),
            waiting.r_en.eq(walker.i_descriptor.ready),
            splitter.hold.eq(self.hold),
        ]
        placed = self.o_run
        m.d.comb += [getattr(placed.payload.way, name).eq(getattr(walker.descriptor, name)) for name, _ in self._way]
        m.d.comb += [
            placed.valid.eq(walker.o_run.valid),
            placed.payload.run.eq(walker.o_run.payload),
            walker.o_run.ready.eq(placed.ready),
            self.asks.eq(splitter.o_burst.valid & splitter.o_burst.ready),
            self.length.eq(splitter.o_burst.payload.burst.length),
            self.bursting.eq(burst.o_payload.valid),
            self.busy.eq(ahead.busy | waiting.r_rdy | walker.busy),
            self.empty.eq(reader.empty),
            self.awaits.eq(reader.awaits),
            self.error.eq(reader.error),
            self.error_address.eq(reader.error_address),
        ]
        return m
