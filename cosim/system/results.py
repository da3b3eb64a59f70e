"""Layers on several clusters, in the model and simulated: are all counts equal, and all outputs exact?"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.preparation import WATCHDOG
from cosim.cluster.results import dram_depth
from cosim.dma.dram import Unwanted
from cosim.hwc.comparison import LayerResult
from cosim.hwc.layer_data import expected_output, random_data
from cosim.sim.build import LONG
from cosim.system.model import load_system
from cosim.system.run import ClusterOutcome, ClusterPart, SystemJob, SystemResult, run_system
from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.arch.dram import Dram, DramPort
from hwgen.arch.system import SystemParameters
from hwgen.ir.counts import Access, Counts, Direction, Key, Operand
from hwgen.ir.hardware import Hardware
from hwgen.ir.level import DRAM
from hwgen.ir.schedule import Bits, Schedule
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.system.choice import fastest_partition
from hwgen.lower.system.cycles import system_times
from hwgen.lower.system.program import SystemProgram, compile_system
from hwgen.lower.system.shares import Partition
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.dram.counts import program_access

__all__ = ["SystemTask", "cosimulate_systems", "judge_system", "prepare_system"]

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
"""What accesses of the TCDM are, by port, ring and whether they write. Outputs and partial sums share their ring."""

_MOVED: dict[tuple[str, bool], tuple[Operand, Direction]] = {
    ("I", False): ("I", "read"),
    ("W", False): ("W", "read"),
    ("B", False): ("B", "read"),
    ("P", False): ("P", "read"),
    ("partial", False): ("O", "read_partial"),
    ("partial", True): ("O", "write_partial"),
    ("O", True): ("O", "write"),
}
"""What accesses of the DRAM are, by region and whether they write."""


@dataclass(frozen=True)
class SystemTask:
    """One layer, prepared for the simulator: its programs, the counts of each cluster, and what must come out."""

    program: SystemProgram
    shared_out: Mapping[str, int | str]
    counts: tuple[Counts, ...]
    job: SystemJob
    expected: NDArray[np.signedinteger]

    @cached_property
    def predicted_cycles(self) -> float:
        """From the first start to the last end, with the DRAM's timing of the job."""
        return system_times(self.program, self.job.timing).total


def prepare_system(
    schedule: Schedule,
    hardware: Hardware | None,
    clusters: int,
    partition: Partition | None,
    *,
    index: int = 0,
    seed: int = 0,
    stalls: bool = False,
    timing: Dram | None = None,
    serial: bool = False,
) -> SystemTask:
    """Make everything for one schedule; see `cosim.cluster.preparation.prepare_cluster`.

    Parameters
    ----------
    partition : None: that of the fewest predicted cycles.
    serial : each cluster loads, computes and stores one after the other.
    """
    partition = partition or fastest_partition(schedule, hardware, clusters)
    rng = np.random.default_rng([seed, index])
    data = random_data(schedule.layer, rng, schedule.bits.I)
    program = compile_system(schedule, hardware, clusters, partition, serial=serial)
    cluster = program.programs[0].cluster
    timing = timing or cluster.dram or Dram()
    port = DramPort(cluster.axi_bits, timing)
    counts = tuple(_predicted(one, port) for one in program.programs)
    image = program.image(data.inputs, data.weights, data.bias)
    for region in (program.layout.output, program.layout.partial):  # the previous contents must not matter
        begin, end = region.base // WORD_BYTES, (region.base + region.size) // WORD_BYTES
        image[begin:end] = rng.integers(0, 1 << 32, end - begin, dtype=np.uint32)
    work = sum(one.total_words() + one.at("dram").total_bytes("dram") for one in counts) + schedule.layer.macs
    job = SystemJob(
        name=f"{index}:{schedule.layer.name}",
        image=image,
        parts=tuple(_part(program, one) for one in program.programs),
        cycle_limit=1_000_000 + 40 * work,
        random=int(rng.integers(1, 1 << 32)),
        timing=timing,
    )
    if stalls:
        axi = [int(rate) for rate in rng.integers(0, 160, 5)]
        ports = len(program.programs[0].hardware.masters) * clusters
        tcdm = tuple(int(rate) for rate in rng.integers(0, 160, ports))
        job = replace(job, axi_stalls=(axi[0], axi[1], axi[2], axi[3], axi[4]), tcdm_stalls=tcdm)
    shared_out = {"clusters": clusters, "partition": partition}
    return SystemTask(program, shared_out, counts, job, expected_output(schedule.layer, data))


