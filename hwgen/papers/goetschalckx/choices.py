"""What Goetschalckx and Verhelst 2019 decide without a figure: pixels or lines, and where the overlap of tiles is.

A stack may be done pixel by pixel, as in the paper and here, or line by line. The overlap of two tiles may be stored
off chip, as there and here, kept on chip, or made again.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from hwgen.model.pipeline.cost import Tiles, boundaries, published_stack, stack_cost
from hwgen.model.pipeline.graph import Graph, Span
from hwgen.papers.claims import Claim, cases
from hwgen.papers.goetschalckx.rows import NETWORKS, RESOLUTIONS, Computed

__all__ = ["choice_claims", "kept_overlap", "line_by_line", "made_again", "work_made_again"]

TILED = ("srgan", "dmcnn_vd")
MOST_TILES = 64


def _whole(graph: Graph) -> Span:
    return Span(1, graph.rows)


def line_by_line(graph: Graph) -> float:
    """Elements in the rings of one stack line by line over those pixel by pixel.

    Pixel by pixel a window of k x k needs k - 1 lines and k - 1 pixels (Eq. 1), line by line k lines.
    """
    rings = stack_cost(graph, published_stack(graph, _whole(graph))).rings
    pixels = sum(ring.elements for ring in rings)
    lines = sum(ring.channels * ring.line * (ring.pixels // ring.line + 1) for ring in rings if ring.pixels)
    return lines / pixels


def kept_overlap(graph: Graph, factor: int) -> float:
    """Elements on chip of one stack in tiles that keep the overlap there, over those of the stack without tiles.

    Of each map the columns that the next tile needs are kept, as long as the map, beside the rings of a tile.
    """
    stack = published_stack(graph, _whole(graph), factor)
    axis = graph.line_axis(stack.span)
    cuts = boundaries(graph, stack.span, factor)
    kept = 0
    for number in cuts:
        tiles = Tiles(graph, stack, cuts, number)
        widest = max(old - begin for old, begin in zip(tiles.old, tiles.begins, strict=True))
        kept += widest * tiles.map.lines(axis) * tiles.map.channels
    rings = stack_cost(graph, stack).ring_elements
    return (rings + kept) / stack_cost(graph, published_stack(graph, stack.span)).ring_elements


def made_again(graph: Graph, span: Span, factor: int) -> dict[int, int]:
    """Columns of each map of a stack, but its inputs, that tiles make again because an earlier one has made them."""
    axis = graph.line_axis(span)
    cuts = boundaries(graph, span, factor)
    begins: dict[int, list[int]] = {}
    for number in range(span.last, span.first - 1, -1):
        first = list(cuts[number][:-1])
        for edge in graph.inside(number, span):
            reach = edge.along(axis)
            needed = (max(reach.first(begin), 0) for begin in begins[edge.consumer])
            first = [min(one, other) for one, other in zip(first, needed, strict=True)]
        begins[number] = first
    return {
        number: sum(old - begin for old, begin in zip(cuts[number], first, strict=False))
        for number, first in begins.items()
    }


def work_made_again(graph: Graph, factor: int) -> float:
    """Multiply-accumulates that one stack in tiles does again, in parts of those of the stack."""
    axis = graph.line_axis(_whole(graph))
    again = made_again(graph, _whole(graph), factor)
    lines = {number: graph.weights[number] * graph.maps[number].lines(axis) for number in again}
    whole = sum(lines[number] * graph.maps[number].line(axis) for number in again)
    return sum(lines[number] * columns for number, columns in again.items()) / whole


def choice_claims(computed: Computed) -> list[Claim]:
    """The claims on networks that tiles are for."""
    graphs = {
        f"{NETWORKS[name]} {resolution}": computed.graphs[name, resolution]
        for name in TILED
        for resolution in RESOLUTIONS
        if (name, resolution) in computed.graphs
    }
    if not graphs:
        return []
    scope = f"{len(graphs)} of SRGAN and DMCNN-VD at both resolutions, all of it one stack, published rules"
    lines = [_lines(graphs, scope), _kept(graphs, scope)]
    depths = {name: _by_depth(graph) for name, graph in graphs.items() if name.startswith(NETWORKS["dmcnn_vd"])}
    return [*lines, *([_again(graphs, depths, scope)] if depths else [])]


def _lines(graphs: dict[str, Graph], scope: str) -> Claim:
    return Claim(
        "7",
        "line by line takes larger buffers, pixel by pixel could leave multipliers idle",
        ", ".join(f"{name} {line_by_line(graph):.2f} times" for name, graph in graphs.items()),
        "Line buffers, k lines in place of k - 1 lines and k - 1 pixels: larger by construction, so no evidence. "
        "Pipelines here are pixel by pixel, parallel over channels and the kernel.",
        scope=scope,
    )


def _kept(graphs: dict[str, Graph], scope: str) -> Claim:
    parts = {name: kept_overlap(graph, MOST_TILES) for name, graph in graphs.items()}
    return Claim(
        "4.4",
        "caching the overlap of tiles on chip is not an option: tiles are to decrease what is cached there",
        ", ".join(f"{name} {part:.2f} times" for name, part in parts.items()),
        f"Line buffers of {MOST_TILES} tiles and the columns that the next tile needs, as long as the map, over the "
        "line buffers without tiles: networks that would save nothing.",
        scope=scope,
        parts=cases("networks", (part >= 1 for part in parts.values())),
    )


def _by_depth(graph: Graph) -> list[int]:
    """Columns that two tiles make again in stacks of the first two layers with weights, three, and so on."""
    layers = [row for row in range(2, graph.rows + 1) if graph.weights[row]]
    return [sum(made_again(graph, Span(1, last), 2).values()) for last in layers]


def _again(graphs: dict[str, Graph], depths: Mapping[str, Sequence[int]], scope: str) -> Claim:
    shares = {name: 100 * work_made_again(graph, MOST_TILES) for name, graph in graphs.items()}
    steps = [
        after - before >= earlier - first
        for depth in depths.values()
        for (first, earlier), (before, after) in pairwise(pairwise(depth))
    ]
    grows = all(depth[-1] > depth[0] * len(depth) for depth in depths.values())
    return Claim(
        "4.4",
        "recalculated pixels increase superlinearly with the number of layers in a stack",
        "; ".join(f"{name} {depth[0]} to {depth[-1]:,} columns" for name, depth in depths.items())
        + f"; in {MOST_TILES} tiles all of a network does "
        + ", ".join(f"{name} {share:.0f} %" for name, share in shares.items())
        + " of its multiply-accumulates again",
        "Columns of all maps in stacks of the first 2 layers of DMCNN-VD to all, in two tiles: no step to one more "
        "layer adds fewer than the one before it, and all of them are more than proportional.",
        scope=scope,
        parts=cases("steps, and the whole", [*steps, grows]),
    )
