"""Which way of sharing a layer out to clusters is the fastest by the cycle model."""

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.system.cycles import system_times
from hwgen.lower.system.program import compile_system
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
            times[partition] = system_times(compile_system(schedule, hardware, clusters, partition)).total
        except InputError as error:
            reasons.append(error)
    if not times:
        raise reasons[0]
    return min(times, key=times.__getitem__)
