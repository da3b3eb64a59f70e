"""Where model and hardware part ways: the first iteration whose accesses are not those that the schedule asks for."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from cosim.device.job import Outcome
from cosim.hwc.expected_accesses import KINDS, Access, Group, Kind, expected_groups
from cosim.hwc.jobs import Job, Port, Trace
from cosim.hwc.preparation import Run
from hwgen.ir.layer import Dim
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.lower.hwc import Program

__all__ = ["divergences"]

WINDOW = 1 << 22
"""Accesses of one port that are traced in one run; a longer run is repeated, window by window."""

PORT_KINDS: dict[Port, tuple[Kind, ...]] = {
    "i": ("input",),
    "w": ("weights",),
    "o": ("bias", "partial read", "partial write", "output"),
}
ARRAYS: dict[Kind, ArrayName] = {"input": "I", "weights": "W"}


def divergences(run: Run, outcome: Outcome, again: Callable[[Job], Outcome], window: int = WINDOW) -> list[str]:
    """A line for each kind of access that differs: operand, level, loop indices, what was expected, what came.

    ``again`` runs a job once more; it is given the same job with a trace.
    """
    lines = []
    for port in PORT_KINDS:
        total = sum(words for (where, _, _), (words, _) in outcome.only.tcdm.items() if where == port)
        lines += _Beside(run.program, port).differences(_traced(run.job, port, total, window, again))
    return lines


def _traced(job: Job, port: Port, total: int, window: int, again: Callable[[Job], Outcome]) -> Iterator[list[Access]]:
    """The accesses of a port, in windows."""
    for first in range(0, total, window):
        trace = Trace(port, first, min(first + window, total))
        seen = again(replace(job, reset=True, trace=trace)).trace
        rows = np.empty((0, 3), np.uint64) if seen is None else seen
        yield [Access(address, bool(write), be) for address, write, be in rows.tolist()]


class _Beside:
    """One port's accesses laid beside the expected ones."""

    def __init__(self, program: Program, port: Port) -> None:
        self._program, self._port = program, port
        self._streams = {kind: _Stream(program, kind) for kind in PORT_KINDS[port]}

    def differences(self, windows: Iterator[list[Access]]) -> list[str]:
        """A line for each kind whose accesses differ."""
        found: dict[str, str] = {}
        for window in windows:
            for access in window:
                kind = self._kind(access)
                if kind is None:
                    reached = next(iter(self._streams.values())).reached
                    found.setdefault("stray", f"port {self._port}: {access} is in no region it may be in; {reached}")
                elif kind not in found and (line := self._streams[kind].take(access)):
                    found[kind] = line
            if found.keys() >= self._streams.keys():
                break
        else:
            for kind, stream in self._streams.items():
                if kind not in found and (line := stream.end()):
                    found[kind] = line
        return list(found.values())

    def _kind(self, access: Access) -> Kind | None:
        """What an access is meant to be: by its port, and on port O by its place."""
        if self._port != "o":
            return PORT_KINDS[self._port][0]
        regions = self._program.regions
        inside = [name for name, region in regions.items() if region.base <= access.address < region.end]
        kinds: dict[tuple[str, bool], Kind] = {
            ("bias", False): "bias",
            ("partial", False): "partial read",
            ("partial", True): "partial write",
            ("output", True): "output",
        }
        return kinds.get((inside[0], access.write)) if inside else None


class _Stream:
    """One kind of accesses: takes what came, group by group, and says when it is not what was expected."""

    def __init__(self, program: Program, kind: Kind) -> None:
        self._schedule, self._kind = program.schedule, kind
        self._groups = expected_groups(program, kind)
        self._group: Group | None = next(self._groups, None)
        self._seen: list[Access] = []

    @property
    def reached(self) -> str:
        """How far the accesses have come."""
        return "all had been done" if self._group is None else f"reached {self._place(self._group)}"

    def take(self, access: Access) -> str | None:
        """Note one access; a line if its group is complete and wrong, or if there is no group left."""
        if self._group is None:
            return f"{self._head}: nothing more was expected, the hardware goes on with {access}"
        self._seen.append(access)
        if len(self._seen) < len(self._group.accesses):
            return None
        if sorted(self._seen) != sorted(self._group.accesses):
            return self._difference(self._group)
        self._group, self._seen = next(self._groups, None), []
        return None

    def end(self) -> str | None:
        """A line if more was expected."""
        return None if self._group is None else self._difference(self._group)

    @property
    def _head(self) -> str:
        return f"{KINDS[self._kind]} at tcdm"

    def _difference(self, group: Group) -> str:
        missing = sorted((Counter(group.accesses) - Counter(self._seen)).elements())
        extra = sorted((Counter(self._seen) - Counter(group.accesses)).elements())
        came = str(extra[0]) if extra else "nothing"
        return (
            f"{self._head}: model and hardware part ways at {self._place(group)}: expected {missing[0]}, got {came}"
        )

    def _place(self, group: Group) -> str:
        return _loop_indices(self._schedule, ARRAYS.get(self._kind, "O"), group.tile)


def _loop_indices(schedule: Schedule, array: ArrayName, tile: dict[Dim, range]) -> str:
    """Index and coordinates of each loop down to the marked one: ``m0=2 (12..17)``."""
    marked = schedule.marked_loop(array)
    depth = len(schedule.loops) if marked is None else marked + (array != "O")
    offset = {dim: part.start for dim, part in tile.items()}
    extents = dict(schedule.layer.extents)
    start: dict[Dim, int] = dict.fromkeys(tile, 0)
    parts = []
    for number, loop in enumerate(schedule.loops[:depth]):
        index = offset[loop.dim] // loop.step
        offset[loop.dim] -= index * loop.step
        start[loop.dim] += index * loop.step
        extents[loop.dim] = min(loop.step, extents[loop.dim] - index * loop.step)
        last = start[loop.dim] + extents[loop.dim] - 1
        parts.append(f"{loop.dim}{number}={index} ({start[loop.dim]}..{last})")
    return " ".join(parts) or "the only iteration"
