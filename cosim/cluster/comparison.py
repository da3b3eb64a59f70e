"""One run of a cluster against model and reference: counts at both levels, memory contents, and all failures."""

import re
from collections import defaultdict

import numpy as np

from cosim.cluster.preparation import ClusterTask
from cosim.cluster.run import ClusterResult
from cosim.hwc.comparison import LayerResult
from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.counts import Access, Counts, Direction, Key, Operand
from hwgen.ir.schedule import Schedule
from hwgen.model.hierarchy.devices import prices_of
from hwgen.tools.toolchain import Simulator

__all__ = ["judge_cluster"]

STALLS = ("busy_", "wait_", "stall_")
"""Name prefixes of the cluster's cycle counters."""

_AT_PORTS: dict[tuple[str, str], tuple[str, Operand, Direction]] = {
    ("i", "read"): ("tcdm", "I", "read"),
    ("w", "read"): ("tcdm", "W", "read"),
    ("o", "read_partial"): ("tcdm", "O", "read_partial"),
    ("o", "write_partial"): ("tcdm", "O", "write_partial"),
    ("o", "write"): ("tcdm", "O", "write"),
    ("o", "bias"): ("tcdm", "B", "read"),
    ("load", "I"): ("tcdm_dma", "I", "read"),
    ("load", "W"): ("tcdm_dma", "W", "read"),
    ("load", "O"): ("tcdm_dma", "O", "read_partial"),
    ("load", "B"): ("tcdm_dma", "B", "read"),
    ("store", "O"): ("tcdm_dma", "O", "write"),
}
"""The operand and direction of accesses at the TCDM ports, by port and kind; any other access is a failure. What the
DMA's store channel reads from the ring of O may also be partial sums."""

_MOVED: dict[tuple[OperandTag, bool], tuple[Operand, Direction]] = {
    (OperandTag.P, False): ("P", "read"),
    (OperandTag.I, False): ("I", "read"),
    (OperandTag.W, False): ("W", "read"),
    (OperandTag.B, False): ("B", "read"),
    (OperandTag.O_PARTIAL, False): ("O", "read_partial"),
    (OperandTag.O_PARTIAL, True): ("O", "write_partial"),
    (OperandTag.O, True): ("O", "write"),
}
"""The operand and direction of DRAM accesses, by tag and whether they write; any other access is a failure."""


def judge_cluster(task: ClusterTask, outcome: ClusterResult, simulator: Simulator = "verilator") -> LayerResult:
    """The result of one run: counts and output against model and reference."""
    predicted = _stores_together(task.counts)
    measured, strays = _measured(task, outcome)
    failures = [
        f"{operand} {direction} at {level}: {theirs} {quantity}, predicted {mine}"
        for (level, operand, direction), quantity, mine, theirs in predicted.differences(measured)
    ]
    failures += _differences_by_hwc(task, outcome)
    failures += strays
    equal = not failures
    failures += [
        f"{port}: {number} breaches of the protocol" for port, number in outcome.violations.items() if number
    ]
    if outcome.timed_out:
        failures.append(f"no interrupt within {outcome.cycles} cycles")
    if not outcome.done:
        values = {
            name: outcome.registers[name] for name in ("status", "fault_address", "fault_command", "fault_detail")
        }
        failures.append(f"ended with {', '.join(f'{name} {value:#x}' for name, value in values.items())}")
    failures += [f"register {name}: write refused" for name in outcome.refused]
    exact = not outcome.timed_out
    wrong = np.argwhere(task.program.output(outcome.memory) != task.expected)
    if len(wrong):
        exact = False
        failures.append(f"output: {len(wrong)} elements are wrong, the first at [m, y, x] = {wrong[0].tolist()}")
    return LayerResult(
        schedule=task.program.schedule,
        simulator=simulator,
        predicted=predicted,
        measured=measured,
        equal=equal,
        output_exact=exact,
        predicted_cycles=round(task.predicted_cycles),
        cycles=outcome.cycles,
        seconds=outcome.seconds,
        failures=tuple(failures),
        stalls={name: value for name, value in outcome.registers.items() if name.startswith(STALLS)},
        hwcs=task.program.cluster.hwcs,
        prices=prices_of(task.program.parameters, task.program.cluster),
    )


def _measured(task: ClusterTask, outcome: ClusterResult) -> tuple[Counts, list[str]]:
    """The counts of all levels, and the unexpected accesses."""
    found: dict[Key, Access] = defaultdict(Access)
    strays = []
    for (master, kind), (words, size) in outcome.tcdm.items():
        key = _key(master, kind)
        if key is not None:
            found[key] += Access(size // _element(key, task.program.schedule), size, words)
        elif words:
            strays.append(f"{master}: {words} accesses of kind {kind}, expected none")
    for (tag, written), counters in outcome.dram.items():
        moved = _MOVED.get((tag, written))
        if moved is not None:
            dram_key: Key = ("dram", *moved)
            found[dram_key] += Access(
                elements=counters["bytes"] // _element(dram_key, task.program.schedule), **counters
            )
        elif any(counters.values()):
            way = "written" if written else "read"
            strays.append(f"DRAM: {counters['bytes']} bytes of tag {tag.name} {way}, expected none")
    return Counts({key: access for key, access in found.items() if access != Access()}), strays


def _key(master: str, kind: str) -> Key | None:
    """The operand and direction of a master's accesses of one kind."""
    port = re.fullmatch(r"(?:hwc\d+_)?(i|w|o|load|store)(?:_\d+)?", master)
    return _AT_PORTS.get((port[1], kind)) if port else None


def _element(key: Key, schedule: Schedule) -> int:
    """Bytes of an element. What the DMA stores, outputs and partial sums together, is counted in bytes."""
    level, operand, direction = key
    bits = schedule.bits
    if operand == "B":
        return record_bytes(schedule.requantisation)
    if operand == "P" or (operand == "O" and direction != "write"):
        return SUM_BYTES
    return 1 if operand == "O" and level == "tcdm_dma" else getattr(bits, operand) // 8


def _stores_together(counts: Counts) -> Counts:
    """The same with all DMA reads from the ring of O as one: partial sums and outputs share their addresses."""
    accesses = dict(counts.accesses)
    partial = accesses.pop(("tcdm_dma", "O", "write_partial"), Access())
    final = accesses.get(("tcdm_dma", "O", "write"), Access())
    both = partial + final
    accesses["tcdm_dma", "O", "write"] = Access(both.bytes, both.bytes, both.words)
    return Counts({key: access for key, access in accesses.items() if access != Access()})


def _differences_by_hwc(task: ClusterTask, outcome: ClusterResult) -> list[str]:
    """Differences between the counts of single HWCs and their predictions."""
    lines = []
    for number, predicted in enumerate(task.prediction.hwcs):
        found = {
            key: Access(size // _element(key, task.program.schedule), size, words)
            for (master, kind), (words, size) in outcome.tcdm.items()
            if master.startswith(f"hwc{number}_") and words
            for key in [_key(master, kind)]
            if key is not None
        }
        lines += [
            f"HWC {number}: {operand} {direction}: {theirs} {quantity}, predicted {mine}"
            for (_, operand, direction), quantity, mine, theirs in predicted.differences(Counts(found))
        ]
    return lines
