"""Cost of a schedule of two memory levels on a cluster: its counts, including the program's, and its cycles."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.dram import Dram, DramPort
from hwgen.arch.hwc import HwcParameters
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster.cycles import cluster_cycles
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster
from hwgen.model.cluster.cluster_counts import ClusterPrediction, predict_cluster
from hwgen.model.cluster.residence import ALL_MOVED, Residence
from hwgen.model.dram.counts import dram_layout, program_access
from hwgen.model.energy import Energy, device_energy, prices_of
from hwgen.model.nest.one_level import PerOperand
from hwgen.model.system.times import ClusterTimes

__all__ = ["OnCluster", "judge_of", "predicted_on_cluster", "program_on"]


@dataclass(frozen=True)
class OnCluster:
    """The cost of a schedule. If no cluster runs it: without HWCs, cycles and rings, but with the reason."""

    prediction: ClusterPrediction
    parameters: HwcParameters | None = None
    times: ClusterTimes | None = None
    rings: PerOperand | None = None
    refused: str | None = None
    energy: Energy | None = None


def predicted_on_cluster(schedule: Schedule, hardware: Hardware | None) -> OnCluster:
    """Counts, including the program's, and cycles; raises `InputError` where the given hardware cannot run it."""
    cluster = (hardware and hardware.cluster) or Cluster()
    port = DramPort.of(cluster)
    found = predict_cluster(schedule, cluster.hwcs, port, multicast=cluster.multicast)
    try:
        program = compile_cluster(schedule, hardware)
    except InputError as error:
        if hardware is not None:
            raise
        return OnCluster(found, refused=str(error))
    counted = found.with_program(program_access(program.layout, port, WORD_BYTES * len(program.words)))
    rings = PerOperand(*(program.rings[array].size for array in ARRAYS))
    times, prices = cluster_cycles(program, port.dram), prices_of(program.parameters, cluster)
    return OnCluster(
        counted, program.parameters, times, rings, energy=device_energy(schedule, counted.counts, prices)
    )


def program_on(
    schedule: Schedule, hardware: Hardware, *, ordered: bool = False, residence: Residence = ALL_MOVED
) -> ClusterProgram:
    """The program of a schedule; raises `InputError` if it cannot run on this hardware.

    ``ordered``, ``residence`` : as `judge_of` and `compile_cluster` have them; weights come ahead only in order.
    """
    cluster = hardware.cluster or Cluster()
    layout = dram_layout(schedule, cluster.hwcs, ordered=True) if ordered else None
    residence = replace(residence, ahead=residence.ahead and layout is not None and layout.ordered)
    return compile_cluster(schedule, hardware, layout=layout, residence=residence)


def judge_of(
    hardware: Hardware, *, timed: bool, ordered: bool = False, briefly: bool = False
) -> Callable[[Schedule], float]:
    """The check of `hwgen.search.cluster.optimal`: raises `InputError` if the schedule cannot run on this hardware.

    Returns the utilisation of the lanes over the program's cycles if ``timed``, else 1. ``ordered``: with weights in
    the order of the nest in the DRAM (`hwgen.model.dram.counts.DramLayout`). ``briefly`` : as
    `hwgen.lower.cluster.cycles.cluster_cycles` has it.
    """
    cluster = hardware.cluster or Cluster()

    def judged(schedule: Schedule) -> float:
        program = program_on(schedule, hardware, ordered=ordered)
        if not timed:
            return 1.0
        lanes = cluster.hwcs * hardware.shape.product
        cycles = cluster_cycles(program, cluster.dram or Dram(), briefly=briefly).total
        return schedule.layer.macs / (lanes * cycles)

    return judged
