"""The configuration port: what is written reads back, nonsense is refused with its code and never starts anything."""

from dataclasses import replace
from typing import Any

import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.control import Control, Status, error_of
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.registers.hwc import KEY, hwc_registers
from hwgen.gateware.hwc.registers import ControlRegisters
from tests.arch.test_hwc import SOUND
from tests.gateware.simulate import simulate

PARAMETERS = replace(SOUND, read_back=True)
ADDRESS = {register.name: register.address for register in hwc_registers(PARAMETERS)}


def sound() -> dict[str, int]:
    """Settings that pass all checks: a layer of one multiplication."""
    values = {register.name: 0 for register in hwc_registers(PARAMETERS) if register.address >= ADDRESS["extent_m"]}
    ones = ("extent_", "step_", "stride_", "group_", "input_slab", "input_height", "input_width")
    sound = {name: int(name.startswith(ones) and "ring_step" not in name) for name in values}
    sound["write_last"] = 0xFFFFFFFF
    return {"program_digest": PARAMETERS.digest, **sound}


class Port:
    """One access a time, as a master that keeps the handshake makes it."""

    def __init__(self, ctx: Any, registers: ControlRegisters) -> None:
        self.ctx, self.registers = ctx, registers
        self.starts = 0

    async def access(self, address: int, value: int | None = None, enable: int = 0xF) -> tuple[int, int]:
        """Data and error flag of the answer."""
        port = self.registers.port
        for member, setting in (
            (port.req, 1),
            (port.add, address),
            (port.wen, value is None),
            (port.be, enable),
            (port.wdata, value or 0),
        ):
            self.ctx.set(member, setting)
        await self.ctx.tick()
        self.ctx.set(port.req, 0)
        self.starts += self.ctx.get(self.registers.start)
        await self.ctx.tick()
        assert self.ctx.get(port.r_valid) == 1
        return self.ctx.get(port.r_rdata), self.ctx.get(port.r_opc)

    async def write(self, name: str, value: int) -> int:
        return (await self.access(ADDRESS[name], value))[1]

    async def read(self, name: str) -> int:
        return (await self.access(ADDRESS[name]))[0]

    async def error(self) -> HwcError:
        return HwcError(error_of(await self.read("status")))


def run(scenario: Any, parameters: HwcParameters = PARAMETERS) -> None:
    """Run a scenario, a coroutine function of the simulator context and a `Port`."""
    registers = ControlRegisters(parameters)

    async def bench(ctx: Any) -> None:
        await scenario(ctx, Port(ctx, registers))

    simulate(registers, bench)


def test_settings_read_back_and_a_sound_start_starts() -> None:
    async def scenario(_ctx: Any, port: Port) -> None:
        values = sound() | {"extent_m": 513, "input_plane": 0x123456, "shift": 31}
        for name, value in values.items():
            assert await port.write(name, value) == 0
        for name, value in values.items():
            assert await port.read(name) == value
        assert await port.read("identity") == 0x48574331
        assert await port.write("control", Control.START) == 0
        assert port.starts == 1
        assert await port.error() is HwcError.NONE

    run(scenario)


