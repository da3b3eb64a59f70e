"""Memories for the traces: on a TCDM port, on the TCDM ports of a DMA, and on its AXI port."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.memory import Memory

__all__ = ["Dram", "Tcdm", "stalling_memory", "taken"]


async def taken(ctx: Any, ready: Signal) -> None:
    """Until what is offered has been taken."""
    done = 0
    while not done:
        *_, done = await ctx.tick().sample(ready)


def stalling_memory(m: Module, name: str, port: Any, image: Iterable[int]) -> Memory:
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


class Tcdm:
    """Ports to one memory. Each is granted at once and answered in the next cycle.

    Parameters
    ----------
    m, ports
        Where its registers go, and the ports.
    """

    def __init__(self, m: Module, ports: Sequence[Any]) -> None:
        self._ports = ports
        self._content: dict[int, int] = {}
        for number, port in enumerate(ports):
            answered = Signal(name=f"answered_{number}")
            m.d.sync += answered.eq(port.req)
            m.d.comb += [port.gnt.eq(port.req), port.r_valid.eq(answered)]

    async def serve(self, ctx: Any) -> None:
        """Writes and reads, for as long as the simulation lasts."""
        names = ("req", "add", "wen", "be", "wdata")
        sampled = [getattr(port, name) for port in self._ports for name in names]
        async for _, _, *values in ctx.tick().sample(*sampled):
            for number, port in enumerate(self._ports):
                request, address, reads, enable, data = values[5 * number : 5 * number + 5]
                answer = 0
                for b in range(4):
                    if request and not reads and enable >> b & 1:
                        self._content[address + b] = data >> 8 * b & 255
                    if request and reads:
                        answer |= self._content.get(address + b, 0) << 8 * b
                ctx.set(port.r_rdata, answer)


class Dram:
    """A memory on an AXI port of 64 bits.

    It takes an address one cycle late. It gives two beats, pauses for a cycle, and takes three of four beats.

    Parameters
    ----------
    axi
        The port.
    content
        Bytes by address; what is not there reads 0.

    Members
    -------
    stored : bytes that were written, by address.
    """

    def __init__(self, axi: Any, content: Mapping[int, int]) -> None:
        self._axi, self._content = axi, content
        self.stored: dict[int, int] = {}

    async def reads(self, ctx: Any) -> None:
        """Answers AR, for as long as the simulation lasts."""
        axi = self._axi
        while True:
            address, length = await self._address(ctx, axi.arvalid, axi.arready, axi.araddr), ctx.get(axi.arlen)
            await ctx.tick().repeat(2)
            for beat in range(length + 1):
                word = bytes(self._content.get(address + 8 * beat + i, 0) for i in range(8))
                ctx.set(axi.rdata, int.from_bytes(word, "little"))
                ctx.set(Cat(axi.rlast, axi.rvalid), int(beat == length) | 2)
                await taken(ctx, axi.rready)
                if beat % 2:
                    ctx.set(axi.rvalid, 0)
                    await ctx.tick()
            ctx.set(Cat(axi.rlast, axi.rvalid), 0)

    async def writes(self, ctx: Any) -> None:
        """Answers AW and W, for as long as the simulation lasts."""
        axi = self._axi
        takes = axi.wvalid & axi.wready
        while True:
            place, cycle, last = await self._address(ctx, axi.awvalid, axi.awready, axi.awaddr), 0, 0
            while not last:
                ctx.set(axi.wready, cycle % 4 != 3)
                *_, took, data, strobe, last = await ctx.tick().sample(takes, axi.wdata, axi.wstrb, takes & axi.wlast)
                if took:
                    self.stored.update({place + i: data >> 8 * i & 255 for i in range(8) if strobe >> i & 1})
                    place += 8
                cycle += 1
            ctx.set(axi.wready, 0)
            await ctx.tick()
            ctx.set(Cat(axi.bid, axi.bvalid), 1 | 1 << 2)
            await taken(ctx, axi.bready)
            ctx.set(axi.bvalid, 0)

    @staticmethod
    async def _address(ctx: Any, valid: Signal, ready: Signal, address: Signal) -> int:
        """The next burst's first beat."""
        while not ctx.get(valid):
            await ctx.tick()
        await ctx.tick()
        first = int(ctx.get(address)) & ~7
        ctx.set(ready, 1)
        await ctx.tick()
        ctx.set(ready, 0)
        return first
