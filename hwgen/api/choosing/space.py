"""Hardware to choose from: lanes, HWCs, buffers, shared memory, vector unit; its area and a bound of cycles.

Clusters, or HWCs alone: a grid, and what is a step from one of these along an axis, which may be off the grid.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Protocol

from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import ARRAYS
from hwgen.model.area.estimate import EstimatedArea, estimated_area

__all__ = ["BUFFERS", "PORTS", "Bound", "Candidate", "Place", "Sizes", "Space", "hardware_keys"]

ORDER = ["m", "y", "x", {"buffer": "O"}, "c", {"buffer": "I"}, "k", {"buffer": "W"}, "l", "m", "y", "x"]
"""The loop order of the built-in clusters for networks, which has the fewest cycles of those that were compared."""
LANES = ((4, 4), (8, 4), (8, 8), (16, 8), (16, 16))
"""Lanes along m and c of an HWC."""
HWCS = (1, 2, 4)
MOST_MULTIPLIERS = 512
TCDM = tuple(1 << power for power in range(15, 20))
"""Bytes of the shared memory."""
BANKS = (2, 4, 8, 16, 32)
ELEMENTS = (1, 2, 4, 8)
"""Elements of the vector unit."""
Sizes = tuple[int, int, int]
"""Numbers of I, W and O."""
BUFFERS: tuple[Sizes, ...] = ((256, 256, 1024), (1024, 512, 2560))
"""Bytes of the buffers of an HWC of 16 lanes; more lanes have them larger where a memory has to be."""
PORTS: tuple[Sizes, ...] = ((32, 32, 32), (32, 64, 64))
"""Widths of the ports in bits."""
AXI_BITS = (32, 64)
WINDOWS = (False, True)
"""Whether HWCs have a window for columns, which depthwise layers are faster with."""
REQUANTISERS = 4
"""Outputs that an HWC scales in a cycle, at most."""
LANES_ALONG, MOST_HWCS, BUFFER_BYTES = (2, 32), 8, (128, 8192)
"""How far steps go: lanes along m or c, HWCs, bytes of a buffer."""


class Bound(Protocol):
    """What no plan goes below in cycles."""

    @property
    def has_vector_nodes(self) -> bool:
        """Whether there is something that a vector unit can run."""

    def cycles(self, hardware: Hardware) -> int:
        """The bound on a cluster, or an HWC, with given lanes."""

    def guess(self, hardware: Hardware) -> float:
        """About what a plan takes, before there is any."""


@dataclass(frozen=True)
class Candidate:
    """Hardware that may be chosen.

    Members
    -------
    hardware : a cluster, or an HWC alone.
    area : what it is estimated to take on an ECP5.
    bound : cycles of the network, or of all layers, at the least.
    place : its value along each axis of the space: candidates are alike that differ in few.
    mm2 : area in the cells of a library; None where it is for an ECP5.
    guess : about the cycles of a plan; None: not known.
    family : what candidates have in common that differ in nothing but ``helps``.
    helps : values of which more never makes it slower, the bytes of the shared memory first.
    """

    hardware: Hardware
    area: EstimatedArea
    bound: int
    place: tuple[Hashable, ...]
    mm2: float | None = None
    guess: float | None = None
    family: Hashable = None
    helps: tuple[int, ...] = ()

    @property
    def size(self) -> float:
        """What it takes: mm2 in a library, else LUT4-equivalents."""
        return self.area.lut4 if self.mm2 is None else self.mm2

    @property
    def area_text(self) -> str:
        """What it takes, with its unit."""
        return f"{self.area.lut4:,} LUT4" if self.mm2 is None else f"{self.mm2:.3f} mm2"


class Place(NamedTuple):
    """Hardware by its values along the axes of the space.

    Members
    -------
    lanes : along m and c.
    tcdm : bytes of the shared memory; 0: an HWC alone, which has no banks, elements and port to the DRAM either.
    elements : of the vector unit; 0: it has none.
    buffers, ports : bytes and bits of I, W and O. Memories that the lanes need larger are larger.
    """

    lanes: tuple[int, int]
    hwcs: int
    tcdm: int
    banks: int
    elements: int
    buffers: Sizes
    ports: Sizes
    axi_bits: int
    window: bool
    requantisers: int

    @property
    def helps(self) -> tuple[int, ...]:
        """The values of which more never makes hardware slower."""
        return self.tcdm, self.elements, self.axi_bits, self.requantisers

    @property
    def family(self) -> "Place":
        """The place without them."""
        return self._replace(tcdm=0, elements=0, axi_bits=0, requantisers=0)

    def steps(self) -> Iterator["Place"]:
        """What is one step from it along an axis; buffers and ports are an axis for each operand."""
        m, c = self.lanes
        sides = [(2 * m, c), (m // 2, c), (m, 2 * c), (m, c // 2), (2 * m, c // 2), (m // 2, 2 * c)]
        yield from (self._replace(lanes=one) for one in sides if all(_within(LANES_ALONG, lanes) for lanes in one))
        if self.tcdm:
            yield from self._steps_around()
        for at, size in enumerate(self.buffers):
            for one in _doubled_and_halved(size, BUFFER_BYTES):
                yield self._replace(buffers=_changed(self.buffers, at, one))
        for at, width in enumerate(self.ports):
            yield self._replace(ports=_changed(self.ports, at, 96 - width))  # 32 and 64
        yield self._replace(window=not self.window)
        yield from (self._replace(requantisers=one) for one in _doubled_and_halved(self.requantisers, (1, 4)))

    def _steps_around(self) -> Iterator["Place"]:
        """Those along the axes of what is around HWCs."""
        yield from (self._replace(hwcs=self.hwcs + one) for one in (1, -1) if 0 < self.hwcs + one <= MOST_HWCS)
        yield from (self._replace(tcdm=one) for one in _doubled_and_halved(self.tcdm, TCDM))
        yield from (self._replace(banks=one) for one in _doubled_and_halved(self.banks, BANKS))
        yield from (self._replace(elements=one) for one in _doubled_and_halved(self.elements, ELEMENTS))
        yield from (self._replace(axi_bits=one) for one in AXI_BITS if one != self.axi_bits)


@dataclass(frozen=True)
class Space:
    """The clusters, or the HWCs alone, that a network, or layers, may run on.

    Members
    -------
    bound : of its cycles.
    dram : the key ``dram`` of a cluster in a hardware file; None: the DRAM answers at once.
    scaled : outputs are requantised by a scale, as quantised networks need it; else by a shift.
    depthwise : there are depthwise layers, for which HWCs may have a window for columns.
    alone : HWCs alone, without shared memory, DMA and vector unit: a host moves the data and does what else there is.
    """

    bound: Bound
    dram: Mapping[str, object] | None = None
    scaled: bool = True
    depthwise: bool = False
    alone: bool = False

    def grid(self) -> Iterator[Candidate]:
        """All of the grid that can be built, clusters with a vector unit if there is something for it."""
        elements = ELEMENTS if self.bound.has_vector_nodes else (0,)
        around = ((1,), (0,), (0,), (0,)) if self.alone else (HWCS, TCDM, BANKS, elements)
        windows = WINDOWS if self.depthwise else (False,)
        axi_bits = (0,) if self.alone else AXI_BITS
        for place in product(LANES, *around, BUFFERS, PORTS, axi_bits, windows, (REQUANTISERS,)):
            yield from self.at(Place(*place))

    def near(self, one: Candidate) -> Iterator[Candidate]:
        """Those that are a step from it along one axis."""
        assert isinstance(one.place, Place)
        for place in one.place.steps():
            if (self.depthwise or not place.window) and (self.scaled or place.requantisers == REQUANTISERS):
                yield from (made for made in self.at(place) if made.hardware != one.hardware)

    def at(self, place: Place) -> Iterator[Candidate]:
        """The candidate of a place, if it can be built."""
        m, c = place.lanes
        if m * c * place.hwcs > MOST_MULTIPLIERS:
            return
        try:
            cluster = self._around(place) if place.tcdm else None
            keys = hardware_keys(m, c, place.buffers, place.ports, cluster, scaled=self.scaled)
            if place.window:
                keys |= {"name": f"{keys['name']}_window", "column_window": True}
            if place.requantisers != REQUANTISERS:
                keys |= {"name": f"{keys['name']}_scales{place.requantisers}", "requantisers": place.requantisers}
            hardware = read_hardware_data(keys, "candidate")
            area, bound = estimated_area(hardware), self.bound.cycles(hardware)
            guess = self.bound.guess(hardware)
            yield Candidate(hardware, area, bound, place, guess=guess, family=place.family, helps=place.helps)
        except InputError:
            return

    def _around(self, place: Place) -> dict[str, Any]:
        """The key ``cluster``."""
        found: dict[str, Any] = {
            "hwcs": place.hwcs,
            "tcdm": place.tcdm,
            "banks": place.banks,
            "axi_bits": place.axi_bits,
        }
        if place.elements:
            found |= {"vector": True, "vector_elements": place.elements}
        return found if self.dram is None else found | {"dram": self.dram}


def _within(ends: tuple[int, ...], value: int) -> bool:
    return ends[0] <= value <= ends[-1]


def _doubled_and_halved(value: int, ends: tuple[int, ...]) -> Iterator[int]:
    return (one for one in (2 * value, value // 2) if _within(ends, one))


def _changed(values: Sizes, at: int, value: int) -> Sizes:
    first, second, third = (value if at == number else one for number, one in enumerate(values))
    return first, second, third


def hardware_keys(
    m: int, c: int, buffers: Sizes, ports: Sizes, cluster: dict[str, Any] | None, *, scaled: bool
) -> dict[str, object]:
    """The keys of a hardware file; memories that the lanes need larger are larger. ``cluster`` : None: an HWC."""
    least, widths = (16 * c, 4 * m * c, 64 * m), dict(zip(ARRAYS, ports, strict=True))
    sizes = dict(zip(ARRAYS, map(max, buffers, least), strict=True))
    parts = f"o{sizes['O']}_w{widths['W']}"
    if tuple(sizes.values()) not in (tuple(map(max, one, least)) for one in BUFFERS) or ports not in PORTS:
        parts = "_".join(f"{array.lower()}{sizes[array]}w{widths[array]}" for array in ARRAYS)
    name = f"m{m}c{c}_{parts}"
    if cluster is None:
        name = f"hwc_{name}"
    else:
        name = (
            f"{cluster['hwcs']}x_{name}_tcdm{cluster['tcdm'] >> 10}_banks{cluster['banks']}_axi{cluster['axi_bits']}"
        )
        name += f"_vector{cluster['vector_elements']}" if cluster.get("vector_elements") else ""
    keys: dict[str, object] = {
        "format": 1,
        "kind": "hardware",
        "name": name,
        "lanes": {"m": m, "c": c},
        "budget": sum(sizes.values()),
        "buffers": sizes,
        "ports": widths,
        "requantisation": "scaled" if scaled else "shift",
        "order": ORDER,
    }
    return keys if cluster is None else keys | {"cluster": cluster}
