"""Depth-first execution: closed form against the literal oracle, small cases by hand, published figures."""

import random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.excerpt import at_resolution
from hwgen.ir.layer_set import Network
from hwgen.model.pipeline.cost import Stack, Traffic, boundaries, layer_by_layer, stack_cost
from hwgen.model.pipeline.graph import Edge, FeatureMap, Graph, Span
from hwgen.readers.layer_sets import load_layer_set
from tests.oracles.stack_walk import walk_stack
from tests.random.networks import random_network

CHUNKS, PER_CHUNK = 4, 120


def random_case(rng: random.Random) -> tuple[Network, Graph, Stack]:
    """A stack of a random network, with a factor that it can have and some skips through DRAM."""
    network = random_network(rng)
    graph = Graph.of(network)
    first = rng.randint(1, graph.rows)
    span = Span(first, rng.randint(first, graph.rows))
    joins = [edge for edge in graph.edges if edge.kind == "join" and span.first <= edge.consumer <= span.last]
    factor = rng.randint(1, min(4, graph.largest_factor(span)))
    return network, graph, Stack(span, factor, frozenset(edge for edge in joins if rng.random() < 0.3))


def names(graph: Graph, edges: frozenset[Edge]) -> list[tuple[str, str]]:
    return [(graph.maps[edge.producer].name, graph.maps[edge.consumer].name) for edge in edges]


def compare(network: Network, graph: Graph, stack: Stack) -> bool:
    """Closed form against oracle; False if the stack cannot be run, as both must say."""
    span = stack.span
    seen = walk_stack(network, span.first, span.last, stack.factor, names(graph, stack.through_dram))
    if seen is None:
        with pytest.raises(InputError, match="a join's operands come at different rates"):
            stack_cost(graph, stack)
        return False
    cost = stack_cost(graph, stack)
    where = (network.network, network.layers, stack)
    assert {ring.name: ring.pixels for ring in cost.rings} == seen.rings, where
    assert {ring.name: ring.line for ring in cost.rings} == seen.lines, where
    assert {kind: getattr(cost.traffic, kind) for kind in seen.traffic} == seen.traffic, where
    return True


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_closed_form_equals_oracle(chunk: int) -> None:
    rng = random.Random(2019 + chunk)
    assert sum(compare(*random_case(rng)) for _ in range(PER_CHUNK)) > 0.95 * PER_CHUNK


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(16))
def test_closed_form_equals_oracle_at_length(chunk: int) -> None:
    rng = random.Random(chunk)
    assert sum(compare(*random_case(rng)) for _ in range(2000)) > 1900


SMALL = {
    "srgan": (10, 8),
    "dmcnn_vd": (9, 12),
    "mobilenet_v2_ssdlite": (40, 32),
    "resnet50": (48, 40),
    "squeezenet": (60, 60),
    "inception_v3": (83, 79),
    "vgg_e_first5": (16, 12),
    "fsrcnn": (9, 8),
}
"""Networks of the tables at resolutions that the oracle can walk."""


@pytest.mark.parametrize("name", SMALL)
def test_closed_form_equals_oracle_on_parts_of_real_networks(name: str) -> None:
    rng = random.Random(name)
    network = at_resolution(load_layer_set(name), *SMALL[name])
    graph = Graph.of(network)
    compared = 0
    while compared < 10:
        first = rng.randint(1, graph.rows)
        span = Span(first, min(graph.rows, first + rng.randint(1, 9)))
        if max(one.height * one.width for one in graph.maps[first - 1 : span.last + 1]) > 500:
            continue
        joins = [edge for edge in graph.edges if edge.kind == "join" and first <= edge.consumer <= span.last]
        factor = rng.randint(1, min(5, graph.largest_factor(span)))
        assert compare(network, graph, Stack(span, factor, frozenset(edge for edge in joins if rng.random() < 0.3)))
        compared += 1


def chain(*rows: dict[str, object], size: tuple[int, int] = (6, 4), channels: int = 2) -> Graph:
    """A network from rows of which only what matters is given."""
    height, width = size
    shapes: dict[str, tuple[int, int, int]] = {"input": (channels, height, width)}
    table = []
    for number, row in enumerate(rows):
        inputs = row.get("inputs", [table[-1]["name"] if table else "input"])
        assert isinstance(inputs, list)
        read = shapes[inputs[0]]
        full = {
            "name": f"r{number + 1}", "op": "conv", "kernel": [3, 3], "padding": [1, 1, 1, 1],
            "input_channels": read[0], "input_height": read[1], "input_width": read[2],
            "output_channels": read[0], "output_height": read[1], "output_width": read[2], **row, "inputs": inputs,
        }  # fmt: skip
        if full["op"] == "add":
            full |= {"kernel": [1, 1], "padding": [0, 0, 0, 0]}
        table.append(full)
        shapes[str(full["name"])] = (full["output_channels"], full["output_height"], full["output_width"])  # type: ignore[assignment]
    source = {"name": "input", "channels": channels, "height": height, "width": width}
    data = {"format": 1, "kind": "network", "network": "chain", "input": source, "layers": table}
    return Graph.of(Network.from_data(data))


def test_two_convolutions_by_hand() -> None:
    """Lines lie along W (4 columns). Each map has two lines and two pixels; two tiles overlap by two columns."""
    graph = chain({}, {})
    cost = stack_cost(graph, Stack(Span(1, 2)))
    assert [(ring.name, ring.line, ring.pixels) for ring in cost.rings] == [
        ("input", 4, 10), ("r1", 4, 10), ("r2", 4, 0),
    ]  # fmt: skip
    assert cost.ring_elements == 2 * (10 + 10)
    assert cost.traffic == Traffic(input=48, output=48)
    assert cost.weights == 2 * 36
    tiled = stack_cost(graph, Stack(Span(1, 2), 2))
    assert boundaries(graph, Span(1, 2), 2) == {0: (0, 4, 4), 1: (0, 3, 4), 2: (0, 2, 4)}
    # r2 gets columns 0 1, then 2 3; for these r1 needs 0-2, then 1-3; the input 0-3, then 2 and 3 again.
    assert [(ring.line, ring.pixels) for ring in tiled.rings] == [(4, 10), (3, 8), (2, 0)]
    assert tiled.traffic == Traffic(input=48, output=48, overlap_out=2 * 6 * 2, overlap_in=2 * 6 * (2 + 2))


