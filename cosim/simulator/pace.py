"""How long a simulator takes to be built and to run, so that the build is chosen with which all is done soonest."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Forecast", "Pace", "cluster_paces", "hwc_paces", "soonest", "total"]

SHORT_SECONDS = 5.0
"""Runs that take less are not shared out: each further process takes a second to begin."""


@dataclass(frozen=True)
class Pace:
    """What one build costs in seconds of a processor: to make it, and for each cycle that it simulates.

    Measured on one machine. On another all builds take longer or less by about the same factor, and the same one is
    soonest done.
    """

    build: float
    cycle: float


@dataclass(frozen=True)
class Forecast:
    """The build that is chosen, and what the wait will be.

    Members
    -------
    simulator : its name in `cosim.simulator.registry`; empty where there is nothing to choose.
    build, run : seconds until it is built, and from then until the last run has ended.
    cycles : that are simulated, as predicted.
    processes : that run side by side.
    """

    simulator: str
    build: float
    run: float
    cycles: float
    processes: int

    @property
    def seconds(self) -> float:
        """The whole wait."""
        return self.build + self.run

    def __str__(self) -> str:
        builds = f", {_time(self.build)} of it to build a simulator" if self.build else ""
        cycles = f"{self.cycles / 1e6:,.1f} million" if self.cycles >= 1e6 else f"{self.cycles:,.0f}"
        return f"{cycles} cycles: about {_time(self.seconds)}{builds}"


def hwc_paces(multipliers: int) -> dict[str, Pace]:
    """What each build of an HWC costs, by its number of multipliers: Verilator's in native run loops, and Icarus."""
    return {
        "icarus": Pace(0.5, 250e-6),
        "verilator": Pace(4.5, 4.5e-6 + 0.04e-6 * multipliers),
        "verilator_fast": Pace(9.0, 0.8e-6 + 0.008e-6 * multipliers),
        "verilator_profiled": Pace(20.0, 0.42e-6 + 0.0095e-6 * multipliers),
    }


def cluster_paces(hwcs: int) -> dict[str, Pace]:
    """What each build of clusters costs, by the number of HWCs in all: a library, compiled in two parts."""
    return {
        "verilator": Pace(7.0 + 4.0 * hwcs, 2.5e-6 + 3.2e-6 * hwcs),
        "verilator_fast": Pace(10.0 + 4.0 * hwcs, 1.5e-6 + 1.7e-6 * hwcs),
    }


def soonest(
    paces: Mapping[str, Pace],
    cycles: Sequence[float],
    *,
    processes: int = 1,
    built: Callable[[str], bool] = lambda name: False,
) -> Forecast:
    """The build with which runs of these lengths, in cycles, are done soonest.

    Parameters
    ----------
    processes : how many runs may go on side by side.
    built : whether a simulator of this name is there already.
    """

    def forecast(name: str) -> Forecast:
        pace = paces[name]
        seconds = [pace.cycle * number for number in cycles]
        several = max(1, min(processes, len(cycles))) if sum(seconds) > SHORT_SECONDS else 1
        return Forecast(
            name, 0.0 if built(name) else pace.build, _side_by_side(seconds, several), sum(cycles), several
        )

    return min((forecast(name) for name in paces), key=lambda one: one.seconds)


def total(forecasts: Sequence[Forecast]) -> Forecast:
    """Several, one after the other."""
    return Forecast(
        "",
        sum(one.build for one in forecasts),
        sum(one.run for one in forecasts),
        sum(one.cycles for one in forecasts),
        max((one.processes for one in forecasts), default=1),
    )


def _side_by_side(seconds: Sequence[float], processes: int) -> float:
    """When the last of some runs has ended, if the longest begin first, each as soon as a process is free."""
    free = [0.0] * processes
    for one in sorted(seconds, reverse=True):
        heapq.heapreplace(free, free[0] + one)
    return max(free)


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
