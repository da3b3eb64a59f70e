"""The stacks that the regression runs: parts of published networks, each in one to three tiles.

The two parts of MobileNetV2 have their published channels and maps. The parts of VGG-E, SRGAN and DMCNN-VD are cut
down: a quarter of the channels, on smaller maps.

| part | rows | input simulated | input published | MACs simulated | MACs published |
|---|---|---|---|---|---|
| `vgg_e_first5` | 7 | 3 x 56 x 56 | 3 x 224 x 224 | 23 M | 5 636 M |
| `srgan_blocks` | 6 | 16 x 48 x 64 | 64 x 720 x 1280 | 28 M | 135 895 M |
| `mobilenet_v2_stride1` | 4 | 24 x 56 x 56 | the same | 26 M | the same |
| `mobilenet_v2_stride2` | 3 | 16 x 112 x 112 | the same | 29 M | the same |
| `dmcnn_vd_first6` | 6 | 3 x 64 x 64 | 3 x 720 x 1280 | 49 M | 171 462 M |

Inputs are channels x height x width. The published resolution of SRGAN and DMCNN-VD is that of the layer tables.

The part of VGG-E also runs as published, on a DRAM: `full_size_cases`. Those of SRGAN and DMCNN-VD also run with
all channels on a strip of the published width, 24 of 720 rows: `all_channels_cases`. A pipeline makes 1,280 lines of
24 pixels of it, as long as those of one of 30 tiles of the whole map.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hwgen.arch.dram import DramPort
from hwgen.ir.excerpt import at_resolution, excerpt, narrowed
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Edge, Graph, Span
from hwgen.readers.layer_sets import load_layer_set

__all__ = [
    "CaseSize",
    "Part",
    "PipelineCase",
    "all_channels_cases",
    "full_size_cases",
    "regression_cases",
    "small_cases",
    "whole_stack",
]

MACS = 512
"""Multipliers of the pipelines of the regression."""
FULL_MACS = 1024
"""Multipliers of those with all channels: with more the slowest stage of VGG-E is no faster."""

Shape = tuple[int, int, int]
"""Channels, height, width."""


@dataclass(frozen=True)
class CaseSize:
    """What of a published part a case simulates.

    Members
    -------
    input, published_input : channels, height, width of the part's input.
    divisor : by which the channels of all other maps are divided.
    macs, published_macs : multiply-accumulates of the part.
    """

    input: Shape
    published_input: Shape
    divisor: int
    macs: int
    published_macs: int

    @property
    def is_published(self) -> bool:
        """Whether nothing is cut down."""
        return self.divisor == 1 and self.input == self.published_input

    @property
    def text(self) -> str:
        """Whether it is as published, has all channels, or is cut down."""
        if self.is_published:
            return "as published"
        strip = f"all channels, {self.input[1]} of {self.published_input[1]} rows"
        return strip if self.divisor == 1 and self.input[2] == self.published_input[2] else "cut down"


@dataclass(frozen=True)
class PipelineCase:
    """A named network in one stack.

    Members
    -------
    size : if it is part of a published one.
    macs : multipliers of its pipeline.
    port : the DRAM that the pipeline is on; None: the harness plays the memory at every stream.
    """

    name: str
    solution: Solution
    size: CaseSize | None = None
    macs: int = MACS
    port: DramPort | None = None


@dataclass(frozen=True)
class Part:
    """Some rows of a built-in network, cut down.

    Members
    -------
    name : of the case.
    network, first, last : the layer table, and the rows.
    divisor, size : of the channels, and width and height of the input, in the regression.
    small_divisor, small : the same in the tests, which run in seconds.
    """

    name: str
    network: str
    first: str
    last: str
    divisor: int
    size: tuple[int, int]
    small_divisor: int
    small: tuple[int, int]

    def made(self, *, small: bool) -> Network:
        """The network that is simulated."""
        size, divisor = (self.small, self.small_divisor) if small else (self.size, self.divisor)
        return narrowed(at_resolution(self.published(), *size), divisor)

    def published(self) -> Network:
        """The rows as the layer table has them."""
        return excerpt(load_layer_set(self.network), self.first, self.last)

    def case_size(self, *, small: bool) -> CaseSize:
        """What of the published rows is simulated."""
        made, published = self.made(small=small), self.published()
        macs, published_macs = (sum(node.macs for node in one.layers) for one in (made, published))
        divisor = self.small_divisor if small else self.divisor
        return CaseSize(_input(made), _input(published), divisor, macs, published_macs)


def _input(network: Network) -> Shape:
    assert network.input is not None
    return network.input.channels, network.input.height, network.input.width


PARTS = (
    Part("vgg_e_first5", "vgg_e_first5", "conv1_1", "conv3_1", 4, (56, 56), 32, (16, 16)),
    Part("srgan_blocks", "srgan", "rb01_conv1", "rb02_add", 4, (64, 48), 32, (16, 12)),
    Part("mobilenet_v2_stride1", "mobilenet_v2", "block02_expand", "block02_add", 1, (56, 56), 8, (12, 12)),
    Part("mobilenet_v2_stride2", "mobilenet_v2", "block01_expand", "block01_project", 1, (112, 112), 8, (16, 16)),
    Part("dmcnn_vd_first6", "dmcnn_vd", "conv1", "conv6", 4, (64, 64), 32, (14, 14)),
)
FACTORS = (1, 2, 3)
FULL_FACTORS = (1, 2, 4)
STRIP, STRIP_FACTORS = 24, (1, 2)
"""Rows of the map, and tiles, of what runs with all channels but not at full size."""


def whole_stack(network: Network, factor: int, *, through_dram: bool = False) -> Solution:
    """A network as one stack.

    With ``through_dram`` every operand of a join goes through DRAM but the one that is made last.
    """
    graph = Graph.of(network)
    skips: frozenset[Edge] = frozenset()
    if through_dram:
        joins = [edge for edge in graph.edges if edge.kind == "join"]
        newest = {row: max(edge.producer for edge in joins if edge.consumer == row) for row in range(graph.rows + 1)
                  if any(edge.consumer == row for edge in joins)}  # fmt: skip
        skips = frozenset(edge for edge in joins if edge.producer != newest[edge.consumer])
    return Solution(network, graph, (Stack(Span(1, graph.rows), factor, skips),), "fetched")


def regression_cases() -> Iterator[PipelineCase]:
    """The parts at the sizes in the table above."""
    return _cases(small=False)


def full_size_cases(port: DramPort) -> Iterator[PipelineCase]:
    """The first five layers of VGG-E as published, in one, two and four tiles, on a DRAM."""
    part = PARTS[0]
    network = part.published()
    macs, shape = sum(node.macs for node in network.layers), _input(network)
    size = CaseSize(shape, shape, 1, macs, macs)
    for factor in FULL_FACTORS:
        yield PipelineCase(f"{part.name}_full_x{factor}", whole_stack(network, factor), size, FULL_MACS, port)


def all_channels_cases() -> Iterator[PipelineCase]:
    """The parts of SRGAN and DMCNN-VD with all channels, some rows of the published width, in one and two tiles."""
    for part in PARTS:
        if part.network not in ("srgan", "dmcnn_vd"):
            continue
        published = part.published()
        _, _, width = shape = _input(published)
        network = at_resolution(published, width, STRIP)
        macs, published_macs = (sum(node.macs for node in one.layers) for one in (network, published))
        size = CaseSize(_input(network), shape, 1, macs, published_macs)
        for factor in STRIP_FACTORS:
            yield PipelineCase(f"{part.name}_channels_x{factor}", whole_stack(network, factor), size, FULL_MACS)


def small_cases() -> Iterator[PipelineCase]:
    """The same parts with fewer channels on smaller maps, for tests."""
    return _cases(small=True)


def _cases(*, small: bool) -> Iterator[PipelineCase]:
    for part in PARTS:
        network, size = part.made(small=small), part.case_size(small=small)
        for factor in FACTORS:
            yield PipelineCase(f"{part.name}_x{factor}", whole_stack(network, factor), size)
        if part.name == "srgan_blocks":
            for factor in FACTORS:
                through_dram = whole_stack(network, factor, through_dram=True)
                yield PipelineCase(f"{part.name}_dram_x{factor}", through_dram, size)
