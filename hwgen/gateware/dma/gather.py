"""Reads runs from the TCDM line by line, through several ports whose answers may come in different cycles."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.dma import LINES_AHEAD, DmaParameters
from hwgen.gateware.bus.tcdm import TcdmMaster, TcdmSignature
from hwgen.gateware.dma.settings import wrapped
from hwgen.gateware.dma.walk import LENGTH_BITS

__all__ = ["LineReader"]


class LineReader(wiring.Component):
    """Reads a run, one line (a word for each port) a cycle.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    i_run : In(stream)
        ``tcdm`` address and ``length`` in bytes; the ring's ``end`` and ``size``.
    o_line : Out(stream)
        Lines of the run; bytes outside of the run are undefined.
    port : Out(TcdmSignature), an array
    idle : Out(1)
        No access is under way.
    busy : Out(1)
        A run is in progress, or lines are queued.
    fault, fault_address : Out
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self.parameters = parameters
        bits = parameters.tcdm_address_bits
        run = data.StructLayout({"tcdm": bits, "length": LENGTH_BITS, "end": bits + 1, "size": bits + 1})
        super().__init__(
            {
                "i_run": In(stream.Signature(run)),
                "o_line": Out(stream.Signature(parameters.axi_bits)),
                "port": Out(TcdmSignature()).array(parameters.ports),
                "idle": Out(1),
                "busy": Out(1),
                "fault": Out(1),
                "fault_address": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        run = Signal.like(self.i_run.payload)
        walking, first = Signal(), Signal()
        line, left = Signal(p.tcdm_address_bits), Signal(LENGTH_BITS + 1)  # left: bytes to the end of the run

        # One line at a time is being requested at the ports.
        addresses = [Signal(p.tcdm_address_bits, name=f"address_{i}") for i in range(p.ports)]
        enables = [Signal(WORD_BYTES, name=f"enable_{i}") for i in range(p.ports)]
        pending, taken = Signal(p.ports), Signal(p.ports)
        used = Signal(p.ports)
        ahead = Signal(range(LINES_AHEAD + 1))
        asks, gives = Signal(), Signal()
        m.d.comb += [
            used.eq(Cat(left > WORD_BYTES * i for i in range(p.ports))),
            asks.eq(walking & ((pending & ~taken) == 0) & (ahead != LINES_AHEAD)),
            self.i_run.ready.eq(~walking | (asks & (left <= p.beat_bytes))),
        ]
        m.d.sync += [pending.eq(Mux(asks, used, pending & ~taken)), ahead.eq(ahead + asks - gives)]
        for i in range(p.ports):
            at = wrapped(m, line + WORD_BYTES * i, run.end, run.size, f"word_{i}")
            places = range(WORD_BYTES * i, WORD_BYTES * (i + 1))
            enable = Cat((left > place) & (~first | (place >= run.tcdm[:2])) for place in places)
            with m.If(asks):
                m.d.sync += [addresses[i].eq(at), enables[i].eq(enable)]
        next_line = wrapped(m, line + p.beat_bytes, run.end, run.size, "line")
        with m.If(asks):
            m.d.sync += [line.eq(next_line), left.eq(left - p.beat_bytes), first.eq(0)]
        with m.If(self.i_run.ready):
            m.d.sync += walking.eq(self.i_run.valid)
            with m.If(self.i_run.valid):
                fresh = self.i_run.payload
                m.d.sync += [
                    run.eq(fresh),
                    first.eq(1),
                    line.eq(fresh.tcdm & ~3),
                    left.eq(fresh.length + fresh.tcdm[:2]),
                ]

        requests = list(zip(pending, taken, addresses, enables, strict=True))
        m.d.comb += gives.eq(self._answers(m, requests, asks, used))
        m.d.comb += self.busy.eq(walking | (ahead != 0))
        return m

    def _answers(
        self, m: Module, requests: list[tuple[Value, Value, Signal, Signal]], asks: Signal, used: Signal
    ) -> Value:
        """Request each word of a line at its port, and join the answers to lines. Returns whether a line is complete.

        ``used``: the words of the requested line that belong to the run.
        """
        p, gives = self.parameters, Signal()
        m.submodules.shapes = shapes = SyncFIFO(width=p.ports, depth=LINES_AHEAD)
        m.d.comb += [shapes.w_en.eq(asks), shapes.w_data.eq(used), shapes.r_en.eq(gives)]
        there, idle = [], []
        for i, (pending, taken, address, enable) in enumerate(requests):
            m.submodules[f"master_{i}"] = master = TcdmMaster()
            m.submodules[f"words_{i}"] = words = SyncFIFO(width=32, depth=LINES_AHEAD)
            connect(m, master.port, flipped(self.port[i]))
            m.d.comb += [
                master.i_request.valid.eq(pending),
                master.i_request.payload.address.eq(address & ~3),
                master.i_request.payload.enable.eq(enable),
                taken.eq(pending & master.i_request.ready),
                words.w_en.eq(master.o_response.valid),
                words.w_data.eq(master.o_response.data),
                words.r_en.eq(gives & shapes.r_data[i]),
                self.o_line.payload.word_select(i, 32).eq(words.r_data),
            ]
            there.append(words.r_rdy | ~shapes.r_data[i])
            idle.append(master.idle & ~pending)
            with m.If(master.fault & ~self.fault):
                m.d.sync += [self.fault.eq(1), self.fault_address.eq(master.fault_address)]
        m.d.comb += [
            self.o_line.valid.eq(shapes.r_rdy & Cat(there).all()),
            gives.eq(self.o_line.valid & self.o_line.ready),
            self.idle.eq(Cat(idle).all()),
        ]
        return gives
