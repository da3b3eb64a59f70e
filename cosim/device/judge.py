"""What a device did, against model and reference: one text for each kind of difference."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosim.device.dram import AHEAD, Counted, Region, Unwanted
from cosim.device.job import ELSEWHERE, Accesses, Outcome, UnitOutcome
from cosim.device.result import LayerResult
from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.counts import Access, Counts, Direction, Key, Operand
from hwgen.ir.level import LOCAL
from hwgen.ir.schedule import Schedule
from hwgen.lower.network.parts import PartCounts
from hwgen.model.energy import DevicePrices
from hwgen.tools.toolchain import Simulator

__all__ = [
    "AT_HWC",
    "AT_VECTOR",
    "Comparison",
    "Expected",
    "breaches",
    "compared",
    "different_elements",
    "ended_with",
    "judge",
    "lost",
    "no_end",
    "run_failures",
    "unwanted",
]

Words = NDArray[np.uint32]
Elements = NDArray[np.integer]


@dataclass(frozen=True)
class Ports:
    """What accesses at the ports of a shared memory are.

    Members
    -------
    keys : by port, region and whether they write; any other access is a failure.
    together : levels at which outputs and partial sums share addresses, and are counted as one, in bytes.
    """

    keys: Mapping[tuple[str, str, bool], Key]
    together: tuple[str, ...] = ()

    def key(self, master: str, region: str, written: bool) -> Key | None:
        """What the accesses of a master to a region are."""
        port = re.fullmatch(r"(?:hwc\d+_)?(i|w|o|lanes|load|store|vector_i|vector_o)(?:_\d+)?", master)
        return self.keys.get((port[1], region, written)) if port else None

    def predicted(self, counts: Counts) -> Counts:
        """Predicted counts as the ports can tell them apart."""
        accesses = dict(counts.accesses)
        for level in self.together:
            partial = accesses.pop((level, "O", "write_partial"), Access())
            both = partial + accesses.pop((level, "O", "write"), Access())
            accesses[level, "O", "write"] = Access(both.bytes, both.bytes, both.words)
        return Counts({key: access for key, access in accesses.items() if access != Access()})

    def element(self, key: Key, schedule: Schedule | None) -> int:
        """Bytes of an element; of nodes of the vector unit, which have no schedule, one."""
        level, operand, direction = key
        if operand == "P":
            return SUM_BYTES
        if schedule is None or (operand == "O" and level in self.together and direction == "write"):
            return 1
        if operand == "B":
            return record_bytes(schedule.requantisation)
        partial = operand == "O" and direction != "write"
        return SUM_BYTES if partial else int(getattr(schedule.bits, operand)) // 8


_LANES: dict[tuple[str, str, bool], Key] = {
    ("lanes", "I", False): (LOCAL.name, "I", "read"),
    ("lanes", "W", False): (LOCAL.name, "W", "read"),
    ("lanes", "O", False): (LOCAL.name, "O", "read_partial"),
    ("lanes", "O", True): (LOCAL.name, "O", "write"),
}
AT_HWC = Ports(
    {
        **_LANES,
        ("i", "input", False): ("tcdm", "I", "read"),
        ("w", "weights", False): ("tcdm", "W", "read"),
        ("o", "bias", False): ("tcdm", "B", "read"),
        ("o", "partial", False): ("tcdm", "O", "read_partial"),
        ("o", "partial", True): ("tcdm", "O", "write_partial"),
        ("o", "output", True): ("tcdm", "O", "write"),
    },
    together=(LOCAL.name,),
)
_LOADS: dict[tuple[str, str, bool], Key] = {
    ("load", "I", True): ("tcdm_dma", "I", "read"),
    ("load", "B", True): ("tcdm_dma", "B", "read"),
}
AT_CLUSTER = Ports(
    {
        **_LANES,
        ("i", "I", False): ("tcdm", "I", "read"),
        ("w", "W", False): ("tcdm", "W", "read"),
        ("o", "O", False): ("tcdm", "O", "read_partial"),
        ("o", "O", True): ("tcdm", "O", "write"),
        ("o", "B", False): ("tcdm", "B", "read"),
        **_LOADS,
        ("load", "W", True): ("tcdm_dma", "W", "read"),
        ("load", "O", True): ("tcdm_dma", "O", "read_partial"),
        ("store", "O", False): ("tcdm_dma", "O", "write"),
    },
    together=("tcdm", "tcdm_dma", LOCAL.name),
)
"""What is written to the ring of O, or what the DMA stores from there, may also be partial sums."""
AT_VECTOR = Ports(
    {
        ("vector_i", "I", False): ("tcdm", "I", "read"),
        ("vector_i", "B", False): ("tcdm", "B", "read"),
        ("vector_o", "I", True): ("tcdm", "O", "write"),
        **_LOADS,
        ("store", "I", False): ("tcdm_dma", "O", "write"),
    }
)
"""Inputs and outputs take turns in one region."""
_AT_DRAM: Mapping[tuple[int | None, bool], tuple[Operand, Direction]] = {
    (OperandTag.P, False): ("P", "read"),
    (OperandTag.I, False): ("I", "read"),
    (OperandTag.W, False): ("W", "read"),
    (OperandTag.B, False): ("B", "read"),
    (OperandTag.O_PARTIAL, False): ("O", "read_partial"),
    (OperandTag.O_PARTIAL, True): ("O", "write_partial"),
    (OperandTag.O, True): ("O", "write"),
}
"""The same at the DRAM, by region and whether they write."""


@dataclass(frozen=True)
class Expected:
    """What a run of a layer is to come to.

    Members
    -------
    units : predicted counts of each unit of the device, the program's included, and those of each HWC in it.
    output : reads the output out of the memory after the run.
    reference : the output [M, E, F] that it is to be.
    cycles : predicted, from the first start to the last interrupt.
    late : cycles of a unit from its start to its interrupt that its register ``cycles`` does not count.
    regions : of the DRAM, for each unit.
    computing : cycles in which the datapath computes, where the registers count all others by what it waits for.
    prices, hwcs, stalls, shared_out : see `LayerResult`.
    """

    schedule: Schedule
    units: Sequence[PartCounts]
    output: Callable[[Words], Elements]
    reference: Elements
    cycles: int
    late: int
    prices: DevicePrices
    ports: Ports = AT_CLUSTER
    regions: Sequence[Sequence[Region]] = ()
    computing: int | None = None
    hwcs: int = 1
    stalls: Mapping[str, int] = field(default_factory=dict)
    shared_out: Mapping[str, int | str] = field(default_factory=dict)


def judge(expected: Expected, outcome: Outcome, simulator: Simulator = "verilator") -> LayerResult:
    """The result of one run: counts of each unit, its registers and its end, protocol, and the output."""
    predicted, measured, differences = Counts({}), Counts({}), list[str]()
    for number, (wanted, unit) in enumerate(zip(expected.units, outcome.units, strict=True)):
        count = compared(expected.schedule, wanted.counts, wanted.hwcs, unit.tcdm, unit.dram, expected.ports)
        predicted, measured = predicted + count.predicted, measured + count.measured
        regions = expected.regions[number] if expected.regions else ()
        lines = (*count.failures, *unwanted(regions, unit.unwanted))
        differences += [_unit_name(outcome, number) + line for line in lines]
    differences += lost(outcome)
    wrong = different_elements(expected.output(outcome.memory), expected.reference)
    return LayerResult(
        schedule=expected.schedule,
        simulator=simulator,
        predicted=predicted,
        measured=measured,
        equal=not differences,
        output_exact=not (wrong or outcome.timed_out or outcome.unknown_words),
        predicted_cycles=expected.cycles,
        cycles=outcome.cycles,
        seconds=outcome.seconds,
        failures=(*differences, *run_failures(outcome, expected.late, expected.computing), *wrong),
        cpu_seconds=outcome.cpu_seconds,
        stalls=_stalls(outcome),
        predicted_stalls=expected.stalls,
        hwcs=expected.hwcs,
        shared_out=expected.shared_out,
        prices=expected.prices,
    )


@dataclass(frozen=True)
class Comparison:
    """Counts as the ports can tell them apart, and where the two differ."""

    predicted: Counts
    measured: Counts
    failures: list[str]


def compared(
    schedule: Schedule | None,
    counts: Counts,
    hwcs: Sequence[Counts],
    tcdm: Accesses,
    dram: Counted,
    ports: Ports = AT_CLUSTER,
) -> Comparison:
    """What was counted in a run of a layer, against the model's counts, and those of each HWC."""
    predicted = ports.predicted(counts)
    measured, strays = _measured(schedule, tcdm, dram, ports)
    failures = different_counts(predicted, measured)
    for number, one in enumerate(hwcs):
        own = {place: access for place, access in tcdm.items() if place[0].startswith(f"hwc{number}_")}
        found, _ = _measured(schedule, own, {}, ports)
        failures += [f"HWC {number}: {line}" for line in different_counts(ports.predicted(one), found)]
    return Comparison(predicted, measured, [*failures, *strays])


