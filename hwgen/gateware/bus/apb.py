"""APB for configuration: the signals of AMBA APB4, and a bridge to a port that answers in the next cycle."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["ApbBridge", "ApbSignature"]


class ApbSignature(wiring.Signature):
    """An APB4 port of 32 bits, seen from the requester; ``pprot`` is left out.

    Members
    -------
    psel, penable, pwrite : Out(1)
    paddr, pwdata : Out(32)
    pstrb : Out(4)
    pready, pslverr : In(1)
    prdata : In(32)
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "psel": Out(1),
                "penable": Out(1),
                "paddr": Out(32),
                "pwrite": Out(1),
                "pwdata": Out(32),
                "pstrb": Out(WORD_BYTES),
                "pready": In(1),
                "prdata": In(32),
                "pslverr": In(1),
            }
        )


class ApbBridge(wiring.Component):
    """A bridge from APB to a port that grants every request at once.

    The setup phase of a transfer makes the request. The access phase lasts until the answer.

    Members
    -------
    apb : In(ApbSignature)
    cfg : Out(TcdmSignature)
    """

    apb: In(ApbSignature())
    cfg: Out(TcdmSignature())

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        apb, cfg = self.apb, self.cfg
        m.d.comb += [
            cfg.req.eq(apb.psel & ~apb.penable),
            cfg.add.eq(apb.paddr),
            cfg.wen.eq(~apb.pwrite),
            cfg.be.eq(Mux(apb.pwrite, apb.pstrb, ~0)),
            cfg.wdata.eq(apb.pwdata),
            apb.pready.eq(cfg.r_valid),
            apb.prdata.eq(cfg.r_rdata),
            apb.pslverr.eq(cfg.r_valid & cfg.r_opc),
        ]
        return m
