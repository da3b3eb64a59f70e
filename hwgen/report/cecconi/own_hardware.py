"""Two small layers of FlowNet S on our own cluster: the best tile by Cecconi et al. 2017, and a naive one.

An element is a byte and a partial sum four bytes, since our HWCs compute with 8 bits. (C, p, t) are those of the
cluster's DMA. Two tiles are compared: the best of all (*exact*), and the one whose cost is nearest the median of all
that fill at least 80 % of half the memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hwgen.ir.excerpt import narrowed
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import Layer
from hwgen.ir.network import load_layer_set
from hwgen.ir.resolution import at_resolution
from hwgen.ir.schedule import Schedule
from hwgen.model.published.cecconi import TransferCost, exact_moves, exact_need, moves_of_counts
from hwgen.model.published.stoutchinin import Tile
from hwgen.report.cecconi.rows import TABLE
from hwgen.report.own_cluster import OwnCase, tiled_on_cluster
from hwgen.search.published.cecconi import FILL, best_tiling

__all__ = ["OWN_TEXT", "TCDM", "Overlap", "naive_tile", "overlaps", "own_tiles", "small_layers"]

WIDTH, HEIGHT, DIVISOR = 128, 96, 8
MEMORY = 8192
"""Bytes that the tiles are made for."""
TCDM = 16384
"""Bytes of the cluster's TCDM: partial sums take more than the model counts."""
NAMES = ("conv3_1", "conv4")
OWN_TEXT = f"""\
FlowNet S at {WIDTH} x {HEIGHT} with an eighth of the channels, tiles for {MEMORY >> 10} KiB; bytes in place of 4-byte
elements, but partial sums of four. *model's cycles* are C + s p + n t of all transfers with the (C, p, t) of the
cluster's DMA, which takes every element for a byte."""


@dataclass(frozen=True)
class Overlap:
    """One layer in one kind of tiles: cycles with transfers and arithmetic one after the other, and overlapped."""

    layer: str
    chosen: str
    serial: float
    overlapped: float

    @property
    def saved(self) -> float:
        """The part of the cycles that double buffering saves."""
        return 1 - self.overlapped / self.serial


def small_layers() -> tuple[Layer, ...]:
    """The two layers."""
    network = narrowed(at_resolution(load_layer_set(TABLE), WIDTH, HEIGHT), DIVISOR)
    return tuple(layer for layer in network.convolutions() if layer.name in NAMES)


def own_tiles(layer: Layer, cluster: Cluster) -> list[OwnCase]:
    """The best tile and a naive one, as nests; the cluster has been calibrated."""
    assert cluster.load is not None
    cost = TransferCost(cluster.load.transfer, cluster.load.run, cluster.load.byte)
    best, naive = best_tiling(layer, cost, MEMORY // 2, "exact")
    assert naive is not None
    tiles = {"best": best.tile, "naive": naive_tile(layer, cost, MEMORY // 2, naive.median)}
    return [
        OwnCase(
            chosen,
            f"{tile.y} x {tile.x} x {tile.c} x {tile.m}",
            cost.of(exact_moves(layer, tile)),
            tiled_on_cluster(layer, tile, cluster.hwcs),
        )
        for chosen, tile in tiles.items()
    ]


def overlaps(cases: Sequence[OwnCase], cycles_of: Callable[[Schedule, bool], float]) -> list[Overlap]:
    """What double buffering saves in each case.

    Parameters
    ----------
    cycles_of : cycles of a nest on the cluster; with True one transfer or computation after the other.
    """
    return [
        Overlap(
            case.schedule.layer.name, case.chosen, cycles_of(case.schedule, True), cycles_of(case.schedule, False)
        )
        for case in cases
    ]


def naive_tile(layer: Layer, cost: TransferCost, elements: int, wanted: float) -> Tile:
    """Of all tiles that fill the memory the first whose cost is nearest to the wanted one."""
    y = np.arange(1, layer.output_height + 1)[:, None, None]
    x = np.arange(1, layer.output_width + 1)[None, :, None]
    m = np.arange(1, layer.outputs_per_group + 1)
    found: tuple[float, Tile] | None = None
    for c in range(1, layer.channels_per_group + 1):
        moved = moves_of_counts(layer, y, x, np.array([-(-layer.channels_per_group // c)]), -(-m[-1] // m))
        spent = sum(cost.transfer * a + cost.run * b + cost.element * n for a, b, n in moved)
        off = np.abs(np.broadcast_to(spent, (y.size, x.size, m.size)) - wanted)
        for place in np.argsort(off, axis=None, kind="stable"):
            row, column, filters = (int(at) for at in np.unravel_index(place, off.shape))
            if found is not None and off.flat[place] >= found[0]:
                break
            tile = Tile(y=row + 1, x=column + 1, c=c, m=filters + 1)
            if FILL * elements <= exact_need(layer, tile) <= elements:
                found = float(off.flat[place]), tile
                break
    assert found is not None
    return found[1]
