"""The burst-aware and the byte-counting mapping on several clusters like the paper's: nests, and what came of them.

A cluster of ours is one of the paper's TLEs, an HWC one of its TLTs, and tiles are those that fit the paper's three
memories of 8 KB a core. The clusters share a DRAM and nothing else. Loads, computations and stores of a cluster come
one after the other, as the paper adds them up.

Two premises, by the hardware's DRAM. The paper's: bursts have 128 bytes, and Eq. 6 charges the CAS latency for each;
a DRAM with ``access_cycles`` does (``sousa_2022_bursts``). Else ours: a burst is an AXI burst of the greatest length,
2 KiB, and costs what `hwgen calibrate` measured for a run; first accesses of blocks overlap, and rows stay open.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hwgen.arch.dram import BLOCK_BYTES, Dram
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.papers.own_cluster import FLOWS
from hwgen.papers.sousa.model import Mapping, Npu, filters_a_core
from hwgen.papers.sousa.rows import mapped_layers
from hwgen.papers.sousa.search import Choice, Mapped, search_mappings

__all__ = ["FILTERS", "MappedLayer", "Way", "mapped_on_system", "nest_of_core", "system_npu"]

LONGEST = 256
"""Beats of an AXI burst."""
FILTERS = 8
"""Output channels that an HWC computes at a time."""
ELEMENT_BITS = 16


@dataclass(frozen=True)
class Way:
    """A mapping of a layer, what it costs by the paper's model in cycles (Eq. 9, Eq. 8) and bytes, and its nest."""

    mapping: Mapping
    transfers: float
    macs: float
    dram_bytes: int
    layer: Layer
    npu: Npu

    @property
    def expected(self) -> float:
        """Eq. 6, bursts counted."""
        return self.transfers + self.macs

    @property
    def text(self) -> str:
        """Slicing, schedule, and a tile's rows, columns and channels."""
        mapping = self.mapping
        return f"{mapping.slicing} {mapping.flow} {mapping.rows}x{mapping.columns}x{mapping.channels}"

    @cached_property
    def schedule(self) -> Schedule:
        """The nest of the whole layer; each cluster runs it on its share."""
        return _nest(self.layer, self.mapping, self.npu)


@dataclass(frozen=True)
class MappedLayer:
    """A layer in the mappings of both objectives.

    Members
    -------
    networks : how often each network has it, by the network's table.
    burst_aware, byte_counting : the best mapping of each slicing and schedule, best first by the objective: the first
        is what the paper's algorithm takes, the others are there for hardware that cannot run it.
    """

    layer: Layer
    networks: dict[str, int]
    burst_aware: tuple[Way, ...]
    byte_counting: tuple[Way, ...]


def system_npu(hardware: Hardware, clusters: int) -> Npu:
    """Several of our own clusters as the paper describes them; times in cycles. The cluster has been calibrated."""
    cluster = hardware.cluster
    assert cluster is not None
    assert cluster.load is not None
    assert hardware.lanes is not None
    dram = cluster.dram or Dram()
    burst = LONGEST * cluster.axi_bits // 8
    latency, burst_time = cluster.load.run, burst * cluster.load.byte
    if dram.access_cycles:
        burst, latency, burst_time = BLOCK_BYTES, dram.access_cycles, dram.block_cycles
    return Npu(
        clusters=clusters,
        cores=cluster.hwcs,
        burst=burst,
        latency=latency,
        burst_time=burst_time,
        macs=hardware.lanes.product // 2,  # lanes of operands of 16 bits
        cycle=1.0,
    )


def mapped_on_system(
    networks: Sequence[str], hardware: Hardware, clusters: int, progress: Callable[[], None] = lambda: None
) -> list[MappedLayer]:
    """The convolutions of these networks, each once however many networks have it and under whatever name."""
    npu = system_npu(hardware, clusters)
    found: dict[str, MappedLayer] = {}
    for network in networks:
        for layer in mapped_layers(network):
            key = layer.model_dump_json(exclude={"name", "requantisation"})
            if key not in found:
                found[key] = _mapped(layer, npu)
            found[key].networks[network] = found[key].networks.get(network, 0) + 1
        progress()
    return list(found.values())


def _mapped(layer: Layer, npu: Npu) -> MappedLayer:
    choices = [choice for choice in search_mappings(layer, npu).values() if choice is not None]

    def ways(mapped: Callable[[Choice], Mapped], cost: Callable[[Mapped], float]) -> tuple[Way, ...]:
        ordered = sorted(map(mapped, choices), key=cost)
        return tuple(
            Way(
                one.mapping,
                one.spent.time(npu) - one.spent.cycles,
                one.spent.cycles,
                one.spent.load_bytes + one.spent.store_bytes,
                layer,
                npu,
            )
            for one in ordered
        )

    return MappedLayer(
        layer,
        {},
        ways(lambda one: one.burst, lambda one: one.spent.time(npu)),
        ways(lambda one: one.volume, lambda one: one.spent.volume_time(npu)),
    )


def _nest(layer: Layer, mapping: Mapping, npu: Npu) -> Schedule:
    """Tiles in the order of the schedule, filters spread over HWCs, and the nest inside of an HWC."""
    share = filters_a_core(layer, mapping, npu)
    extents = layer.extents
    steps: dict[Dim, int] = {
        "m": min(share * npu.cores, extents["m"]),
        "y": mapping.rows,
        "x": mapping.columns,
        "c": mapping.channels,
    }
    nest: list[Loop | Marker] = [
        Marker(item, TCDM) if isinstance(item, tuple) else Loop(item, steps[item]) for item in FLOWS[mapping.flow]
    ]
    nest.append(Loop("m", share, "hwc"))
    left = dict(extents) | steps | {"m": share}
    # Of depthwise layers an HWC computes one group at a time.
    nest += nest_of_core(left, 1 if layer.groups > 1 else FILTERS, npu.macs)
    bits = Bits(I=ELEMENT_BITS, W=ELEMENT_BITS, O=ELEMENT_BITS, acc=32)
    return Schedule(layer=layer, bits=bits, nest=tuple(nest), lanes=Lanes(x=npu.macs))


def nest_of_core(extents: dict[Dim, int], filters: int, columns: int) -> list[Loop | Marker]:
    """The loops and markers inside of a core for a tile of these extents: ``filters`` and ``columns`` at a time."""
    inner: list[tuple[Dim, int] | Marker] = [
        ("m", filters), ("y", 2), ("x", columns), Marker(("O",)), ("c", 1), Marker(("I", "W")),
        ("y", 1), ("k", 1), ("m", 1), ("l", 1),
    ]  # fmt: skip
    left, nest = dict(extents), list[Loop | Marker]()
    for item in inner:
        if isinstance(item, Marker):
            nest.append(item)
        else:
            dim, step = item
            left[dim] = min(left[dim], step)
            nest.append(Loop(dim, left[dim]))
    return nest