def _predicted(program: ClusterProgram, port: DramPort) -> Counts:
    """The counts of one cluster, its program's included."""
    cluster = program.cluster
    found = predict_cluster(program.schedule, cluster.hwcs, port, multicast=cluster.multicast, layout=program.layout)
    fetched = program_access(program.layout, port, WORD_BYTES * len(program.words))
    return found.counts + Counts({("dram", "P", "read"): fetched})


def _part(system: SystemProgram, program: ClusterProgram) -> ClusterPart:
    layout, rings = system.layout, program.rings
    regions = {"I": layout.inputs, "W": layout.weights, "B": layout.bias, "partial": layout.partial,
               "O": layout.output}  # fmt: skip
    first = program.layout.program
    return ClusterPart(
        registers={**program.settings, "watchdog": WATCHDOG},
        dram={name: (region.base, region.base + region.size) for name, region in regions.items()}
        | {"P": (first, first + WORD_BYTES * len(program.words))},
        tcdm={name: (ring.start, ring.end) for name, ring in rings.items()}
        | {"B": (0, min(ring.start for ring in rings.values()))},
    )


def cosimulate_systems(
    schedules: Sequence[Schedule],
    hardware: Hardware | None,
    clusters: int,
    partition: Partition | None,
    *,
    seed: int = 0,
    stalls: bool = False,
    timing: Dram | None = None,
    fast: bool | None = None,
    progress: Callable[[LayerResult], None] = lambda result: None,
) -> list[LayerResult]:
    """Run each schedule, shared out to the clusters, and compare counts and output; see `cosimulate_clusters`."""
    tasks = [
        prepare_system(one, hardware, clusters, partition, index=index, seed=seed, stalls=stalls, timing=timing)
        for index, one in enumerate(schedules)
    ]
    results: dict[int, LayerResult] = {}
    groups: dict[SystemParameters, list[int]] = defaultdict(list)
    for index, task in enumerate(tasks):
        groups[SystemParameters(task.program.programs[0].hardware, clusters)].append(index)
    for parameters, members in groups.items():
        depth = dram_depth(max(len(tasks[index].job.image) for index in members))
        long = (
            sum(tasks[index].program.schedule.layer.macs for index in members) > 16 * LONG if fast is None else fast
        )
        model = load_system(parameters, dram_log2=depth, fast=long, slow=stalls or not long)
        for index in members:
            results[index] = judge_system(tasks[index], run_system(model, tasks[index].job))
            progress(results[index])
    return [results[index] for index in range(len(schedules))]


