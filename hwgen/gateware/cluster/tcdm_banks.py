"""The tightly coupled data memory of a cluster: word-interleaved banks shared by many masters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.cluster import REMEMBERED, TcdmParameters
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["TcdmBanks", "TcdmPorts", "join_port"]


def _side_by_side(widths: Sequence[int]) -> data.FlexibleLayout:
    """Fields of these widths, packed from bit 0 up, by their numbers."""
    fields = {i: data.Field(width, sum(widths[:i])) for i, width in enumerate(widths)}
    return data.FlexibleLayout(sum(widths), fields)


class TcdmPorts(wiring.Signature):
    """The ports of several masters: each signal of `TcdmSignature` for all masters, packed from bit 0 up.

    Parameters
    ----------
    words
        For each master, the words of 32 bits that an access moves.
    """

    def __init__(self, words: Sequence[int]) -> None:
        masters, addresses = len(words), data.ArrayLayout(32, len(words))
        values = _side_by_side([WORD_BITS * number for number in words])
        enables = _side_by_side([WORD_BYTES * number for number in words])
        super().__init__(
            {
                "req": Out(masters),
                "gnt": In(masters),
                "add": Out(addresses),
                "wen": Out(masters),
                "be": Out(enables),
                "wdata": Out(values),
                "r_valid": In(masters),
                "r_opc": In(masters),
                "r_rdata": In(values),
            }
        )


def join_port(m: Module, port: wiring.PureInterface, ports: wiring.PureInterface, index: int) -> None:
    """Connect a master's port (`TcdmSignature`) as number ``index`` of several."""
    for name, member in TcdmSignature().members.items():
        one, several = getattr(port, name), getattr(ports, name)[index]
        m.d.comb += several.eq(one) if member.flow is Out else one.eq(several)


@dataclass(frozen=True)
class _Contest:
    """The masters whose accesses take ``words`` adjacent banks, and some such banks.

    Members
    -------
    wants : of each master, whether it asks for these banks.
    grant : the one of them that gets them if its turn has come (one-hot).
    """

    words: int
    first: int
    wants: Signal
    grant: Signal


