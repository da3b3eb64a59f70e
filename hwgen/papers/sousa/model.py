"""What a layer costs on a multicore with small memories, DRAM bursts counted: Sousa et al. 2022, tile by tile.

Clusters of cores (the paper's TLEs and TLTs) share a DRAM and nothing else. Each core has a memory for an input tile,
one for weights and one for outputs. A layer is cut twice: into *slices*, one a cluster (Alg. 2: by filters, by
filters and output rows, by rows), and each slice into *tiles* of T_R x T_C outputs and T_N input channels. A tile has
as many filters as fit the memories of all cores of a cluster (Alg. 3, line 7); its input goes to all of them.

The three schedules as nests, the loops over tiles only (``m``: one iteration takes the filters of a tile):

- *IS*: ``y x [O] c [I W] m``: all filters at once; one weight tile for each input tile (Eq. 3);
- *OS*: ``y x m [O] c [I W]`` (Eq. 4);
- *WS*: ``m [W] y x [O] c [I]``: the weights hold all input channels and come once (Eq. 5).

None of them moves a partial sum. Times are summed (Eq. 6): MACs of the busiest cluster, and for DRAM the transfer
time of all bytes plus one access latency for each burst (Alg. 4). A run of consecutive addresses of n bytes is
ceil(n / burst) bursts; rows as wide as the map are one run, and so are whole maps and whole filters.

Two readings. *exact*: the last tile of a dimension is what is left; halos clipped to the image. *published*: every
tile counts as a whole one (Eq. 1, 3-5, 7-9). Eq. 3 prints one output tile for all filters of all clusters where every
cluster stores its own; that is what is counted here.

A depthwise layer has as many input channels in a tile as filters, and no loop over ``c``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer

__all__ = [
    "FLOWS",
    "SLICINGS",
    "Flow",
    "Mapping",
    "Npu",
    "Reading",
    "Slicing",
    "Spent",
    "burst_count",
    "check_ungrouped",
    "filters_a_core",
    "input_tile",
    "slices",
    "spend",
]

Slicing = Literal["KS", "KS&OFM", "OFM"]
Flow = Literal["IS", "OS", "WS"]
Reading = Literal["exact", "published"]
SLICINGS: tuple[Slicing, ...] = ("KS", "KS&OFM", "OFM")
FLOWS: tuple[Flow, ...] = ("IS", "OS", "WS")


@dataclass(frozen=True)
class Npu:
    """The multicore; times in nanoseconds, ``memory`` bytes in each of a core's three memories.

    The text of the paper gives neither the MACs of a core nor its clock; eight at 750 MHz in 32 cores are the 192
    GMAC/s that it measured.
    """

    clusters: int = 4
    cores: int = 8
    memory: int = 8192
    element: int = 2
    burst: int = 128
    latency: float = 14.0
    burst_time: float = 14.0
    macs: int = 8
    cycle: float = 4 / 3

    @property
    def byte_time(self) -> float:
        """Transfer time of a byte."""
        return self.burst_time / self.burst


@dataclass(frozen=True, slots=True)
class Mapping:
    """How a layer is mapped: the slices, the schedule, and a tile's output rows, columns and input channels."""

    slicing: Slicing
    flow: Flow
    rows: int
    columns: int
    channels: int


class Spent(NamedTuple):
    """Bytes and bursts loaded and stored by all clusters, cycles of the busiest cluster's MACs."""

    load_bytes: int
    load_bursts: int
    store_bytes: int
    store_bursts: int
    cycles: int

    def time(self, npu: Npu) -> float:
        """Nanoseconds, bursts counted (Alg. 4, TSO-burst; Eq. 6)."""
        return self.volume_time(npu) + (self.load_bursts + self.store_bursts) * npu.latency

    def volume_time(self, npu: Npu) -> float:
        """Nanoseconds as if every byte took the same (Alg. 4, TSO-noburst; Eq. 6)."""
        return (self.load_bytes + self.store_bytes) * npu.byte_time + self.cycles * npu.cycle


