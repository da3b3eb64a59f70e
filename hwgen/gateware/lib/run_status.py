"""The status of a block: what it does, how its last run ended, and what its configuration port refused."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.registers.control import status_register
from hwgen.arch.registers.errors import ErrorCode
from hwgen.gateware.lib.register_bank import ERROR, layout_of

__all__ = ["RunStatus"]


class RunStatus(wiring.Component):
    """The status register of a block, and its interrupt.

    ``done`` and an error are never set together. What is refused while the block is idle fails at once. What is
    refused while it runs does not disturb the run; the run counts as failed when it has ended, because software did
    not write what it meant to. An error is kept until it is cleared; that of a run replaces that of a refused access.

    Parameters
    ----------
    codes
        Error codes of the block; 0 is no error.

    Members
    -------
    busy : In(1)
    begins, clear : In(1)
        Pulses: a run begins; software acknowledges.
    refused : In(1), refusal : In(ERROR)
        A write or a start is refused in this cycle, and why; never in that of an acknowledgement.
    ended : In(1), error : In(ERROR)
        A pulse: the run has ended, and why it failed; 0 if it did not.
    gives_up : In(1)
        A pulse: the run has failed with ``error``, although it cannot end yet.
    status : Out
        Value of the status register.
    blocked : Out(1)
        There is an error, so nothing may start.
    records : Out(1)
        The refusal of this cycle is the first error: its address is to be kept.
    irq : Out(1)
    """

    def __init__(self, codes: type[ErrorCode]) -> None:
        super().__init__(
            {
                "busy": In(1),
                "begins": In(1),
                "clear": In(1),
                "refused": In(1),
                "refusal": In(ERROR),
                "ended": In(1),
                "error": In(ERROR),
                "gives_up": In(1),
                "status": Out(layout_of(status_register(codes))),
                "blocked": Out(1),
                "records": Out(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        done, failed, error, fails = Signal(), Signal(), Signal(ERROR), Signal()
        m.d.comb += [
            self.status.busy.eq(self.busy),
            self.status.done.eq(done),
            self.status.failed.eq(failed),
            self.status.error.eq(error),
            self.irq.eq(done | failed),
            self.records.eq(self.refused & ~self.blocked),
            fails.eq(self.error != 0),
        ]
        with m.If(self.clear):
            m.d.sync += [done.eq(0), failed.eq(0), error.eq(0), self.blocked.eq(0)]
        with m.If(self.begins):
            m.d.sync += done.eq(0)
        with m.If(self.refused):
            m.d.sync += [done.eq(0), failed.eq(failed | ~self.busy), self.blocked.eq(1)]
        with m.If(self.records):
            m.d.sync += error.eq(self.refusal)
        with m.If(self.gives_up):
            m.d.sync += [done.eq(0), failed.eq(1), error.eq(self.error), self.blocked.eq(1)]
        with m.If(self.ended):
            sound = ~(fails | (self.blocked & ~self.clear) | self.refused)
            m.d.sync += [done.eq(sound), failed.eq(~sound)]
            with m.If(fails):
                m.d.sync += [error.eq(self.error), self.blocked.eq(1)]
        return m
