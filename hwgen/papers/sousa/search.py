"""The fastest mapping of a layer on a multicore, bursts counted, and the one that counting bytes alone would pick.

Sousa et al. 2022, Algorithms 1 and 3: all slicings, schedules, tile rows, columns and input channels;
`hwgen.papers.sousa.model` says what a mapping costs, tile by tile. Here the same figures come from tables of one
dimension each, so that a mapping takes a few multiplications. Both objectives see the same mappings in the same
order: slicing, schedule, rows, columns, channels.

Without bursts many tiles take equally long. The one with the largest input tile is taken, the first of several: so
the two tiles come out that the paper prints for the fifth layer of Inception v3, of 14 x 4 x 73 and 16 x 11 x 20
inputs. Algorithm 3 as printed would keep the first of all (``<``), a tile of few columns; it is told too, and so is
the fastest of them with bursts: the kindest way to break the tie. Slicings and schedules that tie go to the first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Layer
from hwgen.model.compiled import njit
from hwgen.papers.sousa.model import (
    FLOWS,
    SLICINGS,
    Flow,
    Mapping,
    Npu,
    Reading,
    Slicing,
    Spent,
    check_ungrouped,
    slices,
)

__all__ = ["Choice", "Mapped", "search_mappings"]

Ints = NDArray[np.int64]


class Mapped(NamedTuple):
    """A mapping and what it costs."""

    mapping: Mapping
    spent: Spent


class Choice(NamedTuple):
    """The best of all mappings of a slicing and a schedule: the fastest with bursts; and without: fullest, first,
    kindest."""

    burst: Mapped
    volume: Mapped
    first: Mapped
    kindest: Mapped


def search_mappings(layer: Layer, npu: Npu, reading: Reading = "exact") -> dict[tuple[Slicing, Flow], Choice | None]:
    """The choices by slicing and schedule, in the order of Algorithm 1; None where no tile fits."""
    check_ungrouped(layer)
    found: dict[tuple[Slicing, Flow], Choice | None] = {}
    for slicing in SLICINGS:
        tables = _Tables.of(layer, slicing, npu, reading)
        for number, flow in enumerate(FLOWS):
            best = np.zeros((4, 8), np.int64)
            _search(
                tables.rows,
                tables.columns,
                tables.channels,
                tables.filters,
                tables.shape,
                number,
                np.array([npu.latency, npu.byte_time, npu.cycle]),
                best,
            )
            mapped = [
                Mapped(Mapping(slicing, flow, *map(int, line[:3])), Spent(*map(int, line[3:]))) for line in best
            ]
            found[slicing, flow] = Choice(*mapped) if best[0, 0] else None
    return found


# Rows of the tables, each of which is indexed by the size of a tile.
TILES, TOUCHED, PART, WHOLE, OUT, OUT_PART, OUT_WHOLE, IN_TILE, FULL, REST = range(10)
"""Fields of rows and columns, summed over all tiles: how many; inputs; bursts of tiles that are part of the map
(rows: of one as wide as the map; columns: of one row); tiles that are all of it; outputs; the same of the outputs.
Then the inputs of a whole tile; and of the largest slice, how many tiles are whole and the size of its last one if
that is not."""
NUMBER, AMOUNT, FILTERS_BURSTS, MAPS_BURSTS, INPUTS_BURSTS, IN_CORE = range(6)
"""Fields of filters, summed over all tiles: how many; filters; bursts of whole filters; of their outputs if those
are whole maps; of as many whole input maps; and over the tiles of the largest slice, filters of a core. Of channels:
tiles; channels; bursts of one filter's weights (0 if one tile has all channels); nothing; bursts of whole input
maps."""


class _Shape(NamedTuple):
    """What is no table: elements of a memory, weights of a filter and channel, filters of a core at most, input
    channels, slices of rows, MACs a cycle, bytes of an element, whether the layer is depthwise."""

    room: int
    area: int
    share: int
    all_channels: int
    row_slices: int
    macs: int
    element: int
    depthwise: bool


class _Tables(NamedTuple):
    rows: Ints
    columns: Ints
    channels: Ints
    filters: Ints
    shape: _Shape

    @classmethod
    def of(cls, layer: Layer, slicing: Slicing, npu: Npu, reading: Reading) -> "_Tables":
        most_rows, most_filters = slices(slicing, layer, npu)
        row_slices = _slices(layer.output_height, most_rows, reading)
        share = -(-most_filters // npu.cores)
        return cls(
            _lines(layer, 0, row_slices, npu, reading),
            _lines(layer, 1, [(0, layer.output_width)], npu, reading),
            _channels(layer, npu, reading),
            _filters(layer, _slices(layer.output_channels, most_filters, reading), share, npu, reading),
            _Shape(
                npu.memory // npu.element,
                layer.kernel[0] * layer.kernel[1],
                share,
                layer.channels_per_group,
                len(row_slices),
                npu.macs,
                npu.element,
                layer.groups > 1,
            ),
        )


def _slices(extent: int, most: int, reading: Reading) -> list[tuple[int, int]]:
    """(first, size) of each slice; all as large as the largest in the published reading."""
    return [
        (first, most if reading == "published" else min(most, extent - first)) for first in range(0, extent, most)
    ]


def _cut(size: int, step: int, reading: Reading) -> Ints:
    """Sizes of the tiles of a slice."""
    sizes = np.full(-(-size // step), step, np.int64)
    if reading == "exact":
        sizes[-1] = size - step * (len(sizes) - 1)
    return sizes


def _bursts(elements: Ints, npu: Npu) -> Ints:
    return -(-elements * npu.element // npu.burst)


def _lines(layer: Layer, axis: int, parts: list[tuple[int, int]], npu: Npu, reading: Reading) -> Ints:
    inputs, outputs = (layer.input_height, layer.input_width), (layer.output_height, layer.output_width)
    stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
    line = (inputs[1], outputs[1]) if axis == 0 else (1, 1)
    most = parts[0][1]
    table = np.zeros((10, most + 1), np.int64)
    for step in range(1, most + 1):
        whole = min((step - 1) * stride + kernel, inputs[axis])
        for first, size in parts:
            sizes = _cut(size, step, reading)
            begin = (first + np.arange(len(sizes)) * step) * stride - padding
            touched = np.minimum(begin + (sizes - 1) * stride + kernel, inputs[axis]) - np.maximum(begin, 0)
            touched = np.full_like(sizes, whole) if reading == "published" else np.maximum(touched, 0)
            part, out_part = touched < inputs[axis], sizes < outputs[axis]
            table[:OUT, step] += (
                len(sizes),
                touched.sum(),
                _bursts(touched * line[0], npu)[part].sum(),
                (~part).sum(),
            )
            table[OUT:IN_TILE, step] += (
                sizes.sum(),
                _bursts(sizes * line[1], npu)[out_part].sum(),
                (~out_part).sum(),
            )
        sizes = _cut(most, step, reading)
        full = int((sizes == step).sum())
        table[IN_TILE:, step] = whole, full, 0 if full == len(sizes) else sizes[-1]
    return table


def _channels(layer: Layer, npu: Npu, reading: Reading) -> Ints:
    every, area = layer.channels_per_group, layer.kernel[0] * layer.kernel[1]
    table = np.zeros((6, every + 1), np.int64)
    for step in range(1, every + 1):
        sizes = _cut(every, step, reading)
        table[NUMBER, step], table[AMOUNT, step] = len(sizes), sizes.sum()
        table[FILTERS_BURSTS, step] = 0 if step == every else _bursts(sizes * area, npu).sum()
        table[INPUTS_BURSTS, step] = _bursts(sizes * layer.input_height * layer.input_width, npu).sum()
    return table


def _filters(layer: Layer, parts: list[tuple[int, int]], share: int, npu: Npu, reading: Reading) -> Ints:
    weights = layer.channels_per_group * layer.kernel[0] * layer.kernel[1]
    outputs, inputs = layer.output_height * layer.output_width, layer.input_height * layer.input_width
    table = np.zeros((6, share + 1), np.int64)
    for each in range(1, share + 1):
        taken = min(each * npu.cores, parts[0][1])
        for number, (_, size) in enumerate(parts):
            sizes = _cut(size, taken, reading)
            table[:IN_CORE, each] += (
                len(sizes),
                sizes.sum(),
                _bursts(sizes * weights, npu).sum(),
                _bursts(sizes * outputs, npu).sum(),
                _bursts(sizes * inputs, npu).sum(),
            )
            if number == 0:
                table[IN_CORE, each] = (-(-sizes // npu.cores)).sum()
    return table


@njit(cache=True)
def _fitting(rows, columns, shape, flow, y, x, n):  # type: ignore[no-untyped-def]
    """Filters of a tile in one core; 0 if the mapping does not fit."""
    image = rows[IN_TILE, y] * columns[IN_TILE, x]
    channels = shape.all_channels if flow == 2 else n
    fitting = min(shape.share, shape.room // (channels * shape.area), shape.room // (y * x))
    if shape.depthwise:
        fitting = min(fitting, shape.room // image)
    if flow == 0 and fitting < shape.share:
        return 0
    return fitting


@njit(cache=True)
def _spent(rows, columns, channels, filters, shape, flow, y, x, n, m):  # type: ignore[no-untyped-def]
    """Bytes and bursts loaded and stored, cycles: `hwgen.papers.sousa.model.spend`."""
    lines = rows[TOUCHED, y] * columns[PART, x] + columns[WHOLE, x] * rows[PART, y]
    wholes = columns[WHOLE, x] * rows[WHOLE, y]
    if shape.depthwise:
        amount, bursts = filters[AMOUNT, m], filters[AMOUNT, m] * lines + filters[INPUTS_BURSTS, m] * wholes
    else:
        amount = channels[AMOUNT, n] * filters[NUMBER, m]
        bursts = (channels[AMOUNT, n] * lines + channels[INPUTS_BURSTS, n] * wholes) * filters[NUMBER, m]
    elements = amount * rows[TOUCHED, y] * columns[TOUCHED, x]
    if flow == 2:
        elements += shape.row_slices * filters[AMOUNT, m] * shape.all_channels * shape.area
        bursts += shape.row_slices * filters[FILTERS_BURSTS, m]
    else:
        images = rows[TILES, y] * columns[TILES, x]
        elements += images * filters[AMOUNT, m] * channels[AMOUNT, n] * shape.area
        if n == shape.all_channels:
            bursts += images * filters[FILTERS_BURSTS, m]
        else:
            bursts += images * filters[AMOUNT, m] * channels[FILTERS_BURSTS, n]
    stored = filters[AMOUNT, m] * rows[OUT, y] * columns[OUT, x]
    store_bursts = (
        filters[AMOUNT, m] * (rows[OUT, y] * columns[OUT_PART, x] + columns[OUT_WHOLE, x] * rows[OUT_PART, y])
        + filters[MAPS_BURSTS, m] * columns[OUT_WHOLE, x] * rows[OUT_WHOLE, y]
    )
    products = 0
    for number, height in ((rows[FULL, y], y), (1, rows[REST, y])):
        for other, width in ((columns[FULL, x], x), (1, columns[REST, x])):
            products += number * other * -(-height * width * shape.area // shape.macs)
    cycles = filters[IN_CORE, m] * channels[AMOUNT, n] * products
    return elements * shape.element, bursts, stored * shape.element, store_bursts, cycles


@njit(cache=True)
def _search(rows, columns, channels, filters, shape, flow, times, best):  # type: ignore[no-untyped-def]
    """Lines of ``best``: rows, columns, channels (0: none found), spent; of `Choice`'s mappings."""
    least, volume, kindest = np.inf, np.inf, np.inf
    full, full_volume = 0, 0
    latency, byte_time, cycle = times
    for y in range(1, rows.shape[1]):
        for x in range(1, columns.shape[1]):
            image = rows[IN_TILE, y] * columns[IN_TILE, x]
            if image > shape.room or y * x > shape.room:
                break
            for n in range(1, channels.shape[1]):
                if not shape.depthwise and n * image > shape.room:
                    break
                m = _fitting(rows, columns, shape, flow, y, x, n)
                if m == 0:
                    continue
                one = _spent(rows, columns, channels, filters, shape, flow, y, x, n, m)
                without = (one[0] + one[2]) * byte_time + one[4] * cycle
                time = without + (one[1] + one[3]) * latency
                if time < least or (time == least and n * image > full):
                    least, full = time, n * image
                    _keep(best, 0, y, x, n, one)
                if without < volume:
                    volume, kindest, full_volume = without, np.inf, 0
                    _keep(best, 2, y, x, n, one)
                if without == volume and n * image > full_volume:
                    full_volume = n * image
                    _keep(best, 1, y, x, n, one)
                if without == volume and time < kindest:
                    kindest = time
                    _keep(best, 3, y, x, n, one)


@njit(cache=True)
def _keep(best, line, y, x, n, one):  # type: ignore[no-untyped-def]
    best[line, 0], best[line, 1], best[line, 2] = y, x, n
    for place in range(5):
        best[line, 3 + place] = one[place]
