"""Writes lines to the TCDM through several ports, and reports when a descriptor's last line has been answered."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.bus import WriteAnswers
from hwgen.arch.dma import DmaParameters
from hwgen.gateware.bus.tcdm import TcdmMaster, TcdmSignature

__all__ = ["LineWriter", "write_layout"]


def write_layout(parameters: DmaParameters) -> data.StructLayout:
    """A line: a word for each port (none where ``enable`` is 0); ``last``: the final line of a descriptor."""
    word = data.StructLayout({"address": parameters.tcdm_address_bits, "enable": 4, "data": 32})
    return data.StructLayout({"words": data.ArrayLayout(word, parameters.ports), "last": 1})


class LineWriter(wiring.Component):
    """Writes each word of a line as soon as its port grants it; the next line follows after the last grant.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    i_line : In(stream of `write_layout`)
    port : Out(TcdmSignature), an array
    done : Out(1)
        A pulse: all writes up to a line marked ``last`` are complete, see `TcdmMaster`.
    idle : Out(1)
    fault, fault_address : Out
        An access was answered with an error; held until reset.
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self._ports = parameters.ports
        super().__init__(
            {
                "i_line": In(stream.Signature(write_layout(parameters))),
                "port": Out(TcdmSignature()).array(parameters.ports),
                "done": Out(1),
                "idle": Out(1),
                "fault": Out(1),
                "fault_address": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        line = Signal.like(self.i_line.payload)
        pending, taken, left = Signal(self._ports), Signal(self._ports), Signal(self._ports)
        ends, drains = Signal(), Signal()
        write_answers = Signal(WriteAnswers)
        masters = []
        for i in range(self._ports):
            m.submodules[f"master_{i}"] = master = TcdmMaster(reads=False, writes=True)
            connect(m, master.port, flipped(self.port[i]))
            m.d.comb += master.answers.eq(write_answers)
            with m.If(master.finds != WriteAnswers.UNKNOWN):
                m.d.sync += write_answers.eq(master.finds)
            word = line.words[i]
            m.d.comb += [
                # The end of only one descriptor is tracked at a time.
                master.i_request.valid.eq(pending[i] & ~(line.last & drains)),
                master.i_request.payload.address.eq(word.address & ~3),
                master.i_request.payload.write.eq(1),
                master.i_request.payload.enable.eq(word.enable),
                master.i_request.payload.data.eq(word.data),
                taken[i].eq(master.i_request.valid & master.i_request.ready),
            ]
            masters.append(master)
        m.d.comb += [
            left.eq(pending & ~taken),
            self.i_line.ready.eq(left == 0),
            ends.eq((pending != 0) & (left == 0) & line.last),
        ]
        m.d.sync += pending.eq(left)
        with m.If(self.i_line.valid & self.i_line.ready):
            m.d.sync += [line.eq(self.i_line.payload)]
            m.d.sync += pending.eq(Cat(word.enable.any() for word in self.i_line.payload.words))

        # In order: the last line is complete after the accesses that were outstanding when it was issued.
        awaited = []
        for i, master in enumerate(masters):
            unanswered, open_then = Signal(3, name=f"open_{i}"), Signal(3, name=f"open_then_{i}")
            answered = master.finishes
            m.d.sync += unanswered.eq(unanswered + taken[i] - answered)
            with m.If(ends):
                m.d.sync += open_then.eq(unanswered + taken[i] - answered)
            with m.Elif(answered & (open_then != 0)):
                m.d.sync += open_then.eq(open_then - 1)
            awaited.append(open_then != 0)
            with m.If(master.fault & ~self.fault):
                m.d.sync += [self.fault.eq(1), self.fault_address.eq(master.fault_address)]
        m.d.comb += self.done.eq(drains & ~Cat(awaited).any())
        with m.If(ends):
            m.d.sync += drains.eq(1)
        with m.Elif(self.done):
            m.d.sync += drains.eq(0)
        m.d.comb += self.idle.eq((pending == 0) & ~drains & Cat(master.idle for master in masters).all())
        return m
