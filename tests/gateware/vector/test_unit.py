"""The vector unit on a memory: every byte, every access and every cycle of single jobs, with and without stalls."""

import warnings
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from amaranth.hdl import UnusedElaboratable
from amaranth.sim import Simulator

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.registers.control import CONTROL_ADDRESS, Control
from hwgen.arch.registers.errors import VectorError
from hwgen.arch.registers.vector import job_values, vector_registers
from hwgen.arch.vector.job import VectorJob
from hwgen.arch.vector.shape import NARROW, VectorShape
from hwgen.gateware.vector.unit import VectorUnit
from hwgen.ir.counts import Access
from hwgen.model.vector.cycles import VectorAccess, vector_access, vector_cycles
from tests.oracles.vector_walk import walk_vector

BITS, SIZE = 12, 1 << 12
MOST_CYCLES = 20_000


class Bench:
    """A unit whose ports lead to one memory of bytes that answers in the next cycle."""

    def __init__(
        self, memory: np.ndarray, stalls: Random | None = None, fails: int | None = None, shape: VectorShape = NARROW
    ) -> None:
        self.size = shape.word_bytes
        self.memory, self.stalls, self.fails = memory, stalls, fails
        self.unit = VectorUnit(BITS, shape=shape)
        self.bank = vector_registers(BITS, shape)
        self.accesses: Counter[str] = Counter()
        self.cycles: list[int] = []
        self.states: list[int] = []
        self.fault = 0

    def run(self, jobs: list[VectorJob], halt_after: int | None = None) -> None:
        """The jobs, one after the other."""
        self.jobs, self.halt_after = jobs, halt_after
        simulator = Simulator(self.unit)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self._program)
        for port in (self.unit.tcdm_i, self.unit.tcdm_o):
            simulator.add_testbench(self._server(port), background=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnusedElaboratable)
            simulator.run()

    async def _write(self, ctx, address: int, value: int) -> None:
        cfg = self.unit.cfg
        for name, what in (("req", 1), ("add", address), ("wen", 0), ("be", 0xF), ("wdata", value)):
            ctx.set(getattr(cfg, name), what)
        await ctx.tick()
        ctx.set(cfg.req, 0)

    async def _program(self, ctx) -> None:
        for job in self.jobs:
            await self._write(ctx, CONTROL_ADDRESS, Control.CLEAR)
            values = job_values(self.bank, job)
            for name, value in values.items():
                await self._write(ctx, self.bank.addresses[name], value)
            for _ in range(3):
                await ctx.tick()
            await self._write(ctx, CONTROL_ADDRESS, Control.START)
            cycles = 0
            for _ in range(3):
                await ctx.tick()
                cycles += 1
                if ctx.get(self.unit.state.busy):
                    break
            while ctx.get(self.unit.state.busy):
                await ctx.tick()
                cycles += 1
                ctx.set(self.unit.halt, self.halt_after is not None and cycles >= self.halt_after)
                assert cycles < MOST_CYCLES
            self.cycles.append(cycles)
            self.states.append(ctx.get(self.unit.state.error))
            self.fault = ctx.get(self.unit.fault)

    def _server(self, port):
        async def serve(ctx) -> None:
            await self._serve(ctx, port)

        return serve

    async def _serve(self, ctx, port) -> None:
        while True:
            ctx.set(port.gnt, self.stalls is None or self.stalls.random() < 0.6)
            _, _, req, gnt, add, wen, be, data = await ctx.tick().sample(
                port.req, port.gnt, port.add, port.wen, port.be, port.wdata
            )
            taken = req and gnt
            ctx.set(port.r_valid, taken)
            ctx.set(port.r_opc, taken and add == self.fails)
            if taken and wen:
                self.accesses["read"] += 1
                ctx.set(port.r_rdata, int.from_bytes(self.memory[add : add + self.size].tobytes(), "little"))
            elif taken:
                self.accesses["write"] += 1
                self.accesses["bytes"] += be.bit_count()
                for lane in range(self.size):
                    if be >> lane & 1:
                        self.memory[add + lane] = data >> 8 * lane & 0xFF


