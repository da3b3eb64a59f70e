"""The depth-first stacks that the regression runs: parts of published networks, each in one to three tiles."""

from collections.abc import Iterator
from dataclasses import dataclass

from hwgen.ir.excerpt import excerpt, narrowed
from hwgen.ir.network import Network, load_layer_set
from hwgen.ir.resolution import at_resolution
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Edge, Graph, Span

__all__ = ["Part", "PipelineCase", "regression_cases", "small_cases", "whole_stack"]


@dataclass(frozen=True)
class PipelineCase:
    """A named network in one stack."""

    name: str
    solution: Solution


@dataclass(frozen=True)
class Part:
    """Some rows of a built-in network, narrowed and resized; ``small`` is what runs in seconds."""

    name: str
    network: str
    first: str
    last: str
    divisor: int
    size: tuple[int, int]
    small_divisor: int
    small: tuple[int, int]

    def made(self, *, small: bool) -> Network:
        """The network."""
        part = excerpt(load_layer_set(self.network), self.first, self.last)
        size, divisor = (self.small, self.small_divisor) if small else (self.size, self.divisor)
        return narrowed(at_resolution(part, *size), divisor)


PARTS = (
    Part("vgg_e_first5", "vgg_e_first5", "conv1_1", "conv3_1", 4, (56, 56), 32, (16, 16)),
    Part("srgan_blocks", "srgan", "rb01_conv1", "rb02_add", 4, (64, 48), 32, (16, 12)),
    Part("mobilenet_v2_stride1", "mobilenet_v2", "block02_expand", "block02_add", 1, (56, 56), 8, (12, 12)),
    Part("mobilenet_v2_stride2", "mobilenet_v2", "block01_expand", "block01_project", 1, (112, 112), 8, (16, 16)),
    Part("dmcnn_vd_first6", "dmcnn_vd", "conv1", "conv6", 4, (64, 64), 32, (14, 14)),
)
FACTORS = (1, 2, 3)


def whole_stack(network: Network, factor: int, *, through_dram: bool = False) -> Solution:
    """A network as one stack; ``through_dram`` sends every operand of a join that is not the last one made there."""
    graph = Graph.of(network)
    skips: frozenset[Edge] = frozenset()
    if through_dram:
        joins = [edge for edge in graph.edges if edge.kind == "join"]
        newest = {row: max(edge.producer for edge in joins if edge.consumer == row) for row in range(graph.rows + 1)
                  if any(edge.consumer == row for edge in joins)}  # fmt: skip
        skips = frozenset(edge for edge in joins if edge.producer != newest[edge.consumer])
    return Solution(network, graph, (Stack(Span(1, graph.rows), factor, skips),), "fetched")


def regression_cases() -> Iterator[PipelineCase]:
    """The published parts at the sizes of the regression."""
    return _cases(small=False)


def small_cases() -> Iterator[PipelineCase]:
    """The same parts, narrower and smaller."""
    return _cases(small=True)


def _cases(*, small: bool) -> Iterator[PipelineCase]:
    for part in PARTS:
        network = part.made(small=small)
        for factor in FACTORS:
            yield PipelineCase(f"{part.name}_x{factor}", whole_stack(network, factor))
        if part.name == "srgan_blocks":
            for factor in FACTORS:
                yield PipelineCase(f"{part.name}_dram_x{factor}", whole_stack(network, factor, through_dram=True))
