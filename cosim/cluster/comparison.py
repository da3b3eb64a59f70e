"""One run of a cluster against model and reference: counts at both levels, memory contents, and all failures."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.preparation import ClusterTask
from cosim.cluster.run import ELSEWHERE, ClusterResult, TcdmCounts
from cosim.dma.dram import Counted, Region
from cosim.hwc.comparison import LayerResult
from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.counts import Access, Counts, Direction, Key, Operand
from hwgen.ir.schedule import Schedule
from hwgen.model.energy import prices_of
from hwgen.tools.toolchain import Simulator

__all__ = [
    "MOVED",
    "Comparison",
    "compared",
    "difference_lines",
    "different_elements",
    "judge_cluster",
    "run_failures",
    "unwanted",
]

INTERRUPT_CYCLES = 1
"""Cycles from the start write's grant to the interrupt that the register ``cycles`` does not count."""
STALLS = ("busy_", "wait_", "stall_")
"""Name prefixes of the cluster's cycle counters."""

_AT_PORTS: dict[tuple[str, str, bool], tuple[str, Operand, Direction]] = {
    ("i", "I", False): ("tcdm", "I", "read"),
    ("w", "W", False): ("tcdm", "W", "read"),
    ("o", "O", False): ("tcdm", "O", "read_partial"),
    ("o", "O", True): ("tcdm", "O", "write"),
    ("o", "B", False): ("tcdm", "B", "read"),
    ("load", "I", True): ("tcdm_dma", "I", "read"),
    ("load", "W", True): ("tcdm_dma", "W", "read"),
    ("load", "O", True): ("tcdm_dma", "O", "read_partial"),
    ("load", "B", True): ("tcdm_dma", "B", "read"),
    ("store", "O", False): ("tcdm_dma", "O", "write"),
}
"""The operand and direction of accesses at the TCDM ports, by port, region and whether they write; any other access
is a failure. What is written to the ring of O, or what the DMA stores from there, may also be partial sums, which
share its addresses with the outputs."""

MOVED: dict[tuple[OperandTag | None, bool], tuple[Operand, Direction]] = {
    (OperandTag.P, False): ("P", "read"),
    (OperandTag.I, False): ("I", "read"),
    (OperandTag.W, False): ("W", "read"),
    (OperandTag.B, False): ("B", "read"),
    (OperandTag.O_PARTIAL, False): ("O", "read_partial"),
    (OperandTag.O_PARTIAL, True): ("O", "write_partial"),
    (OperandTag.O, True): ("O", "write"),
}
"""The operand and direction of DRAM accesses, by region and whether they write; any other access is a failure."""


def judge_cluster(task: ClusterTask, outcome: ClusterResult, simulator: Simulator = "verilator") -> LayerResult:
    """The result of one run: counts and output against model and reference."""
    count = compared(task.program.schedule, task.counts, task.prediction.hwcs, outcome.tcdm, outcome.dram)
    wrong = different_elements(task.program.output(outcome.memory), task.expected)
    failures = [*count.failures, *unwanted(task.job.dram_regions, outcome), *run_failures(outcome), *wrong]
    return LayerResult(
        schedule=task.program.schedule,
        simulator=simulator,
        predicted=count.predicted,
        measured=count.measured,
        equal=not count.failures and not outcome.unwanted.bursts and not outcome.unwanted.beats,
        output_exact=not wrong and not outcome.timed_out,
        predicted_cycles=round(task.predicted_cycles),
        cycles=outcome.cycles,
        seconds=outcome.seconds,
        failures=tuple(failures),
        stalls={name: value for name, value in outcome.registers.items() if name.startswith(STALLS)},
        hwcs=task.program.cluster.hwcs,
        prices=prices_of(task.program.parameters, task.program.cluster),
    )


@dataclass(frozen=True)
class Comparison:
    """Counts of a run, partial sums and outputs as one where they share addresses; and where the two differ."""

    predicted: Counts
    measured: Counts
    failures: list[str]


def compared(
    schedule: Schedule, counts: Counts, hwcs: Sequence[Counts], tcdm: TcdmCounts, dram: Counted
) -> Comparison:
    """What a run of a layer has counted, against the model's counts, and those of each HWC."""
    predicted = _writes_together(counts)
    measured, strays = _measured(schedule, tcdm, dram)
    failures = difference_lines(predicted, measured)
    failures += _differences_by_hwc(schedule, hwcs, tcdm)
    return Comparison(predicted, measured, [*failures, *strays])


def difference_lines(predicted: Counts, measured: Counts) -> list[str]:
    """Where counts differ, a line each."""
    return [
        f"{operand} {direction} at {level}: {theirs} {quantity}, predicted {mine}"
        for (level, operand, direction), quantity, mine, theirs in predicted.differences(measured)
    ]


def different_elements(output: NDArray[np.signedinteger], expected: NDArray[np.signedinteger]) -> list[str]:
    """Whether an output [M, E, F] is not the reference's."""
    wrong = np.argwhere(output != expected)
    if not len(wrong):
        return []
    return [f"output: {len(wrong)} elements are wrong, the first at [m, y, x] = {wrong[0].tolist()}"]


