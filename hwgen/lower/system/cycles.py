"""The cycles of a layer on several clusters that share a DRAM."""

from dataclasses import dataclass

from hwgen.arch.cluster import START_AFTER_START
from hwgen.arch.dram import Dram
from hwgen.lower.cluster.cycles import played
from hwgen.lower.system.program import SystemProgram
from hwgen.model.system.cycles import play_together
from hwgen.model.system.times import ClusterTimes

__all__ = ["SystemTimes", "system_times"]


@dataclass(frozen=True)
class SystemTimes:
    """Cycles from the first start to the last end, and what each cluster did from its own start on."""

    total: float
    clusters: tuple[ClusterTimes, ...]


def system_times(program: SystemProgram, timing: Dram | None = None) -> SystemTimes:
    """The times with a DRAM of this timing; None: the hardware's own."""
    timing = timing or program.programs[0].cluster.dram or Dram()
    times = play_together([played(one) for one in program.programs], program.programs[0].hardware, timing)
    total = max(START_AFTER_START * number + one.total for number, one in enumerate(times))
    return SystemTimes(total, tuple(times))