def burst_count(tile: tuple[int, int, int], height: int, width: int, npu: Npu) -> int:
    """CalBurstCount: bursts of a tile of (channels, rows, columns) of a map."""
    channels, rows, columns = tile
    runs, length = channels * rows, columns
    if columns >= width:
        runs, length = (channels, rows * width) if rows < height else (1, channels * height * width)
    return runs * -(-length * npu.element // npu.burst)


def check_ungrouped(layer: Layer) -> None:
    """Refuse grouped layers other than depthwise ones."""
    if layer.groups > 1 and not _depthwise(layer):
        raise InputError(f"{layer.name}: groups: expected 1, or as many as input and output channels")


def _depthwise(layer: Layer) -> bool:
    return layer.groups > 1 and layer.groups == layer.input_channels == layer.output_channels


def slices(slicing: Slicing, layer: Layer, npu: Npu) -> tuple[int, int]:
    """Algorithm 2: the most output rows and filters of a cluster."""
    rows, filters = layer.output_height, layer.output_channels
    if slicing == "KS":
        return rows, -(-filters // npu.clusters)
    if slicing == "OFM":
        return -(-rows // npu.clusters), filters
    return -(-rows // (npu.clusters // 2)), -(-filters // (npu.clusters // 2))


def input_tile(layer: Layer, mapping: Mapping) -> tuple[int, int]:
    """Eq. 1: input rows and columns of a whole tile, at most those of the map."""
    rows = (mapping.rows - 1) * layer.stride[0] + layer.kernel[0]
    columns = (mapping.columns - 1) * layer.stride[1] + layer.kernel[1]
    return min(rows, layer.input_height), min(columns, layer.input_width)


def filters_a_core(layer: Layer, mapping: Mapping, npu: Npu) -> int:
    """Filters of a tile in one core, T_M: as many as fit (Eq. 2); 0 if the mapping does not."""
    room = npu.memory // npu.element
    rows, columns = input_tile(layer, mapping)
    share = -(-slices(mapping.slicing, layer, npu)[1] // npu.cores)
    channels = layer.channels_per_group if mapping.flow == "WS" else mapping.channels
    fitting = min(
        share, room // (channels * layer.kernel[0] * layer.kernel[1]), room // (mapping.rows * mapping.columns)
    )
    if _depthwise(layer):
        fitting = min(fitting, room // (rows * columns))
    elif mapping.channels * rows * columns > room:
        return 0
    return 0 if mapping.flow == "IS" and fitting < share else fitting


def spend(layer: Layer, mapping: Mapping, npu: Npu, reading: Reading = "exact") -> Spent:
    """Every tile of every cluster, one after the other."""
    check_ungrouped(layer)
    each = filters_a_core(layer, mapping, npu)
    if not each:
        raise ValueError("mapping: does not fit the memories")
    most_rows, most_filters = slices(mapping.slicing, layer, npu)
    taken = min(each * npu.cores, most_filters)
    loads, load_bursts, stores, store_bursts, busiest = 0, 0, 0, 0, 0
    for rows in _pieces(layer.output_height, most_rows, "exact"):
        for filters in _pieces(layer.output_channels, most_filters, "exact"):
            cluster = _Cluster(layer, mapping, npu, reading)
            if reading == "published":
                cluster.run((0, most_rows), (0, most_filters), taken)
            else:
                cluster.run(rows, filters, taken)
            loads, load_bursts = loads + cluster.loads, load_bursts + cluster.load_bursts
            stores, store_bursts = stores + cluster.stores, store_bursts + cluster.store_bursts
            busiest = max(busiest, cluster.cycles)
    return Spent(loads, load_bursts, stores, store_bursts, busiest)


def _pieces(extent: int, step: int, reading: Reading, start: int = 0) -> list[tuple[int, int]]:
    """(first, end) of the tiles; all whole in the published reading."""
    return [
        (first, first + step if reading == "published" else min(first + step, start + extent))
        for first in range(start, start + extent, step)
    ]


class _Cluster:
    """Runs one cluster's slice and adds up what it moves."""

    def __init__(self, layer: Layer, mapping: Mapping, npu: Npu, reading: Reading) -> None:
        self.layer, self.mapping, self.npu, self.reading = layer, mapping, npu, reading
        self.loads = self.load_bursts = self.stores = self.store_bursts = self.cycles = 0

    def run(self, rows: tuple[int, int], filters: tuple[int, int], taken: int) -> None:
        """The nest of the schedule over the slice's rows and filters, ``taken`` filters at a time."""
        layer, mapping = self.layer, self.mapping
        depthwise = _depthwise(layer)
        channels = _pieces(layer.channels_per_group, mapping.channels, self.reading)
        for m0, m1 in _pieces(filters[1] - filters[0], taken, self.reading):
            if mapping.flow == "WS":
                self.load_weights(m1 - m0, layer.channels_per_group)
            for tile in self.image(rows):
                for c0, c1 in channels:
                    if mapping.flow != "WS":
                        self.load_weights(m1 - m0, c1 - c0)
                    self.load_input(m1 - m0 if depthwise else c1 - c0, tile)
                    self.multiply(m1 - m0, c1 - c0, tile)
                y, x = tile
                self.store((m1 - m0, y[1] - y[0], x[1] - x[0]))

    def image(self, rows: tuple[int, int]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """The tiles of output rows and columns."""
        for y in _pieces(rows[1] - rows[0], self.mapping.rows, self.reading, rows[0]):
            for x in _pieces(self.layer.output_width, self.mapping.columns, self.reading):
                yield y, x

    def load_input(self, channels: int, tile: tuple[tuple[int, int], tuple[int, int]]) -> None:
        """An input tile, to all cores."""
        layer = self.layer
        if self.reading == "published":
            rows, columns = input_tile(layer, self.mapping)
        else:
            sizes = (layer.input_height, layer.input_width)
            rows, columns = (
                max(
                    0,
                    min(
                        (tile[axis][1] - 1) * layer.stride[axis] - layer.padding[axis] + layer.kernel[axis],
                        sizes[axis],
                    )
                    - max(tile[axis][0] * layer.stride[axis] - layer.padding[axis], 0),
                )
                for axis in (0, 1)
            )
        bursts = burst_count((channels, rows, columns), layer.input_height, layer.input_width, self.npu)
        self.load(channels * rows * columns, bursts)

    def load_weights(self, filters: int, channels: int) -> None:
        """The weights of some filters; whole filters are stored one after the other."""
        area = self.layer.kernel[0] * self.layer.kernel[1]
        bursts = burst_count((1, filters, channels * area), filters, self.layer.channels_per_group * area, self.npu)
        self.load(filters * channels * area, bursts)

    def load(self, elements: int, bursts: int) -> None:
        """Count a load."""
        self.loads += elements * self.npu.element
        self.load_bursts += bursts if elements else 0

    def store(self, tile: tuple[int, int, int]) -> None:
        """An output tile of (filters, rows, columns)."""
        self.stores += tile[0] * tile[1] * tile[2] * self.npu.element
        self.store_bursts += burst_count(tile, self.layer.output_height, self.layer.output_width, self.npu)

    def multiply(self, filters: int, channels: int, tile: tuple[tuple[int, int], tuple[int, int]]) -> None:
        """Eq. 7: the cores do the filters of a tile side by side."""
        (y0, y1), (x0, x1) = tile
        products = (y1 - y0) * (x1 - x0) * self.layer.kernel[0] * self.layer.kernel[1]
        self.cycles += -(-filters // self.npu.cores) * channels * -(-products // self.npu.macs)
