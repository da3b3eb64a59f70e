"""The DMA: a load channel, a store channel and a program fetcher on one AXI4 port and several TCDM ports."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.dma import CHANNELS, DmaParameters
from hwgen.arch.registers.errors import DmaError
from hwgen.gateware.bus.axi import INCR, AxiSignature, Register, address_layout
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.dma.load import LoadChannel
from hwgen.gateware.dma.program_fetch import ProgramFetcher
from hwgen.gateware.dma.settings import DmaSettings, StreamId
from hwgen.gateware.dma.store import StoreChannel
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["Dma"]


class Dma(wiring.Component):
    """Executes load and store descriptors between DRAM and TCDM, and fetches the program that contains them.

    Each of the three has its own AXI ID (`StreamId`) and keeps its own order; they share only the bus. Bursts end at
    multiples of `burst_window`, so their boundaries depend on the descriptors alone.

    Parameters
    ----------
    parameters

    Members
    -------
    i_load, i_store : In(stream)
        Words of consecutive descriptors (`hwgen.arch.descriptor`).
    load_done, store_done : Out(1)
        A pulse for each descriptor, in order: all of its TCDM writes, or all of its bursts, have been answered.
    program_start, program_address, program_words : In
    o_program : Out(stream)
    {load,store,program}_idle : Out(1)
        No access is outstanding.
    {load,store,program}_error, {load,store,program}_error_address : Out
        Other than `DmaError.NONE`: the channel has stopped, and with it the others, as with ``halt``. It completes
        outstanding accesses and becomes idle.
    settings : In
    halt : In(1)
        Raise no address from the next cycle on; one that is raised stays until it is accepted, and outstanding
        accesses complete.
    clear : In(1)
        While all are idle: clear errors, and discard descriptors that have not been started.
    axi : Out(AxiSignature)
    load, store : Out(TcdmSignature), arrays
        Write-only ports and read-only ports.
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self.parameters = parameters
        ports: dict[str, object] = {
            "i_load": In(stream.Signature(32)),
            "i_store": In(stream.Signature(32)),
            "load_done": Out(1),
            "store_done": Out(1),
            "program_start": In(1),
            "program_address": In(32),
            "program_words": In(32),
            "o_program": Out(stream.Signature(32)),
            "settings": In(DmaSettings(parameters)),
            "halt": In(1),
            "clear": In(1),
            "axi": Out(AxiSignature(parameters.axi_bits)),
            "load": Out(TcdmSignature()).array(parameters.ports),
            "store": Out(TcdmSignature()).array(parameters.ports),
        }
        for name in CHANNELS:
            ports |= {f"{name}_idle": Out(1), f"{name}_error": Out(ERROR), f"{name}_error_address": Out(32)}
        super().__init__(ports)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        load, store, program = (
            LoadChannel(self.parameters),
            StoreChannel(self.parameters),
            ProgramFetcher(self.parameters),
        )
        stops = Signal()
        failed = Cat(getattr(self, f"{name}_error") != DmaError.NONE for name in CHANNELS)
        m.d.comb += stops.eq(self.halt | failed.any())
        for name, channel in zip(CHANNELS, (load, store, program), strict=True):
            m.submodules[name] = ResetInserter(self.clear)(channel)
            connect(m, flipped(self.settings), channel.settings)
            m.d.comb += [
                channel.halt.eq(stops),
                getattr(self, f"{name}_idle").eq(channel.idle),
                getattr(self, f"{name}_error").eq(channel.error),
                getattr(self, f"{name}_error_address").eq(channel.error_address),
            ]
        connect(m, flipped(self.i_load), load.i_word)
        connect(m, flipped(self.i_store), store.i_word)
        connect(m, program.o_word, flipped(self.o_program))
        for i in range(self.parameters.ports):
            connect(m, load.port[i], flipped(self.load[i]))
            connect(m, store.port[i], flipped(self.store[i]))
        m.d.comb += [
            self.load_done.eq(load.done),
            self.store_done.eq(store.done),
            program.start.eq(self.program_start),
            program.address.eq(self.program_address),
            program.words.eq(self.program_words),
        ]
        self._reads(m, load, program)
        self._writes(m, store)
        return m

    def _reads(self, m: Module, load: LoadChannel, program: ProgramFetcher) -> None:
        """AR and R channels: the program has priority, since its bursts are short."""
        axi = self.axi
        m.submodules.read = read = Register(address_layout(id=StreamId))
        burst = read.i_payload
        m.d.comb += [
            burst.valid.eq(load.o_burst.valid | program.o_burst.valid),
            burst.payload.burst.eq(
                Mux(
                    program.o_burst.valid,
                    program.o_burst.payload.burst.as_value(),
                    load.o_burst.payload.burst.as_value(),
                )
            ),
            burst.payload.id.eq(Mux(program.o_burst.valid, StreamId.PROGRAM, StreamId.LOAD)),
            program.o_burst.ready.eq(burst.ready),
            load.o_burst.ready.eq(burst.ready & ~program.o_burst.valid),
        ]
        out = read.o_payload
        m.d.comb += [
            axi.arvalid.eq(out.valid),
            out.ready.eq(axi.arready),
            axi.arid.eq(out.payload.id),
            axi.araddr.eq(out.payload.burst.address),
            axi.arlen.eq(out.payload.burst.length),
            axi.aruser.eq(out.payload.burst.user),
            axi.arsize.eq((self.parameters.beat_bytes - 1).bit_length()),
            axi.arburst.eq(INCR),
        ]
        for_program = Signal()
        m.d.comb += [
            for_program.eq(axi.rid == StreamId.PROGRAM.value),
            load.i_beat.valid.eq(axi.rvalid & ~for_program),
            program.i_beat.valid.eq(axi.rvalid & for_program),
            axi.rready.eq(Mux(for_program, program.i_beat.ready, load.i_beat.ready)),
        ]
        for beat in (load.i_beat.payload, program.i_beat.payload):
            m.d.comb += [beat.data.eq(axi.rdata), beat.response.eq(axi.rresp), beat.last.eq(axi.rlast)]

    def _writes(self, m: Module, store: StoreChannel) -> None:
        """AW, W and B channels."""
        axi, burst, beat = self.axi, store.o_burst, store.o_beat
        m.d.comb += [
            axi.awvalid.eq(burst.valid),
            burst.ready.eq(axi.awready),
            axi.awid.eq(StreamId.STORE.value),
            axi.awaddr.eq(burst.payload.burst.address),
            axi.awlen.eq(burst.payload.burst.length),
            axi.awuser.eq(burst.payload.burst.user),
            axi.awsize.eq((self.parameters.beat_bytes - 1).bit_length()),
            axi.awburst.eq(INCR),
            axi.wvalid.eq(beat.valid),
            beat.ready.eq(axi.wready),
            axi.wdata.eq(beat.payload.data),
            axi.wstrb.eq(beat.payload.strobe),
            axi.wlast.eq(beat.payload.last),
            store.i_response.valid.eq(axi.bvalid),
            store.i_response.payload.eq(axi.bresp),
            axi.bready.eq(store.i_response.ready),
        ]
