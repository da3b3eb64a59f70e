"""Fig. 8 of Stoutchinin et al. 2019, the loops of its HWC, in the readings that the text leaves open.

The text prints the markers of O above LIF and of W above LOF, inside LFY. That of I cannot be read. Two places are
compared: above LSY, where rows of the image slide down; and above LOF, beside W. A third nest has I and W together
above LSY, which is not what is printed: the hardware of this project ran it first, and it moves less. LSX is done in
the lanes (the paper fixes jss to their width).

Each nest is computed on one HWC for all layers, whose memory is divided once, as the paper's is; and, beside it, with
a division for each layer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hwgen.arch.hwc import ALONG_X
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.papers.stoutchinin.rows import HWC_BYTES, Search
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.core.optimal import Result
from hwgen.search.hwc.canonical import order_from_text
from hwgen.search.hwc.shared import best_shared
from hwgen.studies.regress.published_nests import FIG8, PRINTED

__all__ = [
    "DIVISIONS",
    "NESTS",
    "SMALL_SIZES",
    "CyclesOf",
    "Division",
    "LayerInNest",
    "NestQuality",
    "NestSum",
    "layers_in_nests",
    "nest_quality",
    "nest_sums",
]

NESTS: dict[str, Order] = {
    **{nest: order_from_text(text) for nest, text in PRINTED.items()},
    "I and W above LSY": FIG8,
}

Division = Literal["one HWC", "a division for each layer"]
DIVISIONS: tuple[Division, ...] = ("one HWC", "a division for each layer")
SMALL_SIZES = (1024, 2048, 4096)
"""The buffers for which the paper chose its loops."""

CyclesOf = Callable[[Schedule, Hardware | None], int]
"""Cycles of a schedule on an HWC of this hardware; None: on the smallest HWC that runs it."""


@dataclass(frozen=True)
class LayerInNest:
    """A layer in one of the nests, on an HWC of 1 KiB with 16 lanes along x.

    Members
    -------
    nest, division : keys of `NESTS` and `DIVISIONS`.
    memories : bytes of I, W and O of the one HWC; empty with a division for each layer.
    bytes : that cross the ports.
    cycles : by the cycle model.
    utilisation : multiply-accumulates over what the lanes can do in the cycles of the model.
    """

    nest: str
    division: Division
    memories: str
    layer: str
    bytes: int
    cycles: int
    utilisation: float


@dataclass(frozen=True)
class NestQuality:
    """One nest at one buffer size, a division for each layer.

    Members
    -------
    minimal : layers in which it moves the least bytes of all loop orders on the same lanes.
    within_5 : layers in which it moves at most 5 % more.
    tiled : layers in which it moves less with the input channels in tiles (LTIF; css below C).
    """

    nest: str
    buffer_bytes: int
    layers: int
    minimal: int
    within_5: int
    tiled: int


@dataclass(frozen=True)
class NestSum:
    """All layers in one nest with one division, at 1 KiB.

    Members
    -------
    memories : bytes of I, W and O of the one HWC.
    of_the_optima : bytes over those of the best schedules without hardware; None if these are not known.
    utilisation : mean over the layers.
    """

    nest: str
    division: Division
    memories: str
    layers: int
    bytes: int
    of_the_optima: float | None
    cycles: int
    utilisation: float


def nest_sums(rows: Sequence[LayerInNest], least: Mapping[str, int]) -> list[NestSum]:
    """The sums of the rows; ``least``: bytes of the best schedule of each layer without hardware."""
    sums = []
    for nest in NESTS:
        for division in DIVISIONS:
            own = [row for row in rows if (row.nest, row.division) == (nest, division)]
            if own:
                moved = sum(row.bytes for row in own)
                optima = sum(least[row.layer] for row in own) if all(row.layer in least for row in own) else 0
                busy = sum(row.utilisation for row in own) / len(own)
                ratio = moved / optima if optima else None
                cycles = sum(row.cycles for row in own)
                sums.append(NestSum(nest, division, own[0].memories, len(own), moved, ratio, cycles, busy))
    return sums


def layers_in_nests(layers: Sequence[Layer], how: Search, cycles_of: CyclesOf) -> list[LayerInNest]:
    """Every layer in every nest, with both divisions; a layer that does not run in a nest is left out."""
    rows = []
    for nest, order in NESTS.items():
        try:
            shared = best_shared(layers, HWC_BYTES, ALONG_X, order=order)
        except InputError:
            pass
        else:
            sizes = shared.hardware.buffers or {}
            text = " ".join(f"{operand} {size}" for operand, size in sizes.items())
            rows += [_row(nest, "one HWC", text, one, shared.hardware, cycles_of) for one in shared.results]
        for layer in layers:
            found = _in_order(layer, order, HWC_BYTES, how)
            if found is not None:
                rows.append(_row(nest, "a division for each layer", "", found, None, cycles_of))
    return rows


def _row(
    nest: str, division: Division, memories: str, found: Result, hardware: Hardware | None, cycles_of: CyclesOf
) -> LayerInNest:
    layer = found.schedule.layer
    cycles = cycles_of(found.schedule, hardware)
    busy = layer.macs / (ALONG_X.product * cycles)
    return LayerInNest(nest, division, memories, layer.name, found.total_bytes, cycles, busy)


def _in_order(layer: Layer, order: Order, size: int, how: Search) -> Result | None:
    hwc = Hardware(name="published", lanes=ALONG_X, budget=size)
    try:
        ((found,),) = search_layers([layer], Request((size,), hwc, order=order), jobs=1, store=how.store)
    except InputError:
        return None
    return found


def nest_quality(layers: Sequence[Layer], how: Search) -> list[NestQuality]:
    """Every nest at each of the small sizes, beside the best of all orders."""
    rows = []
    for size in SMALL_SIZES:
        hwc = Hardware(name="hwc", lanes=ALONG_X, budget=size)
        request = Request((size,), hwc)
        best = search_layers(layers, request, jobs=how.jobs, store=how.store, progress=how.progress)
        least = {layer.name: one.total_bytes for layer, (one,) in zip(layers, best, strict=True)}
        for nest, order in NESTS.items():
            found = [_in_order(layer, order, size, how) for layer in layers]
            tiled = [_in_order(layer, _with_channels(order), size, how) for layer in layers]
            pairs = [(one, other) for one, other in zip(found, tiled, strict=True) if one is not None]
            over = [one.total_bytes / least[one.schedule.layer.name] for one, _ in pairs]
            rows.append(
                NestQuality(
                    nest,
                    size,
                    len(pairs),
                    sum(ratio <= 1 for ratio in over),
                    sum(ratio <= 1.05 for ratio in over),
                    sum(other is not None and other.total_bytes < one.total_bytes for one, other in pairs),
                )
            )
    return rows


def _with_channels(order: Order) -> Order:
    """The order with the loop over tiles of input channels that the paper leaves out (LTIF)."""
    return (order[0], "c", *order[1:])
