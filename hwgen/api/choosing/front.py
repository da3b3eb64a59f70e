"""Points of a choice of hardware: what is chosen, and what nothing else undercuts in LUTs and time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from hwgen.api.choosing.selection import Budget, Planned
from hwgen.api.results import Answer, Figure
from hwgen.ir.hardware import Hardware
from hwgen.lower.network.forecast import NodeForecast

__all__ = ["Front", "Point"]


@dataclass(frozen=True)
class Point:
    """A cluster, or an HWC alone, and what the network takes on it.

    Members
    -------
    planned : the hardware with the plan of the network on it.
    budget : what was asked for.
    file : of the hardware; None where no folder was asked for.
    """

    planned: Planned
    budget: Budget
    file: Path | None = None

    @property
    def hardware(self) -> Hardware:
        """The hardware, as `hwgen.hardware` makes it."""
        return self.planned.candidate.hardware

    @property
    def luts(self) -> int:
        """LUT4-equivalents of an ECP5, estimated."""
        return self.planned.candidate.area.lut4

    @property
    def mm2(self) -> float | None:
        """mm2 in the cells of the library, estimated; None for an ECP5."""
        return self.planned.candidate.mm2

    @property
    def mhz(self) -> float:
        """The clock that was asked for, else the one that is estimated."""
        return self.budget.clock(self.planned.candidate)

    @property
    def cycles(self) -> int:
        """Cycles of one image by the plan, without what the host does."""
        return self.planned.cycles

    @property
    def measured(self) -> int | None:
        """Cycles of a run in the RTL; None where there was none."""
        return self.planned.measured

    @property
    def fps(self) -> float:
        """Images a second, by the run in the RTL, or about."""
        return self.planned.images_a_second(self.budget)

    @property
    def bytes(self) -> int:
        """Bytes at the DRAM, of one image; of an HWC alone at the TCDM."""
        return self.planned.bytes

    @property
    def energy(self) -> float:
        """Energy of one image in pJ."""
        return self.planned.energy

    @property
    def nodes(self) -> tuple[NodeForecast, ...]:
        """What runs on it, in order, each with its cycles."""
        return self.planned.nodes

    def to_dict(self) -> dict[str, Any]:
        """An entry of the document."""
        one, area, cluster = self.planned, self.planned.candidate.area, self.hardware.cluster
        return {
            "file": None if self.file is None else str(self.file),
            "hardware": self.hardware.name,
            "multipliers": (1 if cluster is None else cluster.hwcs) * self.hardware.shape.product,
            "luts": self.luts,
            **({} if self.mm2 is None else {"mm2": round(self.mm2, 4)}),
            "dsps": area.dsps,
            "brams": area.block_rams,
            "mhz": area.mhz,
            "bound": one.candidate.bound,
            "cycles": self.cycles,
            "measured_cycles": self.measured,
            "expected_cycles": round(one.expected),
            "fps": self.fps,
            "bytes": self.bytes,
            "energy": self.energy,
            "on_the_host": one.host,
        }


@dataclass(frozen=True, repr=False, eq=False)
class Front(Answer, Sequence[Point]):
    """What no other plan undercuts in LUTs and in time, the smallest first: a sequence of points.

    Members
    -------
    network : its name.
    points : the points.
    picture : draws them among all that was planned.
    """

    network: str
    points: tuple[Point, ...]
    picture: Callable[[], Figure]

    @overload
    def __getitem__(self, at: int) -> Point: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Point, ...]: ...
    def __getitem__(self, at: int | slice) -> Point | tuple[Point, ...]:
        return self.points[at]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def document(self) -> dict[str, Any]:
        """The key ``front`` of the document that ``hwgen choose --json`` prints."""
        return {"front": self.rows()}

    def rows(self) -> list[dict[str, object]]:
        """One row a point."""
        return [one.to_dict() for one in self.points]

    def summary(self) -> str:
        """How many points, from the smallest to the fastest."""
        if not self.points:
            return f"Front of {self.network}: no point"
        areas = f"{self[0].luts:,} to {self[-1].luts:,} LUT4"
        if self[0].mm2 is not None:
            areas = f"{self[0].mm2:.3f} to {self[-1].mm2:.3f} mm2"
        ends = f"{areas}, {self[0].fps:,.1f} to {self[-1].fps:,.1f} images a second"
        return f"Front of {self.network}: {len(self)} point{'s' if len(self) > 1 else ''}, {ends}"

    def plot(self) -> Figure:
        """Time against area: what was planned, the front, and the bounds of all there is."""
        return self.picture()
