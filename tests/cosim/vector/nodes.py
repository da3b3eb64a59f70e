"""Nodes of a quantised network on the vector unit of a simulated cluster: counts, cycles and every output element."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.preparation import INTERRUPT_CYCLES
from cosim.device.dram import Region
from cosim.device.job import Job, Outcome, Unit
from cosim.device.judge import different_elements, run_failures, unwanted
from cosim.network.nodes import compared_vector
from hwgen.arch.bus import PAGE_BYTES, WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import encode, end
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.counts import Counts
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
    job: Job


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
    registers = {
        "program_address": begin,
        "program_words": len(words),
        "watchdog": WATCHDOG,
        "dram_base": 0,
        "dram_end": len(memory),
        "tcdm_base": 0,
        "tcdm_end": room,
    }
    job = Job(
        name=node.name,
        image=memory.view("<u4"),
        units=(Unit(registers, {"I": (0, room)}, tuple(regions)),),
        cycle_limit=10_000 + 64 * round(cycles),
        random=int(rng.integers(1, 1 << 32)),
        timing=timing,
        axi_stalls=(40, 60, 40, 60, 40) if stalls else (0, 0, 0, 0, 0),
        tcdm_stalls=80 if stalls else 0,
    )
    return VectorTask(program, output, expected, program.counts(port) + fetched, cycles, job)


def judge_vector(task: VectorTask, outcome: Outcome) -> VectorResult:
    """Counts at the DRAM by tensor, at the unit's and the DMA's ports together; protocol, status, output."""
    unit = outcome.only
    count = compared_vector(task.counts, unit.tcdm, unit.dram)
    failures = [
        *count.failures,
        *unwanted(task.job.units[0].dram, unit.unwanted),
        *run_failures(outcome, INTERRUPT_CYCLES),
    ]
    content = np.ascontiguousarray(outcome.memory).view(np.int8)[task.output.base :][: task.expected.size]
    wrong = different_elements(content.reshape(task.expected.shape), task.expected, axes="c, y, x")
    return VectorResult(count.measured, outcome.cycles, (*failures, *wrong))
