"""The burst-aware and the byte-counting mapping on our own cluster: the paper's model, a cycle model, the RTL.

Each HWC is one of the paper's clusters, with one core. A burst of the paper is an AXI burst here, of the greatest
length that AXI allows. It costs what `hwgen calibrate` measured for a run, and each byte what it measured for a byte.
An element is a byte. Each HWC has an equal share of the TCDM, divided by two because the DMA loads the next tile
while the current one is in use. An output takes four bytes while it is a partial sum.

The burst-aware objective minimises the time of the paper's model (Eq. 6), so a comparison by that time cannot go
against it. `judged_layers` therefore compares both mappings by cycles that neither objective knows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.papers.own_cluster import OwnCase, sliced_on_cluster
from hwgen.papers.sousa.model import Npu
from hwgen.papers.sousa.rows import MODELS, ModelRow, mapped_layers
from hwgen.papers.sousa.search import Mapped, search_mappings

__all__ = [
    "JUDGED",
    "OWN_TEXT",
    "JudgedLayer",
    "distinct_layers",
    "judged_layers",
    "judged_lines",
    "own_mappings",
    "own_models",
    "own_npu",
]

LANES = 16
LONGEST = 256
"""Beats of an AXI burst."""
BYTES_AT_WORK = 2 * (1 + 1 + 4)
CHOOSERS = ("bursts in view", "counting bytes")
SMALL = (("squeezenet", "fire5_expand1x1"), ("mobilenet_v2", "block04_expand"))
"""Layers for the RTL, by network."""
JUDGED = ("lenet", "squeezenet")
"""Networks whose layers are judged by the cycle model; the tiles of larger networks would take minutes."""
OWN_TEXT = """\
The same search (*exact*) for our own cluster: times in cycles, with the C, p and t of its DMA: a burst is an AXI
burst. In the RTL the HWCs share the DMA, and what several of them need comes once, so that less is moved than the
model of the paper charges; *model's cycles* add up transfers and MACs, which overlap there."""
JUDGED_TEXT = f"""\
The first table is by the paper's model, which the burst-aware objective minimises: it cannot lose there. The second
one is not: the same mappings in the cycle model of our own cluster, with shared transfers, open DRAM rows, and
transfers that overlap with MACs. Layers of {" and ".join(MODELS[network] for network in JUDGED)} that differ in more
than their names. *no program*: our cluster cannot run the mapping."""


@dataclass(frozen=True)
class JudgedLayer:
    """One layer in the mappings of both objectives, by a measure that neither of them minimises.

    Members
    -------
    burst_model, bytes_model : cycles by the paper's model (Eq. 6) of the burst-aware and the byte-counting mapping.
    burst_cycles, bytes_cycles : of our cluster; None where it cannot run the mapping.
    """

    network: str
    layer: str
    burst_model: float
    bytes_model: float
    burst_cycles: float | None
    bytes_cycles: float | None

    @property
    def gain(self) -> float | None:
        """Cycles of the byte-counting mapping over those of the burst-aware one; None unless both run."""
        if self.burst_cycles is None or self.bytes_cycles is None:
            return None
        return self.bytes_cycles / self.burst_cycles


def own_npu(cluster: Cluster) -> Npu:
    """Our own cluster as the paper describes one; it has been calibrated."""
    assert cluster.load is not None
    burst = LONGEST * cluster.axi_bits // 8
    return Npu(
        clusters=cluster.hwcs,
        cores=1,
        memory=cluster.tcdm // (cluster.hwcs * BYTES_AT_WORK),
        element=1,
        burst=burst,
        latency=cluster.load.run,
        burst_time=burst * cluster.load.byte,
        macs=LANES,
        cycle=1.0,
    )


def own_models(models: Sequence[ModelRow]) -> list[str]:
    """Cycles of both objectives' mappings for each network, as lines of Markdown."""
    lines = [
        "| network | cycles, bursts in view | counting bytes | slower by % | with the kindest tie-break | unfit |",
        "|---|---|---|---|---|---|",
    ]
    for row in models:
        slower, kindest = (100 * (ratio - 1) for ratio in (row.speedup, row.speedup_kindest))
        times = f"{1e3 * row.burst:,.0f} | {1e3 * row.volume:,.0f}"
        lines.append(f"| {MODELS[row.network]} | {times} | {slower:.1f} | {kindest:.1f} | {row.unfit} |")
    return lines


def own_mappings(cluster: Cluster) -> list[OwnCase]:
    """What both objectives choose for the small layers, as nests."""
    npu = own_npu(cluster)
    cases = []
    for network, name in SMALL:
        (layer,) = (one for one in mapped_layers(network) if one.name == name)
        for chooser, (mapping, spent) in zip(CHOOSERS, _chosen(layer, npu), strict=True):
            tile = f"{mapping.slicing} {mapping.flow} {mapping.rows} x {mapping.columns} x {mapping.channels}"
            cases.append(OwnCase(chooser, tile, spent.time(npu), sliced_on_cluster(layer, mapping, npu)))
    return cases


def _chosen(layer: Layer, npu: Npu) -> tuple[Mapped, Mapped]:
    """The burst-aware and the byte-counting mapping of a layer."""
    found = [choice for choice in search_mappings(layer, npu).values() if choice is not None]
    return (
        min((one.burst for one in found), key=lambda one: one.spent.time(npu)),
        min((one.volume for one in found), key=lambda one: one.spent.volume_time(npu)),
    )


def judged_layers(
    networks: Sequence[str],
    cluster: Cluster,
    cycles_of: Callable[[Schedule], float],
    progress: Callable[[], None] = lambda: None,
) -> list[JudgedLayer]:
    """Both mappings of each layer of these networks, judged; layers that differ only in their names come once.

    Parameters
    ----------
    cycles_of : cycles of a nest on the cluster; raises `InputError` where it has no program.
    progress : called after each layer.
    """
    npu = own_npu(cluster)
    rows = []
    for network in networks:
        for layer in distinct_layers(network):
            mapped = _chosen(layer, npu)
            models = (one.spent.time(npu) for one in mapped)
            cycles = (_cycles(sliced_on_cluster(layer, one.mapping, npu), cycles_of) for one in mapped)
            rows.append(JudgedLayer(network, layer.name, *models, *cycles))
            progress()
    return rows


def distinct_layers(network: str) -> list[Layer]:
    """The convolutions of a network, the first of those that differ only in their names."""
    found: dict[str, Layer] = {}
    for layer in mapped_layers(network):
        found.setdefault(layer.model_dump_json(exclude={"name", "requantisation"}), layer)
    return list(found.values())


def _cycles(schedule: Schedule, cycles_of: Callable[[Schedule], float]) -> float | None:
    try:
        return cycles_of(schedule)
    except InputError:
        return None


def judged_lines(rows: Sequence[JudgedLayer]) -> list[str]:
    """The judged layers as lines of Markdown."""
    lines = [
        JUDGED_TEXT,
        "",
        "| network | layer | model: bursts | model: bytes | cluster: bursts | cluster: bytes | slower by % |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        models = f"{row.burst_model:,.0f} | {row.bytes_model:,.0f}"
        cycles = " | ".join(
            "no program" if one is None else f"{one:,.0f}" for one in (row.burst_cycles, row.bytes_cycles)
        )
        slower = "" if row.gain is None else f"{100 * (row.gain - 1):.1f}"
        lines.append(f"| {MODELS[row.network]} | {row.layer} | {models} | {cycles} | {slower} |")
    return lines
