"""Nodes of a quantised network on the vector unit of a simulated cluster: counts, cycles and every output element."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.run import ELSEWHERE, ClusterJob, ClusterResult
from cosim.dma.dram import Region
from hwgen.arch.bus import PAGE_BYTES, WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import encode, end
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.counts import Access, Counts
from hwgen.ir.network.kinds import Node
from hwgen.lower.vector.maps import FeatureMap
from hwgen.lower.vector.program import VectorProgram, compile_vector
from hwgen.model.dram.counts import fetch_access

__all__ = ["VectorResult", "VectorTask", "judge_vector", "prepare_vector"]

Int8 = NDArray[np.int8]
WATCHDOG = 1 << 16


@dataclass(frozen=True)
class VectorTask:
    """A node, prepared for the simulator.

    Members
    -------
    program : its commands.
    output : where the output is to be.
    expected : what is to be there.
    counts : predicted, with those of the program's fetch.
    cycles : predicted.
    job : for the simulator.
    """

    program: VectorProgram
    output: FeatureMap
    expected: Int8
    counts: Counts
    cycles: float
    job: ClusterJob


@dataclass(frozen=True)
class VectorResult:
    """What a run came to; ``failures`` are empty if counts are equal and the output is exact."""

    measured: Counts
    cycles: int
    failures: tuple[str, ...]


def prepare_vector(
    node: Node,
    operands: Sequence[Int8],
    expected: Int8,
    cluster: ClusterParameters,
    *,
    seed: int = 0,
    room: int = 4096,
    stalls: bool = False,
    timing: Dram | None = None,
) -> VectorTask:
    """A node with operands [channels, rows, columns] as a program of its own, its maps in the DRAM.

    Parameters
    ----------
    expected : the output likewise.
    room : bytes of the TCDM that the program may use.
    stalls : random stalls on every DRAM channel and every TCDM port.
    """
    rng, timing = np.random.default_rng(seed), timing or Dram()
    at, maps = int(rng.integers(0, PAGE_BYTES)), []
    for array in (*operands, expected):
        channels, rows, columns = array.shape
        maps.append(FeatureMap.dense(at, channels, rows, columns))
        at += array.size + int(rng.integers(0, 9))
    *inputs, output = maps
    program = compile_vector(node, inputs, output, cluster, room=(0, room), constants=at)
    words = encode([*program.commands, end()])
    begin = -(-(at + len(program.constants)) // PAGE_BYTES) * PAGE_BYTES
    memory = rng.integers(0, 256, begin + WORD_BYTES * len(words), np.uint8)
    memory[at : at + len(program.constants)] = np.frombuffer(program.constants, np.uint8)
    for one, array in zip(inputs, operands, strict=True):
        memory[one.base : one.base + array.size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    memory[begin:] = np.array(words, "<u4").view(np.uint8)
    port = DramPort(cluster.axi_bits, timing)
    fetched = Counts({("dram", "P", "read"): fetch_access(begin, port, WORD_BYTES * len(words))})
    cycles = program.times(timing, begin).total
    regions = [
        Region(inputs[0].base, output.base, OperandTag.I),
        Region(output.base, output.base + output.elements, OperandTag.O),
        Region(at, at + len(program.constants), OperandTag.B),
        Region(begin, len(memory), OperandTag.P),
    ]
    job = ClusterJob(
        name=node.name,
        image=memory.view("<u4"),
        registers={
            "program_address": begin,
            "program_words": len(words),
            "watchdog": WATCHDOG,
            "dram_base": 0,
            "dram_end": len(memory),
            "tcdm_base": 0,
            "tcdm_end": room,
        },
        cycle_limit=10_000 + 64 * round(cycles),
        random=int(rng.integers(1, 1 << 32)),
        timing=timing,
        axi_stalls=(40, 60, 40, 60, 40) if stalls else (0, 0, 0, 0, 0),
        tcdm_stalls=80 if stalls else 0,
        tcdm_regions={"I": (0, room)},
        dram_regions=tuple(regions),
    )
    return VectorTask(program, output, expected, program.counts(port) + fetched, cycles, job)


def judge_vector(task: VectorTask, outcome: ClusterResult) -> VectorResult:
    """Counts at the DRAM by tensor, at the unit's and the DMA's ports together; protocol, status, output."""
    predicted = _by_port(task.counts)
    measured = _measured(outcome)
    failures = [
        f"{operand} {direction} at {level}: {theirs} {quantity}, predicted {mine}"
        for (level, operand, direction), quantity, mine, theirs in predicted.differences(measured)
    ]
    failures += [
        f"{port}: {number} breaches of the protocol" for port, number in outcome.violations.items() if number
    ]
    failures += [f"{master}: accesses in {region}" for master, region, _ in outcome.tcdm if region == ELSEWHERE]
    if (
        outcome.unwanted.bursts
        or outcome.unwanted.beats
        or any(outcome.dram[None, way]["bytes"] for way in (False, True))
    ):
        failures.append(f"DRAM: unwanted accesses: {outcome.unwanted}, {outcome.dram[None, False]}")
    if not outcome.done or outcome.timed_out:
        failures.append(f"ended with status {outcome.registers['status']:#x} after {outcome.cycles} cycles")
    content = np.ascontiguousarray(outcome.memory).view(np.int8)[task.output.base :][: task.expected.size]
    wrong = np.argwhere(content.reshape(task.expected.shape) != task.expected)
    if len(wrong):
        failures.append(f"output: {len(wrong)} elements are wrong, the first at [c, y, x] = {wrong[0].tolist()}")
    return VectorResult(measured, outcome.cycles, tuple(failures))


def _by_port(counts: Counts) -> Counts:
    """With tables as part of what a port reads: they share the room with maps."""
    found = dict(counts.accesses)
    for level in ("tcdm", "tcdm_dma"):
        read = found.pop((level, "B", "read"), Access()) + found.pop((level, "I", "read"), Access())
        written = found.pop((level, "O", "write"), Access())
        found[level, "I", "read"] = Access(read.bytes, read.bytes, read.words)
        found[level, "O", "write"] = Access(written.bytes, written.bytes, written.words)
    return Counts({key: access for key, access in found.items() if access != Access()})


def _measured(outcome: ClusterResult) -> Counts:
    found = Counts({})
    for (kind, written), counters in outcome.dram.items():
        if kind is not None and any(counters.values()):
            elements = counters["bytes"] // (WORD_BYTES if kind is OperandTag.P else 1)
            operand, direction = kind.name[0], "write" if written else "read"
            found += Counts({("dram", operand, direction): Access(elements, **counters)})  # type: ignore[dict-item]
    for (master, _, written), (words, size) in outcome.tcdm.items():
        name, dma = master.split("_")[0], not master.startswith("vector")
        if name not in ("vector", "load", "store"):
            found += Counts({("tcdm", "W", "read"): Access(words, size, words)})
            continue
        # The DMA writes what is loaded, and reads what is stored.
        direction, operand = ("write", "O") if written != dma else ("read", "I")
        level = "tcdm_dma" if dma else "tcdm"
        found += Counts({(level, operand, direction): Access(size, size, words)})  # type: ignore[dict-item]
    return found
