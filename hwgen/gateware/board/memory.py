"""A memory of block RAMs that stands as the DRAM of a cluster, with a second port for the host."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES, beat_bytes
from hwgen.arch.latency import DRAM_QUEUE
from hwgen.arch.parameter_error import ParameterError
from hwgen.gateware.bus.axi import AxiSignature, Response
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["AxiMemory"]

PLACES = DRAM_QUEUE + 1


class _Queue(wiring.Component):
    """Bursts in order. What is pushed can be seen from the next cycle on.

    Members
    -------
    push, pop : In(1)
    put : In
    head : Out
    some : Out(1)
        There is one.
    open : Out(1)
        A push is allowed; it stays so until there is one.
    """

    def __init__(self, shape: data.StructLayout) -> None:
        self._shape = shape
        super().__init__(
            {"push": In(1), "put": In(shape), "pop": In(1), "head": Out(shape), "some": Out(1), "open": Out(1)}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bursts = bursts = Memory(shape=self._shape, depth=PLACES, init=[])
        write, read = bursts.write_port(), bursts.read_port(domain="comb")
        level = Signal(range(PLACES + 1))
        pushed = Signal.like(level)
        m.d.comb += [
            write.en.eq(self.push),
            write.data.eq(self.put),
            self.head.eq(read.data),
            self.some.eq(level != 0),
            pushed.eq(level + self.push),
        ]
        m.d.sync += [
            level.eq(pushed - self.pop),
            write.addr.eq(write.addr + self.push),
            read.addr.eq(read.addr + self.pop),
            self.open.eq((self.open & ~self.push) | (pushed < DRAM_QUEUE)),
        ]
        return m


class AxiMemory(wiring.Component):
    """A memory at an AXI4 port, with a beat in every cycle and direction: what `Dram` of all zeros says.

    Addresses are accepted up to `DRAM_QUEUE` ahead in each direction. The first beat of a read comes two cycles after
    its address; a write is answered two cycles after its last beat. What is outside is answered with DECERR, and
    not written. An access of the host goes before a beat.

    Parameters
    ----------
    data_bits
        Of the AXI port.
    size
        Bytes, whole beats.

    Members
    -------
    axi : In(AxiSignature)
    host : In(TcdmSignature)
        Reads and writes are answered in the next cycle.
    """

    def __init__(self, *, data_bits: int, size: int) -> None:
        self._beat, self._size = beat_bytes(data_bits), size
        if size <= 0 or size % self._beat:
            raise ParameterError(f"size: expected a multiple of {self._beat} bytes, got {size}")
        super().__init__({"axi": In(AxiSignature(data_bits)), "host": In(TcdmSignature())})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        axi, beat = self.axi, self._beat
        low = (beat - 1).bit_length()
        m.submodules.memory = memory = Memory(shape=8 * beat, depth=self._size // beat, init=[])
        write, read = memory.write_port(granularity=8), memory.read_port()
        queued = data.StructLayout({"id": len(axi.arid), "address": 32, "length": 8})
        m.submodules.reads = reads = _Queue(queued)
        m.submodules.writes = writes = _Queue(queued)
        for queue, channel in ((reads, "ar"), (writes, "aw")):
            of = {name: getattr(axi, f"{channel}{name}") for name in ("id", "addr", "len", "valid", "ready")}
            m.d.comb += [
                of["ready"].eq(queue.open),
                queue.push.eq(of["valid"] & queue.open),
                queue.put.id.eq(of["id"]),
                queue.put.address.eq(of["addr"]),
                queue.put.length.eq(of["len"]),
            ]
        host_writes, host_reads = Signal(), Signal()
        self._read(m, read, reads, host_reads, low)
        self._write(m, write, writes, host_writes, low)
        self._serve(m, (write, read), (host_writes, host_reads), low)
        return m

    def _read(self, m: Module, read: wiring.PureInterface, reads: _Queue, host_reads: Signal, low: int) -> None:
        """The beats that are read."""
        axi, number, goes, free = self.axi, Signal(8), Signal(), Signal()
        at = Signal(32 - low)
        final = number == reads.head.length
        m.d.comb += [
            free.eq(~axi.rvalid | axi.rready),
            at.eq(reads.head.address[low:] + number),
            goes.eq(reads.some & free & ~host_reads),
            reads.pop.eq(goes & final),
            read.en.eq(goes | host_reads),
            read.addr.eq(Mux(host_reads, self.host.add[low:], at)),
            host_reads.eq(self.host.req & self.host.wen & free),
            axi.rdata.eq(read.data),
        ]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(goes):
            m.d.sync += [
                axi.rvalid.eq(1),
                axi.rid.eq(reads.head.id),
                axi.rresp.eq(self._answer(at, low)),
                axi.rlast.eq(final),
                number.eq(Mux(final, 0, number + 1)),
            ]

    def _write(self, m: Module, write: wiring.PureInterface, writes: _Queue, host_writes: Signal, low: int) -> None:
        """The beats that are written, and their answers."""
        axi, host, number, goes = self.axi, self.host, Signal(8), Signal()
        at = Signal(32 - low)
        inside = self._inside(at, low)
        final = number == writes.head.length
        answers = data.StructLayout({"id": len(axi.bid), "failed": 1})
        m.submodules.answers = queue = _Queue(answers)
        ready = writes.some & queue.open & ~host_writes
        lanes = self._beat // WORD_BYTES
        lane = host.add[2:low] if lanes > 1 else 0
        m.d.comb += [
            at.eq(writes.head.address[low:] + number),
            axi.wready.eq(ready),
            goes.eq(axi.wvalid & ready),
            host_writes.eq(host.req & ~host.wen),
            write.addr.eq(Mux(host_writes, host.add[low:], at)),
            write.data.eq(Mux(host_writes, Cat(*[host.wdata] * lanes), axi.wdata)),
            write.en.eq(
                Mux(
                    host_writes,
                    Mux(self._inside(host.add[low:], low), host.be << (lane * WORD_BYTES), 0),
                    Mux(goes & inside, axi.wstrb, 0),
                )
            ),
            writes.pop.eq(goes & final),
            queue.push.eq(goes & final),
            queue.put.id.eq(writes.head.id),
            queue.put.failed.eq(~inside),  # addresses rise: if any beat is outside, the last one is
            queue.pop.eq(queue.some & (~axi.bvalid | axi.bready)),
        ]
        with m.If(goes):
            m.d.sync += number.eq(Mux(final, 0, number + 1))
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(queue.pop):
            m.d.sync += [
                axi.bvalid.eq(1),
                axi.bid.eq(queue.head.id),
                axi.bresp.eq(Mux(queue.head.failed, Response.DECERR, Response.OKAY)),
            ]

    def _serve(
        self, m: Module, ports: tuple[wiring.PureInterface, ...], goes: tuple[Signal, Signal], low: int
    ) -> None:
        """The host's accesses: granted at once, but a read where the beat before it has not been taken."""
        host, read = self.host, ports[1]
        lanes = self._beat // WORD_BYTES
        lane = Signal(range(lanes))
        m.d.comb += [host.gnt.eq(goes[0] | goes[1]), host.r_rdata.eq(read.data.word_select(lane, WORD_BITS))]
        m.d.sync += [host.r_valid.eq(goes[0] | goes[1]), host.r_opc.eq(~self._inside(host.add[low:], low))]
        if lanes > 1:
            m.d.sync += lane.eq(host.add[2:low])

    def _inside(self, at: Value, low: int) -> Value:
        """Whether a beat, by its number, is in the memory."""
        return at < (self._size >> low)

    def _answer(self, at: Value, low: int) -> Value:
        return Mux(self._inside(at, low), Response.OKAY, Response.DECERR)
