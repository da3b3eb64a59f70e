"""The test bench that is the bus itself: memory, stalls, checks and counters in Python, on the ports of the HWC.

Slow, obvious, and sharing nothing with the harness in HDL but the way it is used, so that each checks the other.
"""

from collections import deque
from random import Random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from cosim.hwc.harness_bench import PATIENCE, PERIOD, PORTS
from cosim.hwc.tb_jobs import do_jobs
from cosim.simulator.watch import HEARTBEAT
from hwgen.arch.bus import WORD_BITS, WORD_BYTES

REQUESTS_AFTER_AN_ERROR = 2
"""Most requests of a port after the cycle in which a port was answered with an error."""
REGIONS = ("input", "weights", "bias", "partial", "output")


class PythonMemory:
    """A memory that the ports of the bus share."""

    unknown = 0

    def __init__(self) -> None:
        self.words = np.zeros(0, np.uint32)

    async def write(self, words: np.ndarray) -> None:
        self.words = words.copy()

    async def read(self, count: int) -> np.ndarray:
        return self.words[:count].copy()


class Slave:
    """The memory's side of one port: grants and answers at random, checks the protocol, counts."""

    def __init__(self, bench: "BusBench", port: str) -> None:
        self.bench, self.port = bench, port
        names = ("req", "gnt", "add", "wen", "be", "wdata", "r_valid", "r_opc", "r_rdata")
        handles: list[Any] = [getattr(bench.dut, f"tcdm_{port}__{name}") for name in names]
        self.req, self.gnt, self.add, self.wen, self.be, self.wdata, self.r_valid, self.r_opc, self.r_rdata = handles
        self.bytes = len(self.be)
        self.restart(Random(0), 0, 0, 1, "all")

    def restart(self, random: Random, stall_rate: int, delay_rate: int, latency: int, write_answers: str) -> None:
        """Forget everything; ``stall_rate`` and ``delay_rate`` are cycles in 256."""
        self.random, self.stall_rate, self.delay_rate = random, stall_rate, delay_rate
        self.latency, self.write_answers = latency, write_answers
        self.cycle = 0
        # The first cycle in which each may be given, error flag, data.
        self.answers: deque[tuple[int, int, int]] = deque()
        self.waiting: tuple[int, ...] | None = None
        self.counters = [[0, 0] for _ in range(12)]
        self.violations = 0
        self.late = 0  # requests after an error

    async def serve(self) -> None:
        """Forever: what is sampled after the edge is what was there before it."""
        granted = False
        self._idle()
        while True:
            await RisingEdge(self.bench.dut.clk)
            self.cycle += 1
            if self.bench.in_reset:
                self._idle()
                granted = False
                continue
            request = self._request()
            if self.waiting is not None and request != self.waiting:
                self.violations += 1
            if self.waiting is None and request is not None and self.cycle > (self.bench.failed or self.cycle):
                self.late += 1
                self.violations += self.late > REQUESTS_AFTER_AN_ERROR
            if self.r_valid.value == 1 and self.r_opc.value == 1 and self.bench.failed is None:
                self.bench.failed = self.cycle
            if request is not None and granted:
                self._transfer(*request)
            self.waiting = None if granted else request
            granted = self.random.randrange(256) >= self.stall_rate and len(self.answers) < 8
            self.gnt.value = int(granted)
            answers = bool(self.answers) and self.random.randrange(256) >= self.delay_rate
            answers = answers and self.answers[0][0] <= self.cycle
            self.r_valid.value = int(answers)
            self.r_opc.value, self.r_rdata.value = self.answers.popleft()[1:] if answers else (0, self._noise())

    def _idle(self) -> None:
        for signal in (self.gnt, self.r_valid, self.r_opc, self.r_rdata):
            signal.value = 0

    def _noise(self) -> int:
        return self.random.getrandbits(8 * self.bytes)

    def _request(self) -> tuple[int, ...] | None:
        if self.req.value != 1:
            return None
        write = int(self.wen.value == 0)
        return int(self.add.value), write, int(self.be.value), int(self.wdata.value) if write else 0

    def _transfer(self, address: int, write: int, enable: int, data: int) -> None:
        place = self.bench.region(address)
        count = self.counters[2 * place + write]
        count[0] += 1
        count[1] += enable.bit_count()
        self.violations += address % self.bytes != 0
        mask = sum(0xFF << 8 * byte for byte in range(self.bytes) if enable >> byte & 1)
        words, error, answer = self.bench.memory.words, 0, self._noise()
        first, number = address // WORD_BYTES, self.bytes // WORD_BYTES
        held = sum(int(word) << WORD_BITS * i for i, word in enumerate(words[first : first + number]))
        if first >= len(words) or (self.port, address) == self.bench.error:
            error = 1
        elif write and self.port == "o":
            held = held & ~mask | data & mask
            for i in range(min(number, len(words) - first)):
                words[first + i] = held >> WORD_BITS * i & 0xFFFFFFFF
        elif not write:
            answer = held & mask | answer & ~mask
        if not write or self.write_answers == "all" or (error and self.write_answers == "failing"):
            self.answers.append((self.cycle + self.latency - 1, error, answer))