def random_job(rng: Random, shape: VectorShape = NARROW) -> VectorJob:
    """Any job whose input is in the first half of the memory and whose output in the second, with any alignment."""
    mode = rng.choice(("add", "average", "maximum", "copy"))
    size, most = shape.word_bytes, 7 if shape == NARROW else rng.choice((3, 12, 30))
    channels, height, width = rng.randint(1, 3), rng.randint(1, 6), rng.randint(1, most)
    pitch, base = width + rng.randint(0, 3), 8 * rng.randint(32, 40) + rng.randint(0, 3)
    plane = height * pitch + rng.randint(0, 5)
    low, high = sorted((rng.randint(-128, 127), rng.randint(-128, 127)))
    table = rng.random() < 0.3
    rest = {
        "input": base, "input_pitch": pitch, "input_plane": plane, "height": height, "width": width,
        "channels": channels, "zero_out": rng.randint(-128, 127), "low": low, "high": high,
        "table": table, "table_from": size * rng.randint(0, 2) if table else None,
    }  # fmt: skip
    rows, columns = height, width
    if mode == "add":
        shift = rng.randint(1, 20)
        rest |= {
            "second": base + size * rng.randint(320 // size, 480 // size), "shift": shift,
            "zeros": (rng.randint(-128, 127), rng.randint(-128, 127)),
            "multipliers": (rng.randint(0, 1 << 16), rng.randint(0, 4 << min(shift, 14))),
        }  # fmt: skip
    elif mode != "copy":
        rows, columns = rng.randint(1, 4), rng.randint(1, 5)
        rest |= {name: (rng.randint(1, 3), rng.randint(1, 3)) for name in ("kernel", "stride", "dilation")}
        rest["padding"] = (rng.randint(-1, 3), rng.randint(-1, 3))
        if shape.wide and rng.random() < 0.7:
            rest |= {"kernel": (rest["kernel"][0], rng.randint(1, 11)), "dilation": (rest["dilation"][0], 1)}
        if shape.has_strips and rng.random() < 0.7:
            rows, columns = rng.randint(1, 4), rng.randint(1, 12)
            rest |= in_strips(rng, shape, pitch)
    if mode == "average":
        shift = rng.randint(1, 24)
        rest |= {"zeros": (rng.randint(-128, 127), 0), "multipliers": (rng.randint(0, 1 << 16), 0), "shift": shift}
    out = columns + rng.randint(0, 3)
    return VectorJob(
        mode="maximum" if mode == "copy" else mode, rows=rows, columns=columns, output=3000 + rng.randint(0, 3),
        output_pitch=out, output_plane=rows * out + rng.randint(0, 5), **rest,
    )  # fmt: skip


def in_strips(rng: Random, shape: VectorShape, pitch: int) -> dict[str, object]:
    """A window and a pitch for strips."""
    kernel = rng.randint(1, 4), rng.randint(2, shape.elements + 1)
    return {
        "kernel": kernel, "stride": (rng.randint(1, 3), rng.randint(1, shape.elements)), "dilation": (1, 1),
        "padding": tuple(rng.randint(0, taps - 1) for taps in kernel), "strips": True,
        "input_pitch": -(-pitch // shape.word_bytes) * shape.word_bytes,
    }  # fmt: skip


@pytest.mark.parametrize("stalls", [False, True])
def test_jobs_are_the_walk_to_the_byte_the_access_and_the_cycle(stalls: bool) -> None:
    rng = Random(f"unit {stalls}")
    judge(NARROW, [random_job(rng) for _ in range(16)], rng, Random(1) if stalls else None)


@pytest.mark.parametrize("elements", [2, 4, 8])
@pytest.mark.parametrize("stalls", [False, True])
def test_jobs_of_several_elements_in_a_cycle_are(elements: int, stalls: bool) -> None:
    rng, shape = Random(f"{elements} {stalls}"), VectorShape(elements)
    jobs = [random_job(rng, shape) for _ in range(8 if stalls else 14)]
    judge(shape, jobs, rng, Random(1) if stalls else None)


@pytest.mark.parametrize("elements", [4, 8])
def test_windows_in_strips_are(elements: int) -> None:
    rng, shape = Random(f"strips {elements}"), VectorShape(elements)
    jobs = [one for one in (random_job(rng, shape) for _ in range(120)) if one.strips]
    assert {one.mode for one in jobs[:12]} == {"maximum", "average"}
    judge(shape, jobs[:12], rng, None)


def test_what_is_not_for_strips_is_refused() -> None:
    shape = VectorShape(8)
    job = VectorJob("maximum", 1, 3, 4, 0, 16, 64, 4, 9, 2000, 4, 12, (2, 2), (1, 2), strips=True)
    shape.check(job)
    for more in (
        {"mode": "average", "kernel": (9, 2)}, {"kernel": (2, 10)}, {"stride": (1, 9)}, {"dilation": (1, 2)},
        {"padding": (0, 2)}, {"padding": (-1, 0)}, {"input_pitch": 12},
    ):  # fmt: skip
        with pytest.raises(ParameterError, match="strips: expected windows that strips are for"):
            shape.check(replace(job, **more))
    with pytest.raises(ParameterError, match="strips"):
        VectorShape(2).check(job)


@pytest.mark.nightly
@pytest.mark.parametrize("elements", [2, 4, 8])
def test_many_jobs_of_several_elements_in_a_cycle_are(elements: int) -> None:
    shape = VectorShape(elements)
    for seed in range(20):
        rng = Random(f"many {elements} {seed}")
        judge(shape, [random_job(rng, shape) for _ in range(30)], rng, Random(seed) if seed % 4 == 3 else None)


def judge(shape: VectorShape, jobs: list[VectorJob], rng: Random, stalls: Random | None) -> None:
    """Jobs on the unit against the walk and the closed forms."""
    for job in jobs:
        shape.check(job)
    before = np.frombuffer(rng.randbytes(SIZE), np.uint8)
    expected, table = before.copy(), np.zeros(256, np.int8)
    walked = [walk_vector(job, expected, table, shape) for job in jobs]
    bench = Bench(before.copy(), stalls, shape=shape)
    bench.run(jobs)
    np.testing.assert_array_equal(bench.memory, expected)
    total = Access()
    for one in walked:
        total += one.inputs + one.table
    written = sum((one.output for one in walked), Access())
    assert bench.accesses == {"read": total.words, "write": written.words, "bytes": written.bytes}
    assert sum((vector_access(job, shape) for job in jobs), VectorAccess()) == sum(walked, VectorAccess())
    predicted = [vector_cycles(job, shape) for job in jobs]
    if stalls:
        assert all(found >= least for found, least in zip(bench.cycles, predicted, strict=True))
    else:
        assert bench.cycles == predicted
    assert bench.states == [VectorError.NONE] * len(jobs)


JOB = VectorJob("maximum", 1, 1, 40, 0, 40, 40, 1, 40, 2000, 40, 40)


def test_errors_end_a_job_and_the_next_one_runs() -> None:
    for fails, halt, error, address in (
        (8, None, VectorError.READ_BUS, 8),
        (2004, None, VectorError.WRITE_BUS, 2004),
        (None, 20, VectorError.HALTED, 0),
    ):
        bench = Bench(np.arange(SIZE).astype(np.uint8), fails=fails)
        bench.run([JOB], halt)
        assert (bench.states, bench.fault) == ([error], address)


def test_empty_extents_are_refused() -> None:
    bench = Bench(np.zeros(SIZE, np.uint8))
    empty = replace(JOB)
    object.__setattr__(empty, "columns", 0)
    bench.run([empty, JOB])
    assert bench.states == [VectorError.EXTENT, VectorError.NONE]
    assert bench.cycles[0] == 3
