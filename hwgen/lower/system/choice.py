"""Which way of sharing a layer out to clusters is the fastest by the cycle model."""

from hwgen.arch.dram import Dram
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cycles import clusters_cycles
from hwgen.lower.system.program import SystemProgram, compile_system
from hwgen.lower.system.shares import PARTITIONS, Partition

__all__ = ["fastest_partition"]


def fastest_partition(schedule: Schedule, hardware: Hardware | None, clusters: int) -> Partition:
    """The one of the fewest predicted cycles with the hardware's DRAM; the first of several.

    Raises `InputError` with the reason of the first one where none is possible.
    """
    reasons: list[InputError] = []
    times: dict[Partition, float] = {}
    for partition in PARTITIONS:
        try:
            times[partition] = _cycles(compile_system(schedule, hardware, clusters, partition))
        except InputError as error:
            reasons.append(error)
    if not times:
        raise reasons[0]
    return min(times, key=times.__getitem__)


def _cycles(program: SystemProgram) -> float:
    timing = program.programs[0].cluster.dram or Dram()
    return max(times.total for times in clusters_cycles(program.programs, timing))
