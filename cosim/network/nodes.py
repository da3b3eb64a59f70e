"""Nodes of the vector unit in a run of a program: what was counted against the model."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cosim.cluster.comparison import MOVED, Comparison, difference_lines
from cosim.cluster.run import TcdmCounts
from cosim.dma.dram import Counted
from hwgen.ir.counts import Access, Counts, Key, Operand
from hwgen.ir.level import BUSES
from hwgen.lower.network.parts import VectorPart
from hwgen.model.energy import DevicePrices, bus_energy

__all__ = ["NodeResult", "compared_vector"]

_AT_PORTS: Mapping[tuple[str, str, bool], Key] = {
    ("vector_i", "I", False): ("tcdm", "I", "read"),
    ("vector_i", "B", False): ("tcdm", "B", "read"),
    ("vector_o", "I", True): ("tcdm", "O", "write"),
    ("load", "I", True): ("tcdm_dma", "I", "read"),
    ("load", "B", True): ("tcdm_dma", "B", "read"),
    ("store", "I", False): ("tcdm_dma", "O", "write"),
}
"""By port, region and whether they write; inputs and outputs take turns in one region."""


@dataclass(frozen=True)
class NodeResult:
    """What came of one node; the members are those of `cosim.hwc.comparison.LayerResult`."""

    layer: str
    predicted: Counts
    measured: Counts
    equal: bool
    output_exact: bool
    predicted_cycles: int
    cycles: int
    failures: tuple[str, ...]
    prices: DevicePrices

    @property
    def label(self) -> str:
        """Its name."""
        return self.layer

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return self.equal and self.output_exact and not self.failures

    @property
    def utilisation(self) -> float:
        """Of the multipliers, which it does not use."""
        return 0.0

    def as_json(self) -> dict[str, Any]:
        """One entry of ``layers``."""
        return {
            "layer": self.layer,
            "simulator": "verilator",
            "schedule": None,
            "predicted": self.predicted.as_json(),
            "measured": self.measured.as_json(),
            "total_bytes": self.measured.total_bytes("dram"),
            "total_with_bias": self.measured.total_with_bias("dram"),
            "equal": self.equal,
            "output_exact": self.output_exact,
            "macs": 0,
            "cycles": {"predicted": self.predicted_cycles, "measured": self.cycles},
            "utilisation": 0.0,
            "energy": {
                source: bus_energy(counts, self.prices).as_json()
                for source, counts in (("predicted", self.predicted), ("measured", self.measured))
            },
            "stalls": {"predicted": {}, "measured": {}},
            "failures": list(self.failures),
        }


def compared_vector(part: VectorPart, counts: Counts, tcdm: TcdmCounts, dram: Counted) -> Comparison:
    """What a node has counted, against the model."""
    found: dict[Key, Access] = defaultdict(Access)
    strays = []
    for (master, region, written), (words, size) in tcdm.items():
        port = master.rpartition("_")[0] if master.startswith(("load", "store")) else master
        key = _AT_PORTS.get((port, region, written))
        if key is None:
            strays.append(
                f"{master}: {words} {'writes' if written else 'reads'} in the region of {region}, expected none"
            )
        else:
            found[key] += Access(size, size, words)
    for (kind, written), counters in dram.items():
        moved = MOVED.get((kind, written))
        if moved is not None:
            found["dram", *moved] += Access(counters["bytes"], **counters)
        elif any(counters.values()):
            strays.append(f"DRAM: {counters['axi_bursts']} bursts outside all regions, expected none")
    measured = Counts({key: access for key, access in found.items() if access != Access()})
    predicted = counts if part.apart else _together(counts)
    return Comparison(predicted, measured, [*difference_lines(predicted, measured), *strays])


def _together(counts: Counts) -> Counts:
    """Tables among the maps, where they have no place of their own in the TCDM."""
    found: dict[Key, Access] = defaultdict(Access)
    for (level, operand, direction), access in counts.accesses.items():
        one: Operand = "I" if operand == "B" and not BUSES[level].programs else operand
        found[level, one, direction] += access
    return Counts(dict(found))
