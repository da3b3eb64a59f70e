"""Random depth-first stacks that a pipeline can run: small networks of two to six rows, each as one stack."""

import random

import numpy as np

from cosim.pipeline.comparison import StackRun, prepare, random_network_data
from cosim.pipeline.quantised_data import random_quantised_data
from hwgen.arch.dram import Dram
from hwgen.arch.pipeline import MoverParameters
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network
from hwgen.ir.requantisation import RequantisationForm
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from tests.random.networks import random_network, random_skips

__all__ = ["DRAMS", "random_stacks"]

MOST = 11
"""Pixels of a side of the input."""


DRAMS = (Dram(), Dram(latency=20, miss_cycles=28, block_cycles=16), Dram(latency=7, block_cycles=2.5, banks=2))
"""At once, like DDR3, and one that moves more than it misses."""


def random_stacks(
    rng: random.Random,
    wanted: int,
    factors: int,
    *,
    movers: bool = False,
    requantisation: RequantisationForm = "shift",
) -> list[list[StackRun]]:
    """``wanted`` networks, each in up to ``factors`` tilings, with random stalls and skips in rings or through DRAM.

    Most networks are wide enough for ``factors`` tiles. With ``movers`` each stack has a DRAM of its own. Where
    ``requantisation`` is scaled, rows are nodes of integer graphs.
    """
    found: list[list[StackRun]] = []
    while len(found) < wanted:
        network = random_skips(rng, rows=5, most=MOST) if rng.random() < 0.3 else random_network(rng, 6, MOST)
        graph = Graph.of(network)
        few = graph.largest_factor(Span(1, graph.rows)) < factors
        if any(node.op == "deconv" for node in network.layers) or (few and rng.random() < 0.8):
            continue
        try:
            runs = _runs(network, rng, f"random{len(found)}", factors, requantisation, movers=movers)
        except InputError:
            continue  # operands at different rates, or a global pool in several tiles
        found.append(runs)
    return found


def _runs(
    network: Network, rng: random.Random, name: str, factors: int, form: RequantisationForm, *, movers: bool
) -> list[StackRun]:
    graph = Graph.of(network)
    span, joins = Span(1, graph.rows), [edge for edge in graph.edges if edge.kind == "join"]
    through = frozenset(edge for edge in joins if rng.random() < 0.3)
    drawn = np.random.default_rng(rng.randrange(1 << 30))
    if form == "scaled":
        data = random_quantised_data(network, drawn)
    else:
        data = random_network_data(network, drawn, draw_shifts=True)
    macs = max(rng.choice([2, 4, 8, 16]), sum(node.weights > 0 for node in network.layers))
    most = graph.largest_factor(span)
    port = _random_movers(rng) if movers else None
    runs = []
    for factor in range(1, min(factors, most) + 1):
        stack = Stack(span, factor if factor < 3 else rng.randint(3, most), through)
        solution = Solution(network, graph, (stack,), rng.choice(["resident", "fetched"]), form)
        stalls = rng.choice([0, 0, 0, 128] if movers else [0, 40, 128, 200])
        runs.append(
            prepare(f"{name}_x{stack.factor}", solution, stack, data, macs=macs, random=rng.randrange(1, 1 << 31),
                    stall_rate=stalls, movers=port, dram=rng.choice(DRAMS) if movers else None)
        )  # fmt: skip
    return runs


def _random_movers(rng: random.Random) -> MoverParameters:
    return MoverParameters(
        axi_bits=rng.choice([32, 64, 128]),
        burst_bytes=rng.choice([32, 128, 512]),
        bursts_ahead=rng.choice([2, 4]),
        outstanding=rng.choice([2, 16]),
    )
