"""What a pipeline answers when it is led wrong: registers, settings beyond its sizes, a skip with too little room."""

from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import Simulator

from hwgen.arch.pipeline import ConvStage, JoinStage, MapParameters, PipelineParameters
from hwgen.arch.registers.control import Control, Status, error_of
from hwgen.arch.registers.errors import PipelineError
from hwgen.arch.registers.pipeline import pipeline_registers, tile_settings
from hwgen.gateware.pipeline.registers import PipelineRegisters
from hwgen.lower.pipeline.cycles import predict_tile
from hwgen.lower.pipeline.program import PipelineProgram
from tests.gateware.pipeline.bench import run_pipeline
from tests.gateware.pipeline.test_stages import lowered, network
from tests.random.pipelines import Maps, expected_streams, stimuli

PARAMETERS = PipelineParameters(
    (MapParameters(2, 6, 4, 4, source=True, overlap_in=2), MapParameters(2, 0, 4, 4, written=True, overlap_out=1)),
    (ConvStage(0, 1, (2, 2), (1, 1)),),
)


def skip_of_a_line() -> tuple[PipelineProgram, Maps]:
    """A sum of what comes at once and of what comes a line and a pixel later; the queue of the skip has one pixel."""
    conv = {"op": "conv", "output_channels": 1}
    table = network(
        (1, 10, 10),
        {**conv, "name": "late", "kernel": [3, 3], "padding": [1, 1, 1, 1]},
        {**conv, "name": "early", "inputs": ["input"], "kernel": [1, 1]},
        {"op": "add", "name": "sum", "inputs": ["late", "early"]},
    )
    program, maps = lowered(table)
    join = program.parameters.stages[2]
    assert isinstance(join, JoinStage)
    short = replace(join, operands=tuple(replace(operand, queue=1) for operand in join.operands))
    stages = (*program.parameters.stages[:2], short)
    return replace(program, parameters=replace(program.parameters, stages=stages)), maps


def test_the_ring_of_the_model_is_enough_for_a_skip_and_the_watchdog_sees_when_there_is_less() -> None:
    program, maps = skip_of_a_line()
    early = program.parameters.maps[2]
    assert early.pixels == 10 + 1
    seen = run_pipeline(program.parameters, stimuli(program, maps))
    assert seen.outputs == expected_streams(program, maps)
    assert predict_tile(program.parameters, program.tiles[0]) == seen.cycles[-1]

    # Beside the ring a pixel is in flight, one in the queue of the skip, and up to six in the stages before the map.
    tight = (*program.parameters.maps[:2], replace(early, pixels=1), program.parameters.maps[3])
    small = replace(program, parameters=replace(program.parameters, maps=tight))
    seen = run_pipeline(small.parameters, stimuli(small, maps))
    assert seen.error == PipelineError.WATCHDOG
    assert len(seen.outputs["o_map3"]) < len(expected_streams(program, maps)["o_map3"])
    assert predict_tile(small.parameters, small.tiles[0]) == -1


class _Port:
    """Register accesses, and what the answer is."""

    def __init__(self, ctx: Any, registers: PipelineRegisters) -> None:
        self.ctx, self.registers = ctx, registers
        self.addresses = pipeline_registers(registers.parameters).addresses

    async def access(self, address: int, value: int | None, enable: int = 15) -> tuple[int, bool]:
        port, ctx = self.registers.port, self.ctx
        for signal, content in ((port.req, 1), (port.wen, value is None), (port.be, enable), (port.add, address)):
            ctx.set(signal, content)
        ctx.set(port.wdata, value or 0)
        await ctx.tick()
        ctx.set(port.req, 0)
        await ctx.tick()
        return ctx.get(port.r_rdata), bool(ctx.get(port.r_opc))

    async def write(self, name: str, value: int) -> bool:
        return (await self.access(self.addresses[name], value))[1]

    async def read(self, name: str) -> int:
        return (await self.access(self.addresses[name], None))[0]

    async def error(self) -> PipelineError:
        """The error of the last accesses, which is cleared."""
        code = PipelineError(error_of(await self.read("status")))
        await self.write("control", Control.CLEAR)
        return code


def simulate(bench: Any) -> None:
    registers = PipelineRegisters(PARAMETERS)

    async def run(ctx: Any) -> None:
        await bench(ctx, registers, _Port(ctx, registers))

    simulator = Simulator(registers)
    simulator.add_clock(1e-6)
    simulator.add_testbench(run)
    simulator.run()


