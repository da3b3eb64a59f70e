"""Traces of the gateware in Amaranth's simulator: small runs whose handshakes the manual shows.

Every run checks its result, so that what is shown is a run that works.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.memory import Memory
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
from hwgen.golden.convolution import convolve
from hwgen.golden.requantisation import requantise
from hwgen.ir.requantisation import Requantisation, Scale
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import compile_layer
from manual.designs import cluster

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
    rule = Requantisation((Scale(shift=6),))
    program = compile_layer(Schedule.from_data({
        "format": 1, "kind": "schedule", "layer": LAYER, "nest": NEST, "lanes": {"m": 4, "x": 4},
        "bits": {"I": 8, "W": 8, "O": 8, "acc": 32},
    }), requantisation=rule)  # fmt: skip
    rng = np.random.default_rng(1)
    layer = program.schedule.layer
    inputs = rng.integers(-128, 128, (2, 4, 4), np.int8)
    weights = rng.integers(-128, 128, (4, 2, 3, 3), np.int8)
    bias = rng.integers(-1000, 1000, 4, np.int32)
    m = Module()
    m.submodules.hwc = hwc = Hwc(program.parameters)
    image = program.image(inputs, weights, bias)
    memories = {port: _memory(m, port, getattr(hwc, f"tcdm_{port}"), image) for port in "iwo"}
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
    expected = requantise(convolve(layer, inputs, weights), bias, rule)
    assert (program.output(np.array(words, np.uint32)) == expected).all()
    return trace


def _memory(m: Module, name: str, port: Any, image: Iterable[int]) -> Memory:
    """A memory on a TCDM port: it grants at once but for every third request, which waits for two cycles."""
    memory = Memory(shape=32, depth=len(list(image)), init=[int(word) for word in image])
    m.submodules[f"memory_{name}"] = memory
    read, write = memory.read_port(), memory.write_port(granularity=8)
    granted, waits = Signal(range(3), name=f"granted_{name}"), Signal(range(3), name=f"waits_{name}")
    late = (granted == 2) & (waits != 2)
    m.d.comb += [
        port.gnt.eq(port.req & ~late),
        *(one.addr.eq(port.add[2:]) for one in (read, write)),
        read.en.eq(port.gnt & port.wen),
        write.data.eq(port.wdata),
        write.en.eq((port.gnt & ~port.wen).replicate(4) & port.be),
    ]
    reads = Signal(name=f"reads_{name}")
    m.d.sync += [port.r_valid.eq(port.gnt), reads.eq(port.gnt & port.wen)]
    with m.If(reads):
        m.d.comb += port.r_rdata.eq(read.data)
    with m.If(port.gnt):
        m.d.sync += [granted.eq(granted + 1), waits.eq(0)]
        with m.If(granted == 2):
            m.d.sync += granted.eq(0)
    with m.Elif(port.req):
        m.d.sync += waits.eq(waits + 1)
    return memory


async def _access(ctx: Any, port: Any, address: int, value: int | None = None) -> int:
    """One access to a configuration port, which grants at once; what it answered."""
    for signal, content in ((port.req, 1), (port.wen, value is None), (port.be, 15), (port.add, address)):
        ctx.set(signal, content)
    ctx.set(port.wdata, value or 0)
    await ctx.tick()
    ctx.set(port.req, 0)
    *_, valid, error, data = await ctx.tick().sample(port.r_valid, port.r_opc, port.r_rdata)
    assert valid
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
            *_, ready, answer, refused = await ctx.tick().sample(apb.pready, apb.prdata, apb.pslverr)
            assert (ready, refused) == (1, error)
            assert value is not None or answer == expected
            ctx.set(Cat(apb.psel, apb.penable), 0)
            await ctx.tick()

    return _run(m, bench, _members("apb__", apb))


def dma_trace() -> Trace:
    """A load and a store of 40 bytes by the DMA of a cluster: a burst of reads, and a burst of writes.

    The DRAM takes an address one cycle late, gives a beat in all but every third cycle, and takes one in all but
    every fourth.
    """
    m = Module()
    m.submodules.dma = dma = Dma(cluster().dma)
    size, here, there = 40, 0x1000, 0x2000
    stored: dict[int, int] = {}
    loaded: dict[int, int] = {}
    content = {address: address * 7 % 251 for address in range(here, here + size)}
    memories = [_tcdm(m, f"{way}_{i}", port) for way in ("load", "store") for i, port in enumerate(getattr(dma, way))]
    assert memories
    axi = dma.axi

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

    async def reads(ctx: Any) -> None:
        while True:
            while not ctx.get(axi.arvalid):
                await ctx.tick()
            await ctx.tick()
            address, length = ctx.get(axi.araddr), ctx.get(axi.arlen)
            ctx.set(axi.arready, 1)
            await ctx.tick()
            ctx.set(axi.arready, 0)
            await ctx.tick().repeat(2)
            for beat in range(length + 1):
                bytes_ = bytes(content.get((address & ~7) + 8 * beat + i, 0) for i in range(8))
                ctx.set(axi.rdata, int.from_bytes(bytes_, "little"))
                ctx.set(Cat(axi.rlast, axi.rvalid), int(beat == length) | 2)
                await _taken(ctx, axi.rready)
                if beat % 2:
                    ctx.set(axi.rvalid, 0)
                    await ctx.tick()
            ctx.set(Cat(axi.rlast, axi.rvalid), 0)

    async def writes(ctx: Any) -> None:
        while True:
            while not ctx.get(axi.awvalid):
                await ctx.tick()
            await ctx.tick()
            address = ctx.get(axi.awaddr)
            ctx.set(axi.awready, 1)
            await ctx.tick()
            ctx.set(axi.awready, 0)
            place, cycle, last = address & ~7, 0, 0
            takes = axi.wvalid & axi.wready
            while not last:
                ctx.set(axi.wready, cycle % 4 != 3)
                *_, took, data, strobe, last = await ctx.tick().sample(takes, axi.wdata, axi.wstrb, takes & axi.wlast)
                if took:
                    stored.update({place + i: data >> 8 * i & 255 for i in range(8) if strobe >> i & 1})
                    place += 8
                cycle += 1
            ctx.set(axi.wready, 0)
            await ctx.tick()
            ctx.set(Cat(axi.bid, axi.bvalid), 1 | 1 << 2)
            await _taken(ctx, axi.bready)
            ctx.set(axi.bvalid, 0)

    async def remembers(ctx: Any) -> None:
        """What the load ports write, the store ports read."""
        ports = [*dma.load, *dma.store]
        sampled = [
            signal for port in ports for signal in (port.req, port.gnt, port.add, port.wen, port.be, port.wdata)
        ]
        async for _, _, *values in ctx.tick().sample(*sampled):
            for i, port in enumerate(ports):
                req, gnt, address, reads_, enable, data = values[6 * i : 6 * i + 6]
                if req and gnt and not reads_:
                    loaded.update({address + b: data >> 8 * b & 255 for b in range(4) if enable >> b & 1})
                answer = sum(loaded.get(address + b, 0) << 8 * b for b in range(4)) if req and gnt and reads_ else 0
                ctx.set(port.r_rdata, answer)

    trace = _run(m, bench, _members("axi__", axi), reads, writes, remembers)
    assert [stored[there + i] for i in range(size)] == [content[here + i] for i in range(size)]
    return trace


async def _taken(ctx: Any, ready: Signal) -> None:
    """Until what is offered has been taken."""
    taken = 0
    while not taken:
        *_, taken = await ctx.tick().sample(ready)


def _tcdm(m: Module, name: str, port: Any) -> Signal:
    """A TCDM port that is granted at once and answered in the next cycle; the data come from the bench."""
    answered = Signal(name=f"answered_{name}")
    m.d.sync += answered.eq(port.req)
    m.d.comb += [port.gnt.eq(port.req), port.r_valid.eq(answered)]
    return answered


def stream_trace() -> Trace:
    """Pixels of six bytes come to a pipeline in beats of four; what follows is not always ready for a pixel."""
    source = TileSource(channels=6, beat=4, line=8, lines=8)
    pixels = [bytes(range(6 * number, 6 * number + 6)) for number in range(3)]
    taken: list[int] = []

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
                await _taken(ctx, source.i_beat.ready)
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
                taken.append(int(pixel))

    signals = {"i_map0__payload": source.i_beat.payload, "i_map0__valid": source.i_beat.valid}
    signals |= {"i_map0__ready": source.i_beat.ready, "i_map0_keep": source.keep}
    trace = _run(source, bench, signals, follows)
    assert taken == [int.from_bytes(pixel, "little") for pixel in pixels]
    return trace
