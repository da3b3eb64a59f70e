"""The test bench that runs layers: takes jobs from a folder, one after the other, until none is left.

Runs inside the simulator and knows nothing of schedules and layers: a job is a JSON file with numbers, and so is its
result. Several simulators may share one folder; each job is taken by one of them. The environment variable
``HWGEN_JOBS`` names the folder, ``HWGEN_CLOCK`` who drives the clock: ``native`` (the run loop that is linked into
the simulator) or ``gpi`` (cocotb).
"""

import ctypes
import json
import os
import signal
import time
from pathlib import Path
from typing import Any, Protocol

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer, ValueChange, with_timeout

PERIOD = 10  # ns
PATIENCE = 10_000  # cycles until a configuration access counts as unanswered
NO_ANSWER = 0xFFFFFFFF
UNKNOWN = frozenset("xXzZ")
PR_SET_PDEATHSIG = 1  # Linux: a signal for this process when the one that started it ends
HEARTBEAT = Path("alive")  # touched as long as simulated time goes on
NATIVE_CYCLES = 1 << 23  # between two heartbeats
GPI_CYCLES = 2_000


class Memory(Protocol):
    """The test bench's way into the harness' memory."""

    async def write(self, words: np.ndarray) -> None:
        """Put ``words`` at address 0."""

    async def read(self, count: int) -> np.ndarray:
        """The first ``count`` words; what is unknown (Icarus) becomes 0 and is counted in `unknown`."""

    unknown: int


class MappedMemory:
    """Verilator: a view of the simulator's own array."""

    unknown = 0

    def __init__(self, library: ctypes.CDLL) -> None:
        library.harness_memory.restype = ctypes.POINTER(ctypes.c_uint32)
        count = ctypes.c_size_t()
        pointer = library.harness_memory(ctypes.byref(count))
        if not pointer:
            raise RuntimeError("the simulator has no harness")
        self._words = np.ctypeslib.as_array(pointer, shape=(count.value,))

    async def write(self, words: np.ndarray) -> None:
        self._words[: len(words)] = words

    async def read(self, count: int) -> np.ndarray:
        return self._words[:count].copy()


class FileMemory:
    """Icarus: through files that the harness reads and writes."""

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        self.unknown = 0

    async def write(self, words: np.ndarray) -> None:
        Path("load.hex").write_text("\n".join(map("{:08x}".format, words.tolist())) + "\n")
        await self._transfer(self._dut.load, len(words))

    async def read(self, count: int) -> np.ndarray:
        await self._transfer(self._dut.store, count)
        words = [line for line in Path("store.hex").read_text().splitlines() if not line.startswith("//")]
        known = [word if UNKNOWN.isdisjoint(word) else "0" for word in words]
        self.unknown = sum(word is not line for word, line in zip(known, words, strict=True))
        return np.array([int(word, 16) for word in known], dtype=np.uint32)

    async def _transfer(self, trigger: Any, count: int) -> None:
        self._dut.file_first.value = 0
        self._dut.file_last.value = count - 1
        await Timer(1, unit="ns")
        trigger.value = 1
        await Timer(1, unit="ns")
        trigger.value = 0
        await Timer(1, unit="ns")