def test_a_skip_in_the_ring_or_through_dram_by_hand() -> None:
    """Three convolutions of 3x3 keep their input for three lines and three pixels, one more than a window does."""
    graph = chain({}, {}, {}, {"op": "add", "inputs": ["r3", "input"]}, size=(8, 6))
    skip = next(edge for edge in graph.edges if (edge.producer, edge.consumer) == (0, 4))
    kept, through = stack_cost(graph, Stack(Span(1, 4))), stack_cost(graph, Stack(Span(1, 4), 1, frozenset([skip])))
    assert [ring.pixels for ring in kept.rings] == [3 * 6 + 3, 14, 14, 0, 0]
    assert [ring.pixels for ring in through.rings] == [14, 14, 14, 0, 0]
    assert kept.traffic == Traffic(input=96, output=96)
    assert through.traffic == Traffic(input=96, output=96, skip_in=96)
    # From the second row on the skip's map is made before the stack: it comes when the join needs it.
    late = stack_cost(graph, Stack(Span(2, 4)))
    assert {ring.name: ring.pixels for ring in late.rings} == {"input": 0, "r1": 14, "r2": 14, "r3": 0, "r4": 0}
    assert late.traffic == Traffic(input=2 * 96, output=96)
    # A skip from inside the stack is written first.
    graph = chain({}, {}, {}, {"op": "add", "inputs": ["r3", "r1"]}, size=(8, 6))
    skip = next(edge for edge in graph.edges if (edge.producer, edge.consumer) == (1, 4))
    assert stack_cost(graph, Stack(Span(1, 4), 1, frozenset([skip]))).traffic == Traffic(96, 96, 96, 96)


def test_a_cut_map_is_written_once_and_read_by_each_stack() -> None:
    graph = chain({}, {"inputs": ["r1"]}, {"inputs": ["r1"]}, {"op": "add", "inputs": ["r2", "r3"]})
    assert stack_cost(graph, Stack(Span(1, 1))).traffic == Traffic(input=48, output=48)
    assert stack_cost(graph, Stack(Span(1, 2))).traffic == Traffic(input=48, output=96)
    assert stack_cost(graph, Stack(Span(3, 4))).traffic == Traffic(input=96, output=48)


def test_lines_lie_along_the_shorter_axis() -> None:
    graph = chain({"kernel": [1, 5], "padding": [0, 2, 0, 2]}, size=(4, 9))
    assert graph.line_axis(Span(1, 1)) == "H"
    assert stack_cost(graph, Stack(Span(1, 1))).rings[0].pixels == 4 * 4
    assert chain({}, size=(5, 5)).line_axis(Span(1, 1)) == "W"


def test_accumulators_and_shuffles_hold_nothing_in_the_ring() -> None:
    graph = chain(
        {"output_channels": 8},
        {"op": "pixel_shuffle", "factor": 2, "kernel": [1, 1], "padding": [0, 0, 0, 0], "output_channels": 2,
         "output_height": 12, "output_width": 8},
        {"op": "pool", "pool": "avg", "global_pool": True, "kernel": [12, 8], "padding": [0, 0, 0, 0],
         "output_height": 1, "output_width": 1},
    )  # fmt: skip
    cost = stack_cost(graph, Stack(Span(1, 3)))
    assert [ring.pixels for ring in cost.rings] == [10, 0, 0, 0]
    assert cost.in_flight == 2 + (8 + 4 * 8 // 2) + 2 + 2  # the second line of every input line waits for its turn
    assert cost.traffic == Traffic(input=48, output=2)


def test_refusals() -> None:
    graph = chain({}, {})
    with pytest.raises(InputError, match="factor: expected 1 to 4, got 5"):
        stack_cost(graph, Stack(Span(1, 2), 5))
    with pytest.raises(InputError, match="expected a connected network with an input, got a layer list"):
        Graph.of(load_layer_set("stoutchinin_2019"))


def test_published_reading_of_skips() -> None:
    srgan, dmcnn = Graph.of(load_layer_set("srgan")), Graph.of(load_layer_set("dmcnn_vd"))
    for graph, skips in ((srgan, [("conv1", "add_global")]), (dmcnn, [("input", "add_skip")])):
        assert names(graph, frozenset(edge for edge in graph.edges if graph.is_long(edge))) == skips
    number = {one.name: index for index, one in enumerate(srgan.maps)}
    assert srgan.may_start(number["rb05_conv1"])
    assert not srgan.may_start(number["rb05_conv2"])
    assert not srgan.may_start(number["rb05_add"])
    assert srgan.may_start(number["add_global"])


def test_layer_by_layer_bound_by_hand() -> None:
    graph = chain({}, {"op": "add", "inputs": ["r1", "input"]}, {})
    assert graph.maps[0] == FeatureMap("input", 2, 6, 4)
    assert layer_by_layer(graph, 0) == 48 + 48 + 2 * (48 + 48)
    assert layer_by_layer(graph, 40) == 48 + 48 + 2 * (8 + 8)
    assert layer_by_layer(graph, 40, convolutions_only=True) == 48 + 48 + 2 * 8
    assert layer_by_layer(graph, 48) == 96
