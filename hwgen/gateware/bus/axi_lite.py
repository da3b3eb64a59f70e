"""AXI4-Lite for configuration: the signals of the port, and a bridge to a port that answers in a later cycle."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["AxiLiteBridge", "AxiLiteSignature"]

ERROR_BIT = 1
"""The bit of a response that says an error: 0b00 is OKAY, 0b10 is SLVERR."""


class AxiLiteSignature(wiring.Signature):
    """An AXI4-Lite port of 32 bits, seen from the manager.

    Members
    -------
    awvalid, wvalid, bready, arvalid, rready : Out(1)
    awaddr, araddr : Out(32)
    awprot, arprot : Out(3)
    wdata : Out(32)
    wstrb : Out(4)
    awready, wready, bvalid, arready, rvalid : In(1)
    rdata : In(32)
    bresp, rresp : In(2)
    """

    def __init__(self) -> None:
        address = {"valid": Out(1), "addr": Out(32), "prot": Out(3), "ready": In(1)}
        channels: dict[str, dict[str, wiring.Member]] = {
            "aw": address,
            "w": {"valid": Out(1), "data": Out(WORD_BITS), "strb": Out(WORD_BYTES), "ready": In(1)},
            "b": {"valid": In(1), "resp": In(2), "ready": Out(1)},
            "ar": address,
            "r": {"valid": In(1), "data": In(WORD_BITS), "resp": In(2), "ready": Out(1)},
        }
        super().__init__(
            {f"{channel}{name}": member for channel, members in channels.items() for name, member in members.items()}
        )


class AxiLiteBridge(wiring.Component):
    """A bridge from AXI4-Lite to a configuration port; one access at a time.

    Address and data of a write are taken in the same cycle, when both are there. Where a read and a write wait, they
    take turns. An error of the block is SLVERR. The protection bits mean nothing to it.

    Members
    -------
    axi_lite : In(AxiLiteSignature)
    cfg : Out(TcdmSignature)
    """

    axi_lite: In(AxiLiteSignature())
    cfg: Out(TcdmSignature())

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        axi, cfg = self.axi_lite, self.cfg
        wrote = Signal()  # the last access: whether it was a write
        writes, reads = Signal(), Signal()
        has_write = Signal()
        m.d.comb += [
            has_write.eq(axi.awvalid & axi.wvalid),
            writes.eq(has_write & ~(axi.arvalid & wrote)),
            reads.eq(axi.arvalid & ~writes),
            cfg.add.eq(Mux(writes, axi.awaddr, axi.araddr)),
            cfg.wen.eq(~writes),
            cfg.be.eq(Mux(writes, axi.wstrb, ~0)),
            cfg.wdata.eq(axi.wdata),
        ]
        response = Cat(C(0, ERROR_BIT), cfg.r_opc)
        with m.FSM():
            with m.State("idle"):
                m.d.comb += [
                    cfg.req.eq(writes | reads),
                    axi.awready.eq(writes & cfg.gnt),
                    axi.wready.eq(writes & cfg.gnt),
                    axi.arready.eq(reads & cfg.gnt),
                ]
                with m.If(cfg.req & cfg.gnt):
                    m.d.sync += wrote.eq(writes)
                    m.next = "asked"
            with m.State("asked"), m.If(cfg.r_valid):
                m.d.sync += [
                    axi.bvalid.eq(wrote),
                    axi.rvalid.eq(~wrote),
                    axi.bresp.eq(response),
                    axi.rresp.eq(response),
                    axi.rdata.eq(cfg.r_rdata),
                ]
                m.next = "answered"
            with m.State("answered"), m.If(axi.bvalid & axi.bready | axi.rvalid & axi.rready):
                m.d.sync += [axi.bvalid.eq(0), axi.rvalid.eq(0)]
                m.next = "idle"
        return m
