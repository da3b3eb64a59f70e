"""The register bank: each kind of access does what it says, everything else is refused and changes nothing."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hwgen.arch.registers.bank import Access, Bank, BankBuilder, Content, Field, setting, value_register, write_only
from hwgen.arch.registers.errors import Refusal
from hwgen.gateware.lib.register_bank import RegisterBank, layout_of, settings_signature
from tests.gateware.simulate import simulate

IDENTITY, MIXED, AMOUNT, SIZE, LAST, HIDDEN = 0, 4, 8, 0x40, 0x44, 0x48


def sample() -> Bank:
    """A bank with every kind of access, alone and mixed in one register."""
    builder = BankBuilder("sample", "Registers of a sample")
    fields = (
        Field("go", 0, 1, Access.PULSE, "Goes"),
        Field("stop", 1, 1, Access.PULSE, "Stops", while_busy=True),
        Field("flags", 4, 3, Access.W1C, "Flags"),
        Field("amount", 8, 4, Access.RO, "Amount"),
    )
    builder.place(
        0,
        [
            value_register("identity", 32, "Identity", Access.RO, reset=0x534D504C, constant=True),
            Content("mixed", "All but held values", fields),
            value_register("amount", 7, "Amount", Access.RO),
        ],
    )
    hidden = write_only(setting("hidden", 8, "Cannot be read", 0x5A))
    builder.place(SIZE, [setting("size", 12, "Size", 9), setting("last", 32, "The last one", 0xFFFFFFFF), hidden])
    return builder.bank()


class Port:
    """One access a time; what the pulses were in the cycle in which it acted."""

    def __init__(self, ctx: Any, bank: RegisterBank) -> None:
        self.ctx, self.bank = ctx, bank
        self.pulses: dict[str, int] = {}
        self.written: dict[str, int] = {}
        self.refusal = Refusal.NONE

    async def access(self, address: int, value: int | None = None, enable: int = 0xF) -> int:
        """The data of the answer."""
        port, ctx = self.bank.port, self.ctx
        driven = ((port.req, 1), (port.add, address), (port.wen, value is None), (port.be, enable))
        for signal, content in driven:
            ctx.set(signal, content)
        ctx.set(port.wdata, value or 0)
        assert ctx.get(port.gnt) == 1
        assert not any([*self._group("pulses").values(), *self._group("written").values()])
        await ctx.tick()
        ctx.set(port.req, 0)
        self.pulses = self._group("pulses")
        self.written = self._group("written")
        self.refusal = Refusal(ctx.get(self.bank.refusal))
        assert ctx.get(self.bank.refused) == (value is not None and self.refusal is not Refusal.NONE)
        assert ctx.get(port.r_valid) == 0
        await ctx.tick()
        assert ctx.get(port.r_valid) == 1
        assert ctx.get(port.r_opc) == (self.refusal is not Refusal.NONE)
        return int(ctx.get(port.r_rdata))

    def _group(self, name: str) -> dict[str, int]:
        group = getattr(self.bank, name)
        return {member: self.ctx.get(getattr(group, member)) for member in group.signature.members}


def run(scenario: Callable[[Any, RegisterBank, Port], Awaitable[None]]) -> None:
    bank = RegisterBank(sample())

    async def bench(ctx: Any) -> None:
        await scenario(ctx, bank, Port(ctx, bank))

    simulate(bank, bench)


def test_everything_reads_its_reset_value() -> None:
    async def scenario(_ctx: Any, _bank: RegisterBank, port: Port) -> None:
        assert [await port.access(register.address) for register in sample()] == [0x534D504C, 0, 0, 9, 0xFFFFFFFF, 0]

    run(scenario)


def test_held_values_are_there_with_the_answer_and_only_theirs_change() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        await port.access(SIZE, 0xABC)
        assert port.written == {"size": 1, "last": 0, "hidden": 0}
        assert ctx.get(bank.held.size) == 0xABC
        assert await port.access(SIZE) == 0xABC
        assert port.written == {"size": 0, "last": 0, "hidden": 0}
        assert await port.access(LAST) == 0xFFFFFFFF
        await port.access(LAST, 5)
        assert [await port.access(SIZE), await port.access(LAST)] == [0xABC, 5]

    run(scenario)


def test_accesses_in_consecutive_cycles_act_in_order() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, _port: Port) -> None:
        port, answers = bank.port, []
        ctx.set(port.req, 1)
        ctx.set(port.be, 0xF)
        for address, value in (
            (SIZE, 5),
            (SIZE, None),
            (MIXED, 1 << 8),
            (SIZE, 6),
            (SIZE, None),
            (0x3C, None),
            (0, None),
        ):
            ctx.set(port.add, address)
            ctx.set(port.wen, value is None)
            ctx.set(port.wdata, value or 0)
            await ctx.tick()
            answers.append((ctx.get(port.r_valid), ctx.get(port.r_opc), ctx.get(port.r_rdata)))
        ctx.set(port.req, 0)
        await ctx.tick()
        assert ctx.get(port.r_rdata) == 0x534D504C
        assert [valid for valid, _, _ in answers] == [0, 1, 1, 1, 1, 1, 1]
        assert [refused for _, refused, _ in answers[1:]] == [0, 0, 1, 0, 0, 1]
        assert [answers[read][2] for read in (2, 5, 6)] == [5, 6, 0]

    run(scenario)


def test_what_cannot_be_read_is_held_and_reads_zero() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        assert ctx.get(bank.held.hidden) == 0x5A
        await port.access(HIDDEN, 0xA5)
        assert port.written == {"size": 0, "last": 0, "hidden": 1}
        assert await port.access(HIDDEN) == 0
        assert ctx.get(bank.held.hidden) == 0xA5
        ctx.set(bank.busy, 1)
        await port.access(HIDDEN, 1)
        assert port.refusal is Refusal.WRITTEN_WHILE_BUSY

    run(scenario)


def test_what_the_hardware_shows_is_read_in_its_field() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        ctx.set(bank.shown.amount, 0x55)
        ctx.set(bank.shown.mixed_amount, 0xC)
        assert [await port.access(AMOUNT), await port.access(MIXED)] == [0x55, 0xC00]

    run(scenario)


def test_a_pulse_lasts_the_cycle_in_which_the_write_acts_and_reads_zero() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        await port.access(MIXED, 0b01)
        assert port.pulses == {"mixed_go": 1, "mixed_stop": 0}
        assert ctx.get(bank.pulses.mixed_go) == 0
        assert await port.access(MIXED) == 0
        assert port.pulses == {"mixed_go": 0, "mixed_stop": 0}
        await port.access(MIXED, 0b10)
        assert port.pulses == {"mixed_go": 0, "mixed_stop": 1}

    run(scenario)


def test_ones_clear_flags_and_an_event_in_the_same_cycle_is_kept() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        ctx.set(bank.events.mixed_flags, 0b111)
        await ctx.tick()
        ctx.set(bank.events.mixed_flags, 0)
        assert await port.access(MIXED) == 0b111 << 4
        await port.access(MIXED, 0b010 << 4)
        assert ctx.get(bank.flags.mixed_flags) == 0b101
        await port.access(MIXED, 0)
        assert await port.access(MIXED) == 0b101 << 4
        ctx.set(bank.events.mixed_flags, 0b001)
        await port.access(MIXED, 0b101 << 4)
        ctx.set(bank.events.mixed_flags, 0)
        assert await port.access(MIXED) == 0b001 << 4

    run(scenario)


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("address", [0x3C, 0x4C, SIZE + 1, SIZE + 0x1000, SIZE + (1 << 31)])
def test_an_unknown_address_is_refused_and_reads_zero(address: int, written: bool) -> None:
    async def scenario(_ctx: Any, _bank: RegisterBank, port: Port) -> None:
        assert await port.access(address, 3 if written else None) == 0
        assert port.refusal is Refusal.UNKNOWN_REGISTER
        assert await port.access(SIZE) == 9

    run(scenario)


@pytest.mark.parametrize(
    ("address", "value", "enable", "busy", "refusal"),
    [
        (IDENTITY, 0, 0xF, 0, Refusal.READ_ONLY_REGISTER),
        (AMOUNT, 1, 0x1, 0, Refusal.READ_ONLY_REGISTER),
        (SIZE, 1 << 12, 0xF, 0, Refusal.VALUE_TOO_WIDE),
        (SIZE, 1, 0x7, 0, Refusal.VALUE_TOO_WIDE),
        (MIXED, 1 << 8, 0xF, 0, Refusal.VALUE_TOO_WIDE),
        (MIXED, 1 << 2, 0xF, 0, Refusal.VALUE_TOO_WIDE),
        (SIZE, 1 << 12, 0xF, 1, Refusal.VALUE_TOO_WIDE),
        (SIZE, 9, 0xF, 1, Refusal.WRITTEN_WHILE_BUSY),
        (MIXED, 0b11, 0xF, 1, Refusal.WRITTEN_WHILE_BUSY),
    ],
)
def test_what_is_refused_changes_nothing(address: int, value: int, enable: int, busy: int, refusal: Refusal) -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        ctx.set(bank.busy, busy)
        await port.access(address, value, enable)
        assert port.refusal is refusal
        assert not any([*port.pulses.values(), *port.written.values()])
        assert [await port.access(register.address) for register in sample()] == [0x534D504C, 0, 0, 9, 0xFFFFFFFF, 0]

    run(scenario)


def test_reads_flags_and_some_pulses_do_not_wait_until_the_block_is_idle() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        ctx.set(bank.events.mixed_flags, 0b111)
        await ctx.tick()
        ctx.set(bank.events.mixed_flags, 0)
        ctx.set(bank.busy, 1)
        await port.access(MIXED, 0b10 | 0b100 << 4)
        assert port.refusal is Refusal.NONE
        assert port.pulses == {"mixed_go": 0, "mixed_stop": 1}
        assert await port.access(MIXED) == 0b011 << 4

    run(scenario)


def test_an_idle_port_does_nothing() -> None:
    async def scenario(ctx: Any, bank: RegisterBank, port: Port) -> None:
        await port.access(SIZE, 1)
        ctx.set(bank.port.wdata, 7)  # address and direction are still those of the write
        await ctx.tick().repeat(3)
        assert ctx.get(bank.port.r_valid) == 0
        assert ctx.get(bank.held.size) == 1
        ctx.set(bank.port.add, 0x3C)
        assert ctx.get(bank.refusal) == Refusal.NONE

    run(scenario)


def test_layout_and_settings_follow_the_description() -> None:
    bank = sample()
    layout = layout_of(bank["mixed"])
    assert layout.size == 12
    assert {name: (field.offset, field.width) for name, field in layout} == {
        "go": (0, 1),
        "stop": (1, 1),
        "flags": (4, 3),
        "amount": (8, 4),
    }
    assert list(settings_signature(bank.held).members) == ["size", "last", "hidden"]
