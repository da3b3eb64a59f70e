"""The front over all stacks: equal to plain enumeration, and made of what the model says it costs."""

import random
from collections.abc import Iterator
from itertools import product

import pytest

from hwgen.ir.document import InputError
from hwgen.model.pipeline.cost import Stack, WeightMode, published_stack, stack_cost
from hwgen.model.pipeline.graph import Graph, Rules, Span
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.pipeline.front import FACTORS, MODES, POWERS_OF_TWO, Point, best_within, search_front
from tests.random.networks import random_network, random_skips

CHUNKS, PER_CHUNK = 4, 54
SOME_FACTORS = (1, 2, 3, 5)

Cost = tuple[int, int]


def undominated(costs: set[Cost]) -> list[Cost]:
    """By rising memory, what nothing else undercuts."""
    kept: list[Cost] = []
    for cost in sorted(costs):
        if not kept or cost[1] < kept[-1][1]:
            kept.append(cost)
    return kept


def ways(graph: Graph, span: Span, rules: Rules) -> Iterator[Stack]:
    """Every way to run a stack."""
    joins = [edge for edge in graph.edges if edge.kind == "join" and span.first <= edge.consumer <= span.last]
    for factor in SOME_FACTORS:
        if factor > graph.largest_factor(span):
            continue
        if rules == "published":
            yield published_stack(graph, span, factor)
            continue
        for picked in product([False, True], repeat=len(joins)):
            yield Stack(span, factor, frozenset(edge for edge, pick in zip(joins, picked, strict=True) if pick))


def cheapest(graph: Graph, span: Span, rules: Rules) -> list[Cost]:
    costs = set()
    for stack in ways(graph, span, rules):
        try:
            cost = stack_cost(graph, stack)
        except InputError:  # a join whose operands come at different rates
            continue
        costs.add((cost.ring_elements, cost.traffic.total))
    return undominated(costs)


def partitions(graph: Graph, rules: Rules) -> Iterator[list[Span]]:
    """Every way to cut the table."""
    inner = [row for row in range(2, graph.rows + 1) if rules == "default" or graph.may_start(row)]
    for picked in product([False, True], repeat=len(inner)):
        starts = [1, *(row for row, pick in zip(inner, picked, strict=True) if pick)]
        yield [Span(a, b - 1) for a, b in zip(starts, [*starts[1:], graph.rows + 1], strict=True)]


def enumerated(graph: Graph, rules: Rules, modes: tuple[WeightMode, ...]) -> list[Cost]:
    """The front by enumeration; what an interval costs is computed once."""
    known: dict[Span, list[Cost]] = {}
    costs: set[Cost] = set()
    resident = sum(graph.weights)
    for spans in partitions(graph, rules):
        for span in spans:
            if span not in known:
                known[span] = cheapest(graph, span, rules)
        own = [sum(graph.weights[span.first : span.last + 1]) for span in spans]
        for taken in product(*(known[span] for span in spans)):
            traffic = sum(cost[1] for cost in taken)
            if "resident" in modes:
                costs.add((resident + max(cost[0] for cost in taken), traffic))
            if "fetched" in modes:
                most = max(cost[0] + weights for cost, weights in zip(taken, own, strict=True))
                costs.add((most, traffic + resident))
    return undominated(costs)


def recomputed(graph: Graph, point: Point) -> Cost:
    """A point's figures from its solution, by the model."""
    costs = [stack_cost(graph, stack) for stack in point.stacks]
    traffic = sum(cost.traffic.total for cost in costs)
    if point.weights == "resident":
        return sum(graph.weights) + max(cost.ring_elements for cost in costs), traffic
    most = max(cost.ring_elements + cost.weights for cost in costs)
    return most, traffic + sum(graph.weights)


