"""Fig. 4 of Cecconi et al. 2017 on our own DMA: what moving a layer's tiles takes with the computation off.

Elements of four bytes, Listing 1.1, the best tile (*exact*) and the naive one of `own_hardware`. Transfers are moved
one after the other, as Eq. 1 to 6 add them up. A transfer is a descriptor; biases are one of their own. Where a layer
takes long, some transfers of each kind are moved, drawn at random, and stand for all of that kind: transfers of
one operand and direction whose rows, counts and strides are equal. Each of them follows those that come before it in
its channel, which leave the DRAM's rows open as they do in the whole layer.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from hwgen.arch.layout import aligned
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import Layer
from hwgen.model.dma.cycles import load_times, store_times
from hwgen.papers.cecconi.model import TransferCost, exact_moves
from hwgen.papers.cecconi.own_hardware import Tiles, naive_tile
from hwgen.papers.cecconi.rows import ELEMENT_BYTES
from hwgen.papers.cecconi.search import best_tiling
from hwgen.papers.stoutchinin.model import Tile

__all__ = [
    "WHOLE_CYCLES",
    "Chosen",
    "Timed",
    "TransferRow",
    "Transfers",
    "chosen_transfers",
    "places",
    "predicted",
    "tile_transfers",
    "transfer_cases",
    "transfer_row",
    "transfer_table",
]  # fmt: skip

SAMPLES = 8
"""Transfers of a kind that are moved, at most, where not all are."""
WHOLE_CYCLES = 4e6
"""All transfers of a layer's tiles are moved in the RTL where C + s p + n t is at most this."""
WARMING = 3
"""Transfers before each of them that are moved, too."""
PAGE = 4096
WITHIN = 0.02
"""Parts by which the cycles of the RTL may differ from the predicted ones."""


TABLE_TEXT = """\
{moved}; computation off, one transfer after the other. Million cycles: *linear* C + s p + n t of our own DMA,
*predicted* its cycle model, *RTL* its RTL, with bytes a cycle there, else as predicted. Where not all transfers were
moved, those of a kind stand for all of it. *as predicted*: data, counts at DRAM and TCDM, and cycles within 2 %."""

COLUMNS = ("layer", "tiles", "tile", "moved", "MB", "linear", "predicted", "RTL", "bytes a cycle", "as predicted")


@dataclass(frozen=True)
class Transfers:
    """Transfers of the two channels, each in its order."""

    loads: tuple[Descriptor, ...]
    stores: tuple[Descriptor, ...]


@dataclass(frozen=True)
class Chosen:
    """The transfers of a layer that are moved, and for how many of the layer each of them stands.

    Members
    -------
    of : number of transfers of the layer.
    """

    layer: Layer
    tiles: Tiles
    tile: Tile
    linear: float
    moved: Transfers
    weights: tuple[float, ...]
    of: int


@dataclass(frozen=True)
class Timed:
    """Cycles of each transfer, loads first."""

    cycles: tuple[int, ...]


@dataclass(frozen=True)
class TransferRow:
    """What moving a layer's tiles takes.

    Members
    -------
    transfers, of : transfers that were moved, and those of the layer.
    bytes : of the layer.
    linear : cycles of the layer by C + s p + n t.
    expected : cycles of the layer by the cycle model of the DMA.
    cycles : the same in the RTL; None: not simulated.
    equal : whether all bytes arrived, every count is the predicted one, and the cycles are within 2 %; None: not
        simulated.
    """

    layer: str
    tiles: Tiles
    tile: str
    transfers: int
    of: int
    bytes: int
    linear: float
    expected: float
    cycles: float | None = None
    equal: bool | None = None

    @property
    def bytes_a_cycle(self) -> float:
        """Bandwidth: in the RTL, else by the cycle model."""
        return self.bytes / (self.expected if self.cycles is None else self.cycles)


def places(layer: Layer) -> dict[OperandTag, tuple[int, int]]:
    """First byte in the DRAM of each operand, and the one after its last."""
    sizes = {
        OperandTag.I: layer.input_elements,
        OperandTag.W: layer.weight_elements,
        OperandTag.B: layer.output_channels,
        OperandTag.O: layer.output_elements,
    }
    found, at = {}, 0
    for tag, elements in sizes.items():
        found[tag] = at, at + elements * ELEMENT_BYTES
        at = aligned(at + elements * ELEMENT_BYTES, PAGE)
    return found


