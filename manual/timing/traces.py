"""Traces of the gateware in Amaranth's simulator: small runs whose handshakes the manual shows.

Every run checks its result, so that what is shown is a run that works.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.control import Control, Status
from hwgen.gateware.bus.apb import ApbBridge
from hwgen.gateware.cluster.registers import ClusterRegisters
from hwgen.gateware.dma.dma import Dma
from hwgen.gateware.hwc.hwc import Hwc
from hwgen.gateware.pipeline.beats import TileSource
from hwgen.golden.convolution import layer_output
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import compile_layer
from manual.designs import cluster
from manual.timing.memories import Dram, Tcdm, stalling_memory, taken

__all__ = ["Trace", "apb_trace", "dma_trace", "hwc_trace", "stream_trace"]

LAYER = {
    "name": "small",
    "op": "conv",
    "input_channels": 2,
    "output_channels": 4,
    "input_height": 4,
    "input_width": 4,
    "output_height": 4,
    "output_width": 4,
    "kernel": [3, 3],
    "stride": [1, 1],
    "padding": [1, 1, 1, 1],
    "groups": 1,
    "requantisation": {"shift": 6},
}
NEST = [{"y": 1}, {"buffer": "O"}, {"c": 1}, {"buffer": ["I", "W"]}, {"k": 1}, {"l": 1}]


@dataclass(frozen=True)
class Trace:
    """The values of signals, cycle by cycle, as they are just before the rising edge."""

    values: Mapping[str, tuple[int, ...]]
    widths: Mapping[str, int]
    """Bits of each signal."""

    def __getitem__(self, name: str) -> tuple[int, ...]:
        return self.values[name]

    def first(self, name: str, wanted: Callable[[int], bool] = bool, begin: int = 0) -> int:
        """The first cycle from ``begin`` on in which a signal has a wanted value."""
        return next(cycle for cycle in range(begin, len(self[name])) if wanted(self[name][cycle]))


def _run(
    module: Any, bench: Callable[[Any], Any], signals: Mapping[str, Signal], *others: Callable[..., Any]
) -> Trace:
    """Simulate until the bench ends; record the signals."""
    seen: dict[str, list[int]] = {name: [] for name in signals}

    async def record(ctx: Any) -> None:
        async for _, _, *values in ctx.tick().sample(*signals.values()):
            for name, value in zip(seen, values, strict=True):
                seen[name].append(int(value))

    simulator = Simulator(module)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    for other in (record, *others):
        simulator.add_testbench(other, background=True)
    simulator.run()
    return Trace(
        {name: tuple(values) for name, values in seen.items()}, {name: len(one) for name, one in signals.items()}
    )


def _members(prefix: str, interface: Any) -> dict[str, Signal]:
    return {f"{prefix}{name}": getattr(interface, name) for name in interface.signature.members}


def hwc_trace() -> Trace:
    """A small layer on an HWC, from the first register write to the acknowledged interrupt.

    Each port has a memory that grants a request late every third time and answers in the next cycle.
    """
    program = compile_layer(Schedule.from_data({
        "format": 1, "kind": "schedule", "layer": LAYER, "nest": NEST, "lanes": {"m": 4, "x": 4},
        "bits": {"I": 8, "W": 8, "O": 8, "acc": 32},
    }))  # fmt: skip
    rng = np.random.default_rng(1)
    layer = program.schedule.layer
    inputs = rng.integers(-128, 128, (2, 4, 4), np.int8)
    weights = rng.integers(-128, 128, (4, 2, 3, 3), np.int8)
    bias = rng.integers(-1000, 1000, 4, np.int32)
    m = Module()
    m.submodules.hwc = hwc = Hwc(program.parameters)
    image = program.image(inputs, weights, bias)
    memories = {port: stalling_memory(m, port, getattr(hwc, f"tcdm_{port}"), image) for port in "iwo"}
    words: list[int] = []

    async def bench(ctx: Any) -> None:
        for _, address, value in program.registers:
            await _access(ctx, hwc.cfg, address, value)
        await _access(ctx, hwc.cfg, *program.start)
        await ctx.tick().until(hwc.irq)
        assert await _access(ctx, hwc.cfg, program.status) == Status.DONE
        await _access(ctx, hwc.cfg, program.start[0], Control.CLEAR)
        await ctx.tick().repeat(2)
        words.extend(ctx.get(memories["o"].data[i]) for i in range(len(image)))

    signals: dict[str, Signal] = {"irq": hwc.irq}
    for name in ("cfg", "tcdm_i", "tcdm_w", "tcdm_o"):
        signals |= _members(f"{name}__", getattr(hwc, name))
    trace = _run(m, bench, signals)
    expected = layer_output(layer, inputs, weights, bias)
    assert (program.output(np.array(words, np.uint32)) == expected).all()
    return trace


async def _access(ctx: Any, port: Any, address: int, value: int | None = None) -> int:
    """One access to a configuration port, which grants at once; what it answered."""
    for signal, content in ((port.req, 1), (port.wen, value is None), (port.be, 15), (port.add, address)):
        ctx.set(signal, content)
    ctx.set(port.wdata, value or 0)
    await ctx.tick()
    ctx.set(port.req, 0)
    error, data = await ctx.tick().sample(port.r_opc, port.r_rdata).until(port.r_valid)
    assert not error
    return int(data)


def apb_trace() -> Trace:
    """Transfers to the registers of a cluster: a write, a read of the same, and a read of no register."""
    bridge, registers = ApbBridge(), ClusterRegisters(cluster())
    m = Module()
    m.submodules.bridge, m.submodules.registers = bridge, registers
    connect(m, bridge.cfg, registers.port)
    apb = bridge.apb
    words = cluster_registers(cluster())["program_words"].address
    transfers = [(words, 0x2A, 0x2A, 0), (words, None, 0x2A, 0), (0xFFC, None, 0, 1)]

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        for address, value, expected, error in transfers:
            for signal, content in ((apb.paddr, address), (apb.pwrite, value is not None), (apb.pwdata, value or 0)):
                ctx.set(signal, content)
            ctx.set(apb.pstrb, 15 if value is not None else 0)
            ctx.set(Cat(apb.psel, apb.penable), 0b01)
            await ctx.tick()
            ctx.set(apb.penable, 1)
            answer, refused = await ctx.tick().sample(apb.prdata, apb.pslverr).until(apb.pready)
            assert refused == error
            assert value is not None or answer == expected
            ctx.set(Cat(apb.psel, apb.penable), 0)
            await ctx.tick()

    return _run(m, bench, _members("apb__", apb))


def dma_trace() -> Trace:
    """A load and a store of 40 bytes by the DMA of a cluster: a burst of reads, and a burst of writes."""
    m = Module()
    m.submodules.dma = dma = Dma(cluster().dma)
    size, here, there = 40, 0x1000, 0x2000
    content = {address: address * 7 % 251 for address in range(here, here + size)}
    dram = Dram(dma.axi, content)
    tcdm = Tcdm(m, [*dma.load, *dma.store])

    async def bench(ctx: Any) -> None:
        for name, value in (("dram_end", 1 << 16), ("tcdm_end", 1 << 12)):
            ctx.set(getattr(dma.settings, name), value)
        for queue, done, address in ((dma.i_load, dma.load_done, here), (dma.i_store, dma.store_done, there)):
            for word in Descriptor(size, OperandTag.I, RingSelect.FIXED, address, 0x100).encode():
                ctx.set(queue.payload, word)
                ctx.set(queue.valid, 1)
                await ctx.tick().until(queue.ready)
            ctx.set(queue.valid, 0)
            await ctx.tick().until(done)
            await ctx.tick()
        await ctx.tick().repeat(2)

    trace = _run(m, bench, _members("axi__", dma.axi), dram.reads, dram.writes, tcdm.serve)
    assert [dram.stored[there + i] for i in range(size)] == [content[here + i] for i in range(size)]
    return trace


def stream_trace() -> Trace:
    """Pixels of six bytes come to a pipeline in beats of four; what follows is not always ready for a pixel."""
    source = TileSource(channels=6, beat=4, line=8, lines=8)
    pixels = [bytes(range(6 * number, 6 * number + 6)) for number in range(3)]
    left: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(source.columns, len(pixels))
        ctx.set(source.lines, 1)
        ctx.set(source.begin, 1)
        await ctx.tick()
        ctx.set(source.begin, 0)
        for number, pixel in enumerate(pixels):
            for beat in (pixel[:4], pixel[4:]):
                ctx.set(source.i_beat.payload, int.from_bytes(beat, "little"))
                ctx.set(source.i_beat.valid, 1)
                await taken(ctx, source.i_beat.ready)
            if number == 1:
                ctx.set(source.i_beat.valid, 0)
                await ctx.tick()
        ctx.set(source.i_beat.valid, 0)
        await ctx.tick().repeat(3)

    async def follows(ctx: Any) -> None:
        for cycle in count():
            ctx.set(source.o_pixel.ready, cycle not in (3, 4, 5))
            offered = source.o_pixel.valid & source.o_pixel.ready
            *_, leaves, pixel = await ctx.tick().sample(offered, source.o_pixel.payload)
            if leaves:
                left.append(int(pixel))

    signals = {"i_map0__payload": source.i_beat.payload, "i_map0__valid": source.i_beat.valid}
    signals |= {"i_map0__ready": source.i_beat.ready, "i_map0_keep": source.keep}
    trace = _run(source, bench, signals, follows)
    assert left == [int.from_bytes(pixel, "little") for pixel in pixels]
    return trace