def compare_with_enumeration(rng: random.Random, number: int) -> tuple[int, int, int]:
    """How many of the networks have joins, are tiled at some point, send a skip through DRAM at some point."""
    done, joined, tiled, through = 0, 0, 0, 0
    while done < number:
        graph = Graph.of((random_network if done % 2 else random_skips)(rng, rows=5))
        if sum(edge.kind == "join" for edge in graph.edges) > 6:
            continue
        rules: Rules = "published" if done % 6 == 5 else "default"
        modes = ((MODES[0],), (MODES[1],), MODES)[done % 3]
        found = search_front(graph, rules, SOME_FACTORS, modes)
        assert [(point.memory, point.traffic) for point in found.points] == enumerated(graph, rules, modes), graph
        for point in found.points:
            assert recomputed(graph, point) == (point.memory, point.traffic)
            assert max(point.stack_memories) == point.memory
            assert point.by_kind.total == point.traffic
            assert [span.first for span in point.spans] == [1, *(span.last + 1 for span in point.spans[:-1])]
        done += 1
        joined += any(edge.kind == "join" for edge in graph.edges)
        tiled += any(max(point.factors) > 1 for point in found.points)
        through += any(stack.through_dram for point in found.points for stack in point.stacks)
    return joined, tiled, through


@pytest.mark.parametrize("chunk", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, CHUNKS))])
def test_equals_enumeration(chunk: int) -> None:
    joined, tiled, through = compare_with_enumeration(random.Random(2003 + chunk), PER_CHUNK)
    assert min(joined, tiled) > PER_CHUNK // 2
    assert through > PER_CHUNK // 20


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(8))
def test_equals_enumeration_at_length(chunk: int) -> None:
    assert min(compare_with_enumeration(random.Random(chunk), 400)) > 20


def test_published_minimum_traffic() -> None:
    """SRGAN at 720p (Goetschalckx 2019, 6.3: 165M features, 6.4M on chip, 24 % of it the model), and by hand.

    For each input pixel: 3 maps in, 3 maps of 16 pixels out, 64 maps to DRAM and back. A ring of a k x k convolution
    holds k - 1 lines of 720 pixels and k - 1 pixels: 9 x 9 over 3 maps, 3 x 3 over 64 maps in 33 layers and the first
    enlarging one, in the second at twice the size, 9 x 9 over 64 maps at four times the size.
    """
    traffic = (3 + 3 * 16 + 2 * 64) * 1280 * 720
    rings = 3 * 8 * 721 + 34 * 64 * 2 * 721 + 64 * 2 * 1441 + 64 * 8 * 2881
    graph = Graph.of(load_layer_set("srgan"))
    front = search_front(graph, "published", POWERS_OF_TWO)
    last = front.points[-1]
    assert (last.traffic, last.weights, last.factors) == (traffic, "resident", (1,))
    assert last.memory == rings + sum(graph.weights)
    assert (round(last.traffic / 1e6), round(last.memory / 1e6, 1)) == (165, 6.4)
    assert sum(graph.weights) / last.memory == pytest.approx(0.24, abs=0.005)
    for point in front.points[::9]:
        assert recomputed(graph, point) == (point.memory, point.traffic)


def test_default_rules_undercut_the_published_ones_where_skips_are_paid_for_by_both() -> None:
    """DMCNN-VD has one skip, from the input: kept in its ring or fetched again, whichever is better."""
    graph = Graph.of(load_layer_set("dmcnn_vd"))
    default, published = search_front(graph), search_front(graph, "published", FACTORS)
    for point in published.points:
        better = best_within(default, point.memory)
        assert better is not None
        assert better.traffic <= point.traffic
    some = default.points[len(default.points) // 2]
    assert recomputed(graph, some) == (some.memory, some.traffic)


def test_best_within() -> None:
    graph = Graph.of(load_layer_set("vgg_e_first5"))
    front = search_front(graph, factors=(1, 2))
    assert best_within(front, front.points[0].memory - 1) is None
    assert best_within(front, front.points[1].memory - 1) == front.points[0]
    assert best_within(front, 1 << 60) == front.points[-1]


def test_refuses_maps_that_too_many_joins_read() -> None:
    rng = random.Random(1)
    graph = next(
        g for g in iter(lambda: Graph.of(random_network(rng)), None) if any(e.kind == "join" for e in g.edges)
    )
    edge = next(edge for edge in graph.edges if edge.kind == "join")
    crowded = Graph(graph.network, graph.maps, graph.weights, (*graph.edges, *[edge] * 8))
    with pytest.raises(InputError, match="expected at most 8 joins that read it"):
        search_front(crowded)
