"""Mapping with bursts in view against counting bytes on our own cluster, and two layers of it for the RTL.

Each HWC is a cluster of one core. What the paper calls a burst is an AXI burst here: as long as AXI allows, it costs
what `hwgen calibrate` measured for a run, and every byte what it measured for a byte. Elements are bytes; of the TCDM
each HWC has its share, twice over since the DMA is a tile ahead, and an output takes four bytes as long as sums are
being added up.
"""

from collections.abc import Sequence

from hwgen.ir.hardware import Cluster
from hwgen.model.published.sousa import Npu
from hwgen.report.own_cluster import OwnCase, sliced_on_cluster
from hwgen.report.sousa.rows import MODELS, ModelRow, mapped_layers
from hwgen.search.published.sousa import search_mappings

__all__ = ["OWN_TEXT", "own_mappings", "own_models", "own_npu"]

LANES = 16
LONGEST = 256
"""Beats of an AXI burst."""
BYTES_AT_WORK = 2 * (1 + 1 + 4)
SMALL = (("squeezenet", "fire5_expand1x1"), ("mobilenet_v2", "block04_expand"))
"""Layers for the RTL, by network."""
OWN_TEXT = """\
The same search (*exact*) for our own cluster: times in cycles, with the C, p and t of its DMA: a burst is an AXI
burst. In the RTL the HWCs share the DMA, and what several of them need comes once, so that less is moved than the
model of the paper charges; *model's cycles* add up transfers and MACs, which go on side by side there."""


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
    """What both objectives come to, network by network, as lines of Markdown."""
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
        found = [choice for choice in search_mappings(layer, npu).values() if choice is not None]
        chosen = {
            "bursts in view": min((one.burst for one in found), key=lambda one: one.spent.time(npu)),
            "counting bytes": min((one.volume for one in found), key=lambda one: one.spent.volume_time(npu)),
        }
        for chooser, (mapping, spent) in chosen.items():
            tile = f"{mapping.slicing} {mapping.flow} {mapping.rows} x {mapping.columns} x {mapping.channels}"
            cases.append(OwnCase(chooser, tile, spent.time(npu), sliced_on_cluster(layer, mapping, npu)))
    return cases
