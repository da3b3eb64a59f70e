"""The cocotb test that runs layers: takes jobs from a folder, one after the other, until none is left.

Runs inside the simulator and knows nothing of schedules and layers: a job is a JSON file with numbers, and so is its
result. Several simulators may share one folder; each job is taken by one of them. The environment variable
``HWGEN_JOBS`` names the folder, ``HWGEN_BENCH`` the clock of the harness: the ``native`` run loop or cocotb, ``gpi``.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from cosim.hwc.harness_bench import HarnessBench

NO_ANSWER = 0xFFFFFFFF


class Session:
    """Does jobs one after the other on one HWC, which is reset only at the beginning and when it must be."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.reset_needed = True
        self.refused: list[int] = []

    async def measure(self, job: dict[str, Any], image: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
        """Do one job: its result, and the memory after it."""
        bench = self.bench
        self.refused = []
        await bench.memory.write(image)
        bench.control(job)
        await bench.clear(reset=job["reset"] or self.reset_needed)
        for _, address, value in job["registers"]:
            await self._access(address, value)
        began, began_cpu = time.perf_counter(), time.process_time()
        await self._access(*job["start"])
        for cycles, action, address, value in job["meanwhile"]:
            await bench.run(cycles)
            if action == "reset":
                await bench.clear(reset=True)
            elif action == "end":
                await bench.run()
                await self._access(address, value)
            else:
                await self._access(address, value)
        await bench.run()
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
        timed_out = bench.timed_out
        status = await self._access(job["status"])
        values = [await self._access(address) for address in job["reads"]]
        irq = [bench.irq]
        self.reset_needed = timed_out or job["acknowledge"] is None
        if not self.reset_needed:
            await self._access(*job["acknowledge"])
        await bench.settle()
        irq.append(bench.irq)
        result = {
            "name": job["name"],
            "status": status,
            "values": values,
            "refused": self.refused,
            "irq": irq,
            "timed_out": timed_out,
            "cycles": bench.cycles,
            "counters": {port: bench.counters(port) for port in "iwo"},
            "lanes": bench.lane_counters(),
            "violations": bench.violations(),
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
        }
        memory = await bench.memory.read(len(image))
        result["unknown_words"] = bench.memory.unknown
        if job["trace"]:
            await bench.end_trace()
        return result, memory

    async def _access(self, address: int, value: int | None = None) -> int:
        answer = await self.bench.transfer(address, value)
        if answer is None:
            return NO_ANSWER
        if answer[1]:
            self.refused.append(address)
        return answer[0]


def claimed(folder: Path) -> Iterator[Path]:
    """The jobs that are not taken yet; each is taken when it is given out."""
    for file in sorted(folder.glob("*.job.json")):
        try:
            os.close(os.open(file.with_suffix(".taken"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        yield file


@cocotb.test()
async def run_jobs(dut: Any) -> None:
    """Every job that is left in the folder."""
    await do_jobs(HarnessBench(dut, native=os.environ["HWGEN_BENCH"] == "native"))


async def do_jobs(bench: Any) -> None:
    """Do them with a bench: `HarnessBench`, or one that is used alike."""
    folder, session = Path(os.environ["HWGEN_JOBS"]), Session(bench)
    await bench.begin()
    for file in claimed(folder):
        job = json.loads(file.read_text())
        stem = file.name.removesuffix(".job.json")
        result, memory = await session.measure(job, np.load(folder / f"{stem}.image.npy"))
        np.save(folder / f"{stem}.memory.npy", memory)
        if job["trace"] and Path("trace.hex").exists():
            Path("trace.hex").replace(folder / f"{stem}.trace.hex")
        fresh = folder / f"{stem}.result.part"
        fresh.write_text(json.dumps(result))
        fresh.rename(folder / f"{stem}.result.json")