def _measured(schedule: Schedule | None, tcdm: Accesses, dram: Counted, ports: Ports) -> tuple[Counts, list[str]]:
    """The counts of all levels, and the accesses that there may not be."""
    found: dict[Key, Access] = defaultdict(Access)
    strays = []
    for (master, region, written), (words, size) in tcdm.items():
        key = ports.key(master, region, written)
        if key is None:
            where = _where(None if region == ELSEWHERE else region)
            strays.append(f"{master}: {words} {'writes' if written else 'reads'} {where}, expected none")
        else:
            found[key] += Access(size // ports.element(key, schedule), size, words)
    for (kind, written), counters in dram.items():
        moved = _AT_DRAM.get((kind, written))
        if moved is not None:
            key = ("dram", *moved)
            found[key] += Access(elements=counters["bytes"] // ports.element(key, schedule), **counters)
        elif any(counters.values()):
            where = _where(None if kind is None else _kind(kind))
            strays.append(
                f"DRAM: {counters['axi_bursts']} bursts {'written' if written else 'read'} {where}, expected none"
            )
    return Counts({key: access for key, access in found.items() if access != Access()}), strays


def _kind(kind: int) -> str:
    return f"{OperandTag(kind - AHEAD).name} of the next part" if kind >= AHEAD else OperandTag(kind).name


def _where(region: str | None) -> str:
    return "outside all regions" if region is None else f"in the region of {region}"


def different_counts(predicted: Counts, measured: Counts) -> list[str]:
    """Where counts differ, a line each."""
    return [
        f"{operand} {direction} at {level}: {theirs} {quantity}, predicted {mine}"
        for (level, operand, direction), quantity, mine, theirs in predicted.differences(measured)
    ]


def different_elements(
    output: Elements,
    reference: Elements,
    name: str = "output",
    axes: str = "m, y, x",
    there: NDArray[np.bool_] | None = None,
) -> list[str]:
    """Whether an output is not the reference's; ``there``: which of its elements were written at all.

    ``axes`` : of one image, after those of a batch.
    """
    different = output != reference
    wrong = np.argwhere(different if there is None else different | ~there)
    if not len(wrong):
        return []
    first = tuple(wrong[0].tolist())
    got = "nothing" if there is not None and not there[first] else output[first]
    axes = axes if len(first) == len(axes.split(", ")) else f"n, {axes}"
    where = f"the first at [{axes}] = {list(first)}: got {got}, expected {reference[first]}"
    return [f"{name}: {len(wrong)} elements are wrong, {where}"]


def breaches(violations: Mapping[str, int]) -> list[str]:
    """What broke the protocol of a port."""
    return [f"{port}: {number} breaches of the protocol" for port, number in violations.items() if number]


def no_end(cycles: int) -> str:
    """The line that says that a run was stopped."""
    return f"no interrupt within {cycles} cycles"


def ended_with(registers: Mapping[str, int]) -> str:
    """The line that says that a run ended in another state than it should."""
    return f"ended with {', '.join(f'{name} {value:#x}' for name, value in registers.items())}"


def run_failures(outcome: Outcome, late: int, computing: int | None = None) -> list[str]:
    """What is wrong with a run besides counts and output; see `Expected`."""
    failures = breaches(outcome.violations)
    if outcome.timed_out:
        failures.append(no_end(outcome.cycles))
    if outcome.unknown_words:
        failures.append(f"{outcome.unknown_words} words of the memory have unknown bits")
    for number, unit in enumerate(outcome.units):
        lines = [f"register {name}: write refused" for name in unit.refused]
        if not unit.done:
            telling = ("status", "fault_address", "fault_command", "fault_detail")
            lines.append(ended_with({name: unit.registers[name] for name in telling if name in unit.registers}))
        elif not outcome.timed_out:
            lines += _miscounted(unit, late, computing)
        failures += [_unit_name(outcome, number) + line for line in lines]
    return failures


def _unit_name(outcome: Outcome, number: int) -> str:
    return f"cluster {number}: " if len(outcome.units) > 1 else ""


def unwanted(regions: Iterable[Region], found: Unwanted) -> list[str]:
    """What was read from the DRAM that the program does not ask for."""
    kinds = [_kind(region.kind) for region in regions if region.base <= found.address < region.end]
    where = f"the first at {found.address:#x}, {_where(kinds[0] if kinds else None)}"
    lines = []
    if found.bursts:
        lines.append(f"DRAM: {found.bursts} bursts read other bytes than the program's next ones, {where}")
    if found.beats:
        lines.append(f"DRAM: {found.beats} beats read beyond what the program asks for, {where}")
    return lines


def _miscounted(unit: UnitOutcome, late: int, computing: int | None) -> list[str]:
    """Registers, of those that were read, that count other cycles than the harness does, which looks at the ports.

    In every cycle the datapath of an HWC computes, waits, or is not busy yet or any more. Outside only the first is
    known, as the schedule says how often it computes; so the stalls are at most the other cycles.
    """
    cycles = unit.cycles - late
    outside = {"cycles": cycles, **{f"conflicts_{master}": waits for master, waits in unit.waits.items()}}
    lines = [
        f"register {name}: {unit.registers[name]} cycles, outside {counted}"
        for name, counted in outside.items()
        if unit.registers.get(name, counted) != counted
    ]
    if computing is not None:
        waited, others = sum(unit.stalls.values()), cycles - computing
        if waited > others:
            lines.append(f"registers of stalls: {waited} cycles together, outside at most {others}")
    return lines


def lost(outcome: Outcome) -> list[str]:
    """What the DRAM counted in another number than all units together: nothing is lost or made in between."""
    lines = []
    for name in ("beats", "axi_bursts", "blocks", "row_misses") if outcome.total else ():
        together = sum(counted[name] for unit in outcome.units for counted in unit.dram.values())
        if together != outcome.total[name]:
            lines.append(f"DRAM: {outcome.total[name]} {name}, at the clusters {together}")
    return lines


def _stalls(outcome: Outcome) -> dict[str, int]:
    if len(outcome.units) == 1:
        return dict(outcome.only.stalls)
    return {
        f"cluster{number}_{name}": cycles
        for number, unit in enumerate(outcome.units)
        for name, cycles in unit.stalls.items()
    }
