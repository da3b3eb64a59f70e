"""Runs of the simulated DMA: takes descriptors, gives memories, counters and times; and the expected memories."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosim.device.dram import (
    Counted,
    Region,
    Unwanted,
    dram_controls,
    dram_counts,
    dram_unwanted,
    packed,
    region_controls,
)
from cosim.dma.model import DRAM_LOG2, TCDM_LOG2, SimulatedDma
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import Descriptor, Ring, RingSelect
from hwgen.arch.dram import Dram

__all__ = ["DATA_BYTES", "TCDM_BYTES", "DmaJob", "DmaResult", "Memories", "moved", "run_dma"]

TCDM_BYTES = WORD_BYTES << TCDM_LOG2
DATA_BYTES = 3 << DRAM_LOG2
"""Bytes of DRAM for the data; descriptors and times are in the last quarter."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Memories:
    """Bytes of DRAM (`DATA_BYTES`, more in a larger one) and TCDM (`TCDM_BYTES`)."""

    dram: Bytes
    tcdm: Bytes


@dataclass(frozen=True)
class DmaJob:
    """One run.

    Parameters
    ----------
    loads, stores : descriptors of the two channels, in their order.
    rings : of I, W and O.
    memories : their initial contents.
    program : (byte address, words) of a program that is fetched in parallel.
    serial : a descriptor starts after the previous one is done.
    stores_last : stores start after all loads are done.
    stall_rates : cycles in 256 without handshake: AR, R, AW, W, B, TCDM grants, TCDM answers, words of the program.
    tcdm_latency : least cycles from a grant of the TCDM to its answer, 1 to 8.
    write_answers : which writes the TCDM answers: 0: all, 1: those that fail, 2: none.
    error : (kind, byte address): kind ``read`` or ``write`` of the DRAM, ``load`` or ``store`` of the TCDM.
    decode : a DRAM error is DECERR.
    dram_window, tcdm_window : first byte address and end (exclusive).
    regions : of the DRAM, what accesses are counted by.
    """

    loads: Sequence[Descriptor]
    stores: Sequence[Descriptor]
    rings: dict[RingSelect, Ring]
    memories: Memories
    program: tuple[int, int] = (0, 0)
    serial: bool = False
    stores_last: bool = False
    timing: Dram = field(default_factory=Dram)
    stall_rates: tuple[int, ...] = (0,) * 8
    random: int = 1
    tcdm_latency: int = 1
    write_answers: int = 0
    error: tuple[str, int] | None = None
    decode: bool = False
    dram_window: tuple[int, int] = (0, DATA_BYTES)
    tcdm_window: tuple[int, int] = (0, TCDM_BYTES)
    regions: tuple[Region, ...] = ()
    cycle_limit: int = 4_000_000


@dataclass(frozen=True)
class DmaResult:
    """The outcome of a run.

    Members
    -------
    counts : what the DRAM counted.
    unwanted : what was read from it that no descriptor asks for.
    begins, ends : for each descriptor, loads first: the cycle of its first word, and that of its done pulse.
    errors : (code, address) of the load channel, the store channel and the program fetch.
    accesses : words and bytes at the TCDM, of loads and of stores.
    """

    memories: Memories
    counts: Counted
    unwanted: Unwanted
    begins: list[int]
    ends: list[int]
    done: tuple[int, int]
    errors: tuple[tuple[int, int], ...]
    accesses: tuple[tuple[int, int], tuple[int, int]]
    program: NDArray[np.uint32]
    cycles: int
    busy_cycles: int
    timed_out: bool
    violations: dict[str, int]


