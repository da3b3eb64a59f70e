"""The cocotb test of the DMA: the AXI memory of cocotbext-axi, a bus monitor, and a TCDM in Python.

Runs inside the simulator and knows numbers and handles only. ``HWGEN_DMA_JOB`` names the folder with ``job.json``,
``dram.npy`` and ``tcdm.npy``; results are written there, too.
"""

import itertools
import json
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiRam

LIMIT = 200_000  # cycles


class TcdmPort:
    """The memory side of one TCDM port, with grants and answers after random delays."""

    def __init__(self, dut: Any, name: str, memory: np.ndarray, random: Random, stall_rate: int) -> None:
        names = ("req", "gnt", "add", "wen", "be", "wdata", "r_valid", "r_opc", "r_rdata")
        self.at: dict[str, Any] = {each: getattr(dut, f"{name}__{each}") for each in names}
        self.clk, self.memory, self.random, self.stall_rate = dut.clk, memory, random, stall_rate
        for each in ("gnt", "r_valid", "r_opc", "r_rdata"):
            self.at[each].value = 0

    async def serve(self) -> None:
        answers: deque[int] = deque()
        granted = False
        while True:
            await RisingEdge(self.clk)
            if granted and self.at["req"].value == 1:
                answers.append(self._access())
            granted = self.random.randrange(256) >= self.stall_rate and len(answers) < 4
            self.at["gnt"].value = int(granted)
            answering = bool(answers) and self.random.randrange(256) >= self.stall_rate
            self.at["r_valid"].value = int(answering)
            self.at["r_rdata"].value = answers.popleft() if answering else self.random.getrandbits(32)

    def _access(self) -> int:
        address, enable = int(self.at["add"].value), int(self.at["be"].value)
        word = self.random.getrandbits(32)
        for byte in range(4):
            if not enable >> byte & 1:
                continue
            if self.at["wen"].value == 1:
                word = word & ~(0xFF << 8 * byte) | int(self.memory[address + byte]) << 8 * byte
            else:
                self.memory[address + byte] = int(self.at["wdata"].value) >> 8 * byte & 0xFF
        return word