def run_failures(outcome: ClusterResult) -> list[str]:
    """What is wrong with a run besides counts and output."""
    failures = [f"{port}: {number} breaches of the protocol" for port, number in outcome.violations.items() if number]
    if outcome.timed_out:
        failures.append(f"no interrupt within {outcome.cycles} cycles")
    if not outcome.done:
        values = {
            name: outcome.registers[name] for name in ("status", "fault_address", "fault_command", "fault_detail")
        }
        failures.append(f"ended with {', '.join(f'{name} {value:#x}' for name, value in values.items())}")
    failures += [f"register {name}: write refused" for name in outcome.refused]
    return failures + _miscounted(outcome)


def _measured(schedule: Schedule, tcdm: TcdmCounts, dram: Counted) -> tuple[Counts, list[str]]:
    """The counts of all levels, and the unexpected accesses."""
    found: dict[Key, Access] = defaultdict(Access)
    strays = []
    for (master, region, written), (words, size) in tcdm.items():
        key = _key(master, region, written)
        if key is not None:
            found[key] += Access(size // _element(key, schedule), size, words)
        else:
            where = "outside all regions" if region == ELSEWHERE else f"in the region of {region}"
            strays.append(f"{master}: {words} {'writes' if written else 'reads'} {where}, expected none")
    for (kind, written), counters in dram.items():
        moved = MOVED.get((kind, written))
        if moved is not None:
            dram_key: Key = ("dram", *moved)
            found[dram_key] += Access(elements=counters["bytes"] // _element(dram_key, schedule), **counters)
        elif any(counters.values()):
            way = "written" if written else "read"
            where = "outside all regions" if kind is None else f"in the region of {kind.name}"
            strays.append(f"DRAM: {counters['axi_bursts']} bursts {way} {where}, expected none")
    return Counts({key: access for key, access in found.items() if access != Access()}), strays


def unwanted(regions: Iterable[Region], outcome: ClusterResult) -> list[str]:
    """What was read from the DRAM that the program does not ask for."""
    found = outcome.unwanted
    at = found.address
    kinds = [region.kind.name for region in regions if region.base <= at < region.end]
    where = f"the first at {at:#x}, {f'in the region of {kinds[0]}' if kinds else 'outside all regions'}"
    lines = []
    if found.bursts:
        lines.append(f"DRAM: {found.bursts} bursts read other bytes than the program's next ones, {where}")
    if found.beats:
        lines.append(f"DRAM: {found.beats} beats read beyond what the program asks for, {where}")
    return lines


def _miscounted(outcome: ClusterResult) -> list[str]:
    """Registers of the cluster that count other cycles than the harness does, which looks at the ports."""
    outside = {f"conflicts_{master}": waits for master, waits in outcome.waits.items()}
    outside["cycles"] = outcome.cycles - INTERRUPT_CYCLES
    return [
        f"register {name}: {outcome.registers[name]} cycles, outside {cycles}"
        for name, cycles in outside.items()
        if outcome.registers[name] != cycles and outcome.done
    ]


def _key(master: str, region: str, written: bool) -> Key | None:
    """The operand and direction of a master's accesses to a region."""
    port = re.fullmatch(r"(?:hwc\d+_)?(i|w|o|load|store)(?:_\d+)?", master)
    return _AT_PORTS.get((port[1], region, written)) if port else None


def _element(key: Key, schedule: Schedule) -> int:
    """Bytes of an element. Outputs and partial sums together are counted in bytes."""
    level, operand, direction = key
    bits = schedule.bits
    if operand == "B":
        return record_bytes(schedule.requantisation)
    if operand == "P" or (operand == "O" and direction != "write"):
        return SUM_BYTES
    return 1 if operand == "O" and level in _TOGETHER else getattr(bits, operand) // 8


_TOGETHER = ("tcdm", "tcdm_dma")


def _writes_together(counts: Counts) -> Counts:
    """The same with partial sums and outputs as one where they leave the HWCs: they share addresses in the TCDM."""
    accesses = dict(counts.accesses)
    for level in _TOGETHER:
        partial = accesses.pop((level, "O", "write_partial"), Access())
        both = partial + accesses.pop((level, "O", "write"), Access())
        accesses[level, "O", "write"] = Access(both.bytes, both.bytes, both.words)
    return Counts({key: access for key, access in accesses.items() if access != Access()})


def _differences_by_hwc(schedule: Schedule, hwcs: Sequence[Counts], tcdm: TcdmCounts) -> list[str]:
    """Differences between the counts of single HWCs and their predictions."""
    lines = []
    for number, counts in enumerate(hwcs):
        predicted = _writes_together(counts)
        found = {
            key: Access(size // _element(key, schedule), size, words)
            for (master, region, written), (words, size) in tcdm.items()
            if master.startswith(f"hwc{number}_")
            for key in [_key(master, region, written)]
            if key is not None
        }
        lines += [
            f"HWC {number}: {operand} {direction}: {theirs} {quantity}, predicted {mine}"
            for (_, operand, direction), quantity, mine, theirs in predicted.differences(Counts(found))
        ]
    return lines
