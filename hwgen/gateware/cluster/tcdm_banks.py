"""The tightly coupled data memory of a cluster: word-interleaved banks shared by many masters."""

from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.tcdm import TcdmParameters
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["TcdmBanks", "TcdmPorts", "join_port"]


class TcdmPorts(wiring.Signature):
    """The ports of several masters: each signal of `TcdmSignature` for all masters, packed from bit 0 up.

    Parameters
    ----------
    masters
        How many.
    """

    def __init__(self, masters: int) -> None:
        words, enables = data.ArrayLayout(32, masters), data.ArrayLayout(WORD_BYTES, masters)
        super().__init__(
            {
                "req": Out(masters),
                "gnt": In(masters),
                "add": Out(words),
                "wen": Out(masters),
                "be": Out(enables),
                "wdata": Out(words),
                "r_valid": In(masters),
                "r_opc": In(masters),
                "r_rdata": In(words),
            }
        )


def join_port(m: Module, port: wiring.PureInterface, ports: wiring.PureInterface, index: int) -> None:
    """Connect a master's port (`TcdmSignature`) as number ``index`` of several."""
    for name, member in TcdmSignature().members.items():
        one, several = getattr(port, name), getattr(ports, name)[index]
        m.d.comb += several.eq(one) if member.flow is Out else one.eq(several)


class TcdmBanks(wiring.Component):
    """Connects masters to banks. Word w is in bank w modulo the number of banks.

    A bank serves one request a cycle. Each bank has a round-robin arbiter: of several requesting masters it grants
    the next one after the master that it granted last; the others wait. The answer follows one cycle after the grant.
    An access outside of the memory is granted at once and answered with an error; it writes nothing.

    Parameters
    ----------
    parameters
        Generation-time parameters of the memory.

    Members
    -------
    ports : In(TcdmPorts)
    clear : In(1)
        Set the counters to zero.
    conflicts : Out
        For each master, the cycles in which its request waited for another master's.
    """

    def __init__(self, parameters: TcdmParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "ports": In(TcdmPorts(parameters.masters)),
                "clear": In(1),
                "conflicts": Out(data.ArrayLayout(32, parameters.masters)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        ports, masters = self.ports, range(self.parameters.masters)
        select = self.parameters.banks.bit_length() - 1
        outside = Signal(self.parameters.masters)
        layout = data.StructLayout(
            {"line": range(self.parameters.depth), "reads": 1, "enable": WORD_BYTES, "data": 8 * WORD_BYTES}
        )
        requests = [Signal(layout, name=f"asked_{i}") for i in masters]
        wanted = [Signal(self.parameters.banks, name=f"wanted_{i}") for i in masters]
        for i in masters:
            with m.If(ports.req[i]):
                m.d.comb += [
                    requests[i].line.eq(ports.add[i][2 + select :]),
                    requests[i].reads.eq(ports.wen[i]),
                    requests[i].enable.eq(Mux(ports.wen[i], 0, ports.be[i])),
                    requests[i].data.eq(ports.wdata[i]),
                ]
                with m.If(ports.add[i] < self.parameters.size):
                    m.d.comb += wanted[i].eq(C(1, self.parameters.banks) << ports.add[i][2 : 2 + select])
                with m.Else():
                    m.d.comb += outside[i].eq(1)
        served = [self._one_bank(m, number, wanted, requests) for number in range(self.parameters.banks)]
        grants, answers = [grant for grant, _ in served], [answer for _, answer in served]
        m.d.comb += ports.gnt.eq(reduce(or_, grants) | outside)
        m.d.sync += [ports.r_valid.eq(ports.req & ports.gnt), ports.r_opc.eq(outside)]
        for i in masters:
            # In most cycles few masters read, and a simulator skips the other branches.
            source, reads = Signal(select, name=f"source_{i}"), Signal(name=f"reads_{i}")
            m.d.sync += reads.eq(ports.req[i] & ports.gnt[i] & ports.wen[i])
            with m.If(ports.req[i]):
                m.d.sync += source.eq(ports.add[i][2 : 2 + select])
            with m.If(reads), m.Switch(source):
                for number, answer in enumerate(answers):
                    with m.Case(number):
                        m.d.comb += ports.r_rdata[i].eq(answer)
        self._count(m)
        return m

    def _one_bank(self, m: Module, number: int, wanted: list[Signal], requests: list[Signal]) -> tuple[Signal, Value]:
        """One bank: the granted master of this cycle (one-hot), and the data read in the last cycle."""
        count = self.parameters.masters
        memory = Memory(shape=8 * WORD_BYTES, depth=self.parameters.depth, init=[])
        m.submodules[f"bank_{number}"] = memory
        read, write = memory.read_port(), memory.write_port(granularity=8)
        wants, grant = Signal(count, name=f"wants_{number}"), Signal(count, name=f"grant_{number}")
        # Masters after the one that was granted last have priority.
        behind, chosen = Signal(count, name=f"behind_{number}"), Signal(count, name=f"chosen_{number}")
        request = Signal.like(requests[0], name=f"request_{number}")
        m.d.comb += [
            wants.eq(Cat(wanted[i][number] for i in range(count))),
            read.en.eq(request.reads),
            read.addr.eq(request.line),
            write.addr.eq(request.line),
            write.data.eq(request.data),
            write.en.eq(request.enable),
        ]
        with m.If(wants != 0):
            m.d.comb += [
                chosen.eq(Mux((wants & behind) != 0, wants & behind, wants)),
                grant.eq(chosen & (~chosen + 1)),
            ]
            m.d.sync += behind.eq(~((grant << 1) - 1))
            with m.Switch(grant):
                for i, asked in enumerate(requests):
                    with m.Case(1 << i):
                        m.d.comb += request.eq(asked)
        return grant, read.data

    def _count(self, m: Module) -> None:
        waits = Signal(self.parameters.masters)
        m.d.comb += waits.eq(self.ports.req & ~self.ports.gnt)
        with m.If(self.clear):
            m.d.sync += self.conflicts.as_value().eq(0)
        with m.Elif(waits != 0):
            for i in range(self.parameters.masters):
                with m.If(waits[i]):
                    m.d.sync += self.conflicts[i].eq(self.conflicts[i] + 1)
