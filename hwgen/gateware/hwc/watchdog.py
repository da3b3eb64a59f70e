"""A watchdog: notices that nothing has moved for too long."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.registers.hwc import WATCHDOG_BITS, WATCHDOG_PERIOD

__all__ = ["Watchdog"]


class Watchdog(wiring.Component):
    """Counts cycles without progress while a block runs.

    It expires when there was no progress for ``periods`` times `WATCHDOG_PERIOD` cycles. A block that stops because
    of a fault, or because software asks for it, still awaits the answers of its accesses: if there is no progress for
    one period then, the watchdog gives up, whatever ``periods`` is.

    Members
    -------
    periods : In
        0: it never expires.
    runs : In(1)
        The block runs.
    moved : In(1)
        There is progress in this cycle.
    stops : In(1)
        The block begins to stop: a pulse.
    stopping : In(1)
        It awaits its last answers.
    expired : Out(1)
        While the block runs.
    gives_up : Out(1)
        A pulse: a bus does not answer the block that stops. There is another one only if it moves again.
    """

    periods: In(WATCHDOG_BITS)
    runs: In(1)
    moved: In(1)
    stops: In(1)
    stopping: In(1)
    expired: Out(1)
    gives_up: Out(1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        low = (WATCHDOG_PERIOD - 1).bit_length()
        since, told = Signal(low + WATCHDOG_BITS), Signal()
        with m.If(~self.runs | self.moved | self.stops):
            m.d.sync += [since.eq(0), told.eq(0)]
        with m.Else():
            m.d.sync += [since.eq(since + 1), told.eq(self.gives_up | told)]
        m.d.comb += [
            self.expired.eq((self.periods != 0) & (since[low:] == self.periods) & ~self.stopping),
            self.gives_up.eq(self.stopping & since[low] & ~told),
        ]
        return m
