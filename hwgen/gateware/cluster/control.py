"""Control of a cluster: tokens between the queues, the end of a program, faults, the watchdog."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.commands import TOKENS, WORKING_QUEUES, Queue
from hwgen.arch.dma import CHANNELS
from hwgen.arch.registers.cluster import EVENTS
from hwgen.arch.registers.errors import ClusterError, DmaError, HwcError
from hwgen.gateware.cluster.command_queues import QueueState
from hwgen.gateware.cluster.registers import Fault
from hwgen.gateware.hwc.registers import STATUS
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["ClusterControl", "TokenCounters"]


class TokenCounters(wiring.Component):
    """A token counter from each queue to each other queue.

    Members
    -------
    takes, posts : In, one for each queue
        See `QueueState`.
    available : Out, one for each queue
    overflow : Out
        For each queue: it posts a token to a full counter.
    """

    def __init__(self) -> None:
        count = len(WORKING_QUEUES)
        bits = data.ArrayLayout(count, count)
        super().__init__({"takes": In(bits), "posts": In(bits), "available": Out(bits), "overflow": Out(count)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for poster in WORKING_QUEUES:
            overflows: list[Value] = []
            for taker in WORKING_QUEUES:
                if poster == taker:
                    continue
                tokens = Signal(range(TOKENS + 1), name=f"{poster.name}_to_{taker.name}".lower())
                post, take = self.posts[poster][taker], self.takes[taker][poster]
                m.d.comb += self.available[taker][poster].eq(tokens != 0)
                with m.If(post ^ take):
                    m.d.sync += tokens.eq(tokens + post - take)
                overflows.append(post & ~take & (tokens == TOKENS))
            m.d.comb += self.overflow[poster].eq(Cat(*overflows).any())
        return m


@dataclass(frozen=True)
class _Reason:
    """One kind of fault: its condition, and what the registers report."""

    error: ClusterError
    happens: ValueLike
    command: ValueLike
    address: ValueLike = 0
    detail: ValueLike = 0


class ClusterControl(wiring.Component):
    """Controls a program from its start to its end, or to a fault and until all accesses have completed.

    A fault halts the DMA and the HWCs, which complete their outstanding accesses. The first fault is reported. The
    watchdog counts consecutive cycles without any progress. If it expires again after a fault, because a bus does not
    answer, the program ends nevertheless.

    Parameters
    ----------
    hwcs
        Number of HWCs.

    Members
    -------
    start : In(1)
    abort : In(1)
        A pulse: give the program up.
    watchdog : In(32)
        Cycles; 0 disables it.
    busy : Out(1)
        A program is running; otherwise the queues are held in reset.
    halt : Out(1)
    ended : Out(1)
        A pulse, with ``fault``.
    quiet : Out(1)
        The DMA is idle.
    drained : Out(1)
        The queues are empty and all work is done; the program may still be read.
    fault : Out(Fault)
    queues : In(QueueState), one for each queue
    read_ended, read_held_up, read_illegal, read_endless, read_address : In
        State of the program reader.
    queues_empty : In(1)
    hwc_state, hwc_fault : In, one for each HWC
    hwcs_cleared, waits_for_hwcs : In(1)
        State of the compute queue.
    {load,store,program}_idle, {load,store,program}_error, {load,store,program}_error_address : In
        State of the DMA.
    progress : In(1)
        An access, a command or an HWC made progress in this cycle.
    counting : Out
        See `EVENTS`.
    """

    def __init__(self, *, hwcs: int) -> None:
        self._hwcs = hwcs
        ports: dict[str, object] = {
            "start": In(1),
            "abort": In(1),
            "watchdog": In(32),
            "busy": Out(1),
            "halt": Out(1),
            "ended": Out(1),
            "quiet": Out(1),
            "drained": Out(1),
            "fault": Out(Fault),
            "queues": In(QueueState()).array(len(WORKING_QUEUES)),
            "read_ended": In(1),
            "read_held_up": In(1),
            "read_illegal": In(1),
            "read_endless": In(1),
            "read_address": In(32),
            "queues_empty": In(1),
            "hwc_state": In(STATUS).array(hwcs),
            "hwc_fault": In(32).array(hwcs),
            "hwcs_cleared": In(1),
            "waits_for_hwcs": In(1),
            "progress": In(1),
            "counting": Out(data.ArrayLayout(hwcs.bit_length(), len(EVENTS))),
        }
        for name in CHANNELS:
            ports |= {f"{name}_idle": In(1), f"{name}_error": In(ERROR), f"{name}_error_address": In(32)}
        super().__init__(ports)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        rests = Signal()
        m.d.comb += rests.eq(~self.busy)
        tokens = TokenCounters()
        m.submodules.tokens = ResetInserter(rests)(tokens)
        for queue in WORKING_QUEUES:
            m.d.comb += [
                tokens.takes[queue].eq(self.queues[queue].takes),
                tokens.posts[queue].eq(self.queues[queue].posts),
                self.queues[queue].available.eq(tokens.available[queue]),
            ]
        working = Signal(self._hwcs)
        m.d.comb += [
            working.eq(Cat(state.busy for state in self.hwc_state)),
            self.quiet.eq(self.load_idle & self.store_idle & self.program_idle),
        ]
        since, tired = Signal(32), Signal()
        m.d.comb += tired.eq((self.watchdog != 0) & (since >= self.watchdog))
        with m.If(~self.busy | self.progress):
            m.d.sync += since.eq(0)
        with m.Elif(~tired):
            m.d.sync += since.eq(since + 1)

        # An HWC's error is here a cycle after the queue may have begun with the next command.
        blamed = Signal(32)
        m.d.sync += blamed.eq(self.queues[Queue.COMPUTE].address)
        reasons = self._reasons(tokens, tired, blamed)
        faulty, rested, complete = Signal(), Signal(), Signal()
        queues_idle = Cat(queue.idle for queue in self.queues).all() & self.queues_empty
        m.d.comb += [
            faulty.eq(Cat(reason.happens for reason in reasons).any()),
            rested.eq(self.quiet & (working == 0)),
            complete.eq(self.read_ended & queues_idle & rested),
            self.drained.eq(queues_idle & self.load_idle & self.store_idle & (working == 0)),
        ]
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), self.halt.eq(0), self.fault.as_value().eq(0)]
        with m.Elif(self.busy):
            with m.If(self.halt):
                with m.If(rested | tired):
                    m.d.comb += self.ended.eq(1)
                    m.d.sync += self.busy.eq(0)
            with m.Elif(faulty):
                m.d.sync += [self.halt.eq(1), since.eq(0)]
                for reason in reversed(reasons):
                    with m.If(reason.happens):
                        m.d.sync += [
                            self.fault.error.eq(reason.error),
                            self.fault.detail.eq(reason.detail),
                            self.fault.address.eq(reason.address),
                            self.fault.command.eq(reason.command),
                        ]
            with m.Elif(complete):
                m.d.comb += self.ended.eq(1)
                m.d.sync += self.busy.eq(0)
        self._count(m, working)
        return m

    def _reasons(self, tokens: TokenCounters, tired: Signal, blamed: Signal) -> list[_Reason]:
        """All faults, highest priority first; ``blamed`` is the address of the command that an HWC's error is of."""
        queues = self.queues
        reasons = [
            _Reason(
                ClusterError[name.upper()],
                getattr(self, f"{name}_error") != DmaError.NONE,
                self.read_address if name == "program" else queues[Queue[name.upper()]].address,
                getattr(self, f"{name}_error_address"),
                getattr(self, f"{name}_error"),
            )
            for name in CHANNELS
        ]
        for i, (state, address) in enumerate(zip(self.hwc_state, self.hwc_fault, strict=True)):
            failed = (state.error != HwcError.NONE) & self.hwcs_cleared
            detail = Cat(state.error, Value.cast(i))
            reasons.append(_Reason(ClusterError.HWC, failed, blamed, address, detail))
        reasons += [
            _Reason(ClusterError.ILLEGAL_COMMAND, self.read_illegal, self.read_address),
            _Reason(ClusterError.PROGRAM_WITHOUT_END, self.read_endless, self.read_address),
        ]
        for queue in WORKING_QUEUES:
            overflow = tokens.overflow[queue]
            reasons.append(_Reason(ClusterError.TOO_MANY_TOKENS, overflow, queues[queue].address))
        for queue in (Queue.COMPUTE, Queue.LOAD, Queue.STORE):
            stuck = tired & (queues[queue].waits != 0)
            reasons.append(_Reason(ClusterError.WATCHDOG, stuck, queues[queue].address))
        reasons.append(_Reason(ClusterError.WATCHDOG, tired, queues[Queue.COMPUTE].address))
        reasons.append(_Reason(ClusterError.ABORTED, self.abort, queues[Queue.COMPUTE].address))
        return reasons

    def _count(self, m: Module, working: Signal) -> None:
        """Increments of the event counters in this cycle."""
        number = Signal(range(self._hwcs + 1))
        m.d.comb += number.eq(sum((bit for bit in working), Value.cast(0)))
        events: dict[str, ValueLike] = {
            "busy_load": ~self.load_idle,
            "busy_compute": working != 0,
            "busy_store": ~self.store_idle,
            "busy_hwcs": number,
            "wait_hwcs": self.waits_for_hwcs,
            "wait_queue": self.read_held_up,
        }
        for waiting in WORKING_QUEUES:
            for other in WORKING_QUEUES:
                if other != waiting:
                    name = f"wait_{waiting.name}_for_{other.name}".lower()
                    events[name] = self.queues[waiting].waits[other]
        m.d.comb += [self.counting[i].eq(events[name]) for i, name in enumerate(EVENTS)]
