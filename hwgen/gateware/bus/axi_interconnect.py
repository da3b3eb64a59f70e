"""Several AXI4 masters on one slave."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import BURST_BEATS, WRITES_IN_ORDER, master_bits
from hwgen.gateware.bus.axi import ID_BITS, USER_BITS, AxiSignature

__all__ = ["AxiInterconnect", "BurstArbiter"]

REQUEST = data.StructLayout({"id": ID_BITS, "addr": 32, "len": 8, "size": 3, "burst": 2, "user": USER_BITS})
"""What is on AR or AW beside the handshake."""
READ_BEAT, WRITE_BEAT = ("rdata", "rresp", "rlast"), ("wdata", "wstrb", "wlast")
"""Signals of the other channels beside handshake and ID."""


class BurstArbiter(wiring.Component):
    """One address channel of several, burst by burst.

    A round-robin arbiter grants the next master after the one that it granted last, so a master that waits lets each
    other master pass once at most. The granted burst is in a register: it stays as it is until it is accepted.

    Parameters
    ----------
    masters
        How many.

    Members
    -------
    i_bursts : In(stream), one for each master
    o_burst : Out(stream)
    master : Out
        The one that ``o_burst`` belongs to.
    """

    def __init__(self, masters: int) -> None:
        self._masters = masters
        super().__init__(
            {
                "i_bursts": In(stream.Signature(REQUEST)).array(masters),
                "o_burst": Out(stream.Signature(REQUEST)),
                "master": Out(range(max(masters, 2))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        waiting, after, first = (Signal(self._masters, name=name) for name in ("waiting", "after", "first"))
        full, takes = Signal(), Signal()
        m.d.comb += [
            waiting.eq(Cat(burst.valid for burst in self.i_bursts)),
            first.eq(Mux((waiting & after) != 0, waiting & after, waiting)),
            takes.eq(~full | self.o_burst.ready),
            self.o_burst.valid.eq(full),
        ]
        with m.If(takes):
            m.d.sync += full.eq(waiting != 0)
            for i, burst in reversed(list(enumerate(self.i_bursts))):
                lower: Value = first[:i]
                with m.If(first[i] & ~lower.any()):
                    m.d.comb += burst.ready.eq(1)
                    m.d.sync += [self.o_burst.payload.eq(burst.payload), self.master.eq(i), after.eq(-1 << (i + 1))]
        return m


class AxiInterconnect(wiring.Component):
    """Connects several masters with one slave; everything that AXI4 asks of either side is kept.

    *Arbitration* is round robin, burst by burst, for reads and writes apart (`BurstArbiter`). *IDs* at the slave have
    the number of the master above the master's own, so bursts of different masters need no common order, and those of
    one master and ID keep theirs. *Bursts stay whole*: write data follow in the order of the addresses that the slave
    is offered, each burst to its end. They come a cycle after their address at the earliest, and do not wait until
    the slave accepts that. *Responses*, errors too, go to the master in their ID; read beats of different IDs may be
    interleaved.

    *Read beats* wait for their master in a queue of its own, which holds a longest burst: a master that takes them
    slowly does not keep the others waiting after it.

    An address is delayed by a cycle, write data wait for a cycle after it, and read beats are in the queue for two.

    Parameters
    ----------
    masters
        How many: 2 to 16.
    data_bits
        Width of all ports' data.

    Members
    -------
    masters : In(AxiSignature), one for each master
    slave : Out(AxiSignature)
        With the wider IDs.
    """

    def __init__(self, *, masters: int, data_bits: int) -> None:
        self._bits = master_bits(masters)
        super().__init__(
            {
                "masters": In(AxiSignature(data_bits)).array(masters),
                "slave": Out(AxiSignature(data_bits, ID_BITS + self._bits)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.order = order = SyncFIFO(width=self._bits, depth=WRITES_IN_ORDER)
        slave, ordered = self.slave, Signal()  # the data of the burst that is offered are in the order already
        self._addresses(m, "ar", Value.cast(1))
        writer = self._addresses(m, "aw", order.w_rdy | ordered)
        m.d.sync += ordered.eq(slave.awvalid & ~slave.awready)
        m.d.comb += [
            order.w_data.eq(writer),
            order.w_en.eq(slave.awvalid & ~ordered),
            order.r_en.eq(slave.wvalid & slave.wready & slave.wlast),
        ]
        with m.If(order.r_rdy), m.Switch(order.r_data):
            for i, master in enumerate(self.masters):
                with m.Case(i):
                    m.d.comb += [getattr(slave, name).eq(getattr(master, name)) for name in ("wvalid", *WRITE_BEAT)]
                    m.d.comb += master.wready.eq(slave.wready)
        self._answers(m, "b", [(master.bvalid, master.bready) for master in self.masters])
        for master in self.masters:
            m.d.comb += [master.bid.eq(slave.bid[:ID_BITS]), master.bresp.eq(slave.bresp)]
        self._reads(m)
        return m

    def _reads(self, m: Module) -> None:
        """Read beats, each to the queue of its master."""
        slave = self.slave
        beat = Cat(slave.rid[:ID_BITS], *(getattr(slave, name) for name in READ_BEAT))
        ends = []
        for number, master in enumerate(self.masters):
            m.submodules[f"beats_{number}"] = beats = SyncFIFOBuffered(width=len(beat), depth=BURST_BEATS)
            m.d.comb += [
                beats.w_data.eq(beat),
                Cat(master.rid, *(getattr(master, name) for name in READ_BEAT)).eq(beats.r_data),
                master.rvalid.eq(beats.r_rdy),
                beats.r_en.eq(master.rready & beats.r_rdy),
            ]
            ends.append((beats.w_en, beats.w_rdy))
        self._answers(m, "r", ends)

    def _addresses(self, m: Module, channel: str, may: Value) -> Value:
        """An address channel, while ``may`` is set; the master whose burst is at the slave."""
        arbiter = BurstArbiter(len(self.masters))
        m.submodules[f"{channel}_arbiter"] = arbiter
        names = [name for name in REQUEST.members if name != "id"]
        for master, burst in zip(self.masters, arbiter.i_bursts, strict=True):
            m.d.comb += [
                burst.valid.eq(getattr(master, f"{channel}valid")),
                getattr(master, f"{channel}ready").eq(burst.ready),
                *(getattr(burst.payload, name).eq(getattr(master, channel + name)) for name in ("id", *names)),
            ]
        slave, burst = self.slave, arbiter.o_burst
        m.d.comb += [
            getattr(slave, f"{channel}valid").eq(burst.valid & may),
            burst.ready.eq(getattr(slave, f"{channel}ready") & may),
            getattr(slave, f"{channel}id").eq(Cat(burst.payload.id, arbiter.master)),
            *(getattr(slave, channel + name).eq(getattr(burst.payload, name)) for name in names),
        ]
        number: Value = arbiter.master
        return number

    def _answers(self, m: Module, channel: str, ends: Sequence[tuple[Signal, Signal]]) -> None:
        """The handshake of a response channel with the end of the master in the ID, ``valid`` and ``ready`` of each.

        A response that no master has asked for is dropped.
        """
        valid, ready, number = (getattr(self.slave, f"{channel}{name}") for name in ("valid", "ready", "id"))
        with m.Switch(number[ID_BITS:]):
            for i, (end_valid, end_ready) in enumerate(ends):
                with m.Case(i):
                    m.d.comb += [end_valid.eq(valid), ready.eq(end_ready)]
            if len(self.masters) < 1 << self._bits:
                with m.Default():
                    m.d.comb += ready.eq(1)
