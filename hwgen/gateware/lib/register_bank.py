"""Decodes a configuration port: any bank of registers that `hwgen.arch.registers` describes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.registers.bank import HELD, Access, Bank, Content, Field, Register
from hwgen.arch.registers.errors import ERROR_BITS, Refusal
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["ERROR", "InnerWrite", "RegisterBank", "layout_of", "settings_signature"]

ERROR = unsigned(ERROR_BITS)
"""An error code of any block."""


def layout_of(register: Content) -> data.FlexibleLayout:
    """The fields of a register as the layout of its value."""
    fields = {field.name: data.Field(unsigned(field.width), field.low) for field in register.fields}
    return data.FlexibleLayout(register.width, fields)


def settings_signature(registers: Iterable[Register]) -> wiring.Signature:
    """The values of some registers that software writes, one port each, seen from the bank that holds them."""
    signals = (signal for register in registers for signal in register.signals(*HELD))
    return wiring.Signature({name: Out(field.width) for name, field in signals})


class InnerWrite(wiring.Signature):
    """A write to a register from inside of the block, seen from the one that writes.

    Members
    -------
    write : Out(1)
    address : Out(12)
    data : Out(32)
    """

    def __init__(self) -> None:
        super().__init__({"write": Out(1), "address": Out(12), "data": Out(WORD_BITS)})


_UNSEEN = (Access.WO, Access.PULSE)
"""What reads zero."""


@dataclass(frozen=True)
class _Names:
    """Which register an address names.

    Members
    -------
    bank : the registers.
    of : for each of them, by its name, whether it is the one. The address is that of the port.
    """

    bank: Bank
    of: Mapping[str, Signal]

    def any(self, registers: Iterable[Register]) -> Value:
        """Whether it is one of these."""
        return Cat(self.of[register.name] for register in registers).any()

    def writes(self, value: Value, mask: Callable[[Register], int]) -> Value:
        """Whether the value has a one in the bits that ``mask`` has of the register; of each mask there is one."""
        found: dict[int, list[Register]] = {}
        for register in self.bank:
            found.setdefault(mask(register) & ((1 << WORD_BITS) - 1), []).append(register)
        parts = [self.any(registers) & ((value & bits) != 0) for bits, registers in found.items() if bits]
        return Cat(parts).any()


class RegisterBank(wiring.Component):
    """The configuration port of a block: a decoder for its registers.

    Every access is granted at once, decoded, acts in the next cycle, and is answered in the one after that. So
    accesses in consecutive cycles act in order: a read shows what the write before it did. A read answers the
    register's value. A write sets the value (``rw``, ``wo``), gives a pulse (``pulse``), or clears the bits that are
    written as ones (``w1c``), unless it is refused. These accesses are refused, the first reason counts:

    - to an address without a register;
    - a write to a register of read-only fields;
    - a write of a one to a bit that no writable field has, or of less than a whole word;
    - while ``busy``, a write to a register that has ``rw`` or ``wo`` fields, or of a pulse that is not allowed then;
      where a start can wait for the end of a run, while one waits (``full``).

    A refused access is answered with ``r_opc`` and has no other effect. All that does not depend on ``busy`` and
    ``full`` is decided with the address, and stands in registers where the access acts.

    The ports are grouped by access; within a group each field has a port named as `Bank.signals` says.

    Parameters
    ----------
    bank
        The registers.
    inner
        Names of registers that the block itself may write as well.

    Members
    -------
    port : In(TcdmSignature)
    inner : In(InnerWrite)
        If there are such registers: a write of the block. It acts in its cycle and is not checked.
    busy : In(1)
        The block runs.
    full : In(1)
        A start waits for its end.
    address, data : Out(32), writes : Out(1)
        The access that acts in this cycle, if ``acts`` is set, and whether it writes.
    acts : Out(1)
    held : Out
        Values of ``rw`` and ``wo`` fields.
    written : Out
        For each of these fields: it is written in this cycle. The value is ``data``; ``held`` has it a cycle later.
    shown : In
        What ``ro`` fields read; those that are constant have no port.
    pulses : Out
        A one is written to the ``pulse`` field in this cycle.
    events : In
        Bits of ``w1c`` fields to be set; an event in the cycle in which software clears its bit is kept.
    flags : Out
        Values of ``w1c`` fields.
    refusal : Out(ERROR)
        Why the access of this cycle is refused; 0 if it is not, or if there is none.
    refused : Out(1)
        A write is refused in this cycle. A refused read has nothing to say about what is written: its answer is all.
    """

    def __init__(self, bank: Bank, inner: Collection[str] = ()) -> None:
        self.bank = bank
        self._inner = frozenset(inner)
        # The whole address is compared once. An accepted write is to some register: the low bits tell which.
        self._address_bits = max(bank.registers[-1].address.bit_length(), 1)
        super().__init__(
            {
                "port": In(TcdmSignature()),
                **({"inner": In(InnerWrite())} if self._inner else {}),
                "busy": In(1),
                "full": In(1),
                "address": Out(32),
                "data": Out(32),
                "writes": Out(1),
                "acts": Out(1),
                "held": self._group(Out, *HELD),
                "written": Out(wiring.Signature({name: Out(1) for name, _ in bank.signals(*HELD)})),
                "shown": self._group(In, Access.RO),
                "pulses": self._group(Out, Access.PULSE),
                "events": self._group(In, Access.W1C),
                "flags": self._group(Out, Access.W1C),
                "refusal": Out(ERROR),
                "refused": Out(1),
            }
        )

    def _group(self, flow: wiring.Flow, *access: Access) -> wiring.Member:
        return flow(wiring.Signature({name: Out(field.width) for name, field in self.bank.signals(*access)}))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        port = self.port
        m.d.comb += port.gnt.eq(1)
        names = self._decode(m)
        inside = Cat(port.add[: WORD_BYTES.bit_length() - 1], port.add[self._address_bits :]) == 0
        # Of the access on the port, for the next cycle, in which it acts.
        write, value = ~port.wen, port.wdata
        not_writable = ~names.any(register for register in self.bank if register.writable)
        too_wide = names.writes(value, lambda register: ~register.written_mask) | ~port.be.all()
        idle = names.any(register for register in self.bank if register.idle)
        idle |= names.writes(value, lambda register: register.idle_mask)
        queues = names.any(register for register in self.bank if register.queues)
        queues |= names.writes(value, lambda register: register.queue_mask)
        wrong, waits_idle, waits_queue = Signal(ERROR), Signal(), Signal()
        m.d.sync += [
            self.acts.eq(port.req),
            self.address.eq(port.add),
            self.data.eq(value),
            self.writes.eq(port.req & write),
            waits_idle.eq(write & idle),
            waits_queue.eq(write & queues),
            wrong.eq(
                Mux(
                    ~(inside & names.any(self.bank)),
                    Refusal.UNKNOWN_REGISTER,
                    Mux(
                        write & not_writable,
                        Refusal.READ_ONLY_REGISTER,
                        Mux(write & too_wide, Refusal.VALUE_TOO_WIDE, Refusal.NONE),
                    ),
                )
            ),
        ]
        chosen = {register.name: Signal(name=f"is_{register.name}") for register in self.bank}
        m.d.sync += [chosen[name].eq(named) for name, named in names.of.items()]
        self._act(m, chosen, wrong, (self.busy & waits_idle) | (self.full & waits_queue))
        return m

    def _act(self, m: Module, chosen: Mapping[str, Signal], wrong: Signal, waits: Value) -> None:
        """What the access that was decoded does, and its answer. An address without a register may choose one."""
        port, refuses, accepted = self.port, Signal(), Signal()
        m.d.comb += [
            refuses.eq((wrong != Refusal.NONE) | waits),
            self.refused.eq(self.writes & refuses),
            accepted.eq(self.writes & ~refuses),
        ]
        with m.If(self.acts & refuses):
            m.d.comb += self.refusal.eq(Mux(wrong != Refusal.NONE, wrong, Refusal.WRITTEN_WHILE_BUSY))
        m.d.sync += [port.r_valid.eq(self.acts), port.r_opc.eq(self.acts & refuses)]
        self._answer_reads(m, chosen, wrong != Refusal.UNKNOWN_REGISTER)
        for register in self.bank:
            if register.writable:
                self._write(m, register, accepted & chosen[register.name])

    def _decode(self, m: Module) -> _Names:
        """Which register the address names, by its low bits: the others are compared once."""
        found = {register.name: Signal(name=f"names_{register.name}") for register in self.bank}
        low = WORD_BYTES.bit_length() - 1
        for register in self.bank:
            place = self.port.add[low : self._address_bits]
            m.d.comb += found[register.name].eq(place == register.address >> low)
        return _Names(self.bank, found)

    def _answer_reads(self, m: Module, chosen: Mapping[str, Signal], known: Value) -> None:
        """The answer to a read: zero where nothing can be read."""
        shown = [register for register in self.bank if not set(_UNSEEN).issuperset(f.access for f in register.fields)]
        values = [Mux(chosen[register.name], self._read(register), 0) for register in shown]
        with m.If(self.acts):
            m.d.sync += self.port.r_rdata.eq(Mux(known, reduce(or_, values, Const(0)), 0))

    def _read(self, register: Register) -> Value:
        """What a register reads."""
        names = {field.name: name for name, field in register.signals(*Access)}
        parts: list[Value] = []
        bit = 0
        for field in register.fields:
            if field.low > bit:
                parts.append(Const(0, field.low - bit))
            parts.append(self._value(names.get(field.name), field))
            bit = field.low + field.width
        return Cat(*parts)

    def _value(self, name: str | None, field: Field) -> Value:
        """What a field reads; a constant has no name."""
        if name is None:
            return Const(field.reset, field.width)
        match field.access:
            case Access.RW:
                return getattr(self.held, name)
            case Access.RO:
                return getattr(self.shown, name)
            case Access.W1C:
                return getattr(self.flags, name)
            case Access.WO | Access.PULSE:
                return Const(0, field.width)

    def _write(self, m: Module, register: Register, enable: Value) -> None:
        """What an accepted write to a register does."""
        written = Signal(name=f"writes_{register.name}")
        m.d.comb += written.eq(enable)
        for name, field in register.signals(*Access):
            value = self.data[field.low : field.low + field.width]
            match field.access:
                case Access.RW | Access.WO:
                    held = Signal(field.width, name=name, init=field.reset)
                    m.d.comb += [getattr(self.held, name).eq(held), getattr(self.written, name).eq(written)]
                    with m.If(written):
                        m.d.sync += held.eq(value)
                    if register.name in self._inner:
                        with m.If(self.inner.write & (self.inner.address == register.address)):
                            m.d.sync += held.eq(self.inner.data[field.low : field.low + field.width])
                case Access.PULSE:
                    m.d.comb += getattr(self.pulses, name).eq(written & value)
                case Access.W1C:
                    flags = getattr(self.flags, name)
                    cleared = Signal(field.width, name=f"clears_{name}")
                    with m.If(written):
                        m.d.comb += cleared.eq(value)
                    m.d.sync += flags.eq((flags & ~cleared) | getattr(self.events, name))
