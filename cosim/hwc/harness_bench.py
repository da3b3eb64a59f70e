"""The test bench around the harness in HDL, which has the memory, the counters and the stalls: see `hwc.sv`.

Runs inside the simulator and knows numbers and handles only.
"""

import ctypes
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, SimTimeoutError, Timer, ValueChange, with_timeout

from cosim.simulator.memory import FileMemory, MappedMemory, Memory
from cosim.simulator.watch import HEARTBEAT

__all__ = ["PATIENCE", "PERIOD", "WRITE_ANSWERS", "HarnessBench"]

PERIOD = 10  # ns
PATIENCE = 10_000  # cycles until a configuration access counts as unanswered
NATIVE_CYCLES = 1 << 20  # between two heartbeats: seconds, also for 256 multipliers
GPI_CYCLES = 2_000
PORTS = "iwo"
WRITE_ANSWERS = ("all", "failing", "none")


class HarnessBench:
    """Owns the clock, the configuration port and the way into the memory.

    With ``native`` the run loop linked into the simulator drives the clock while a layer runs; cocotb's own clock
    otherwise, and always while registers are written.
    """

    def __init__(self, dut: Any, *, native: bool) -> None:
        self.dut = dut
        self.native = native
        library = ctypes.CDLL(None)
        self.library = library if hasattr(library, "harness_run") else None
        self.memory: Memory = MappedMemory(library) if self.library else FileMemory(dut.files)
        if self.library:
            self.library.harness_run.restype = ctypes.c_int64
            self.library.harness_run.argtypes = [ctypes.c_int64]

    async def begin(self) -> None:
        """Start the clock."""
        Clock(self.dut.clk, PERIOD, unit="ns", impl="gpi").start()
        cocotb.start_soon(self._beat())
        await RisingEdge(self.dut.clk)

    @staticmethod
    async def _beat() -> None:
        while True:
            HEARTBEAT.touch()
            await Timer(GPI_CYCLES * PERIOD, unit="ns")

    def control(self, job: dict[str, Any]) -> None:
        """Set the harness' controls, which `clear` takes over."""
        dut = self.dut
        bases = [job["regions"].get(name, (0, 0)) for name in ("input", "weights", "bias", "partial", "output")]
        dut.region_base.value = _packed([base for base, _ in bases], 32)
        dut.region_end.value = _packed([base + size for base, size in bases], 32)
        dut.start_address.value, dut.start_value.value = job["start"]
        dut.cycle_limit.value = job["cycle_limit"]
        dut.random_start.value = job["random"]
        dut.stall_rate.value = _packed(job["stall_rates"], 8)
        dut.delay_rate.value = _packed(job["delay_rates"], 8)
        dut.more_latency.value = job["latency"] - 1
        dut.write_answers.value = WRITE_ANSWERS.index(job["write_answers"])
        port, address = job["error"] or ("", 0)
        dut.error_enable.value = 1 << PORTS.index(port) if port else 0
        dut.error_address.value = address
        trace = job["trace"]
        dut.trace_on.value = int(trace is not None)
        if trace:
            dut.trace_port.value = PORTS.index(trace["port"])
            dut.trace_first.value = trace["first"]
            dut.trace_end.value = trace["end"]

    async def clear(self, *, reset: bool) -> None:
        """Clear the counters and take over the controls; reset the HWC too, or not."""
        self.dut.clear.value = 1
        self.dut.rst.value = int(reset)
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.dut.clear.value = 0
        self.dut.rst.value = 0
        for _ in range(3):
            await RisingEdge(self.dut.clk)

    async def transfer(self, address: int, value: int | None = None) -> tuple[int, bool] | None:
        """One access on the configuration port (a read without ``value``): data and error; None if never answered."""
        dut = self.dut
        dut.cfg_write.value = int(value is not None)
        dut.cfg_address.value = address
        dut.cfg_data.value = value or 0
        dut.cfg_go.value = 1 - int(dut.cfg_go.value)
        try:
            await with_timeout(ValueChange(dut.cfg_served), PATIENCE * PERIOD, "ns")
        except SimTimeoutError:
            return None
        await FallingEdge(dut.clk)
        answer = dut.cfg_answer.value
        return int(answer) if answer.is_resolvable else 0, dut.cfg_error.value != 0

    async def run(self, cycles: int | None = None) -> None:
        """Run until the harness has finished (an interrupt, or too many cycles), or for some cycles."""
        if cycles == 0:
            return
        if self.native and self.library:
            left = 1 << 62 if cycles is None else cycles
            while left and self.library.harness_run(min(left, NATIVE_CYCLES)) == min(left, NATIVE_CYCLES):
                left -= min(left, NATIVE_CYCLES)
                HEARTBEAT.touch()
        elif cycles is not None:
            await ClockCycles(self.dut.clk, cycles)
        elif self.dut.finished.value != 1:
            await RisingEdge(self.dut.finished)

    async def settle(self) -> None:
        """A few more cycles: whatever the HWC might still do is counted too."""
        for _ in range(20):
            await FallingEdge(self.dut.clk)

    @property
    def timed_out(self) -> bool:
        """Whether the cycle limit came before the interrupt."""
        return bool(self.dut.timed_out.value == 1)

    @property
    def irq(self) -> bool:
        """The interrupt, now."""
        return bool(self.dut.finished.value == 1) and not self.timed_out

    @property
    def cycles(self) -> int:
        """Cycles from the grant of the start write to the interrupt."""
        return int(self.dut.cycles.value)

    def counters(self, port: str) -> list[tuple[int, int]]:
        """(accesses, bytes) of one port, by region and direction."""
        at = getattr(self.dut, f"port_{port}")
        return [(int(at.accesses[i].value), int(at.bytes[i].value)) for i in range(12)]

    def lane_counters(self) -> list[int]:
        """Accesses of the local memories by the lanes, where these have registers."""
        lanes = getattr(self.dut, "lanes", None)
        return [] if lanes is None else [int(lanes.vectors[i].value) for i in range(4)]

    def violations(self) -> dict[str, int]:
        """Breaches of the bus protocol by port."""
        found = {port: int(getattr(self.dut, f"port_{port}").violations.value) for port in PORTS}
        return {**found, "cfg": int(self.dut.cfg_violations.value)}

    async def end_trace(self) -> None:
        """Have the harness close the trace file."""
        self.dut.trace_on.value = 0
        await self.clear(reset=False)


def _packed(values: list[int], width: int) -> int:
    return sum(value << width * place for place, value in enumerate(values))