def judge_system(task: SystemTask, outcome: SystemResult) -> LayerResult:
    """The result of one run: counts of each cluster and output against model and reference."""
    schedule = task.program.schedule
    predicted, measured, failures = Counts({}), Counts({}), []
    for number, (mine, cluster) in enumerate(zip(task.counts, outcome.clusters, strict=True)):
        own, strays = _measured(cluster, schedule.bits)
        wanted = _joined_outputs(mine)
        failures += [f"cluster {number}: {stray}" for stray in strays]
        if cluster.unwanted != Unwanted():
            failures.append(f"cluster {number}: read what its program does not ask for: {cluster.unwanted}")
        failures += [
            f"cluster {number}: {operand} {direction} at {level}: {theirs} {quantity}, predicted {ours}"
            for (level, operand, direction), quantity, ours, theirs in wanted.differences(own)
        ]
        predicted, measured = predicted + wanted, measured + own
    failures += _differences_in_total(outcome)
    equal = not failures
    if outcome.violations:
        failures.append(f"axi: {outcome.violations} breaches of the protocol")
    if outcome.timed_out:
        failures.append(f"no interrupt within {outcome.cycles} cycles")
    failures += [
        f"cluster {number}: ended with status {one.registers['status']:#x}"
        for number, one in enumerate(outcome.clusters)
        if not one.done
    ]
    wrong = np.argwhere(task.program.output(outcome.memory) != task.expected)
    if len(wrong):
        failures.append(f"output: {len(wrong)} elements are wrong, the first at [m, y, x] = {wrong[0].tolist()}")
    return LayerResult(
        schedule=schedule,
        simulator="verilator",
        predicted=predicted,
        measured=measured,
        equal=equal,
        output_exact=not len(wrong) and not outcome.timed_out,
        predicted_cycles=round(task.predicted_cycles),
        cycles=outcome.cycles,
        seconds=outcome.seconds,
        failures=tuple(failures),
        hwcs=task.program.programs[0].cluster.hwcs * len(task.program.programs),
        shared_out=task.shared_out,
        stalls={
            f"cluster{number}_longest_wait_{channel}": cycles
            for number, cluster in enumerate(outcome.clusters)
            for channel, cycles in zip(("read", "write"), cluster.worst_wait, strict=True)
        },
    )


def _differences_in_total(outcome: SystemResult) -> list[str]:
    """What the DRAM counted in another number than all clusters together: nothing is lost or made in between."""
    lines = []
    for name in ("beats", "axi_bursts", "blocks", "row_misses"):
        together = sum(values[name] for cluster in outcome.clusters for values in cluster.dram.values())
        if together != outcome.total[name]:
            lines.append(f"DRAM: {outcome.total[name]} {name}, at the clusters {together}")
    return lines


def _measured(cluster: ClusterOutcome, bits: Bits) -> tuple[Counts, list[str]]:
    """The counts of one cluster, and its unexpected accesses."""
    found: dict[Key, Access] = defaultdict(Access)
    strays = []
    for (master, ring, written), (words, size) in cluster.tcdm.items():
        port = re.fullmatch(r"(?:hwc\d+_)?(i|w|o|load|store)(?:_\d+)?", master)
        key = _AT_PORTS.get((port[1], ring, written)) if port else None
        if key is None:
            strays.append(f"{master}: {words} accesses of {ring}, expected none")
        else:
            found[key] += Access(size // _element(key, bits), size, words)
    for (region, written), counters in cluster.dram.items():
        moved = _MOVED.get((region, written))
        if moved is None:
            way = "written" if written else "read"
            strays.append(f"DRAM: {counters['bytes']} bytes of {region} {way}, expected none")
        else:
            dram_key: Key = ("dram", *moved)
            found[dram_key] += Access(elements=counters["bytes"] // _element(dram_key, bits), **counters)
    return Counts(dict(found)), strays


def _element(key: Key, bits: Bits) -> int:
    """Bytes of an element. Outputs and partial sums together are counted in bytes."""
    level, operand, direction = key
    if operand in ("B", "P") or (operand == "O" and direction != "write"):
        return SUM_BYTES
    return 1 if operand == "O" and level != DRAM.name else int(getattr(bits, operand)) // 8


def _joined_outputs(counts: Counts) -> Counts:
    """The same with outputs and partial sums that are written in the TCDM as one, in bytes."""
    accesses = dict(counts.accesses)
    for level in ("tcdm", "tcdm_dma"):
        both = accesses.pop((level, "O", "write_partial"), Access()) + accesses.get((level, "O", "write"), Access())
        accesses[level, "O", "write"] = Access(both.bytes, both.bytes, both.words)
    return Counts({key: access for key, access in accesses.items() if access != Access()})
