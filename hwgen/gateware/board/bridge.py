"""The bridge from the bytes of a host to the memory and the registers of a design."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.serial import DESIGN_IDENTITY, HEADER_BYTES, Ask, Room, Told
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["Bridge"]

BYTE = 8
COUNT_BITS = 16


class Bridge(wiring.Component):
    """A bridge that does one request of `hwgen.arch.serial` after the other, word by word.

    While it does one, bytes that come are dropped; the words of a write come in between accesses. A break makes it
    forget a request, once the access under way and the byte that is being sent have ended.

    Parameters
    ----------
    digest
        What the design was generated from, as 32 bits.
    memory_bytes
        Of the memory.

    Members
    -------
    i_byte : In(stream), always ready
        What the host sends.
    broken : In(1)
        A pulse: the host has sent a break.
    o_byte : Out(stream)
        What the host is to get.
    memory : Out(TcdmSignature)
        To the memory; byte addresses from 0 on.
    cfg : Out(TcdmSignature)
        To the registers; byte addresses from 0 on. Both answer writes as well as reads.
    busy : Out(1)
        A request is under way.
    """

    i_byte: In(stream.Signature(BYTE, always_ready=True))
    broken: In(1)
    o_byte: Out(stream.Signature(BYTE))
    memory: Out(TcdmSignature())
    cfg: Out(TcdmSignature())
    busy: Out(1)

    def __init__(self, *, digest: int, memory_bytes: int) -> None:
        super().__init__()
        self._words = (DESIGN_IDENTITY, digest, memory_bytes)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        given, sent = self.i_byte, self.o_byte
        writes, abandoned, refused = Signal(), Signal(), Signal()
        address, count = Signal(WORD_BITS), Signal(COUNT_BITS)
        word, total = Signal(WORD_BITS), Signal(BYTE)
        number = Signal(range(HEADER_BYTES))
        ports = {Room.MEMORY: self.memory, Room.REGISTERS: self.cfg}
        room = address[30:]
        inside = {Room.MEMORY: address[:31], Room.REGISTERS: address[:30]}
        for which, port in ports.items():
            m.d.comb += [port.add.eq(inside[which]), port.wen.eq(~writes), port.be.eq(~0), port.wdata.eq(word)]
        last = number == WORD_BYTES - 1
        with m.If(self.broken):
            m.d.sync += abandoned.eq(1)
        with m.FSM() as states:
            m.d.comb += self.busy.eq(~states.ongoing("Command"))
            with m.State("Command"):
                m.d.sync += [number.eq(0), total.eq(0), refused.eq(0), abandoned.eq(0)]
                with m.If(given.valid):
                    m.d.sync += writes.eq(given.payload == Ask.WRITE)
                    with m.Switch(given.payload):
                        with m.Case(Ask.READ, Ask.WRITE):
                            m.next = "Header"
                        with m.Case(Ask.NOTHING):
                            pass
                        with m.Default():
                            m.next = "Unknown"
            with m.State("Header"):
                with m.If(given.valid):
                    m.d.sync += Cat(address, count).eq(Cat(Cat(address, count)[BYTE:], given.payload))
                    m.d.sync += number.eq(number + 1)
                    with m.If(number == HEADER_BYTES - 1):
                        m.d.sync += number.eq(0)
                        m.next = "Next"
                self._forget(m, abandoned)
            with m.State("Next"):
                with m.If(count == 0):
                    m.next = "Status"
                with m.Elif(writes):
                    m.next = "Collect"
                with m.Else():
                    m.next = "Ask"
            with m.State("Collect"):
                with m.If(given.valid):
                    m.d.sync += [
                        word.eq(Cat(word[BYTE:], given.payload)),
                        total.eq(total + given.payload),
                        number.eq(Mux(last, 0, number + 1)),
                    ]
                    with m.If(last):
                        m.next = "Ask"
                self._forget(m, abandoned)
            with m.State("Ask"), m.Switch(room):
                for which, port in ports.items():
                    with m.Case(*((0, 1) if which is Room.MEMORY else (which.value,))):
                        m.d.comb += port.req.eq(1)
                        with m.If(port.gnt):
                            m.next = "Wait"
                with m.Case(Room.DESIGN):
                    m.d.sync += refused.eq(refused | writes | (address[2:30] >= len(self._words)))
                    with m.If(~writes), m.Switch(address[2:4]):
                        for at, value in enumerate(self._words):
                            with m.Case(at):
                                m.d.sync += word.eq(value)
                        with m.Default():
                            m.d.sync += word.eq(0)
                    m.next = "Answered"
            with m.State("Wait"):
                for port in ports.values():
                    with m.If(port.r_valid):
                        m.d.sync += refused.eq(refused | port.r_opc)
                        with m.If(~writes):
                            m.d.sync += word.eq(port.r_rdata)
                        m.next = "Answered"
            with m.State("Answered"):
                m.d.sync += [address.eq(address + WORD_BYTES), count.eq(count - 1)]
                m.next = "Next"
                with m.If(~writes):
                    m.next = "Send"
                self._forget(m, abandoned)
            with m.State("Send"):
                m.d.comb += [sent.valid.eq(1), sent.payload.eq(word[:BYTE])]
                with m.If(sent.ready):
                    m.d.sync += [
                        word.eq(word >> BYTE),
                        total.eq(total + word[:BYTE]),
                        number.eq(Mux(last, 0, number + 1)),
                    ]
                    with m.If(last):
                        m.next = "Next"
                    self._forget(m, abandoned)
            for state, byte, following in (
                ("Status", Mux(refused, Told.REFUSED, Told.DONE), "Sum"),
                ("Sum", total, "Command"),
                ("Unknown", Told.UNKNOWN, "Command"),
            ):
                with m.State(state):
                    m.d.comb += [sent.valid.eq(1), sent.payload.eq(byte)]
                    with m.If(sent.ready):
                        m.next = following
                        self._forget(m, abandoned)
        return m

    @staticmethod
    def _forget(m: Module, abandoned: Signal) -> None:
        """The next state is the first one after a break."""
        with m.If(abandoned):
            m.next = "Command"
