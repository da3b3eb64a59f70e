"""A pipeline in Amaranth's simulator: streams of bytes in and out with random pauses, tile after tile."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth.sim import Simulator

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.registers.control import Control, error_of
from hwgen.arch.registers.errors import PipelineError
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.gateware.pipeline.pipeline import Pipeline

__all__ = ["Outcome", "Stimulus", "run_pipeline"]


@dataclass(frozen=True)
class Stimulus:
    """One tile, or the load of weights: register values, and the bytes of each input stream, pixel by pixel."""

    registers: Mapping[str, int]
    streams: Mapping[str, Sequence[bytes]]
    control: int = Control.START


@dataclass
class Outcome:
    """What came out: bytes of each output stream, bytes that each input stream took, cycles, status in the end."""

    outputs: dict[str, list[int]] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    cycles: list[int] = field(default_factory=list)
    error: PipelineError = PipelineError.NONE


class _Bench:
    def __init__(self, parameters: PipelineParameters, stimuli: Sequence[Stimulus], pauses: float, seed: int) -> None:
        self.top = Pipeline(parameters)
        self.stimuli, self.pauses = stimuli, pauses
        self.rng = random.Random(seed)
        self.addresses = pipeline_registers(parameters).addresses
        self.seen = Outcome()
        members = self.top.signature.members
        self.inputs = [n for n in members if n.startswith("i_") and not n.endswith("_keep")]
        self.outputs = [n for n in members if n.startswith("o_") and not n.endswith("_keep")]
        self.waiting: dict[str, list[bytes]] = {name: [] for name in self.inputs}
        """Pixels (or words, or map numbers) that an input stream has yet to bring."""

    async def access(self, ctx: Any, name: str, value: int | None = None) -> int:
        port = self.top.cfg
        ctx.set(port.req, 1)
        ctx.set(port.wen, value is None)
        ctx.set(port.be, 15)
        ctx.set(port.add, self.addresses[name])
        ctx.set(port.wdata, value or 0)
        await ctx.tick()
        ctx.set(port.req, 0)
        await ctx.tick()
        assert not ctx.get(port.r_opc), (name, value)
        return int(ctx.get(port.r_rdata))

    async def main(self, ctx: Any) -> None:
        await self.access(ctx, "watchdog", 300)
        for stimulus in self.stimuli:
            for name, value in stimulus.registers.items():
                await self.access(ctx, name, value)
            for name, pixels in stimulus.streams.items():
                assert not self.waiting[name], name
                self.waiting[name] = list(pixels)
            await self.access(ctx, "control", stimulus.control)
            while not ctx.get(self.top.irq):
                await ctx.tick()
            self.seen.error = PipelineError(error_of(await self.access(ctx, "status")))
            self.seen.cycles.append(await self.access(ctx, "cycles"))
            if self.seen.error != PipelineError.NONE:
                return
            await self.access(ctx, "control", Control.CLEAR)
        assert not any(self.waiting.values()), self.waiting

    async def bring(self, ctx: Any, name: str) -> None:
        """Offers the beats of a stream; bytes that are not used are random."""
        port = getattr(self.top, name)
        width = len(port.payload) // 8
        keep = getattr(self.top, f"{name}_keep", None)
        self.seen.taken[name] = 0
        rest = b""
        while True:
            if not rest and self.waiting[name]:
                rest = self.waiting[name].pop(0)
            if not rest or self.rng.random() < self.pauses:
                ctx.set(port.valid, 0)
                await ctx.tick()
                continue
            beat = rest[:width] + self.rng.randbytes(max(width - len(rest), 0))
            ctx.set(port.valid, 1)
            ctx.set(port.payload, int.from_bytes(beat, "little"))
            while True:
                *_, ready, used = await ctx.tick().sample(port.ready, *([keep] if keep is not None else [port.ready]))
                if ready:
                    break
            if keep is not None:
                assert used == (1 << min(width, len(rest))) - 1, name
                self.seen.taken[name] += int(used).bit_count()
            rest = rest[width:]
            ctx.set(port.valid, 0)

    async def take(self, ctx: Any, name: str) -> None:
        port, keep = getattr(self.top, name), getattr(self.top, f"{name}_keep")
        taken = self.seen.outputs.setdefault(name, [])
        while True:
            ctx.set(port.ready, self.rng.random() >= self.pauses)
            *_, valid, ready, payload, used = await ctx.tick().sample(port.valid, port.ready, port.payload, keep)
            if valid and ready:
                taken += [payload >> 8 * i & 255 for i in range(used.bit_length()) if used >> i & 1]

    def run(self) -> Outcome:
        simulator = Simulator(self.top)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self.main)
        for work, names in ((self.bring, self.inputs), (self.take, self.outputs)):
            for name in names:
                simulator.add_testbench(_bound(work, name), background=True)
        simulator.run()
        return self.seen


def _bound(work: Callable[[Any, str], Awaitable[None]], name: str) -> Callable[[Any], Awaitable[None]]:
    async def bench(ctx: Any) -> None:
        await work(ctx, name)

    return bench


def run_pipeline(
    parameters: PipelineParameters, stimuli: Sequence[Stimulus], *, pauses: float = 0.0, seed: int = 1
) -> Outcome:
    """Load and run what is given, with streams that pause at random with that probability."""
    return _Bench(parameters, stimuli, pauses, seed).run()
