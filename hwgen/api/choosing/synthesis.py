"""What is chosen, through synthesis: its area and clock on an ECP5 beside the estimates."""

from dataclasses import dataclass
from typing import Any

from hwgen.api.choosing.selection import Budget, Planned
from hwgen.api.progress import note
from hwgen.export.cached import generated, generated_cluster
from hwgen.ir.hardware import Hardware
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.estimate import EstimatedArea
from hwgen.synthesis.cells import Area
from hwgen.synthesis.ecp5 import areas, clock

__all__ = ["Synthesised", "synthesised", "synthesised_area"]


@dataclass(frozen=True)
class Synthesised:
    """A cluster, or an HWC alone, as it was synthesised, and as it was estimated.

    Members
    -------
    area : of all its HWCs and what is around them.
    mhz : the clock of one HWC, placed and routed alone.
    estimated : what was expected of it.
    """

    area: Area
    mhz: float
    estimated: EstimatedArea

    @property
    def errors(self) -> dict[str, float]:
        """Estimates by what was synthesised, less 1: above 0 too much was expected."""
        return {
            "lut4": self.estimated.lut4 / self.area.lut4_equivalents - 1,
            "mhz": (self.estimated.mhz or 0.0) / self.mhz - 1,
        }

    def document(self) -> dict[str, Any]:
        """Plain data."""
        area = self.area
        return {
            "lut4": area.lut4_equivalents, "flip_flops": area.ffs, "dsps": area.dsps, "block_rams": area.block_rams,
            "mhz": self.mhz, "errors": self.errors,
        }  # fmt: skip

    def summary(self) -> str:
        """Both, and how far the estimates are off."""
        lut4, mhz = (f"{100 * error:+.1f} %" for error in self.errors.values())
        return (
            f"Synthesised: {self.area.lut4_equivalents:,} LUT4 (estimated {self.estimated.lut4:,}, {lut4}), "
            f"{self.mhz:.1f} MHz of one HWC (estimated {self.estimated.mhz or 0:.1f}, {mhz})"
        )

    def shortfalls(self, one: Planned, budget: Budget) -> list[str]:
        """What was asked for and is not so, a line each."""
        limits = {"--luts": (budget.luts, self.area.lut4_equivalents), "--dsps": (budget.dsps, self.area.dsps),
                  "--brams": (budget.brams, self.area.block_rams)}  # fmt: skip
        found = [
            f"{option}: {most:,} at most, synthesised {took:,}"
            for option, (most, took) in limits.items()
            if most is not None and took > most
        ]
        if budget.mhz is not None and self.mhz < budget.mhz:
            found.append(f"--mhz: {budget.mhz:g}, synthesised {self.mhz:.1f}")
        rate = one.images_a_second(budget) * min(1.0, self.mhz / budget.clock(one.candidate))
        if budget.fps is not None and rate < budget.fps:
            found.append(f"--fps: {budget.fps:g} at the least, {rate:,.1f} at the synthesised clock")
        return found


def synthesised(hardware: Hardware, estimated: EstimatedArea) -> Synthesised:
    """The hardware, synthesised for an ECP5, in minutes; raises `ToolError` where a tool is missing or fails."""
    one = generated(hwc_of(hardware))
    timing = clock(one, "hwc", tell=lambda stage: note(f"synthesis of an HWC of {hardware.name}: {stage}"))
    return Synthesised(synthesised_area(hardware), timing.clock_mhz, estimated)


def synthesised_area(hardware: Hardware) -> Area:
    """The area of all HWCs and what is around them; raises `ToolError` as `synthesised` does."""
    hwc = hwc_of(hardware)
    each = sum(areas(generated(hwc), "hwc").values(), Area())
    if hardware.cluster is None:
        return each
    cluster = cluster_of(hardware, hwc)
    rest = areas(
        generated_cluster(cluster), "cluster", blackboxes=("hwc",),
        tell=lambda stage: note(f"synthesis of what is around the HWCs of {hardware.name}: {stage}"),
    )  # fmt: skip
    return sum([each] * cluster.hwcs, sum(rest.values(), Area()))
