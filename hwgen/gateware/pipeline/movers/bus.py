"""The two sides of the movers' AXI4 port: arbitration of bursts, and the way of data and answers by their IDs."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline.movers import Mover, MoverParameters
from hwgen.gateware.bus.axi import INCR, AxiSignature, User, is_error
from hwgen.gateware.bus.axi_interconnect import BurstArbiter
from hwgen.gateware.pipeline.movers.runs import run_burst_layout
from hwgen.gateware.pipeline.movers.writer import write_word_layout

__all__ = ["ReadSide", "WriteSide"]

REQUESTED = ("addr", "len", "size", "burst", "user")
"""What is on AR or AW beside the handshake and the ID."""


def _arbitrate(
    m: Module,
    movers: Sequence[Mover],
    bursts: Sequence[stream.Interface],
    parameters: MoverParameters,
    open_: Value | int = 1,
) -> tuple[BurstArbiter, Value]:
    """Grant the movers' bursts in turn while ``open_`` is set. Returns the arbiter, and whether it grants one now."""
    m.submodules.arbiter = arbiter = BurstArbiter(len(movers))
    for mover, burst, request in zip(movers, bursts, arbiter.i_bursts, strict=True):
        user = User(request.payload.user)
        m.d.comb += [
            request.valid.eq(burst.valid & open_),
            burst.ready.eq(request.ready & open_),
            request.payload.addr.eq(burst.payload.address),
            request.payload.len.eq(burst.payload.length),
            request.payload.size.eq((parameters.beat_bytes - 1).bit_length()),
            request.payload.burst.eq(INCR),
            user.tag.eq(mover.number),
            user.unused.eq(parameters.beat_bytes - 1 - burst.payload.last_lane),
        ]
    return arbiter, Cat(burst.valid & burst.ready for burst in bursts).any()


class ReadSide(wiring.Component):
    """Requests the bursts of the movers that read, in turn, and gives each of them its beats.

    Parameters
    ----------
    parameters, movers
        Those that read.
    id_bits
        Width of the IDs.

    Members
    -------
    i_burst_{n} : In(stream)
    answered_{n} : Out(1)
        The beat on ``data`` is that of mover n.
    data : Out, ends : Out(1)
    axi : Out(AxiSignature)
        Of which only the channels AR and R are driven here.
    fault : Out(1)
        A pulse: a beat has come with an error.
    moved : Out(1)
    """

    def __init__(self, parameters: MoverParameters, movers: Sequence[Mover], *, id_bits: int) -> None:
        self.parameters, self._movers, self._id_bits = parameters, tuple(movers), id_bits
        axi = AxiSignature(parameters.axi_bits, id_bits).members
        ports: dict[str, wiring.Member] = {name: axi[name] for name in axi if name.startswith(("ar", "r"))}
        for n in range(len(self._movers)):
            ports |= {f"i_burst_{n}": In(stream.Signature(run_burst_layout(parameters))), f"answered_{n}": Out(1)}
        super().__init__(
            {**ports, "data": Out(parameters.axi_bits), "ends": Out(1), "fault": Out(1), "moved": Out(1)}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = len(self._movers)
        bursts = [getattr(self, f"i_burst_{n}") for n in range(count)]
        arbiter, _ = _arbitrate(m, self._movers, bursts, self.parameters)
        came = self.rvalid & self.rready
        m.d.comb += [
            self.arvalid.eq(arbiter.o_burst.valid),
            arbiter.o_burst.ready.eq(self.arready),
            self.arid.eq(arbiter.master << 1),
            *(getattr(self, f"ar{name}").eq(arbiter.o_burst.payload[name]) for name in REQUESTED),
            self.rready.eq(1),  # every burst has its room
            self.data.eq(self.rdata),
            self.ends.eq(self.rlast),
            *(
                getattr(self, f"answered_{n}").eq(came & (self.rid == mover.id))
                for n, mover in enumerate(self._movers)
            ),
            self.fault.eq(came & is_error(self.rresp)),
            self.moved.eq(came | (self.arvalid & self.arready)),
        ]
        return m


class WriteSide(wiring.Component):
    """Requests the bursts of the movers that write, in turn; the words of a burst are offered with its address.

    They do not wait until the address is accepted, nor the address for them.

    Parameters
    ----------
    parameters, movers
        Those that write.
    id_bits
        Width of the IDs.

    Members
    -------
    i_burst_{n}, i_word_{n} : In(stream)
        The words of a burst are there when the burst is.
    answered_{n} : Out(1)
        A burst of mover n is answered.
    axi : Out(AxiSignature)
        Of which only the channels AW, W and B are driven here.
    fault : Out(1)
        A pulse: a burst was answered with an error.
    moved : Out(1)
    """

    def __init__(self, parameters: MoverParameters, movers: Sequence[Mover], *, id_bits: int) -> None:
        self.parameters, self._movers, self._id_bits = parameters, tuple(movers), id_bits
        axi = AxiSignature(parameters.axi_bits, id_bits).members
        ports: dict[str, wiring.Member] = {name: axi[name] for name in axi if name.startswith(("aw", "w", "b"))}
        for n in range(len(self._movers)):
            ports |= {
                f"i_burst_{n}": In(stream.Signature(run_burst_layout(parameters))),
                f"i_word_{n}": In(stream.Signature(write_word_layout(parameters))),
                f"answered_{n}": Out(1),
            }
        super().__init__({**ports, "fault": Out(1), "moved": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = len(self._movers)
        bursts = [getattr(self, f"i_burst_{n}") for n in range(count)]
        # One burst at a time: the next one is granted when the last word of this one goes.
        sending, ends = Signal(), Signal()
        m.d.comb += ends.eq(self.wvalid & self.wready & self.wlast)
        arbiter, taken = _arbitrate(m, self._movers, bursts, self.parameters, ~sending | ends)
        with m.If(ends):
            m.d.sync += sending.eq(0)
        with m.If(taken):
            m.d.sync += sending.eq(1)
        answered = self.bvalid & self.bready
        for n in range(count):
            word = getattr(self, f"i_word_{n}")
            with m.If(sending & (arbiter.master == n)):
                m.d.comb += [
                    self.wvalid.eq(word.valid),
                    self.wdata.eq(word.payload.data),
                    self.wstrb.eq(word.payload.strobe),
                    self.wlast.eq(word.payload.last),
                    word.ready.eq(self.wready),
                ]
        m.d.comb += [
            self.awvalid.eq(arbiter.o_burst.valid),
            arbiter.o_burst.ready.eq(self.awready),
            self.awid.eq(arbiter.master << 1 | 1),
            *(getattr(self, f"aw{name}").eq(arbiter.o_burst.payload[name]) for name in REQUESTED),
            self.bready.eq(1),
            *(
                getattr(self, f"answered_{n}").eq(answered & (self.bid == mover.id))
                for n, mover in enumerate(self._movers)
            ),
            self.fault.eq(answered & is_error(self.bresp)),
            self.moved.eq(answered | (self.awvalid & self.awready) | (self.wvalid & self.wready)),
        ]
        return m
