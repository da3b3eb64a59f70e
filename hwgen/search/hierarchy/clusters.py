"""A cluster of least energy for many layers: its TCDM, the memories and the number of its HWCs, and the schedules.

Of a hierarchy of three levels this is the one that is hardware: a DRAM, a TCDM that several HWCs share, three
memories in each HWC. TCDM and all local memories together are within a budget.

*The search*, for each number of HWCs: tiles whose loops move few bytes at the DRAM, and of these the ones that make
the HWCs fetch least. For their slices each loop order has a front of traffic at the TCDM and bytes of the three
memories (`hwgen.search.cluster.inner_nest`). The memories are those of the least energy of all layers together over
these fronts. With these, every tile that promises most gets its schedule, and its energy is what the model counts, by
`hwgen.model.energy`. The search is bounded: a better cluster may be there.

*Several HWCs* are the cores of Yang et al. 2016: a tile is spread over them by output channels (their K
partitioning: the inputs are read for all of them at once, the weights are each one's own), by rows (XY: the other way
round), or by both. What is read for several is a broadcast. Their shuffle between two layers costs nothing apart:
outputs are in the DRAM, or in the TCDM that all HWCs share, and not in a memory of one of them.

*Batches.* Tiles and the nests of the HWCs are those of one image; loops over images are put around them where the DMA
moves least, and of a few such places the schedule of least energy is taken (`hwgen.search.cluster.images`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import DramPort
from hwgen.arch.hwc import memory_units
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import DRAM, TCDM
from hwgen.ir.memory.energy import TABLES
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Schedule
from hwgen.model.cluster.cluster_counts import dram_bytes, predict_cluster
from hwgen.model.energy import TABLE, WIDTH, device_energy, prices_of_memories
from hwgen.search.cluster.cost_levels import MAX_TRIED, CostLevels
from hwgen.search.cluster.images import of_images
from hwgen.search.cluster.inner_nest import InnerNests
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.cluster.spreading import Spread, spreads_of
from hwgen.search.core.space import Target
from hwgen.search.hwc.canonical import CANONICAL, order_from_text
from hwgen.search.objectives.of_cluster import cluster_objective

__all__ = ["ClusterPoint", "ClusterSpace", "best_clusters"]

SHARE = 0.02
"""The part by which the bytes of the DRAM may exceed the fewest."""
TILES = 4
"""Tiles within this share."""
EXACT = 2
"""Tiles, each with a spread, of which the schedule is found."""
SMALLEST_LOCAL = 128
LARGEST_LOCAL = 1024
BANKS = 16
PLACES = 4
"""Places of the loops over images around a tile of which the energy is counted."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterSpace:
    """The clusters among which is chosen.

    Members
    -------
    sram : bytes of the TCDM and of all local memories together, at most.
    hwcs : the numbers of HWCs.
    lanes : of each HWC.
    quantised : whether they run quantised networks: sums are scaled, and there is a vector unit.
    lane_registers : whether the lanes of their HWCs have registers.
    """

    sram: int
    hwcs: tuple[int, ...]
    lanes: Lanes
    quantised: bool = False
    lane_registers: bool = False

    def stacks(self) -> list[tuple[int, int, int]]:
        """HWCs, bytes of the TCDM, bytes of the memories of an HWC at most; raises `InputError` if there are none.

        A TCDM has what the local memories leave, which are an eighth of all and 1 KiB each at most.
        """
        found = []
        for hwcs in self.hwcs:
            local = min(LARGEST_LOCAL, self.sram // 8 // hwcs)
            tcdm = min(self.sram - hwcs * local, 1 << 20) // (4 * BANKS) * (4 * BANKS)
            if local >= SMALLEST_LOCAL and tcdm >= 1024:
                found.append((hwcs, tcdm, local))
        if not found:
            raise InputError(
                f"a budget of {self.sram} bytes: expected room for {min(self.hwcs)} HWCs of {SMALLEST_LOCAL} bytes "
                f"in an eighth of it, and for a TCDM of 1024 bytes"
            )
        return found


@dataclass(frozen=True)
class ClusterPoint:
    """One cluster, and the schedule of each layer on it with its energy in pJ (but for the program's words)."""

    hardware: Hardware
    schedules: tuple[Schedule, ...]
    energies: tuple[float, ...]

    @property
    def cluster(self) -> Cluster:
        """HWCs and shared memory."""
        return self.hardware.cluster or Cluster()

    @property
    def bytes(self) -> int:
        """Bytes of the TCDM and of all local memories."""
        return self.cluster.tcdm + self.cluster.hwcs * sum((self.hardware.buffers or {}).values())

    @property
    def area(self) -> float:
        """mm2, of the memories and of what is no memory."""
        table = TABLES[TABLE]
        return table.area(self.bytes) + table.area_without_memory

    @property
    def energy(self) -> float:
        """pJ of all layers."""
        return sum(self.energies)


@dataclass(frozen=True)
class _Tile:
    """A tile, loops around it that fit, its spread, bytes that the DMA moves."""

    steps: dict[Dim, int]
    loops: OuterLoops
    spread: Spread
    dram_bytes: int


Check = Callable[[Schedule, Hardware], None]
"""Raises `InputError` where the hardware cannot run a schedule."""


def best_clusters(
    layers: Sequence[Layer], space: ClusterSpace, check: Check, step: Callable[[], None] = lambda: None
) -> list[ClusterPoint]:
    """The best cluster of each number of HWCs and each TCDM, that of least energy first.

    ``step`` is called after each of `ClusterSpace.stacks`. Raises `InputError` if none runs all layers.
    """
    found = []
    for hwcs, tcdm, local in space.stacks():
        cluster = Cluster(hwcs=hwcs, tcdm=tcdm, banks=BANKS, multicast=hwcs > 1, vector=space.quantised)
        found += _Search(layers, cluster, local, space).best(check)
        step()
    if not found:
        raise InputError(f"a budget of {space.sram} bytes: expected a cluster that runs all {len(layers)} layers")
    return sorted(found, key=lambda one: (one.energy, one.bytes))


class _Search:
    """One TCDM and one number of HWCs."""

    def __init__(self, layers: Sequence[Layer], cluster: Cluster, local: int, space: ClusterSpace) -> None:
        self._batches, self._layers = layers, [layer.of_images(1) for layer in layers]
        self._cluster, self._local, self._bits = cluster, local, Bits()
        self._lanes, self._registers = space.lanes, space.lane_registers
        hardware = self._hardware(None, None)
        least_bytes = cluster_objective("dram-bytes", hardware)
        self._levels = [
            CostLevels(
                layer.of_images(1), self._bits, _room(cluster, layer.batch), Target.of(hardware), least_bytes,
                demand=None, max_tried=MAX_TRIED, spreads=True,
            )
            for layer in layers
        ]  # fmt: skip
        self._tiles = [
            list(self._near(levels, layer.batch)) for levels, layer in zip(self._levels, layers, strict=True)
        ]

    def _hardware(self, order: Order | None, buffers: dict[ArrayName, int] | None) -> Hardware:
        name = f"cluster_{self._cluster.hwcs}x{self._lanes}"
        budget = self._local if buffers is None else sum(buffers.values())
        return Hardware(
            name=name,
            lanes=self._lanes,
            budget=budget,
            buffers=buffers,
            order=order,
            requantisation="scaled" if self._cluster.vector else "shift",
            lane_registers=self._registers,
            cluster=self._cluster,
        )

    def _near(self, levels: CostLevels, batch: int) -> Iterator[_Tile]:
        """The tiles that are looked at."""
        known: list[dict[Dim, int]] = []
        least = levels.space.least()
        while least is not None and not known:
            near = levels.space.between(least, int(least * (1 + SHARE)))
            tiles = ((steps, loops) for _, steps, loops in islice(near, 16 * TILES))
            for steps, loops in islice(levels.fitting(tiles), TILES):
                known.append(steps)
                moved = self._moved(levels.trial(steps, loops), batch)
                for spread in spreads_of(steps, self._cluster.hwcs):
                    yield _Tile(steps, loops, spread, moved)
            least = levels.space.least(int(least * (1 + SHARE)))

    def _moved(self, trial: Schedule, batch: int) -> int:
        """Bytes of the DRAM with loops around a tile; of a batch with those over images in the best place."""
        if batch == 1:
            return dram_bytes(trial)
        found = next(of_images(trial, batch, self._cluster.tcdm), None)
        return batch * dram_bytes(trial) if found is None else found[0]

    def best(self, check: Check) -> list[ClusterPoint]:
        """The best cluster of all orders; none if none runs all layers."""
        if not all(self._tiles):
            return []
        ranked = []
        for text in CANONICAL:
            order = order_from_text(text)
            chosen = self._memories(order)
            if chosen is not None:
                ranked.append((chosen[0], text, order, chosen[1], chosen[2]))
        for _, _, order, buffers, costs in sorted(ranked, key=lambda one: one[:2]):
            hardware = self._hardware(order, buffers)
            found = [self._schedule(n, hardware, costs[n], check) for n in range(len(self._layers))]
            known = [one for one in found if one is not None]
            if len(known) == len(found):
                return [ClusterPoint(hardware, tuple(one[1] for one in known), tuple(one[0] for one in known))]
        return []

    def _memories(self, order: Order) -> tuple[float, dict[ArrayName, int], list[Floats]] | None:
        """The memories of an order: energy by an estimate, their bytes, the estimate of each tile of each layer."""
        hardware = self._hardware(order, None)
        prices = prices_of_memories({"I": 0, "W": 0, "O": 0}, self._cluster).outer
        fronts: list[list[Floats]] = []
        for layer, tiles in zip(self._layers, self._tiles, strict=True):
            inner = InnerNests(layer, hardware, self._bits)
            fronts.append([inner.front(one.steps, one.spread, "traffic") for one in tiles])
        ladders = [_ladder(unit, self._local) for unit in memory_units(self._lanes)]
        table = TABLES[TABLE]
        best: tuple[float, dict[ArrayName, int], list[Floats]] | None = None
        for sizes in product(*ladders):
            if sum(sizes) > self._local:
                continue
            total, costs = 0.0, []
            for layer, tiles, rows in zip(self._batches, self._tiles, fronts, strict=True):
                moved = np.array([one.dram_bytes for one in tiles]) * prices[DRAM.name]
                fetched = np.array([_least(front, sizes) for front in rows]) * prices[TCDM.name] * layer.batch
                costs.append(moved + fetched)
                served = zip(_datapath_bytes(layer, self._lanes, self._bits), sizes, strict=True)
                total += costs[-1].min() + sum(count * table.per_byte(size, WIDTH) for count, size in served)
                if best is not None and total >= best[0]:
                    break
            if total < (np.inf if best is None else best[0]):
                best = total, dict(zip(ARRAYS, sizes, strict=True)), costs
        return best

    def _schedule(
        self, number: int, hardware: Hardware, costs: Floats, check: Check
    ) -> tuple[float, Schedule] | None:
        """The schedule of a layer with its energy: of each kind of spread, the tiles of least estimated cost."""
        inner = InnerNests(self._layers[number], hardware, self._bits)
        prices = prices_of_memories(hardware.buffers or {}, self._cluster)
        port, best, tried = DramPort.of(self._cluster), None, dict[tuple[str, ...], int]()
        for at in np.argsort(costs, kind="stable").tolist():
            tile = self._tiles[number][at]
            kind = tuple(sorted(tile.spread))
            if not costs[at] < np.inf or tried.get(kind, 0) == EXACT:
                continue
            for spills, divided in ((True, False), (False, False), (True, True)):
                found = inner.best(tile.loops, tile.steps, tile.spread, spills=spills, divided=divided)
                if found is None or not self._levels[number].fits(found[0]):
                    continue
                runs = 0
                for schedule in self._of_batch(found[0], self._batches[number].batch):
                    try:
                        check(schedule, hardware)
                    except InputError:
                        continue
                    hwcs, multicast = self._cluster.hwcs, self._cluster.multicast
                    counts = predict_cluster(schedule, hwcs, port, multicast=multicast).counts
                    energy = device_energy(schedule, counts, prices).total
                    runs += 1
                    if best is None or energy < best[0]:
                        best = energy, schedule
                if runs:
                    tried[kind] = tried.get(kind, 0) + 1
                    break
        return best

    def _of_batch(self, schedule: Schedule, batch: int) -> Iterator[Schedule]:
        """The schedule of one image, or those of a batch around its tiles."""
        if batch == 1:
            yield schedule
            return
        yield from (one for _, one in islice(of_images(schedule, batch, self._cluster.tcdm), PLACES))


def _room(cluster: Cluster, batch: int) -> Cluster:
    """The shared memory for tiles: of a batch a half, so that there is room for tiles of two images."""
    return cluster if batch == 1 else cluster.model_copy(update={"tcdm": cluster.tcdm // 2})


def _ladder(unit: int, most: int) -> list[int]:
    """Sizes of a memory of such units: powers of two, and one between two of them."""
    found = [unit * number << shift for shift in range(1, 12) for number in (2, 3)]
    return sorted({size // 2 for size in found if unit * 2 <= size // 2 <= most})


def _least(front: Floats, sizes: tuple[int, ...]) -> float:
    """The least traffic with memories of these sizes."""
    fitting = (front[:, 2:5] <= sizes).all(axis=1) if len(front) else np.zeros(0, np.bool_)
    return float(front[fitting, 0].min()) if fitting.any() else np.inf


def _datapath_bytes(layer: Layer, lanes: Lanes, bits: Bits) -> tuple[float, float, float]:
    """About what the local memories of I, W and O serve to the datapath; registers at its lanes are left out."""
    macs = layer.macs
    return (
        macs * bits.I / 8 / lanes.m,
        macs * bits.W / 8 / prod((lanes.y, lanes.x)),
        2 * macs * bits.acc / 8 / lanes.c,
    )
