"""The DMA at its AXI4 port: every order of address and data that a subordinate may ask for, and errors."""

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from cosim.dma.run import DATA_BYTES, TCDM_BYTES, DmaJob, moved
from hwgen.arch.descriptor import Descriptor
from hwgen.arch.dma import DmaParameters
from hwgen.arch.registers.errors import DmaError
from hwgen.gateware.bus.axi import Response
from hwgen.gateware.dma.dma import CHANNELS, Dma
from tests.gateware.bus.subordinate import Order, Subordinate
from tests.random.descriptors import RINGS, random_descriptor, random_memories

LIMIT = 20_000
AFTER_AN_ERROR = 1
"""Cycles after the one in which an error was taken in which an address may still be raised."""


def short_ones(random: Random, count: int, *, loads: bool, most: int = 120) -> list[Descriptor]:
    found: list[Descriptor] = []
    while len(found) < count:
        one = random_descriptor(random, loads=loads)
        if one.bytes <= most:
            found.append(one)
    return found


class Bench:
    """A DMA between a memory of the TCDM's kind that grants at once, and a subordinate."""

    def __init__(self, job: DmaJob, seed: int, **more: Any) -> None:
        self.dut = Dma(DmaParameters(axi_bits=32))
        self.job, self.tcdm = job, bytearray(job.memories.tcdm.tobytes())
        self.memory = bytearray(job.memories.dram.tobytes())
        self.subordinate = Subordinate(self.dut.axi, self.memory, Random(seed), **more)
        self.done = {"load": 0, "store": 0}

    def _settings(self, ctx: Any) -> None:
        values = {"dram_end": DATA_BYTES, "tcdm_end": TCDM_BYTES}
        for ring, one in RINGS.items():
            values |= {f"ring_{ring.name.lower()}_end": one.end, f"ring_{ring.name.lower()}_size": one.size}
        for name, value in values.items():
            ctx.set(getattr(self.dut.settings, name), value)

    def _serve(self, ctx: Any, ports: Sequence[Any]) -> None:
        """Grant every access and answer it in the next cycle."""
        for port in ports:
            request = ctx.get(port.req)
            ctx.set(port.gnt, 1)
            answer = self.answers[id(port)]
            ctx.set(port.r_valid, answer is not None)
            ctx.set(port.r_rdata, answer or 0)
            self.answers[id(port)] = None
            if request:
                at = ctx.get(port.add)
                self.answers[id(port)] = int.from_bytes(self.tcdm[at : at + 4], "little")
                if not ctx.get(port.wen):
                    for lane in range(4):
                        if ctx.get(port.be) >> lane & 1:
                            self.tcdm[at + lane] = ctx.get(port.wdata) >> 8 * lane & 0xFF

    def run(self, until: Any) -> None:
        """Feed all descriptors until ``until`` of this bench and the simulation says so."""
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        dut, job = self.dut, self.job
        ports = [*dut.load, *dut.store]
        self.answers: dict[int, int | None] = {id(port): None for port in ports}
        words = {
            "load": deque(word for one in job.loads for word in one.encode()),
            "store": deque(word for one in job.stores for word in one.encode()),
        }

        async def bench(ctx: Any) -> None:
            self._settings(ctx)
            assert not any(ctx.get(getattr(dut.axi, f"{channel}valid")) for channel in ("aw", "w", "ar")), (
                "after a reset"
            )
            for _ in range(LIMIT):
                for name, left in words.items():
                    ctx.set(getattr(dut, f"i_{name}").valid, bool(left))
                    if left:
                        ctx.set(getattr(dut, f"i_{name}").payload, left[0])
                self.subordinate.drive(ctx)
                self._serve(ctx, ports)
                self.subordinate.sample(ctx)
                for name, left in words.items():
                    if left and ctx.get(getattr(dut, f"i_{name}").ready):
                        left.popleft()
                    self.done[name] += ctx.get(getattr(dut, f"{name}_done"))
                await ctx.tick()
                if until(self, ctx):
                    return
            raise AssertionError(f"{self.done} of {len(job.loads)} loads and {len(job.stores)} stores are done")

        simulator.add_testbench(bench)
        simulator.run()


def all_done(bench: Bench, _ctx: Any) -> bool:
    return bench.done == {"load": len(bench.job.loads), "store": len(bench.job.stores)}


@pytest.mark.parametrize("order", Order)
def test_stores_and_loads_whatever_the_order_of_the_subordinate(order: Order) -> None:
    random = Random(order.name)
    stores = [*short_ones(random, 5, loads=False), *short_ones(random, 1, loads=False, most=2500)]
    job = DmaJob(short_ones(random, 3, loads=True), stores, RINGS, random_memories(1), stores_last=True)
    for eagerness in (1.0, 0.5):
        bench = Bench(job, 3, order=order, eagerness=eagerness)
        bench.run(all_done)
        expected = moved(job)
        assert np.array_equal(np.frombuffer(bench.memory, np.uint8), expected.dram)
        assert bench.subordinate.idle


def stopped(bench: Bench, ctx: Any) -> bool:
    """After an error, until all is idle, and some cycles more."""
    bench.codes = [ctx.get(getattr(bench.dut, f"{name}_error")) for name in CHANNELS]
    idle = bench.subordinate.errors and all(ctx.get(getattr(bench.dut, f"{name}_idle")) for name in CHANNELS)
    bench.rests = bench.rests + 1 if idle else 0
    return bench.rests == 20


@pytest.mark.parametrize("seed", range(8))
def test_no_address_is_raised_later_than_a_cycle_after_an_error(seed: int) -> None:
    random = Random(f"errors {seed}")
    loads, stores = (short_ones(random, 30, loads=loads, most=90) for loads in (True, False))
    job = DmaJob(loads, stores, RINGS, random_memories(2))
    bench = Bench(job, seed, eagerness=random.choice([1.0, 0.5]), error_rate=0.02)
    bench.rests = 0
    bench.run(stopped)
    raised, (first, answer) = bench.subordinate.raised, bench.subordinate.errors[0]
    code = DmaError.AXI_DECODE if answer is Response.DECERR else DmaError.AXI_SLAVE
    assert code.value in bench.codes
    late = [cycle - first for channel in raised.values() for cycle in channel if cycle > first + AFTER_AN_ERROR]
    assert late == []
    assert bench.subordinate.idle