@pytest.mark.parametrize(
    ("address", "value", "enable", "code"),
    [
        (0x3C, 0, 0xF, HwcError.UNKNOWN_REGISTER),
        (0xFFC, 0, 0xF, HwcError.UNKNOWN_REGISTER),
        (0x80000040, 1, 0xF, HwcError.UNKNOWN_REGISTER),
        (ADDRESS["status"], 0, 0xF, HwcError.READ_ONLY_REGISTER),
        (ADDRESS["extent_m"], 1 << 16, 0xF, HwcError.VALUE_TOO_WIDE),
        (ADDRESS["stride_x"], 8, 0xF, HwcError.VALUE_TOO_WIDE),
        (ADDRESS["extent_m"], 1, 0x3, HwcError.VALUE_TOO_WIDE),
    ],
)
def test_a_nonsensical_write_is_refused_and_blocks_the_start(
    address: int, value: int, enable: int, code: HwcError
) -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        for name, setting in sound().items():
            await port.write(name, setting)
        before = await port.read("extent_m")
        assert (await port.access(address, value, enable))[1] == 1
        assert await port.error() is code
        assert await port.read("fault_address") == address
        assert await port.read("extent_m") == before
        await port.write("control", Control.START)
        assert port.starts == 0
        assert ctx.get(port.registers.irq) == 1
        await port.write("control", Control.CLEAR)
        assert ctx.get(port.registers.irq) == 0
        await port.write("control", Control.START)
        assert port.starts == 1

    run(scenario)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("program_digest", PARAMETERS.digest ^ 1, HwcError.OTHER_HWC),
        ("program_digest", replace(PARAMETERS, bias_words=64).digest, HwcError.OTHER_HWC),
        ("key", 0, HwcError.LOCKED),
        ("key", KEY ^ 1, HwcError.LOCKED),
        ("extent_k", 0, HwcError.EXTENT),
        ("input_height", 0, HwcError.EXTENT),
        ("step_3_c", 0, HwcError.STEP),
        ("step_2_x", 17, HwcError.STEP),
        ("step_7_l", 2, HwcError.STEP),
        ("stride_y", 0, HwcError.STRIDE),
        ("stride_x", 5, HwcError.STRIDE),
        ("input_slabs", 0, HwcError.INPUT_RING),
        ("input_slab", 129, HwcError.INPUT_RING),
        ("group_outputs", 0, HwcError.GROUP),
        ("input_ring_step_5", 128, HwcError.CONTRADICTION),
    ],
)
def test_unsound_settings_do_not_start(name: str, value: int, code: HwcError) -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        for key, setting in (sound() | {name: value}).items():
            assert await port.write(key, setting) == 0
        await port.write("control", Control.START)
        assert port.starts == 0
        assert await port.error() is code
        assert ctx.get(port.registers.irq) == 1

    run(scenario)


def test_a_read_of_an_unknown_address_is_answered_with_an_error_and_does_not_refuse_the_next_start() -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        for name, setting in sound().items():
            await port.write(name, setting)
        assert await port.access(0xFFC) == (0, 1)
        assert await port.read("status") == 0
        assert ctx.get(port.registers.irq) == 0
        await port.write("control", Control.START)
        assert port.starts == 1

    run(scenario)


@pytest.mark.parametrize("busy", [False, True])
def test_a_refused_write_never_leaves_done_and_an_error_together(busy: bool) -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        for name, setting in sound().items():
            await port.write(name, setting)
        await port.write("control", Control.START)
        ctx.set(port.registers.busy, 1)
        if busy:
            assert await port.write("extent_m", 1) == 1
            assert await port.read("status") == Status.BUSY | HwcError.WRITTEN_WHILE_BUSY << 8
            assert ctx.get(port.registers.irq) == 0
        ctx.set(port.registers.ended, 1)
        await ctx.tick()
        ctx.set(port.registers.ended, 0)
        ctx.set(port.registers.busy, 0)
        code = HwcError.WRITTEN_WHILE_BUSY
        if not busy:
            assert await port.read("status") == Status.DONE
            assert await port.write("stride_x", 8) == 1
            code = HwcError.VALUE_TOO_WIDE
        assert await port.read("status") == Status.FAILED | code << 8
        assert ctx.get(port.registers.irq) == 1
        await port.write("control", Control.START)
        assert port.starts == 1
        await port.write("control", Control.CLEAR)
        await port.write("control", Control.START)
        assert port.starts == 2
        assert await port.read("status") & (Status.DONE | Status.FAILED) == 0

    run(scenario)


def test_writing_while_busy_is_refused_and_changes_nothing() -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        for name, setting in sound().items():
            await port.write(name, setting)
        ctx.set(port.registers.busy, 1)
        assert await port.write("extent_m", 7) == 1
        assert await port.write("control", Control.START) == 1
        assert port.starts == 0
        assert await port.read("extent_m") == 1
        assert await port.error() is HwcError.WRITTEN_WHILE_BUSY

    run(scenario)
