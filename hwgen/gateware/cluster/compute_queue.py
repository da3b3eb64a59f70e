"""The queue of commands for the HWCs. The encoding is that of `hwgen.arch.commands`."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.cluster import SHARED_PORTS
from hwgen.arch.commands import LEADER_BITS, Opcode
from hwgen.arch.registers.control import CONTROL_ADDRESS, Control
from hwgen.gateware.cluster.command_queues import HEADER_LAYOUT, QueueState, fields_of

__all__ = ["ComputeQueue"]


class ComputeQueue(wiring.Component):
    """Writes the registers of the HWCs, starts them, and waits for them.

    After reset it first clears the state that the last program left in the HWCs.

    Parameters
    ----------
    hwcs
        Number of HWCs.
    others
        Units besides, which are written to and waited for as they are.
    multicast
        Whether there is the command MULTICAST.

    Members
    -------
    i_word : In(stream)
        Address, header and payload of each command.
    write : Out
        One bit for each HWC, and then for the others: write ``data`` to its register at address ``register``.
    register, data : Out
    hwc_busy : In
    waits_for_hwcs : Out(1)
    cleared : Out(1)
        The state of the HWCs belongs to this program.
    leaders : Out
        With multicast: for I and for W, the leader of each HWC; itself until a command says otherwise.
    state : Out(QueueState)
    """

    def __init__(self, *, hwcs: int, others: int = 0, multicast: bool = False) -> None:
        self._multicast = multicast
        leaders = Out(data.ArrayLayout(LEADER_BITS, hwcs), init=range(hwcs)).array(len(SHARED_PORTS))
        super().__init__(
            {
                **({"leaders": leaders} if multicast else {}),
                "i_word": In(stream.Signature(32)),
                "write": Out(hwcs + others),
                "register": Out(12),
                "data": Out(32),
                "hwc_busy": In(hwcs + others),
                "waits_for_hwcs": Out(1),
                "cleared": Out(1),
                "state": Out(QueueState()),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        state, word = self.state, self.i_word
        header, command = fields_of(word.payload), Signal(HEADER_LAYOUT)
        register, left = Signal(12), Signal(8)
        busy, ends, settled = Signal(), Signal(), Signal()
        mask = command.mask[: len(self.write)]
        m.d.comb += [
            busy.eq((mask & self.hwc_busy) != 0),
            self.data.eq(word.payload),
            self.register.eq(register),
            state.posts.eq(Mux(ends, command.posts, 0)),
        ]
        m.d.sync += settled.eq(0)
        with m.FSM(name="compute"):
            with m.State("Clear"):
                m.d.comb += [self.write.eq(~0), self.register.eq(CONTROL_ADDRESS), self.data.eq(Control.CLEAR)]
                m.next = "Cleared"
            with m.State("Cleared"):  # the write acts in this cycle
                m.d.sync += self.cleared.eq(1)
                m.next = "Address"
            with m.State("Address"):
                # What an HWC refuses of the last command is known before the queue counts as idle.
                m.d.comb += [word.ready.eq(1), state.idle.eq(~word.valid & settled)]
                m.d.sync += settled.eq(1)
                with m.If(word.valid):
                    m.d.sync += state.address.eq(word.payload)
                    m.next = "Header"
            with m.State("Header"):
                with m.If(word.valid):
                    m.d.comb += state.waits.eq(header.takes & ~state.available)
                    with m.If(state.waits == 0):
                        m.d.comb += [word.ready.eq(1), state.takes.eq(header.takes)]
                        m.d.sync += [command.eq(header), left.eq(header.length - 1)]
                        self._dispatch(m, header)
            with m.State("Register"):
                m.d.comb += word.ready.eq(1)
                with m.If(word.valid):
                    m.d.sync += register.eq(word.payload)
                    m.next = "Write"
            with m.State("Write"):
                m.d.comb += self.waits_for_hwcs.eq(busy)
                with m.If(word.valid & ~busy):
                    m.d.comb += [word.ready.eq(1), self.write.eq(mask)]
                    m.d.sync += [left.eq(left - 1), register.eq(register + 4)]
                    with m.If(left == 1):
                        m.d.comb += ends.eq(1)
                        m.next = "Address"
            with m.State("Start"):
                m.d.comb += [self.waits_for_hwcs.eq(busy), self.register.eq(CONTROL_ADDRESS)]
                m.d.comb += self.data.eq(Control.START)
                with m.If(~busy):
                    m.d.comb += [self.write.eq(mask), ends.eq(1)]
                    m.next = "Address"
            with m.State("Join"):
                m.d.comb += self.waits_for_hwcs.eq(busy)
                with m.If(~busy):
                    m.d.comb += ends.eq(1)
                    m.next = "Address"
            if self._multicast:
                with m.State("Leaders"):
                    m.d.comb += self.waits_for_hwcs.eq(busy)
                    with m.If(word.valid & ~busy):
                        m.d.comb += word.ready.eq(1)
                        m.d.sync += left.eq(left - 1)
                        self._take_leaders(m, last=left == 0, mask=mask)
                        with m.If(left == 0):
                            m.d.comb += ends.eq(1)
                            m.next = "Address"
        return m

    def _take_leaders(self, m: Module, *, last: Value, mask: Value) -> None:
        """The leaders of the HWCs in ``mask``: those of I come first, those of W are the ``last``."""
        for leaders, here in zip(self.leaders, (~last, last), strict=True):
            for hwc, leader in enumerate(leaders):
                with m.If(here & mask[hwc]):
                    m.d.sync += leader.eq(self.i_word.payload.word_select(hwc, LEADER_BITS))

    def _dispatch(self, m: Module, header: data.View) -> None:
        with m.Switch(header.opcode):
            if self._multicast:
                with m.Case(Opcode.MULTICAST):
                    m.next = "Leaders"
            with m.Case(Opcode.CONFIGURE):
                m.next = "Register"
            with m.Case(Opcode.START):
                m.next = "Start"
            with m.Default():
                m.next = "Join"
