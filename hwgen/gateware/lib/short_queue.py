"""A queue of two entries in registers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ShortQueue"]


class ShortQueue(wiring.Component):
    """A `SyncFIFO` of two entries whose oldest entry is in registers, so that logic after it begins early.

    Parameters
    ----------
    width
        Bits of an entry.

    Members
    -------
    w_data : In(width), w_rdy : Out(1), w_en : In(1)
        Where both are set, ``w_data`` is added, and can be read from the next cycle on.
    r_data : Out(width), r_rdy : Out(1), r_en : In(1)
        The oldest entry; where both are set, it is taken.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(
            {
                "w_data": In(width),
                "w_rdy": Out(1),
                "w_en": In(1),
                "r_data": Out(width),
                "r_rdy": Out(1),
                "r_en": In(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        spare, spare_full, adds = Signal(self._width, reset_less=True), Signal(), Signal()
        m.d.comb += [self.w_rdy.eq(~spare_full), adds.eq(self.w_en & self.w_rdy)]
        with m.If(~spare_full):
            m.d.sync += spare.eq(self.w_data)
        with m.If(self.r_en | ~self.r_rdy):
            m.d.sync += [
                self.r_rdy.eq(spare_full | adds),
                self.r_data.eq(Mux(spare_full, spare, self.w_data)),
                spare_full.eq(0),
            ]
        with m.Elif(adds):
            m.d.sync += spare_full.eq(1)
        return m
