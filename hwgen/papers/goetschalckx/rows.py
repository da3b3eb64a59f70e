"""The figures of Goetschalckx and Verhelst 2019, reproduced: rows of plain values for tables and plots.

Fig. 5: on-chip memory against traffic, for the layer-by-layer bound and for depth-first execution with tiling factors
up to 1, 4 and 64, for three networks at two resolutions. Fig. 6: the stacks of the points for SRGAN. Fig. 7: the
first five convolutions of VGG-E, and an FSRCNN. Each figure has the published rules (long skips through DRAM, short
skips free, factors powers of two) and our own (every skip counted, in its ring or through DRAM; all factors).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hwgen.model.pipeline.cost import boundaries, layer_by_layer
from hwgen.model.pipeline.graph import Graph, Rules
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.pipeline.front import FACTORS, POWERS_OF_TWO, Front, Point, best_within, search_front

__all__ = [
    "FIG5",
    "FUSED_LAYER_BYTES",
    "NETWORKS",
    "RESOLUTIONS",
    "SMALL",
    "UNTILED",
    "VARIANTS",
    "BoundRow",
    "Computed",
    "FrontRow",
    "StackRow",
    "bound_rows",
    "compute",
    "equal_memory",
    "front_rows",
    "memory_for",
    "memory_without_overlap",
    "most_memory_saved",
    "stack_rows",
    "tiling_gain",
]

NETWORKS = {"srgan": "SRGAN", "mobilenet_v2_ssdlite": "MobileNetV2-SSDLite", "dmcnn_vd": "DMCNN-VD"}
RESOLUTIONS = {"720p": "", "4k": "_3840x2160"}
"""Resolutions of the network's input, and the suffix of the table's name for each."""

FIG5 = "published, to 64"
"""The variant of the paper's Fig. 5 and 6."""
UNTILED = "published, untiled"
VARIANTS: dict[str, tuple[Rules, tuple[int, ...]]] = {
    UNTILED: ("published", (1,)),
    "published, to 4": ("published", (1, 2, 4)),
    FIG5: ("published", POWERS_OF_TWO),
    "default, to 64": ("default", FACTORS),
}
SMALL = {"vgg_e_first5": "224x224", "fsrcnn": "720p"}
"""The networks of Fig. 7. No table of QFSRCNN was found; FSRCNN is of the same family."""

FUSED_LAYER_BYTES = (362_000, 3_600_000)
"""Fused layers on VGG-E's first five convolutions: bytes on chip, bytes to and from DRAM, as Alwani et al. 2016 print
them. Goetschalckx and Verhelst print neither: their Fig. 7(a) has a point."""


@dataclass(frozen=True)
class Computed:
    """The fronts by (network, resolution, variant), and the graphs by (network, resolution).

    ``features``: the front of VGG-E's first five convolutions without weights, as others report it.
    """

    graphs: dict[tuple[str, str], Graph]
    fronts: dict[tuple[str, str, str], Front]
    features: Front

    def front(self, network: str, resolution: str, variant: str = FIG5) -> Front:
        """One front."""
        return self.fronts[network, resolution, variant]


@dataclass(frozen=True)
class FrontRow:
    """A point of a front: memory and traffic in elements, and the layer-by-layer bound with as much memory."""

    network: str
    resolution: str
    variant: str
    memory: int
    traffic: int
    weights: str
    stacks: int
    factors: str
    bound: int
    bound_convolutions: int


@dataclass(frozen=True)
class BoundRow:
    """A point of the layer-by-layer bound: over all rows, and over convolutions only."""

    network: str
    resolution: str
    memory: int
    traffic: int
    traffic_convolutions: int


@dataclass(frozen=True)
class StackRow:
    """A stack of a point: rows, tiling factor, elements on chip while it runs."""

    network: str
    resolution: str
    point: int
    point_memory: int
    point_traffic: int
    weights: str
    first: str
    last: str
    first_row: int
    factor: int
    memory: int


def compute(names: Sequence[str] = tuple(NETWORKS), progress: Callable[[], None] = lambda: None) -> Computed:
    """All fronts of the named networks at both resolutions, and those of Fig. 7."""
    graphs, fronts = {}, {}
    wanted = [(name, resolution, name + suffix) for name in names for resolution, suffix in RESOLUTIONS.items()]
    wanted += [(name, resolution, name) for name, resolution in SMALL.items()]
    for name, resolution, table in wanted:
        graph = Graph.of(load_layer_set(table))
        graphs[name, resolution] = graph
        for variant, (rules, factors) in VARIANTS.items():
            fronts[name, resolution, variant] = search_front(graph, rules, factors)
            progress()
    vgg = graphs["vgg_e_first5", SMALL["vgg_e_first5"]]
    weightless = replace(vgg, weights=(0,) * len(vgg.weights))
    return Computed(graphs, fronts, search_front(weightless, "published", POWERS_OF_TWO))