def test_registers_hold_what_is_written_and_refuse_the_rest() -> None:
    async def bench(ctx: Any, registers: PipelineRegisters, port: _Port) -> None:
        assert await port.read("identity") == 0x46555331
        for number, one in enumerate(tile_settings(pipeline_registers(PARAMETERS))):
            assert not await port.write(one.name, number % (1 << one.width))
        for number, one in enumerate(tile_settings(pipeline_registers(PARAMETERS))):
            assert await port.read(one.name) == number % (1 << one.width)
            assert ctx.get(getattr(registers.settings, one.name)) == number % (1 << one.width)
        for address, value, enable, code in (
            (0x3C, 0, 15, PipelineError.UNKNOWN_REGISTER),
            (port.addresses["cycles"], 1, 15, PipelineError.READ_ONLY_REGISTER),
            (port.addresses["map0_line"], 8, 15, PipelineError.VALUE_TOO_WIDE),
            (port.addresses["map0_line"], 1, 7, PipelineError.VALUE_TOO_WIDE),
        ):
            _, refused = await port.access(address, value, enable)
            assert refused
            assert await port.read("fault_address") == address
            assert await port.error() == code
        assert (await port.access(0x3C, None))[1]
        assert await port.error() == PipelineError.NONE

    simulate(bench)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"map0_line": 5}, PipelineError.LINE),
        ({"map1_lines": 5}, PipelineError.LINE),
        ({"map0_overlap": 3}, PipelineError.OVERLAP),
        ({"map0_line": 1, "map0_overlap": 2}, PipelineError.OVERLAP),
        ({"map1_saved": 2}, PipelineError.OVERLAP),
    ],
)
def test_settings_beyond_the_generated_sizes_do_not_start(change: dict[str, int], code: PipelineError) -> None:
    async def bench(ctx: Any, registers: PipelineRegisters, port: _Port) -> None:
        sound = {"map0_line": 4, "map0_lines": 4, "map0_overlap": 2, "map1_line": 4, "map1_lines": 4, "map1_saved": 1}
        for name, value in {**sound, **change}.items():
            await port.write(name, value)
        await port.write("control", Control.START)
        assert not ctx.get(registers.running)
        assert ctx.get(registers.irq)
        assert await port.error() == code
        for name, value in sound.items():
            await port.write(name, value)
        await port.write("control", Control.START)
        assert ctx.get(registers.running)
        ctx.set(registers.waits, 1)
        assert await port.write("map0_line", 1)
        assert await port.error() == PipelineError.WRITTEN_WHILE_BUSY
        ctx.set(registers.waits, 0)
        ctx.set(registers.ended, 1)
        await ctx.tick()
        assert not ctx.get(registers.running)
        assert ctx.get(registers.irq)

    simulate(bench)


def test_a_refused_write_never_leaves_done_and_an_error_together() -> None:
    async def bench(ctx: Any, registers: PipelineRegisters, port: _Port) -> None:
        for name, value in {"map0_line": 4, "map0_lines": 4, "map1_line": 4, "map1_lines": 4}.items():
            await port.write(name, value)
        for while_busy in (False, True):
            await port.write("control", Control.START)
            if while_busy:
                assert await port.write("stage0_shift", 1)
                assert await port.read("status") == Status.BUSY | PipelineError.WRITTEN_WHILE_BUSY << 8
            ctx.set(registers.ended, 1)
            await ctx.tick()
            ctx.set(registers.ended, 0)
            if not while_busy:
                assert await port.read("status") == Status.DONE
                assert await port.write("map0_line", 8)
            code = PipelineError.WRITTEN_WHILE_BUSY if while_busy else PipelineError.VALUE_TOO_WIDE
            assert await port.read("status") == Status.FAILED | code << 8
            assert await port.error() == code

    simulate(bench)


def test_the_watchdog_counts_cycles_without_movement() -> None:
    async def bench(ctx: Any, registers: PipelineRegisters, port: _Port) -> None:
        await port.write("watchdog", 10)
        await port.write("control", Control.START)
        for cycle in range(60):
            ctx.set(registers.moved, cycle % 9 == 0)
            await ctx.tick()
        assert ctx.get(registers.running)
        ctx.set(registers.moved, 0)
        for _ in range(12):
            await ctx.tick()
        assert not ctx.get(registers.running)
        assert await port.error() == PipelineError.WATCHDOG

    simulate(bench)


def test_a_run_ends_after_the_tile_that_no_other_one_follows() -> None:
    """The next tile is written and started while one runs, but not before its settings have been taken."""

    async def bench(ctx: Any, registers: PipelineRegisters, port: _Port) -> None:
        for name, value in {"map0_line": 4, "map0_lines": 4, "map1_line": 4, "map1_lines": 4}.items():
            await port.write(name, value)
        assert not await port.write("control", Control.START | Control.MORE)
        ctx.set(registers.waits, 1)
        assert await port.read("status") == Status.BUSY | Status.QUEUED
        assert await port.write("control", Control.START)
        assert await port.error() == PipelineError.WRITTEN_WHILE_BUSY
        ctx.set(registers.waits, 0)
        ctx.set(registers.ended, 1)
        assert not await port.write("map0_line", 3)
        assert await port.write("stage0_shift", 3)  # the same for all tiles
        assert await port.error() == PipelineError.WRITTEN_WHILE_BUSY
        assert ctx.get(registers.running)
        ctx.set(registers.ended, 0)
        await port.write("control", Control.CLEAR)
        ctx.set(registers.port.req, 1)
        ctx.set(registers.port.wen, 0)
        ctx.set(registers.port.be, 15)
        ctx.set(registers.port.add, port.addresses["control"])
        ctx.set(registers.port.wdata, Control.START)
        await ctx.tick()
        ctx.set(registers.port.req, 0)
        assert (ctx.get(registers.start), ctx.get(registers.first)) == (1, 0)
        await ctx.tick()
        ctx.set(registers.ended, 1)
        await ctx.tick()
        assert not ctx.get(registers.running)
        assert await port.read("status") == Status.DONE

    simulate(bench)


@pytest.mark.parametrize("unsound", [False, True])
def test_a_start_that_is_refused_ends_the_run(unsound: bool) -> None:
    """What was started goes on to its end, and then the run has failed."""

    async def bench(ctx: Any, registers: PipelineRegisters, port: _Port) -> None:
        for name, value in {"map0_line": 4, "map0_lines": 4, "map1_line": 4, "map1_lines": 4}.items():
            await port.write(name, value)
        await port.write("control", Control.START | Control.MORE)
        await port.write("map0_line", 5 if unsound else 4)
        await port.write("control", Control.START | Control.MORE)
        ctx.set(registers.ended, 1)
        await ctx.tick()
        await ctx.tick()
        assert ctx.get(registers.running) == (not unsound)
        if unsound:
            assert await port.read("status") == Status.FAILED | PipelineError.LINE << 8

    simulate(bench)