class LayerBench:
    """Owns the clock, the configuration port and the way into the memory."""

    def __init__(self, dut: Any, *, native: bool) -> None:
        self.dut = dut
        self.library = ctypes.CDLL(None) if native or hasattr(ctypes.CDLL(None), "harness_run") else None
        self.native = native
        self.memory: Memory = MappedMemory(self.library) if self.library else FileMemory(dut)
        if self.library:
            self.library.harness_run.restype = ctypes.c_int64
            self.library.harness_run.argtypes = [ctypes.c_int64]
        self.reset_needed = True

    async def begin(self) -> None:
        Clock(self.dut.clk, PERIOD, unit="ns", impl="gpi").start()
        cocotb.start_soon(self._beat())
        await RisingEdge(self.dut.clk)

    @staticmethod
    async def _beat() -> None:
        while True:
            HEARTBEAT.touch()
            await Timer(GPI_CYCLES * PERIOD, unit="ns")

    async def prepare(self, job: dict[str, Any], image: np.ndarray) -> None:
        """Load the memory, set the controls, clear the counters, reset the HWC if need be."""
        await self.memory.write(image)
        dut = self.dut
        bases = [job["regions"].get(name, (0, 0)) for name in ("input", "weights", "bias", "partial", "output")]
        dut.region_base.value = _packed([base for base, _ in bases], 32)
        dut.region_end.value = _packed([base + size for base, size in bases], 32)
        dut.start_address.value, dut.start_value.value = job["start"]
        dut.cycle_limit.value = job["cycle_limit"]
        dut.random_start.value = job["random"]
        dut.stall_rate.value = _packed(job["stall_rates"], 8)
        dut.delay_rate.value = _packed(job["delay_rates"], 8)
        port, address = job["error"] or ("", 0)
        dut.error_enable.value = {"i": 1, "w": 2, "o": 4}.get(port, 0)
        dut.error_address.value = address
        trace = job["trace"]
        dut.trace_on.value = int(trace is not None)
        if trace:
            dut.trace_port.value = "iwo".index(trace["port"])
            dut.trace_first.value = trace["first"]
            dut.trace_end.value = trace["end"]
        await self._clear(reset=job["reset"] or self.reset_needed)
        self.reset_needed = False

    async def _clear(self, *, reset: bool) -> None:
        self.dut.clear.value = 1
        self.dut.rst.value = int(reset)
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.dut.clear.value = 0
        self.dut.rst.value = 0
        for _ in range(3):
            await RisingEdge(self.dut.clk)

    async def transfer(self, address: int, value: int | None = None) -> int | None:
        """One access on the configuration port (a read without ``value``); None if it is never answered."""
        dut = self.dut
        dut.cfg_write.value = int(value is not None)
        dut.cfg_address.value = address
        dut.cfg_data.value = value or 0
        dut.cfg_go.value = 1 - int(dut.cfg_go.value)
        try:
            await with_timeout(ValueChange(dut.cfg_served), PATIENCE * PERIOD, "ns")
        except cocotb.triggers.SimTimeoutError:
            return None
        await FallingEdge(dut.clk)
        return int(dut.cfg_answer.value) if value is None and dut.cfg_answer.value.is_resolvable else 0

    async def run(self) -> None:
        """Until the harness has finished: an interrupt, or too many cycles."""
        if self.native and self.library:
            while self.library.harness_run(NATIVE_CYCLES) == NATIVE_CYCLES:
                HEARTBEAT.touch()
        elif self.dut.finished.value != 1:
            await RisingEdge(self.dut.finished)

    def counters(self, port: str) -> list[tuple[int, int]]:
        """(accesses, bytes) by region and direction."""
        at = getattr(self.dut, f"port_{port}")
        return [(int(at.accesses[i].value), int(at.bytes[i].value)) for i in range(12)]

    async def measure(self, job: dict[str, Any], image: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
        """Do one job: its result, and the memory after it."""
        await self.prepare(job, image)
        for _, address, value in job["registers"]:
            await self.transfer(address, value)
        began, began_cpu = time.perf_counter(), time.process_time()
        await self.transfer(*job["start"])
        await self.run()
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
        dut = self.dut
        timed_out = dut.timed_out.value == 1
        status = await self.transfer(job["status"])
        if timed_out or job["acknowledge"] is None:
            self.reset_needed = True
        else:
            await self.transfer(*job["acknowledge"])
        for _ in range(20):  # whatever the HWC might still do is counted too
            await FallingEdge(dut.clk)
        result = {
            "name": job["name"],
            "status": NO_ANSWER if status is None else status,
            "timed_out": bool(timed_out),
            "cycles": int(dut.cycles.value),
            "counters": {port: self.counters(port) for port in "iwo"},
            "violations": {
                **{port: int(getattr(dut, f"port_{port}").violations.value) for port in "iwo"},
                "cfg": int(dut.cfg_violations.value),
            },
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
        }
        memory = await self.memory.read(len(image))
        result["unknown_words"] = self.memory.unknown
        if job["trace"]:
            dut.trace_on.value = 0
            await self._clear(reset=False)
        return result, memory


def _packed(values: list[int], width: int) -> int:
    return sum(value << width * place for place, value in enumerate(values))


def _claimed(folder: Path) -> Any:
    """The jobs that nobody has taken yet, each taken as it is given out."""
    for file in sorted(folder.glob("*.job.json")):
        try:
            os.close(os.open(file.with_suffix(".taken"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        yield file


@cocotb.test()
async def run_jobs(dut: Any) -> None:
    """Every job that is left in the folder."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    folder = Path(os.environ["HWGEN_JOBS"])
    bench = LayerBench(dut, native=os.environ["HWGEN_CLOCK"] == "native")
    await bench.begin()
    for file in _claimed(folder):
        job = json.loads(file.read_text())
        stem = file.name.removesuffix(".job.json")
        result, memory = await bench.measure(job, np.load(folder / f"{stem}.image.npy"))
        np.save(folder / f"{stem}.memory.npy", memory)
        if job["trace"] and Path("trace.hex").exists():
            Path("trace.hex").replace(folder / f"{stem}.trace.hex")
        fresh = folder / f"{stem}.result.part"
        fresh.write_text(json.dumps(result))
        fresh.rename(folder / f"{stem}.result.json")