class BusBench:
    """Owns the clock, the three memory ports and the configuration port; used as `HarnessBench` is."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.memory = PythonMemory()
        self.in_reset = True
        self.error: tuple[str, int] | None = None
        self.timed_out = False
        self.cycles = 0
        self._lanes, self._vectors = getattr(dut, "lane_accesses", None), [0] * 4
        self.failed: int | None = None  # the cycle of the first answer with an error
        self._slaves = {port: Slave(self, port) for port in PORTS}
        self._regions: list[tuple[int, int]] = []
        self._random = Random(0)
        self._job: dict[str, Any] = {}
        self._counting = False
        self._open = 0
        self._cfg_violations = 0

    async def begin(self) -> None:
        """Start the clock and the ports."""
        for name in ("req", "add", "wen", "be", "wdata"):
            getattr(self.dut, f"cfg__{name}").value = 0
        self.dut.rst.value = 1
        Clock(self.dut.clk, PERIOD, unit="ns", impl="gpi").start()
        for slave in self._slaves.values():
            cocotb.start_soon(slave.serve())
        cocotb.start_soon(self._watch())
        await RisingEdge(self.dut.clk)

    async def _watch(self) -> None:
        """Count cycles from the start to the interrupt, and the configuration port's answers."""
        elapsed = 0
        while True:
            await RisingEdge(self.dut.clk)
            elapsed += 1
            if elapsed % 1000 == 0:
                HEARTBEAT.touch()
            if self._counting and self.dut.irq.value == 1:
                self._counting = False
            self.cycles += self._counting
            made = 0 if self._lanes is None or self.in_reset else int(self._lanes.value)
            self._vectors = [vectors + (made >> place & 1) for place, vectors in enumerate(self._vectors)]
            answered = self.dut.cfg__r_valid.value == 1
            self._cfg_violations += answered and not self._open
            asked = self.dut.cfg__req.value == 1 and self.dut.cfg__gnt.value == 1
            self._open += asked - (answered and self._open > 0)
            if asked and self.dut.cfg__wen.value == 0 and self._cfg_write() == tuple(self._job["start"]):
                self.cycles, self._counting = 0, True

    def _cfg_write(self) -> tuple[int, int]:
        return int(self.dut.cfg__add.value), int(self.dut.cfg__wdata.value)

    def control(self, job: dict[str, Any]) -> None:
        """Take over the job's regions, stalls and errors; `clear` applies them."""
        self._job = job
        self._regions = [tuple(job["regions"].get(name, (0, 0))) for name in REGIONS]
        self.error = tuple(job["error"]) if job["error"] else None

    async def clear(self, *, reset: bool) -> None:
        """Clear the counters; reset the HWC too, or not."""
        job = self._job
        self._random = Random(job["random"])
        self.timed_out, self.cycles, self._counting, self._open, self._cfg_violations = False, 0, False, 0, 0
        self._vectors = [0] * 4
        if reset:
            self.dut.rst.value = 1
            self.in_reset = True
            await self._wait(3)
        self.failed = None
        for place, (port, slave) in enumerate(self._slaves.items()):
            random = Random(f"{job['random']} {port}")
            rates = job["stall_rates"][place], job["delay_rates"][place]
            slave.restart(random, *rates, job["latency"], job["write_answers"])
        self.dut.rst.value = 0
        self.in_reset = False
        await self._wait(3)

    async def transfer(self, address: int, value: int | None = None) -> tuple[int, bool] | None:
        """One access on the configuration port (a read without ``value``): data and error; None if never answered.

        With stalls there are random pauses before it.
        """
        dut = self.dut
        if any(self._job["stall_rates"]):
            await self._wait(self._random.randrange(4))
        dut.cfg__req.value, dut.cfg__add.value, dut.cfg__be.value = 1, address, 15
        dut.cfg__wen.value, dut.cfg__wdata.value = int(value is None), value or 0
        for _ in range(PATIENCE):
            await RisingEdge(dut.clk)
            if dut.cfg__gnt.value == 1:
                break
        else:
            return None
        dut.cfg__req.value = 0
        for _ in range(PATIENCE):
            await RisingEdge(dut.clk)
            if dut.cfg__r_valid.value == 1:
                return int(dut.cfg__r_rdata.value), dut.cfg__r_opc.value == 1
        return None

    async def run(self, cycles: int | None = None) -> None:
        """Run until the interrupt or too many cycles, or for some cycles."""
        if cycles is not None:
            await self._wait(cycles)
            return
        while self.dut.irq.value != 1:
            await RisingEdge(self.dut.clk)
            if self.cycles > self._job["cycle_limit"]:
                self.timed_out = True
                return

    async def settle(self) -> None:
        """A few more cycles: whatever the HWC might still do is counted too."""
        await self._wait(20)
        await FallingEdge(self.dut.clk)

    @property
    def irq(self) -> bool:
        """The interrupt, now."""
        return bool(self.dut.irq.value == 1)

    def region(self, address: int) -> int:
        """Index of the region that contains an address; that of ``elsewhere`` if none does."""
        inside = (i for i, (base, size) in enumerate(self._regions) if base <= address < base + size)
        return next(inside, len(REGIONS))

    def counters(self, port: str) -> list[tuple[int, int]]:
        """(accesses, bytes) of one port, by region and direction."""
        return [(accesses, marked) for accesses, marked in self._slaves[port].counters]

    def lane_counters(self) -> list[int]:
        """Accesses of the local memories by the lanes, where these have registers."""
        return [] if self._lanes is None else self._vectors

    def violations(self) -> dict[str, int]:
        """Breaches of the bus protocol by port."""
        return {**{port: slave.violations for port, slave in self._slaves.items()}, "cfg": self._cfg_violations}

    async def end_trace(self) -> None:
        """There is no trace here."""

    async def _wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)


@cocotb.test()
async def run_on_the_bus(dut: Any) -> None:
    """Every job that is left in the folder."""
    await do_jobs(BusBench(dut))
