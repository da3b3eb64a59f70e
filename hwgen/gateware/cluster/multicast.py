"""Reads of one operand that several HWCs make together: one request to the memory, its answer to all of them."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS
from hwgen.arch.commands import LEADER_BITS
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["Multicast"]


class Multicast(wiring.Component):
    """Joins the HWCs' ports for one operand, at which several may read together, with the memory.

    HWCs with the same leader make the same reads in the same order. A read goes to the memory at the leader's port
    when all of them ask for it, is granted to all of them, and its answer goes to all of them. So how many there are
    depends on the program alone, and not on when each HWC asks. HWCs that ask for different addresses wait forever,
    which the cluster's watchdog ends.

    The memory answers in the cycle after the grant, as `hwgen.gateware.cluster.tcdm_banks` does.

    Parameters
    ----------
    hwcs
        Number of HWCs.
    width
        Bits of a word of the ports.

    Members
    -------
    leaders : In
        For each HWC the number of its leader, which is its own leader.
    apart : In(1)
        Every HWC reads for itself, whatever its leader.
    hwcs : In(TcdmSignature), one for each HWC
        Of ports that only read.
    memory : Out(TcdmSignature), one for each HWC
        Those of HWCs with another leader stay silent.
    """

    def __init__(self, hwcs: int, width: int = WORD_BITS) -> None:
        self._count = hwcs
        super().__init__(
            {
                "leaders": In(data.ArrayLayout(LEADER_BITS, hwcs)),
                "apart": In(1),
                "hwcs": In(TcdmSignature(width)).array(hwcs),
                "memory": Out(TcdmSignature(width)).array(hwcs),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        numbers = range(self._count)
        follows = [Signal(self._count, name=f"followers_{leader}") for leader in numbers]
        granted = [Signal(name=f"granted_{leader}") for leader in numbers]
        for leader in numbers:
            port, own = self.memory[leader], self.hwcs[leader]
            alike = Cat(~follows[leader][i] | (hwc.req & (hwc.add == own.add)) for i, hwc in enumerate(self.hwcs))
            m.d.comb += [
                *(follows[leader][i].eq(Mux(self.apart, i, self.leaders[i]) == leader) for i in numbers),
                port.req.eq(follows[leader][leader] & alike.all()),
                port.add.eq(own.add),
                port.wen.eq(1),
                port.be.eq(own.be),
                granted[leader].eq(port.req & port.gnt),
            ]
        for i, hwc in enumerate(self.hwcs):
            # Whose read was granted to this HWC in the last cycle; one at most.
            now, then = Signal(self._count, name=f"grant_{i}"), Signal(self._count, name=f"read_{i}")
            m.d.comb += [
                now.eq(Cat(granted[leader] & follows[leader][i] for leader in numbers)),
                hwc.gnt.eq(now.any()),
            ]
            m.d.sync += then.eq(now)
            for name in ("r_valid", "r_opc", "r_rdata"):
                chosen = (Mux(then[leader], getattr(self.memory[leader], name), 0) for leader in numbers)
                m.d.comb += getattr(hwc, name).eq(reduce(or_, chosen))
        return m