def tile_transfers(layer: Layer, tile: Tile, half: int) -> Iterator[tuple[bool, Descriptor]]:
    """All transfers of an ungrouped layer in the order of Listing 1.1, and whether each is a load.

    ``half`` : bytes of half the memory. Tiles of output channels, and of input channels, take the halves in turn.
    """
    base = {tag: first for tag, (first, _) in places(layer).items()}
    area = layer.kernel[0] * layer.kernel[1]
    channels, outputs = layer.channels_per_group, layer.outputs_per_group
    step = 0
    for y in range(0, layer.output_height, tile.y):
        rows = _inputs(layer, 0, y, tile.y)
        for x in range(0, layer.output_width, tile.x):
            columns = _inputs(layer, 1, x, tile.x)
            for c_step, c in enumerate(range(0, channels, tile.c)):
                some = min(tile.c, channels - c)
                image = (c, some), rows, columns
                if rows[1] and columns[1]:
                    yield True, _map(OperandTag.I, base[OperandTag.I], _shape(layer, 0), image, c_step % 2 * half)
                for m in range(0, outputs, tile.m):
                    filters = min(tile.m, outputs - m)
                    at = step % 2 * half
                    weights = ((m, filters), (0, 1), (c * area, some * area))
                    shape = (1, channels * area)
                    yield True, _map(OperandTag.W, base[OperandTag.W], shape, weights, at)
                    bias = ((0, 1), (0, 1), (m, filters))
                    yield True, _map(OperandTag.B, base[OperandTag.B], (1, outputs), bias, at)
                    part = (
                        (m, filters),
                        (y, min(tile.y, layer.output_height - y)),
                        (x, min(tile.x, layer.output_width - x)),
                    )
                    output = _map(OperandTag.O, base[OperandTag.O], _shape(layer, 1), part, at)
                    if c:
                        yield True, output
                    yield False, output
                    step += 1


def _inputs(layer: Layer, axis: int, first: int, number: int) -> tuple[int, int]:
    """First input row or column that some outputs touch, and how many they touch; padding is not fetched."""
    extent = (layer.output_height, layer.output_width)[axis]
    size = (layer.input_height, layer.input_width)[axis]
    stride, padding = layer.stride[axis], layer.padding[axis]
    last = min(first + number, extent) - 1
    begin = max(first * stride - padding, 0)
    return begin, max(min(last * stride - padding + layer.kernel[axis], size) - begin, 0)


def _shape(layer: Layer, which: int) -> tuple[int, int]:
    return ((layer.input_height, layer.input_width), (layer.output_height, layer.output_width))[which]


def _map(
    tag: OperandTag, base: int, shape: tuple[int, int], part: tuple[tuple[int, int], ...], at: int
) -> Descriptor:
    """A part of a planar array, (first, number) of planes, rows and columns; dense in the TCDM from ``at`` on."""
    (plane, planes), (row, rows), (column, columns) = part
    pitch, plane_bytes = shape[1] * ELEMENT_BYTES, shape[0] * shape[1] * ELEMENT_BYTES
    length, counts = columns * ELEMENT_BYTES, list[tuple[int, int]]()
    for number, stride in ((rows, pitch), (planes, plane_bytes)):
        if not counts and (stride == length or number == 1):
            length *= number  # contiguous on both sides
        elif number > 1:
            counts.append((number, stride))
    (count_1, stride_1), (count_2, stride_2) = [*counts, (1, 0), (1, 0)][:2]
    return Descriptor(
        length,
        tag,
        RingSelect.FIXED,
        base + plane * plane_bytes + row * pitch + column * ELEMENT_BYTES,
        at,
        count_1,
        count_2,
        stride_1,
        stride_2,
        length if count_1 > 1 else 0,
        length * count_1 if count_2 > 1 else 0,
    )


