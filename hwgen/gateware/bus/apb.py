"""APB for configuration: AMBA APB4 signals, a bridge to a port that answers in the next cycle, a decoder."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["ApbBridge", "ApbSignature", "ApbWindows"]


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


class ApbWindows(wiring.Component):
    """One APB port for several completers, each in a window of the addresses, one window after the other.

    A completer sees the address inside its window. A transfer to an address after the windows is answered with an
    error at once.

    Parameters
    ----------
    completers
        How many.
    window
        Bytes of each window: a power of two.

    Members
    -------
    apb : In(ApbSignature)
    completers : Out(ApbSignature), one for each
    """

    def __init__(self, *, completers: int, window: int) -> None:
        self._window = window
        super().__init__({"apb": In(ApbSignature()), "completers": Out(ApbSignature()).array(completers)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        apb, within = self.apb, self._window.bit_length() - 1
        for completer in self.completers:
            m.d.comb += [
                completer.penable.eq(apb.penable),
                completer.paddr.eq(apb.paddr[:within]),
                completer.pwrite.eq(apb.pwrite),
                completer.pwdata.eq(apb.pwdata),
                completer.pstrb.eq(apb.pstrb),
            ]
        with m.Switch(apb.paddr[within:]):
            for number, completer in enumerate(self.completers):
                with m.Case(number):
                    m.d.comb += [
                        completer.psel.eq(apb.psel),
                        apb.pready.eq(completer.pready),
                        apb.prdata.eq(completer.prdata),
                        apb.pslverr.eq(completer.pslverr),
                    ]
            with m.Default():
                m.d.comb += [apb.pready.eq(1), apb.pslverr.eq(apb.psel & apb.penable)]
        return m
