"""Tiles of publications as nests of two levels for our own cluster, and the HWCs that run all of them.

The tiles in the TCDM are the publication's. Inside a tile the nest is the same for all: each HWC computes up to four
filters, two rows and sixteen columns at a time, one input channel after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ArrayName, Loop, Marker, Schedule
from hwgen.papers.sousa.model import Flow, Mapping, Npu, Slicing, filters_a_core
from hwgen.papers.stoutchinin.model import Tile

__all__ = [
    "OwnCase",
    "OwnRun",
    "own_hardware",
    "own_runs",
    "sliced_on_cluster",
    "tiled_on_cluster",
    "untiled_on_cluster",
]

LANES = 16
INNER_NEST: tuple[Loop | Marker, ...] = (
    Loop("m", 4),
    Loop("y", 2),
    Loop("x", LANES),
    Marker(("O",)),
    Loop("c", 1),
    Marker(("I", "W")),
    Loop("y", 1),
    Loop("k", 1),
    Loop("m", 1),
    Loop("l", 1),
)
"""The inner nest: how an HWC computes its share of a tile."""
BUFFERS: dict[ArrayName, int] = {"I": 272, "W": 240, "O": 512}
"""Bytes of an HWC's memories: enough for kernels of up to 7 x 7 and strides of up to 2."""

Around = tuple[Dim | tuple[ArrayName, ...], ...]
FLOWS: dict[Flow, Around] = {
    "IS": ("y", "x", ("O",), "c", ("I", "W"), "m"),
    "OS": ("y", "x", "m", ("I", "W", "O"), "c"),
    "WS": ("m", ("W",), "y", "x", ("I", "O"), "c"),
}
"""The schedules of Sousa et al. 2022 as loops over tiles; a marker stands above the loop that its operands are held
across."""
LISTING: Around = ("y", "x", ("I",), "c", ("W", "O"), "m")
"""Listing 1.1 of Cecconi et al. 2017."""
SHARES: dict[Slicing, tuple[Dim, ...]] = {"KS": ("m",), "KS&OFM": ("m", "y"), "OFM": ("y",)}


@dataclass(frozen=True)
class OwnCase:
    """A tile to be run.

    Members
    -------
    chosen : who chose it.
    expected : the layer's cycles by the publication's model, if it has any.
    serial : one load, computation or store after the other.
    """

    chosen: str
    tile: str
    expected: float | None
    schedule: Schedule
    serial: bool = False


@dataclass(frozen=True)
class OwnRun:
    """What was counted in the RTL.

    Members
    -------
    expected : the layer's cycles by the publication's model, if it has any.
    dram_bytes, axi_bursts, blocks, row_misses : of I, W and O together, as counted.
    tcdm_words : of all HWCs' ports.
    equal : every count of every operand at every level is the predicted one, and the output is right.
    moving : cycles in which the DMA loads, plus those in which it stores.
    predicted, cycles : of the whole layer.
    """

    layer: str
    chosen: str
    tile: str
    expected: float | None
    dram_bytes: int
    axi_bursts: int
    blocks: int
    row_misses: int
    tcdm_words: int
    equal: bool
    moving: int
    predicted: int
    cycles: int


COLUMNS = (
    "layer",
    "chosen",
    "tile",
    "model's cycles",
    "DRAM bytes",
    "AXI bursts",
    "blocks",
    "row misses",
    "TCDM words",
    "as predicted",
    "DMA busy",
    "cycles predicted",
    "cycles",
)


PREDICTED_TEXT = """\
*model's cycles* are the publication's model. *cycles predicted* are a cycle model of this cluster with the latencies
of its RTL: that they agree with *cycles* says nothing about the publication's model."""


def own_runs(runs: Sequence[OwnRun]) -> list[str]:
    """A table of runs as lines of Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for run in runs:
        counts = (run.dram_bytes, run.axi_bursts, run.blocks, run.row_misses, run.tcdm_words)
        expected = "-" if run.expected is None else f"{run.expected:,.0f}"
        cells = [run.layer, run.chosen, run.tile, expected, *(f"{count:,}" for count in counts)]
        cells.append("yes" if run.equal else "NO")
        cells += [f"{cycles:,}" for cycles in (run.moving, run.predicted, run.cycles)]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", PREDICTED_TEXT]


def own_hardware(cluster: Cluster) -> Hardware:
    """HWCs of 1 KiB for the nests of this module, in a cluster."""
    order = tuple(item if isinstance(item, Marker) else item.dim for item in INNER_NEST)
    return Hardware(name="own", lanes=Lanes(x=LANES), budget=1024, buffers=BUFFERS, order=order, cluster=cluster)


def tiled_on_cluster(layer: Layer, tile: Tile, hwcs: int) -> Schedule:
    """Tiles of Cecconi et al. 2017 in the order of their Listing 1.1, each spread over the HWCs by filters."""
    steps: dict[Dim, int] = {"m": tile.m, "c": tile.c, "y": tile.y, "x": tile.x}
    return _nest(layer, LISTING, steps, {"m": -(-tile.m // hwcs)})


def untiled_on_cluster(layer: Layer, hwcs: int) -> Schedule:
    """Nothing is kept but in the HWCs: what they work on at a time is fetched for them, channel by channel."""
    steps = {item.dim: item.step for item in INNER_NEST[:3] if isinstance(item, Loop)}
    share = -(-min(steps["m"] * hwcs, layer.outputs_per_group) // hwcs)
    steps = {dim: min(step, layer.extents[dim]) for dim, step in (steps | {"m": share * hwcs, "c": 1}).items()}
    return _nest(layer, FLOWS["OS"], steps, {"m": share})


def sliced_on_cluster(layer: Layer, mapping: Mapping, npu: Npu) -> Schedule:
    """A mapping of Sousa et al. 2022: the tiles that their clusters hold at a time are one tile of the TCDM here."""
    shares: dict[Dim, int] = {"m": filters_a_core(layer, mapping, npu) * npu.cores, "y": mapping.rows}
    dims = SHARES[mapping.slicing]
    extents = layer.extents
    parts = npu.clusters if len(dims) == 1 else npu.clusters // 2
    steps = {dim: min(share * (parts if dim in dims else 1), extents[dim]) for dim, share in shares.items()}
    steps |= {"x": mapping.columns, "c": mapping.channels}
    return _nest(layer, FLOWS[mapping.flow], steps, {dim: min(shares[dim], steps[dim]) for dim in dims})


def _nest(layer: Layer, around: Around, steps: dict[Dim, int], shares: dict[Dim, int]) -> Schedule:
    left = dict(layer.extents) | steps | shares
    nest: list[Loop | Marker] = [
        Marker(item, TCDM) if isinstance(item, tuple) else Loop(item, steps[item]) for item in around
    ]
    nest += [Loop(dim, share, "hwc") for dim, share in shares.items()]
    for item in INNER_NEST:
        if isinstance(item, Loop):
            left[item.dim] = min(left[item.dim], item.step)
        nest.append(item if isinstance(item, Marker) else Loop(item.dim, left[item.dim]))
    return Schedule(layer=layer, nest=tuple(nest), lanes=Lanes(x=LANES))