class Watch:
    """Checks of the AXI master: stable until ready, burst lengths, 4 KiB boundaries, strobes, last beats."""

    def __init__(self, dut: Any, width: int) -> None:
        self.dut, self.width = dut, width
        self.breaches: list[str] = []
        self.bursts: list[tuple[str, int, int]] = []
        self._writes: deque[tuple[int, int, int]] = deque()
        self._beat = 0

    def _values(self, channel: str, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(int(getattr(self.dut, f"axi__{channel}{name}").value) for name in names)

    async def run(self) -> None:
        address = ("id", "addr", "len", "size", "burst", "user")
        fields = {"aw": address, "ar": address, "w": ("data", "strb", "last")}
        kept: dict[str, tuple[int, ...] | None] = dict.fromkeys(fields)
        while True:
            await RisingEdge(self.dut.clk)
            for channel, names in fields.items():
                valid = getattr(self.dut, f"axi__{channel}valid").value == 1
                now = self._values(channel, names) if valid else None
                if kept[channel] is not None and now != kept[channel]:
                    self.breaches.append(f"{channel} changed before it was taken")
                taken = valid and getattr(self.dut, f"axi__{channel}ready").value == 1
                kept[channel] = None if taken else now
                if taken and now is not None:
                    (self._data if channel == "w" else self._address)(channel, now)

    def _address(self, channel: str, now: tuple[int, ...]) -> None:
        _, address, length, size, burst, user = now
        last = (address // self.width + length) * self.width
        self.bursts.append((channel, address, length + 1))
        if burst != 1 or 1 << size != self.width or address // 4096 != last // 4096:
            self.breaches.append(f"{channel} {now}")
        if channel == "aw":
            self._writes.append((address, length, user >> 4))

    def _data(self, channel: str, now: tuple[int, ...]) -> None:
        _, strobe, last = now
        if not self._writes:
            self.breaches.append("w before aw")
            return
        address, length, unused = self._writes[0]
        first = address % self.width if self._beat == 0 else 0
        end = self.width - unused if self._beat == length else self.width
        if strobe != (1 << end) - (1 << first):
            self.breaches.append(f"strobe {strobe:b} in beat {self._beat} of {self._writes[0]}")
        if last != (self._beat == length):
            self.breaches.append(f"last is {last} in beat {self._beat} of {self._writes[0]}")
        self._beat += 1
        if last:
            self._writes.popleft()
            self._beat = 0


def pauses(random: Random, rate: int) -> Iterator[bool]:
    """For each cycle, whether a channel pauses."""
    return (random.randrange(256) < rate for _ in itertools.count())


async def feed(dut: Any, name: str, words: list[int]) -> None:
    """Drive words on a stream."""
    payload, valid, ready = (getattr(dut, f"{name}__{each}") for each in ("payload", "valid", "ready"))
    for word in words:
        payload.value, valid.value = word, 1
        await RisingEdge(dut.clk)
        while ready.value != 1:
            await RisingEdge(dut.clk)
        valid.value = 0


def quiet(dut: Any, job: dict[str, Any]) -> None:
    """Reset with all inputs defined and the settings applied."""
    dut.rst.value = 1
    for name in ("halt", "clear", "program_start", "program_address", "program_words", "o_program__ready"):
        getattr(dut, name).value = 0
    for name, value in job["settings"].items():
        getattr(dut, f"settings__{name}").value = value
    for name in ("i_load", "i_store"):
        getattr(dut, f"{name}__valid").value = 0
        getattr(dut, f"{name}__payload").value = 0
    for name in (
        "awready",
        "wready",
        "bid",
        "bresp",
        "bvalid",
        "arready",
        "rid",
        "rdata",
        "rresp",
        "rlast",
        "rvalid",
    ):
        getattr(dut, f"axi__{name}").value = 0


@cocotb.test()
async def run_dma(dut: Any) -> None:
    """All loads, then all stores."""
    folder = Path(os.environ["HWGEN_DMA_JOB"])
    job = json.loads((folder / "job.json").read_text())
    random, rate = Random(job["random"]), job["stall_rate"]
    tcdm = np.load(folder / "tcdm.npy")
    quiet(dut, job)
    Clock(dut.clk, 10, unit="ns").start()
    watch = Watch(dut, job["width"])
    ports = [TcdmPort(dut, f"{kind}__{i}", tcdm, Random(random.random()), rate)
             for kind in ("load", "store") for i in range(job["width"] // 4)]  # fmt: skip
    for _ in range(4):
        await RisingEdge(dut.clk)
    ram = AxiRam(AxiBus.from_prefix(dut, "axi_"), dut.clk, dut.rst, size=1 << 20)
    for name in ("bid", "bresp", "rid", "rdata", "rresp", "rlast"):
        getattr(dut, f"axi__{name}").value = 0  # AxiRam fails if they are unknown: so would be `rready`
    ram.write(0, np.load(folder / "dram.npy").tobytes())
    for channel in (ram.write_if.aw_channel, ram.write_if.w_channel, ram.write_if.b_channel,
                    ram.read_if.ar_channel, ram.read_if.r_channel):  # fmt: skip
        if rate:
            channel.set_pause_generator(pauses(Random(random.random()), rate))
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(4):
        await RisingEdge(dut.clk)
    cocotb.start_soon(watch.run())
    for port in ports:
        cocotb.start_soon(port.serve())
    for kind in ("load", "store"):
        cocotb.start_soon(feed(dut, f"i_{kind}", job[kind]))
        left = job[f"{kind}s"]
        for _ in range(LIMIT):
            if left == 0:
                break
            await RisingEdge(dut.clk)
            left -= int(getattr(dut, f"{kind}_done").value)
        assert left == 0, f"{left} descriptors to {kind} have not ended"
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert dut.load_idle.value == 1
    assert dut.store_idle.value == 1
    np.save(folder / "tcdm_after.npy", tcdm)
    np.save(folder / "dram_after.npy", np.frombuffer(ram.read(0, job["dram_bytes"]), np.uint8))
    (folder / "result.json").write_text(json.dumps({"breaches": watch.breaches, "bursts": watch.bursts}))