class TcdmBanks(wiring.Component):
    """Connects masters to banks. Word w is in bank w modulo the number of banks.

    A bank serves one request a cycle. A request for several words takes adjacent banks, all of them in one cycle.
    Steady masters go before others, and others the next time, so that each waits a bounded time. Of either kind with
    words of the same width a round-robin arbiter grants the next one after the master that it granted last. Where
    requests of different widths want the same bank, a wider one goes first, and narrower ones the next time; but
    narrower ones that are steady go before it, at most as often in a row as it has words. A port is wide where it is
    the one that a block waits for: weights above all. A steady port is that of the DMA, for which the DRAM would have
    to wait. The answer follows one cycle after the grant.
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
                "ports": In(TcdmPorts(parameters.words_of)),
                "clear": In(1),
                "conflicts": Out(data.ArrayLayout(32, parameters.masters)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        ports, words = self.ports, self.parameters.words_of
        select = self.parameters.banks.bit_length() - 1
        outside = Signal(self.parameters.masters)
        requests = [Signal(self._request(number), name=f"asked_{i}") for i, number in enumerate(words)]
        wanted = [Signal(self.parameters.banks, name=f"wanted_{i}") for i in range(len(words))]
        for i, number in enumerate(words):
            within, mine = number.bit_length() - 1, (1 << number) - 1
            with m.If(ports.req[i]):
                m.d.comb += [
                    requests[i].line.eq(ports.add[i][2 + select :]),
                    requests[i].reads.eq(ports.wen[i]),
                    requests[i].enable.eq(Mux(ports.wen[i], 0, ports.be[i])),
                    requests[i].data.eq(ports.wdata[i]),
                ]
                with m.If(ports.add[i] < self.parameters.size):
                    first = Cat(C(0, within), ports.add[i][2 + within : 2 + select])
                    m.d.comb += wanted[i].eq(C(mine, self.parameters.banks) << first)
                with m.Else():
                    m.d.comb += outside[i].eq(1)
        grants = self._grants(m, wanted)
        answers = [self._one_bank(m, bank, grant, requests) for bank, grant in enumerate(grants)]
        m.d.comb += ports.gnt.eq(reduce(or_, grants) | outside)
        m.d.sync += [ports.r_valid.eq(ports.req & ports.gnt), ports.r_opc.eq(outside)]
        for i, number in enumerate(words):
            # In most cycles few masters read, and a simulator skips the other branches.
            within = number.bit_length() - 1
            source, reads = Signal(select - within, name=f"source_{i}"), Signal(name=f"reads_{i}")
            m.d.sync += reads.eq(ports.req[i] & ports.gnt[i] & ports.wen[i])
            with m.If(ports.req[i]):
                m.d.sync += source.eq(ports.add[i][2 + within : 2 + select])
            groups = [Cat(answers[first : first + number]) for first in range(0, len(answers), number)]
            with m.If(reads), m.Switch(source):
                for at, answer in enumerate(groups):
                    with m.Case(at) if len(groups) > 1 else m.Default():
                        m.d.comb += ports.r_rdata[i].eq(answer)
        self._count(m)
        return m

    def _request(self, words: int) -> data.StructLayout:
        depth = self.parameters.depth
        return data.StructLayout(
            {"line": range(depth), "reads": 1, "enable": WORD_BYTES * words, "data": WORD_BITS * words}
        )

    def _grants(self, m: Module, wanted: list[Signal]) -> list[Value]:
        """The granted master of each bank in this cycle (one-hot)."""
        banks, widths = self.parameters.banks, sorted(set(self.parameters.words_of), reverse=True)
        contests = {
            words: [self._contest(m, words, first, wanted) for first in range(0, banks, words)] for words in widths
        }
        taken: list[Value] = [C(0, 1)] * banks
        grants: list[Value] = [C(0, self.parameters.masters)] * banks
        for words in widths:
            for one in contests[words]:
                narrower = [
                    other.wants
                    for width in widths
                    if width < words
                    for other in contests[width][one.first // width : (one.first + words) // width]
                ]
                wins: Value = one.wants != 0
                if words < widths[0] or narrower:
                    wins = self._turn(m, one, taken[one.first], narrower)
                self._settle(m, one, wins)
                for bank in range(one.first, one.first + words):
                    if words > widths[-1]:
                        taken[bank] = taken[bank] | wins
                    grants[bank] = one.grant if words == widths[0] else grants[bank] | one.grant
        return grants

    def _contest(self, m: Module, words: int, first: int, wanted: list[Signal]) -> _Contest:
        name = f"{first}" if words == 1 else f"{words}_from_{first}"
        wants = Signal(len(wanted), name=f"wants_{name}")
        masters = [i for i, number in enumerate(self.parameters.words_of) if number == words]
        m.d.comb += wants.eq(Cat(one[first] if i in masters else C(0, 1) for i, one in enumerate(wanted)))
        return _Contest(words, first, wants, Signal(len(wanted), name=f"grant_{name}"))

    def _turn(self, m: Module, contest: _Contest, taken: Value, narrower: list[Signal]) -> Value:
        """Whether the masters of a contest get their banks, of which wider requests may have taken some.

        They go before narrower ones, which go before them the next time. Narrower ones that are steady go before
        them, as long as `_lets_pass` has it.
        """
        name = f"{contest.words}_from_{contest.first}"
        wins, asks = Signal(name=f"wins_{name}"), (contest.wants != 0) & ~taken
        if not narrower:
            m.d.comb += wins.eq(asks)
            return wins
        won = Signal(name=f"won_{name}")
        wanted = reduce(or_, narrower)
        is_steady = Cat(C(i in self.parameters.steady, 1) for i in range(len(wanted)))
        steady, others = (wanted & is_steady) != 0, (wanted & ~is_steady) != 0
        lets_pass = self._lets_pass(m, contest, asks, wins, steady)
        m.d.comb += wins.eq(asks & ~(steady & lets_pass | others & won))
        with m.If(asks):
            m.d.sync += won.eq(wins & others)
        return wins

    def _lets_pass(self, m: Module, contest: _Contest, asks: Value, wins: Value, steady: Value) -> Value:
        """Whether a wide access lets narrower steady ones go before it.

        Where these move as much in a cycle together as it does, it does so as many times in a row as it has words:
        the ports that move a line may come one after the other, and an access that let the first go before it and
        not the second would meet both at the next banks again, for as long as both go on. Where they move less, it
        does not if one has lost in the last `REMEMBERED`: two words a cycle that come upon one a cycle would
        follow it from bank to bank at its pace.
        """
        as_fast = self.parameters.steady_words >= contest.words
        most = contest.words if as_fast else REMEMBERED
        lost = Signal(range(most + 1), name=f"lost_{contest.words}_from_{contest.first}")
        with m.If(asks):
            if as_fast:
                m.d.sync += lost.eq(Mux(wins, 0, lost + (lost != most)))
                return lost != most
            with m.If(~wins):
                m.d.sync += lost.eq(REMEMBERED)
            with m.Elif(steady):
                m.d.sync += lost.eq(0)
            with m.Elif(lost != 0):
                m.d.sync += lost.eq(lost - 1)
        return lost == 0

    def _settle(self, m: Module, contest: _Contest, wins: Value) -> None:
        """Grant one of the masters whose turn it is. Of these, those after the one that was granted last go first."""
        count, name = self.parameters.masters, contest.grant.name[len("grant_") :]
        after, chosen = Signal(count, name=f"after_{name}"), Signal(count, name=f"chosen_{name}")
        turn = self._kind(m, contest, wins, name)
        may = contest.wants & turn
        with m.If(wins):
            m.d.comb += [
                chosen.eq(Mux((may & after) != 0, may & after, may)),
                contest.grant.eq(chosen & (~chosen + 1)),
            ]
            m.d.sync += after.eq(~((contest.grant << 1) - 1) & turn | after & ~turn)

    def _kind(self, m: Module, contest: _Contest, wins: Value, name: str) -> Value:
        """The masters whose turn it is, whether they ask or not: the steady ones, unless one went before others in
        the last cycle, which wait; else the others."""
        count, wants = self.parameters.masters, contest.wants
        alike = {i for i, words in enumerate(self.parameters.words_of) if words == contest.words}
        if alike <= self.parameters.steady or not alike & self.parameters.steady:
            return C(-1, count)
        is_steady = Cat(C(i in self.parameters.steady, 1) for i in range(count))
        steady, others = (wants & is_steady) != 0, (wants & ~is_steady) != 0
        passed, turn = Signal(name=f"passed_{name}"), Signal(count, name=f"turn_{name}")
        goes = steady & ~(passed & others)
        m.d.comb += turn.eq(Mux(goes, is_steady, ~is_steady))
        with m.If(wins):
            m.d.sync += passed.eq(goes & others)
        return turn

    def _one_bank(self, m: Module, number: int, grant: Value, requests: list[Signal]) -> Value:
        """One bank, which serves the granted master: the data read in the last cycle."""
        memory = Memory(shape=WORD_BITS, depth=self.parameters.depth, init=[])
        m.submodules[f"bank_{number}"] = memory
        read, write = memory.read_port(), memory.write_port(granularity=8)
        request = Signal(self._request(1), name=f"request_{number}")
        m.d.comb += [
            read.en.eq(request.reads),
            read.addr.eq(request.line),
            write.addr.eq(request.line),
            write.data.eq(request.data),
            write.en.eq(request.enable),
        ]
        with m.If(grant != 0), m.Switch(grant):
            for i, (asked, words) in enumerate(zip(requests, self.parameters.words_of, strict=True)):
                place = number % words
                own = {
                    "line": asked.line,
                    "reads": asked.reads,
                    "enable": asked.enable.word_select(place, WORD_BYTES),
                    "data": asked.data.word_select(place, WORD_BITS),
                }
                with m.Case(1 << i):
                    m.d.comb += request.eq(asked if words == 1 else Cat(own.values()))
        read_data: Value = read.data
        return read_data

    def _count(self, m: Module) -> None:
        waits = Signal(self.parameters.masters)
        m.d.comb += waits.eq(self.ports.req & ~self.ports.gnt)
        with m.If(self.clear):
            m.d.sync += self.conflicts.as_value().eq(0)
        with m.Elif(waits != 0):
            for i in range(self.parameters.masters):
                with m.If(waits[i]):
                    m.d.sync += self.conflicts[i].eq(self.conflicts[i] + 1)
