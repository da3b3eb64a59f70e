"""Layers on several clusters, in the model and simulated: are all counts equal, and all outputs exact?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.model import SimulatedCluster
from cosim.cluster.preparation import WATCHDOG, scramble
from cosim.cluster.results import run_tasks
from cosim.device.dram import Region
from cosim.device.job import Job, Unit
from cosim.device.judge import Expected
from cosim.device.result import LayerResult
from cosim.hwc.layer_data import expected_output, random_data
from cosim.simulator.pace import Forecast
from cosim.system.model import load_system
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import SystemParameters
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.counts import Counts
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.network.parts import LayerPart, PartCounts
from hwgen.lower.system.program import SystemProgram, compile_system, fastest_partition, system_times
from hwgen.lower.system.shares import Partition
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.dram.counts import program_access
from hwgen.model.energy import prices_of

__all__ = ["INTERRUPT_CYCLES", "SystemTask", "cosimulate_systems", "prepare_system"]

INTERRUPT_CYCLES = 0
"""Cycles from a cluster's start to its interrupt that its register ``cycles`` does not count: the harness sees the
write that starts it a cycle later than the cluster does, at the port of the system."""


@dataclass(frozen=True)
class SystemTask:
    """One layer, prepared for the simulator: its programs, what each cluster counts, and what must come out."""

    program: SystemProgram
    clusters: int
    partition: Partition
    units: tuple[PartCounts, ...]
    job: Job
    expected: NDArray[np.signedinteger]

    @cached_property
    def predicted_cycles(self) -> float:
        """Cycles from the first start to the last end, with the DRAM's timing of the job."""
        return system_times(self.program, self.job.timing).total

    @property
    def parameters(self) -> SystemParameters:
        """The system that it runs on."""
        return SystemParameters(self.program.programs[0].hardware, self.clusters)

    @property
    def wanted(self) -> Expected:
        """What a run is to come to."""
        first = self.program.programs[0]
        return Expected(
            schedule=self.program.schedule,
            units=self.units,
            output=self.program.output,
            reference=self.expected,
            cycles=round(self.predicted_cycles),
            late=INTERRUPT_CYCLES,
            regions=[unit.dram for unit in self.job.units],
            hwcs=first.cluster.hwcs * len(self.program.programs),
            prices=prices_of(first.parameters, first.cluster),
            shared_out={"clusters": self.clusters, "partition": self.partition},
        )


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
    whole = [part.counts for part in counts]
    image = program.image(data.inputs, data.weights, data.bias)
    scramble(image, program.layout, rng)
    work = sum(one.total_words() + one.at("dram").total_bytes("dram") for one in whole) + schedule.layer.macs
    job = Job(
        name=f"{index}:{schedule.layer.name}",
        image=image,
        units=tuple(_unit(program, one) for one in program.programs),
        cycle_limit=1_000_000 + 40 * work,
        random=int(rng.integers(1, 1 << 32)),
        timing=timing,
    )
    if stalls:
        axi = [int(rate) for rate in rng.integers(0, 160, 5)]
        ports = len(program.programs[0].hardware.masters) * clusters
        tcdm = tuple(int(rate) for rate in rng.integers(0, 160, ports))
        job = replace(job, axi_stalls=(axi[0], axi[1], axi[2], axi[3], axi[4]), tcdm_stalls=tcdm)
    return SystemTask(program, clusters, partition, counts, job, expected_output(schedule.layer, data))


def _predicted(program: ClusterProgram, port: DramPort) -> PartCounts:
    """The counts of one cluster, its program's included."""
    cluster = program.cluster
    found = predict_cluster(program.schedule, cluster.hwcs, port, multicast=cluster.multicast, layout=program.layout)
    fetched = program_access(program.layout, port, WORD_BYTES * len(program.words))
    return PartCounts(found.counts + Counts({("dram", "P", "read"): fetched}), found.hwcs)


def _unit(system: SystemProgram, program: ClusterProgram) -> Unit:
    """What one cluster is given; its tensors are windows of the whole ones."""
    whole, first = LayerPart(replace(program, layout=system.layout)), program.layout.program
    tensors = [Region(*one) for one in whole.dram_regions]
    return Unit(
        registers={**program.settings, "watchdog": WATCHDOG},
        tcdm=whole.tcdm_regions,
        dram=(*tensors, Region(first, first + WORD_BYTES * len(program.words), OperandTag.P)),
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
    jobs: int = 1,
    tell: Callable[[Forecast], None] = lambda forecast: None,
    progress: Callable[[LayerResult], None] = lambda result: None,
) -> list[LayerResult]:
    """Run each schedule, shared out to the clusters, and compare counts and output; see `cosimulate_clusters`."""
    tasks = [
        prepare_system(one, hardware, clusters, partition, index=index, seed=seed, stalls=stalls, timing=timing)
        for index, one in enumerate(schedules)
    ]

    return run_tasks(
        tasks,
        partial(_load, stalls=stalls),
        fast=fast,
        jobs=jobs,
        tell=tell,
        arrived=lambda index, outcome, result: progress(result),
    )


def _load(parameters: SystemParameters, *, stalls: bool, dram_log2: int, fast: bool) -> SimulatedCluster:
    return load_system(parameters, dram_log2=dram_log2, fast=fast, slow=stalls or not fast)
