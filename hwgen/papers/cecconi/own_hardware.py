"""Fig. 3 of Cecconi et al. 2017 on our own cluster: without buffering, and naive and best tiles moved in three ways.

The tiles are theirs in elements; here an element is a byte and a partial sum four bytes, since our HWCs compute with
8 bits. (C, p, t) are those of the cluster's DMA. Two tiles are compared: the best of all (*exact*), and the one whose
cost is nearest the median of all that fill at least 80 % of half the memory. Both are moved in the order of
Listing 1.1. *No buffering* keeps nothing but what the HWCs hold themselves: for every two rows of sixteen outputs of
four filters an HWC fetches each input channel and its weights anew, when it needs them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hwgen.ir.excerpt import at_resolution, narrowed
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Marker, Schedule
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.ring_sizes import bytes_needed
from hwgen.papers.cecconi.model import TransferCost, axis_tables, exact_moves, moves_of_counts
from hwgen.papers.cecconi.rows import ELEMENT_BYTES, MEMORY_BYTES, TABLE, contracting_layers
from hwgen.papers.cecconi.search import FILL, best_tiling
from hwgen.papers.own_cluster import OwnCase, tiled_on_cluster, untiled_on_cluster
from hwgen.papers.stoutchinin.model import Tile
from hwgen.readers.layer_sets import load_layer_set

__all__ = [
    "FULL",
    "SMALL",
    "WAYS",
    "Scale",
    "Tiles",
    "Way",
    "WayCase",
    "WayRow",
    "naive_tile",
    "way_cases",
    "way_rows",
]

Tiles = Literal["none", "naive", "best"]
Way = Literal["single", "halves", "ring"]
WAYS: tuple[Way, ...] = ("single", "halves", "ring")
ROWS, FILTERS = 8, 16
"""The part of a layer without buffering that is computed, and its cycles are taken times as many: all of it is
alike."""


@dataclass(frozen=True)
class Scale:
    """Layers, elements of half the memory that tiles are made for, and the layers that are simulated."""

    text: str
    layers: tuple[Layer, ...]
    elements: int
    simulated: tuple[str, ...]


def _small() -> tuple[Layer, ...]:
    return narrowed(at_resolution(load_layer_set(TABLE), 128, 96), 8).convolutions()


FULL = Scale(
    "FlowNet S at full size, tiles of 32,768 elements as in the paper",
    contracting_layers(),
    MEMORY_BYTES // ELEMENT_BYTES // 2,
    ("conv4", "conv5", "conv5_1", "conv6"),
)
SMALL = Scale(
    "FlowNet S at 128 x 96 with an eighth of the channels, tiles of 4,096 elements",
    _small(),
    4096,
    ("conv3_1", "conv4"),
)


@dataclass(frozen=True)
class WayCase:
    """A layer, or a part of it, in tiles that are moved in one way.

    Members
    -------
    part : the part of the layer's arithmetic that the schedule does.
    """

    tiles: Tiles
    way: Way
    part: float
    run: OwnCase

    @property
    def layer(self) -> str:
        """The layer's name."""
        return self.run.schedule.layer.name


@dataclass(frozen=True)
class WayRow:
    """What a case comes to.

    Members
    -------
    room : bytes of the TCDM; for a single buffer half of what double buffering takes.
    cycles : of the whole layer.
    """

    layer: str
    tiles: Tiles
    way: Way
    tile: str
    room: int
    cycles: float


def way_cases(layer: Layer, cluster: Cluster, elements: int) -> Iterator[WayCase]:
    """All cases of a layer: seven; the cluster has been calibrated."""
    assert cluster.load is not None
    cost = TransferCost(cluster.load.transfer, cluster.load.run, cluster.load.byte)
    some = _some(layer)
    schedule = untiled_on_cluster(some, cluster.hwcs)
    yield WayCase("none", "single", some.macs / layer.macs, OwnCase("no buffering", "-", None, schedule, serial=True))
    best, naive = best_tiling(layer, cost, elements, "exact")
    assert naive is not None
    chosen: dict[Tiles, Tile] = {"naive": naive_tile(layer, cost, elements, naive.median), "best": best.tile}
    for name, tile in chosen.items():
        text = f"{tile.y} x {tile.x} x {tile.c} x {tile.m}"
        ring, moved = tiled_on_cluster(layer, tile, cluster.hwcs), cost.of(exact_moves(layer, tile))
        for way in WAYS:
            nest = _halved(ring) if way == "halves" else ring
            yield WayCase(name, way, 1.0, OwnCase(f"{name}, {way}", text, moved, nest, serial=way == "single"))


def _some(layer: Layer) -> Layer:
    """The first rows of a layer and some of its filters, or all."""
    rows = min(ROWS, layer.output_height)
    top, _, bottom, _ = layer.padding
    height = (rows - 1) * layer.stride[0] + layer.kernel[0] - top - bottom
    if rows == layer.output_height:
        height = layer.input_height
    changed = {"output_height": rows, "input_height": height, "output_channels": min(FILTERS, layer.output_channels)}
    return Layer(**{**layer.model_dump(), **changed})


def _halved(schedule: Schedule) -> Schedule:
    nest = (
        replace(item, double="halves") if isinstance(item, Marker) and item.level.shared else item
        for item in schedule.nest
    )
    return schedule.model_copy(update={"nest": tuple(nest)})


def way_rows(
    cases: list[WayCase],
    cluster: Cluster,
    cycles_of: Callable[[Schedule, bool], float],
    progress: Callable[[], None] = lambda: None,
) -> list[WayRow]:
    """The rows of Fig. 3.

    Parameters
    ----------
    cycles_of : cycles of a nest on the cluster; with True one transfer or computation after the other.
    """
    rows = []
    for case in cases:
        own = case.run
        room = bytes_needed(normalised(own.schedule, cluster.hwcs), 1 << 40) // (2 if own.serial else 1)
        cycles = cycles_of(own.schedule, own.serial) / case.part
        rows.append(WayRow(case.layer, case.tiles, case.way, own.tile, room, cycles))
        progress()
    return rows


def naive_tile(layer: Layer, cost: TransferCost, elements: int, wanted: float) -> Tile:
    """The tile whose cost is nearest to the wanted one, the first of all that fill the memory."""
    y = np.arange(1, layer.output_height + 1)[:, None, None]
    x = np.arange(1, layer.output_width + 1)[None, :, None]
    m = np.arange(1, layer.outputs_per_group + 1)
    input_areas = axis_tables(layer, 0).most[y] * axis_tables(layer, 1).most[x]
    found: tuple[float, Tile] | None = None
    for c in range(1, layer.channels_per_group + 1):
        need = c * input_areas + m * (c * layer.kernel[0] * layer.kernel[1] + 1 + y * x)
        rows, columns, filters = (at + 1 for at in np.nonzero((need >= FILL * elements) & (need <= elements)))
        if not rows.size:
            continue
        tiles = -(-layer.channels_per_group // c)
        moved = moves_of_counts(layer, rows, columns, np.array([tiles]), -(-m[-1] // filters))
        spent = sum(cost.transfer * a + cost.run * b + cost.element * n for a, b, n in moved)
        off = np.abs(spent - wanted)
        at = int(off.argmin())
        if found is None or off[at] < found[0]:
            found = float(off[at]), Tile(y=int(rows[at]), x=int(columns[at]), c=c, m=int(filters[at]))
    assert found is not None
    return found[1]