def front_rows(computed: Computed) -> list[FrontRow]:
    """All points of all fronts."""
    return [
        FrontRow(
            network,
            resolution,
            variant,
            point.memory,
            point.traffic,
            point.weights,
            len(point.factors),
            " ".join(map(str, point.factors)),
            layer_by_layer(front.graph, point.memory),
            layer_by_layer(front.graph, point.memory, convolutions_only=True),
        )
        for (network, resolution, variant), front in computed.fronts.items()
        for point in front.points
    ]


def bound_rows(computed: Computed, steps: int = 16) -> list[BoundRow]:
    """The bound at ``steps`` memory sizes for each power of two, from 16 Ki elements to where it no longer falls."""
    rows = []
    for (network, resolution), graph in computed.graphs.items():
        largest = max(one.elements for one in graph.maps)
        power = 14.0
        while True:
            memory = min(round(2**power), largest)
            every, few = (layer_by_layer(graph, memory, convolutions_only=only) for only in (False, True))
            rows.append(BoundRow(network, resolution, memory, every, few))
            if memory == largest:
                break
            power += 1 / steps
    return rows


def stack_rows(front: Front, network: str, resolution: str) -> list[StackRow]:
    """The stacks of every point of a front. Points are counted from 1, by rising memory."""
    maps = front.graph.maps
    return [
        StackRow(
            network,
            resolution,
            number,
            point.memory,
            point.traffic,
            point.weights,
            maps[span.first].name,
            maps[span.last].name,
            span.first,
            factor,
            memory,
        )
        for number, point in enumerate(front.points, start=1)
        for span, factor, memory in zip(point.spans, point.factors, point.stack_memories, strict=True)
    ]


# --- comparisons ---


def memory_for(graph: Graph, traffic: int, *, convolutions_only: bool = False) -> int | None:
    """The least memory with which the layer-by-layer bound is at most ``traffic``; None if it never is."""
    low, high = 0, max(one.elements for one in graph.maps)
    if layer_by_layer(graph, high, convolutions_only=convolutions_only) > traffic:
        return None
    while low < high:
        middle = (low + high) // 2
        if layer_by_layer(graph, middle, convolutions_only=convolutions_only) <= traffic:
            high = middle
        else:
            low = middle + 1
    return low


def equal_memory(front: Front, *, convolutions_only: bool = False) -> float:
    """The layer-by-layer bound with the memory of the point of least traffic, over that point's traffic."""
    last = front.points[-1]
    return layer_by_layer(front.graph, last.memory, convolutions_only=convolutions_only) / last.traffic


def most_memory_saved(front: Front, *, convolutions_only: bool = False) -> tuple[float, int, int]:
    """The largest ratio of the bound's memory to a point's at equal traffic, and that point's memory and traffic."""
    found = [(0.0, 0, 0)]
    for point in front.points:
        needed = memory_for(front.graph, point.traffic, convolutions_only=convolutions_only)
        if needed is not None:
            found.append((needed / point.memory, point.memory, point.traffic))
    return max(found)


def memory_without_overlap(front: Front, point: Point) -> int:
    """Elements on chip if lines had no overlap: the widest tile without its left overlap; for fetched weights."""
    most = 0
    for stack, cost in zip(point.stacks, point.costs, strict=True):
        cuts = boundaries(front.graph, stack.span, stack.factor)
        rings = 0
        for ring in cost.rings:
            new = max(end - old for old, end in pairwise(cuts[ring.number]))
            rings += ring.channels * (ring.pixels - ring.pixels // ring.line * (ring.line - new))
        most = max(most, rings + cost.weights)
    return most


def tiling_gain(untiled: Front, tiled: Front) -> tuple[float, float]:
    """The most that tiling gains: ratio of memory at no more traffic, ratio of traffic with no more memory."""
    memory, traffic = 1.0, 1.0
    for point in tiled.points:
        as_good = [one.memory for one in untiled.points if one.traffic <= point.traffic]
        if as_good:
            memory = max(memory, min(as_good) / point.memory)
        as_small = best_within(untiled, point.memory)
        if as_small is not None:
            traffic = max(traffic, as_small.traffic / point.traffic)
    return memory, traffic