def chosen_transfers(layer: Layer, tiles: Tiles, tile: Tile, linear: float, half: int, samples: int | None) -> Chosen:
    """The transfers to move; ``samples``: of each kind at most; None: all."""
    every = sorted(tile_transfers(layer, tile, half), key=lambda one: not one[0])  # loads first
    kinds: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, (loads, move) in enumerate(every):
        sizes = (move.length, move.count_1, move.count_2, move.dram_stride_1, move.dram_stride_2)
        kinds[loads, move.tag, sizes].append(number)
    weights: dict[int, float] = {}
    for numbers in kinds.values():
        taken = numbers
        if samples is not None and len(numbers) > samples:
            taken = Random(0).sample(numbers, samples)
        weights |= dict.fromkeys(taken, len(numbers) / len(taken))
    for number in list(weights):
        for before in range(max(0, number - WARMING), number):
            if every[before][0] == every[number][0]:
                weights.setdefault(before, 0.0)
    order = sorted(weights)
    moved = Transfers(
        tuple(every[number][1] for number in order if every[number][0]),
        tuple(every[number][1] for number in order if not every[number][0]),
    )
    return Chosen(layer, tiles, tile, linear, moved, tuple(weights[number] for number in order), len(every))


def transfer_cases(layer: Layer, cluster: Cluster, elements: int, whole: float) -> Iterator[Chosen]:
    """The naive and the best tile of a layer; all transfers where C + s p + n t is at most ``whole`` cycles."""
    assert cluster.load is not None
    cost = TransferCost(cluster.load.transfer, cluster.load.run, ELEMENT_BYTES * cluster.load.byte)
    best, naive = best_tiling(layer, cost, elements, "exact")
    assert naive is not None
    chosen: dict[Tiles, Tile] = {"naive": naive_tile(layer, cost, elements, naive.median), "best": best.tile}
    for tiles, tile in chosen.items():
        linear = cost.of(exact_moves(layer, tile))
        samples = None if linear <= whole else SAMPLES
        yield chosen_transfers(layer, tiles, tile, linear, elements * ELEMENT_BYTES, samples)


def predicted(moved: Transfers, dma: DmaParameters, dram: Dram) -> Timed:
    """The cycles of each transfer by the cycle model of the DMA, one after the other."""
    loads = load_times(moved.loads, dma, dram, serial=True)
    return Timed(loads.cycles + store_times(moved.stores, dma, dram, serial=True).cycles)


def transfer_row(
    chosen: Chosen,
    cluster: Cluster,
    measure: Callable[[Chosen, DmaParameters, Dram], tuple[Timed, bool]] | None = None,
) -> TransferRow:
    """The row of a layer's tiles.

    ``measure`` : moves them in the RTL; gives their cycles, and whether all else is right.
    """
    dma, dram = DmaParameters(axi_bits=cluster.axi_bits), cluster.dram or Dram()
    expected = predicted(chosen.moved, dma, dram)
    cycles, equal = None, None
    if measure is not None:
        timed, right = measure(chosen, dma, dram)
        cycles = _layer_cycles(chosen, timed)
        equal = right and abs(sum(expected.cycles) / sum(timed.cycles) - 1) <= WITHIN
    tile = chosen.tile
    return TransferRow(
        chosen.layer.name,
        chosen.tiles,
        f"{tile.y} x {tile.x} x {tile.c} x {tile.m}",
        len(chosen.weights),
        chosen.of,
        ELEMENT_BYTES * sum(one.elements for one in exact_moves(chosen.layer, tile)),
        chosen.linear,
        _layer_cycles(chosen, expected),
        cycles,
        equal,
    )


def _layer_cycles(chosen: Chosen, timed: Timed) -> float:
    return sum(weight * cycles for weight, cycles in zip(chosen.weights, timed.cycles, strict=True))


def transfer_table(rows: Sequence[TransferRow], moved: str) -> list[str]:
    """Lines of Markdown: one row for each layer and tile."""
    lines = [TABLE_TEXT.format(moved=moved), "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for row in rows:
        million = [f"{row.linear / 1e6:,.2f}", f"{row.expected / 1e6:,.2f}"]
        million.append("-" if row.cycles is None else f"{row.cycles / 1e6:,.2f}")
        sizes = (f"{row.transfers:,} of {row.of:,}", f"{row.bytes / 1e6:,.1f}")
        agrees = "-" if row.equal is None else "yes" if row.equal else "NO"
        cells = (row.layer, row.tiles, row.tile, *sizes, *million, f"{row.bytes_a_cycle:.2f}", agrees)
        lines.append(f"| {' | '.join(cells)} |")
    return lines
