"""The second set of settings: what is written while a layer runs is for the next one, whose start waits."""

from dataclasses import replace
from typing import Any

import pytest

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.registers.errors import HwcError
from tests.gateware.hwc.test_registers import ADDRESS, PARAMETERS, Port, run, sound

SECOND = replace(PARAMETERS, second_settings=True)


class Engine:
    """The engine's side: it runs when it is told to, and ends when the test says so."""

    def __init__(self, ctx: Any, port: Port) -> None:
        self.ctx, self.port, self.registers = ctx, port, port.registers

    async def begin(self) -> None:
        """Settings that are sound, and a start of the idle block."""
        for name, value in sound().items():
            assert await self.port.write(name, value) == 0
        await self.port.read("status")
        assert await self.port.write("control", Control.START) == 0
        self.ctx.set(self.registers.busy, 1)

    async def end(self, error: HwcError = HwcError.NONE) -> bool:
        """End the layer; whether the next one begins."""
        ctx, registers = self.ctx, self.registers
        ctx.set(registers.ended, 1)
        ctx.set(registers.error, error)
        await ctx.tick()
        ctx.set(registers.ended, 0)
        ctx.set(registers.busy, 0)
        begins = bool(ctx.get(registers.start))
        await ctx.tick()
        ctx.set(registers.busy, int(begins))
        assert not ctx.get(registers.start)
        return begins

    @property
    def extent(self) -> int:
        """The setting ``extent_m`` of the layer that runs."""
        return int(self.ctx.get(self.registers.settings.extent_m))


def queued(scenario: Any) -> None:
    async def bench(ctx: Any, port: Port) -> None:
        engine = Engine(ctx, port)
        await engine.begin()
        assert await port.write("extent_m", 7) == 0
        assert await port.read("extent_m") == 7
        assert engine.extent == 1
        assert await port.write("control", Control.START) == 0
        assert await port.read("status") == Status.BUSY | Status.QUEUED
        await scenario(ctx, port, engine)

    run(bench, SECOND)


def test_the_next_layer_begins_with_its_settings_when_the_one_before_has_ended() -> None:
    async def scenario(ctx: Any, port: Port, engine: Engine) -> None:
        assert await engine.end()
        assert engine.extent == 7
        assert await port.read("status") == Status.BUSY | Status.DONE
        assert ctx.get(port.registers.irq) == 1
        await port.write("control", Control.CLEAR)
        assert await port.write("extent_m", 9) == 0
        assert engine.extent == 7
        assert not await engine.end()
        assert await port.read("status") == Status.DONE
        assert engine.extent == 9, "what is written while nothing runs"

    queued(scenario)


@pytest.mark.parametrize("name", ["extent_m", "control"])
def test_while_a_start_waits_neither_settings_nor_another_start_are_taken(name: str) -> None:
    async def scenario(_ctx: Any, port: Port, engine: Engine) -> None:
        assert await port.write(name, Control.START) == 1
        assert await port.read("extent_m") == 7
        assert not await engine.end(), "what was meant is not known"
        assert await port.read("status") == Status.FAILED | HwcError.WRITTEN_WHILE_BUSY << 8

    queued(scenario)


@pytest.mark.parametrize("name", ["key", "watchdog"])
def test_what_is_for_all_layers_waits_until_the_hwc_is_idle(name: str) -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        engine = Engine(ctx, port)
        await engine.begin()
        assert await port.write(name, 1) == 1
        assert not ctx.get(port.registers.locked)

    run(scenario, SECOND)


def test_a_layer_that_fails_and_an_abort_forget_the_start_that_waits() -> None:
    async def scenario(_ctx: Any, port: Port, engine: Engine) -> None:
        assert not await engine.end(HwcError.INPUT_BUS)
        assert await port.read("status") == Status.FAILED | HwcError.INPUT_BUS << 8
        await port.write("control", Control.CLEAR)
        await engine.begin()
        assert await port.write("control", Control.START) == 0
        await port.write("control", Control.ABORT)
        await port.read("status")
        assert await port.read("status") == Status.BUSY
        assert not await engine.end(HwcError.ABORTED)

    queued(scenario)


def test_a_start_that_would_wait_is_checked_when_it_is_written() -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        engine = Engine(ctx, port)
        await engine.begin()
        assert await port.write("extent_m", 0) == 0
        await port.write("control", Control.START)
        assert await port.read("status") == Status.BUSY | HwcError.EXTENT << 8
        assert not await engine.end()
        assert await port.read("status") == Status.FAILED | HwcError.EXTENT << 8

    run(scenario, SECOND)


def test_a_start_right_after_a_setting_begins_a_cycle_later_with_this_setting() -> None:
    async def scenario(ctx: Any, port: Port) -> None:
        await Engine(ctx, port).begin()
        ctx.set(port.registers.busy, 0)
        registers = port.registers.port
        for name, value in (("extent_m", 5), ("control", Control.START)):
            for signal, content in ((registers.req, 1), (registers.wen, 0), (registers.be, 0xF)):
                ctx.set(signal, content)
            ctx.set(registers.add, ADDRESS[name])
            ctx.set(registers.wdata, value)
            await ctx.tick()
        ctx.set(registers.req, 0)
        assert ctx.get(port.registers.start) == 0
        await ctx.tick()
        assert ctx.get(port.registers.start) == 1
        assert ctx.get(port.registers.settings.extent_m) == 5

    run(scenario, SECOND)


def test_a_cluster_has_no_second_settings() -> None:
    with pytest.raises(ParameterError, match="second_settings: expected none in a cluster"):
        replace(SECOND, cluster=True)


def test_a_program_runs_with_and_without_them() -> None:
    assert SECOND.digest == PARAMETERS.digest != replace(PARAMETERS, bias_words=64).digest
