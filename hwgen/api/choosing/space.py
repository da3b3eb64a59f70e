"""Clusters to choose from: lanes, HWCs, buffers, shared memory, vector unit; their area and a bound of cycles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.model.area.estimate import EstimatedArea, estimated_area

__all__ = ["BUFFERS", "PORTS", "Bound", "Candidate", "candidates", "cluster_keys"]

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
BUFFERS = ({"I": 256, "W": 256, "O": 1024}, {"I": 1024, "W": 512, "O": 2560})
"""Bytes of the buffers of an HWC of 16 lanes; more lanes have them larger where a memory has to be."""
PORTS = ({"I": 32, "W": 32, "O": 32}, {"I": 32, "W": 64, "O": 64})
"""Widths of the ports in bits."""
AXI_BITS = (32, 64)
WINDOWS = (False, True)
"""Whether HWCs have a window for columns, which depthwise layers are faster with."""


class Bound(Protocol):
    """What no plan goes below in cycles."""

    @property
    def has_vector_nodes(self) -> bool:
        """Whether there is something that a vector unit can run."""

    def cycles(self, hardware: Hardware) -> int:
        """The bound on a cluster with given lanes."""


@dataclass(frozen=True)
class Candidate:
    """Hardware that may be chosen.

    Members
    -------
    hardware : a cluster.
    area : what it is estimated to take on an ECP5.
    bound : cycles of the network, or of all layers, at the least.
    place : its number along each axis of the space: candidates are alike that differ in few.
    mm2 : area in the cells of a library; None where it is for an ECP5.
    """

    hardware: Hardware
    area: EstimatedArea
    bound: int
    place: tuple[int, ...]
    mm2: float | None = None

    @property
    def size(self) -> float:
        """What it takes: mm2 in a library, else LUT4-equivalents."""
        return self.area.lut4 if self.mm2 is None else self.mm2

    @property
    def area_text(self) -> str:
        """What it takes, with its unit."""
        return f"{self.area.lut4:,} LUT4" if self.mm2 is None else f"{self.mm2:.3f} mm2"


def candidates(
    bound: Bound, dram: Mapping[str, object] | None = None, *, scaled: bool = True, depthwise: bool = False
) -> Iterator[Candidate]:
    """All clusters of the space that can be built, with a vector unit if the network has something for it.

    ``dram`` : the key ``dram`` of a cluster in a hardware file; None: the DRAM answers at once. ``scaled`` : outputs
    are requantised by a scale, as quantised networks need it; else by a shift. ``depthwise`` : there are depthwise
    layers, for which HWCs may have a window for columns.
    """
    elements = ELEMENTS if bound.has_vector_nodes else (0,)
    axes = (LANES, HWCS, TCDM, BANKS, elements, BUFFERS, PORTS, AXI_BITS, WINDOWS if depthwise else (False,))
    for place in product(*(range(len(axis)) for axis in axes)):
        lanes, hwcs, tcdm, banks, unit, buffers, ports, axi, window = place
        if LANES[lanes][0] * LANES[lanes][1] * HWCS[hwcs] > MOST_MULTIPLIERS:
            continue
        cluster: dict[str, Any] = {
            "hwcs": HWCS[hwcs],
            "tcdm": TCDM[tcdm],
            "banks": BANKS[banks],
            "axi_bits": AXI_BITS[axi],
        }
        if elements[unit]:
            cluster |= {"vector": True, "vector_elements": elements[unit]}
        if dram is not None:
            cluster["dram"] = dram
        try:
            keys = cluster_keys(*LANES[lanes], BUFFERS[buffers], PORTS[ports], cluster, scaled=scaled)
            if window:
                keys |= {"name": f"{keys['name']}_window", "column_window": True}
            hardware = read_hardware_data(keys, "candidate")
            yield Candidate(hardware, estimated_area(hardware), bound.cycles(hardware), place)
        except InputError:
            continue


def cluster_keys(
    m: int, c: int, buffers: dict[str, int], ports: dict[str, int], cluster: dict[str, Any], *, scaled: bool
) -> dict[str, object]:
    """The keys of a hardware file; memories that the lanes need larger are larger."""
    sizes = {"I": max(buffers["I"], 16 * c), "W": max(buffers["W"], 4 * m * c), "O": max(buffers["O"], 64 * m)}
    memory = f"tcdm{cluster['tcdm'] >> 10}_banks{cluster['banks']}_axi{cluster['axi_bits']}"
    name = f"{cluster['hwcs']}x_m{m}c{c}_o{sizes['O']}_w{ports['W']}_{memory}"
    unit = cluster.get("vector_elements")
    return {
        "format": 1,
        "kind": "hardware",
        "name": f"{name}_vector{unit}" if unit else name,
        "lanes": {"m": m, "c": c},
        "budget": sum(sizes.values()),
        "buffers": sizes,
        "ports": ports,
        "requantisation": "scaled" if scaled else "shift",
        "order": ORDER,
        "cluster": cluster,
    }
