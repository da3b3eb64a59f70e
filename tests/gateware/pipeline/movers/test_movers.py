"""The movers at their AXI4 port: every order of address and data that a subordinate may ask for, and errors."""

from random import Random
from typing import Any

import pytest

from hwgen.arch.pipeline import ConvStage, MapParameters, MoverParameters, PipelineParameters
from hwgen.arch.registers.errors import PipelineError
from hwgen.gateware.pipeline.movers.movers import Movers
from hwgen.gateware.pipeline.ports import stream_members
from tests.gateware.bus.subordinate import Order, Subordinate
from tests.gateware.simulate import simulate

PARAMETERS = PipelineParameters(
    (
        MapParameters(2, 6, 4, 4, source=True),
        MapParameters(2, 0, 3, 3, written=True),
        MapParameters(2, 0, 3, 3, written=True),
    ),
    (ConvStage(0, 1, (2, 2), (1, 1)), ConvStage(0, 2, (2, 2), (1, 1))),
    movers=MoverParameters(32, 16),
)
"""One stream is read in a tile, two are written."""
RUNS = {"i_map0": (0x101, 50, 37, 5), "o_map1": (0x803, 60, 41, 4), "o_map2": (0x1FF6, 0x40, 13, 6)}
"""Of each stream: address, pitch, bytes and number of its runs."""
LIMIT = 6000
AFTER_AN_ERROR = 1
"""Cycles after the one in which an error was taken in which an address may still be raised."""


class Bench:
    """Movers between streams and a subordinate, in one tile."""

    def __init__(self, seed: int, **more: Any) -> None:
        self.dut = Movers(PARAMETERS, stream_members(PARAMETERS))
        self.memory = bytearray(Random("memory").randbytes(1 << 14))
        self.random = Random(seed)
        self.subordinate = Subordinate(self.dut.axi, self.memory, Random(seed), **more)
        self.read = bytearray()
        self.given = {name: bytes(Random(name).randbytes(RUNS[name][2] * RUNS[name][3])) for name in RUNS}
        self.fault = 0

    def run(self, cycles: int = LIMIT, *, ends: bool = True) -> None:
        dut, left = self.dut, {name: list(self.given[name]) for name in ("o_map1", "o_map2")}

        async def bench(ctx: Any) -> None:
            for name, (address, pitch, size, lines) in RUNS.items():
                for what, value in (("address", address), ("pitch", pitch), ("bytes", size), ("lines", lines)):
                    ctx.set(getattr(dut.settings, f"{name}_{what}"), value)
                ctx.set(getattr(dut, f"{name}_keep"), 1)
            assert not any(ctx.get(getattr(dut.axi, f"{channel}valid")) for channel in ("aw", "w", "ar"))
            for name in ("restart", "start", "first"):
                ctx.set(getattr(dut, name), 1)
            await ctx.tick()
            for name in ("restart", "start", "first"):
                ctx.set(getattr(dut, name), 0)
            for _ in range(cycles):
                for name, beats in left.items():
                    ctx.set(getattr(dut, name).valid, bool(beats))
                    ctx.set(getattr(dut, name).payload, beats[0] if beats else 0)
                ctx.set(dut.i_map0.ready, self.random.random() < 0.8)
                self.subordinate.drive(ctx)
                self.subordinate.sample(ctx)
                for name, beats in left.items():
                    if beats and ctx.get(getattr(dut, name).ready):
                        beats.pop(0)
                if ctx.get(dut.i_map0.valid) and ctx.get(dut.i_map0.ready):
                    self.read.append(ctx.get(dut.i_map0.payload))
                self.fault = ctx.get(dut.fault)
                await ctx.tick()
                complete = len(self.read) == len(self.given["i_map0"]) and not any(left.values())
                if ends and complete and ctx.get(dut.idle):
                    return
            assert not ends, f"{[len(beats) for beats in left.values()]} bytes are not written"
            assert ctx.get(dut.settled)

        simulate(dut, bench)


@pytest.mark.parametrize("order", Order)
def test_runs_are_read_and_written_whatever_the_order_of_the_subordinate(order: Order) -> None:
    for eagerness in (1.0, 0.5):
        bench = Bench(5, order=order, eagerness=eagerness)
        expected = bytearray(bench.memory)
        for name in ("o_map1", "o_map2"):
            address, pitch, size, lines = RUNS[name]
            for line in range(lines):
                at = address + line * pitch
                expected[at : at + size] = bench.given[name][line * size : (line + 1) * size]
        address, pitch, size, lines = RUNS["i_map0"]
        wanted = b"".join(bench.memory[address + line * pitch :][:size] for line in range(lines))
        bench.run()
        assert bench.memory == expected
        assert bench.read == wanted
        assert bench.subordinate.idle


@pytest.mark.parametrize("seed", range(6))
def test_no_address_is_raised_later_than_a_cycle_after_an_error(seed: int) -> None:
    eagerness = (1.0, 0.6)[seed % 2]
    bench = Bench(seed, eagerness=eagerness, error_rate=0.03)
    bench.run(500, ends=False)
    assert bench.subordinate.errors
    assert bench.fault in (PipelineError.READ_BUS.value, PipelineError.WRITE_BUS.value)
    first = bench.subordinate.errors[0][0]
    raised = [cycle - first for channel in bench.subordinate.raised.values() for cycle in channel]
    assert max(raised) <= AFTER_AN_ERROR