def run_dma(model: SimulatedDma, job: DmaJob) -> DmaResult:
    """Reset the DMA and run one job."""
    words_of_dram, at = 1 << model.dram_log2, len(job.memories.dram) // WORD_BYTES
    memory = np.zeros(words_of_dram + (1 << TCDM_LOG2), np.uint32)
    dram, tcdm = memory[:words_of_dram], memory[words_of_dram:]
    dram[:at] = job.memories.dram.view(np.uint32)
    tcdm[:] = job.memories.tcdm.view(np.uint32)
    words = [[word for each in side for word in each.encode()] for side in (job.loads, job.stores)]
    places = []
    for side in words:
        dram[at : at + len(side)] = side
        places.append((at, at + len(side)))
        at += len(side)
    count = len(job.loads) + len(job.stores)
    if at + 2 * count + job.program[1] > words_of_dram:
        raise ValueError("the descriptors do not fit")
    model.harness.write(memory)
    rates = job.stall_rates
    rings = [job.rings.get(ring, Ring(4096, 1024)) for ring in (RingSelect.I, RingSelect.W, RingSelect.O)]
    error = 1 << ("read", "write", "load", "store").index(job.error[0]) if job.error else 0
    model.harness.set(
        rst=1,
        clear=1,
        go=0,
        load_first=places[0][0],
        load_end=places[0][1],
        store_first=places[1][0],
        store_end=places[1][1],
        load_count=len(job.loads),
        store_count=len(job.stores),
        stamps=at,
        serial=int(job.serial),
        store_last=int(job.stores_last),
        program_first=job.program[0],
        program_count=job.program[1],
        program_copy=at + 2 * count,
        program_rate=rates[7],
        cycle_limit=job.cycle_limit,
        random_start=job.random,
        axi_rate=packed(rates[:5], 8),
        tcdm_rate=rates[5] | rates[6] << 8,
        tcdm_kind=job.write_answers << 3 | (job.tcdm_latency - 1),
        **dram_controls(job.timing),
        **region_controls([job.regions]),
        axi_error_enable=error & 3,
        tcdm_error_enable=error >> 2,
        axi_error_address=job.error[1] if job.error else 0,
        axi_error_code=3 if job.decode else 2,
        windows=packed((*job.dram_window, *job.tcdm_window), 48),
        rings=packed([ring.end for ring in rings] + [ring.size for ring in rings], 32),
    )
    model.harness.run(3)
    model.harness.set(rst=0, clear=0)
    model.harness.run(3)
    model.harness.set(go=1)
    model.harness.run(job.cycle_limit + 100, until_finished=True)
    model.harness.run(30)
    return _result(model, job, at, count)


def _result(model: SimulatedDma, job: DmaJob, at: int, count: int) -> DmaResult:
    words = 1 << model.dram_log2
    memory = model.harness.read(words + (1 << TCDM_LOG2))
    dram, tcdm = memory[:words], memory[words:]
    stamps = dram[at : at + 2 * count].tolist()
    codes, places = model.harness.get("error"), model.harness.get("error_at")
    ports = range(model.parameters.ports)
    accesses = []
    violations = {"axi": model.harness.get("violations", "harness.dram"), "strays": model.harness.get("strays")}
    for channel in ("load", "store"):
        scopes = [f"harness.port[{i}].{channel}" for i in ports]
        accesses.append(
            (
                sum(int(model.harness.counters("accesses", scope).sum()) for scope in scopes),
                sum(int(model.harness.counters("bytes", scope).sum()) for scope in scopes),
            )
        )
        violations[channel] = sum(model.harness.get("violations", scope) for scope in scopes)
    return DmaResult(
        memories=Memories(
            dram[: len(job.memories.dram) // WORD_BYTES].copy().view(np.uint8), tcdm.copy().view(np.uint8)
        ),
        counts=dram_counts(model.harness),
        unwanted=dram_unwanted(model.harness),
        begins=stamps[0::2],
        ends=stamps[1::2],
        done=(model.harness.get("loads_done"), model.harness.get("stores_done")),
        errors=tuple((codes >> 8 * i & 0xFF, places >> 32 * i & 0xFFFFFFFF) for i in range(3)),
        accesses=(accesses[0], accesses[1]),
        program=dram[at + 2 * count : at + 2 * count + job.program[1]].copy(),
        cycles=model.harness.get("cycles"),
        busy_cycles=model.harness.get("busy_cycles", "harness.dram"),
        timed_out=bool(model.harness.get("timed_out")),
        violations=violations,
    )


def moved(job: DmaJob) -> Memories:
    """The expected memories: descriptors executed byte by byte, loads first."""
    dram, tcdm = job.memories.dram.copy(), job.memories.tcdm.copy()
    for descriptors, loads in ((job.loads, True), (job.stores, False)):
        for descriptor in descriptors:
            offsets = np.array(descriptor.offsets())
            ring = job.rings.get(descriptor.ring)
            for source, target in descriptor.runs():
                places = target + offsets
                if ring is not None:
                    places = ring.wrap(places)
                if loads:
                    tcdm[places] = dram[source : source + descriptor.length]
                else:
                    dram[source : source + descriptor.length] = tcdm[places]
    return Memories(dram, tcdm)
