"""Area of clusters in the cells of a library: a linear map of what is estimated, measured once for each library.

A few designs are mapped to the library (`CALIBRATED`), one HWC or what is around the HWCs of a cluster each; the
coefficients of `hwgen.model.area.cells` are fitted to them and kept in the cache. The error that is told is that of
each of them by the coefficients of the others.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.api.choosing.selection import Budget, Planned
from hwgen.api.choosing.space import BUFFERS, PORTS, Candidate, Sizes, hardware_keys
from hwgen.api.progress import note, steps
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hardware_file import read_hardware_data
from hwgen.arch.hwc import HwcParameters
from hwgen.ir.document import json_text
from hwgen.ir.hardware import Hardware
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.cells import CellTerms, around_terms, hwc_terms
from hwgen.model.area.fit import nonnegative
from hwgen.synthesis.ecp5 import versions
from hwgen.synthesis.silicon import Cells, Silicon, mapped_around, mapped_hwc, silicon, tiled
from hwgen.tools.cache import digest_of
from hwgen.tools.kept import kept_text, locked_entry
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import as_they_come
from hwgen.tools.toolchain import cache_room

__all__ = ["CALIBRATED", "CellMap", "MadeInCells", "made_in_cells", "measured_map", "with_cells"]

FORMAT = 1
RIDGE = 1e-4
Calibration = tuple[int, int, Sizes, Sizes, dict[str, Any] | None]
CALIBRATED: tuple[Calibration, ...] = (
    (4, 4, BUFFERS[0], PORTS[0], None),
    (8, 4, BUFFERS[1], PORTS[1], None),
    (8, 8, BUFFERS[0], PORTS[0], None),
    (4, 4, BUFFERS[1], PORTS[1], None),
    (16, 8, BUFFERS[0], PORTS[0], None),
    (4, 4, BUFFERS[0], PORTS[0], {"hwcs": 1, "tcdm": 1 << 16, "banks": 8, "axi_bits": 32}),
    (4, 4, BUFFERS[0], PORTS[0], {"hwcs": 2, "tcdm": 1 << 16, "banks": 16, "axi_bits": 64, "vector": True,
                                  "vector_elements": 4}),
)  # fmt: skip
"""What is mapped: lanes, buffers and ports of an HWC; with a cluster what is around its HWCs, without them."""
ANY_CLUSTER = {"hwcs": 1, "tcdm": 1 << 16, "banks": 8, "axi_bits": 32}
Measured = tuple[CellTerms, float, float | None]


@dataclass(frozen=True)
class CellMap:
    """The map for a library.

    Members
    -------
    cells : the library, and macros for the shared memory of clusters.
    coefficients : um2 of a LUT4 of logic, a flip-flop, a multiplier, a bit of memory.
    worst, typical : errors, in parts, of designs by the coefficients of the others: the largest, the median.
    designs : how many were mapped.
    mhz : the slowest clock of an HWC among them, of logic without wires; None where the library has no delays.
    """

    cells: Cells
    coefficients: tuple[float, ...]
    worst: float
    typical: float
    designs: int
    mhz: float | None

    def mm2(self, parameters: HwcParameters | ClusterParameters) -> float:
        """The area of an HWC, or of a cluster with macros for its shared memory where the library has them."""
        if isinstance(parameters, HwcParameters):
            return self._um2(hwc_terms(parameters)) / 1e6
        around = self._um2(around_terms(parameters))
        shared = parameters.tcdm
        macros = tiled(shared.depth, 32, shared.banks, self.cells.macros)
        return (parameters.hwcs * self._um2(hwc_terms(parameters.hwc)) + around + macros) / 1e6

    def _um2(self, terms: CellTerms) -> float:
        return sum(one * value for one, value in zip(self.coefficients, terms.values(), strict=True))

    def summary(self) -> str:
        """What it is, and how far it is off."""
        return (
            f"area in cells of {self.cells.library.corner}: a linear map measured on {self.designs} designs, "
            f"each of which is off by at most {100 * self.worst:.1f} % by the others, in the median "
            f"by {100 * self.typical:.1f} %"
        )


def measured_map(cells: Cells) -> CellMap:
    """The map for a library, measured unless it is known, which takes minutes; raises `ToolError`."""
    tools = {name: one for name, one in versions().items() if "yosys" in name}
    # The map is of quantities as they are estimated: of other estimates another one is measured.
    designs = [[*map(str, one), *_quantities(_calibrated(one)).values()] for one in CALIBRATED]
    key = digest_of([FORMAT, "cell map", designs, cells.library.text, tools])
    file = cache_room("synthesis") / f"{key}.json"

    def make() -> str:
        return json_text(_fitted(_measured(cells)))

    with locked_entry(file):
        found = json.loads(kept_text(file, make))
    return CellMap(cells, tuple(found.pop("coefficients")), **found)


def _measured(cells: Cells) -> list[Measured]:
    """Quantities, um2 and clock of each design."""
    note("mapping designs to the cells of the library, once for each library")
    waiting = iter([(one, cells) for one in CALIBRATED])
    found = []
    with steps(len(CALIBRATED), "measuring the library") as step:
        for _, made in as_they_come(_mapped, lambda: next(waiting, None), processors()):
            found.append(made)
            step()
    return found


def _calibrated(design: Calibration) -> HwcParameters | ClusterParameters:
    """What is mapped of a design: an HWC, or a cluster without its HWCs."""
    m, c, buffers, ports, cluster = design
    keys = hardware_keys(m, c, buffers, ports, cluster or ANY_CLUSTER, scaled=True)
    hardware = read_hardware_data(keys, "calibration")
    hwc = hwc_of(hardware)
    return hwc if cluster is None else cluster_of(hardware, hwc)


def _quantities(parameters: HwcParameters | ClusterParameters) -> CellTerms:
    """What is estimated of it."""
    return hwc_terms(parameters) if isinstance(parameters, HwcParameters) else around_terms(parameters)


def _mapped(design: Calibration, cells: Cells) -> Measured:
    """One of them."""
    parameters = _calibrated(design)
    if isinstance(parameters, HwcParameters):
        made = mapped_hwc(parameters, cells)
        clock = None if made.critical is None else 1e3 / made.critical.ns
    else:
        made, clock = mapped_around(parameters, cells), None
    return _quantities(parameters), made.whole.um2, clock


def _fitted(measured: list[Measured]) -> dict[str, object]:
    """Coefficients and errors as plain data."""
    measured = sorted(measured, key=lambda one: one[1])
    terms = np.array([one.values() for one, _, _ in measured], float)
    um2 = np.array([area for _, area, _ in measured], float)

    def coefficients(used: NDArray[np.bool_]) -> NDArray[np.float64]:
        return nonnegative(terms[used], um2[used], 1 / um2[used], ridge=RIDGE)

    every = np.ones(len(um2), np.bool_)
    errors = []
    for number in range(len(um2)):
        others = every.copy()
        others[number] = False
        errors.append(abs(float(terms[number] @ coefficients(others)) / um2[number] - 1))
    clocks = [mhz for _, _, mhz in measured if mhz is not None]
    return {
        "coefficients": [round(float(one), 4) for one in coefficients(every)],
        "worst": round(max(errors), 4),
        "typical": round(float(np.median(errors)), 4),
        "designs": len(measured),
        "mhz": round(min(clocks), 1) if clocks else None,
    }


def with_cells(found: Iterable[Candidate], cells: CellMap) -> list[Candidate]:
    """Candidates with their areas in cells, and the clock of the library in place of that of an ECP5."""
    made = []
    for one in found:
        area = replace(one.area, mhz=cells.mhz or one.area.mhz)
        made.append(replace(one, area=area, mm2=cells.mm2(_parameters(one.hardware))))
    return made


@dataclass(frozen=True)
class MadeInCells:
    """What is chosen, mapped to the library: its area and clock beside the estimate."""

    silicon: Silicon
    estimated: float

    @property
    def mm2(self) -> float:
        """Its area."""
        return self.silicon.area_um2 / 1e6

    @property
    def error(self) -> float:
        """The estimate by what was mapped, less 1: above 0 too much was expected."""
        return self.estimated / self.mm2 - 1

    def document(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.silicon.document(), "mm2": round(self.mm2, 4), "error": round(self.error, 4)}

    def summary(self) -> str:
        """Both areas, and how far the estimate is off."""
        clock = "" if self.silicon.clock_mhz is None else f", {self.silicon.clock_mhz:.0f} MHz without wires"
        return (
            f"Mapped to {self.silicon.corner}: {self.mm2:.3f} mm2 (estimated {self.estimated:.3f}, "
            f"{100 * self.error:+.1f} %){clock}"
        )

    def shortfalls(self, one: Planned, budget: Budget) -> list[str]:
        """What was asked for and, mapped, is not so, a line each."""
        found = []
        if budget.mm2 is not None and self.mm2 > budget.mm2:
            found.append(f"--mm2: {budget.mm2:g} at most, mapped {self.mm2:.3f}")
        mhz = self.silicon.clock_mhz
        if mhz is None:
            return found
        if budget.mhz is not None and mhz < budget.mhz:
            found.append(f"--mhz: {budget.mhz:g}, mapped {mhz:.1f} without wires")
        rate = one.images_a_second(budget) * min(1.0, mhz / budget.clock(one.candidate))
        if budget.fps is not None and rate < budget.fps:
            found.append(f"--fps: {budget.fps:g} at the least, {rate:,.1f} at the clock of its logic")
        return found


def made_in_cells(one: Candidate, cells: CellMap) -> MadeInCells:
    """A candidate mapped to the library, in minutes; raises `ToolError`."""
    name = one.hardware.name
    found = silicon(
        _parameters(one.hardware), cells.cells, tell=lambda stage: note(f"mapping {name} to the library: {stage}")
    )
    assert one.mm2 is not None
    return MadeInCells(found, one.mm2)


def _parameters(hardware: Hardware) -> HwcParameters | ClusterParameters:
    hwc = hwc_of(hardware)
    return hwc if hardware.cluster is None else cluster_of(hardware, hwc)
