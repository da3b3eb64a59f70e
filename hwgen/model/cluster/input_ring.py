"""The size of the input's ring in the TCDM without its contents: the tiles are walked in a compiled loop.

The rules are those of `hwgen.model.cluster.placement`, which lists every tile. Here each tile is three ranges: of
channels, rows and columns. Tiles of several ranges along an axis (some kernel taps of a larger stride, some channels
of several groups or images) are left to the list, and so are halves.
"""

import numpy as np

from hwgen.arch.layout import LEAST_RING
from hwgen.ir.layer import DIMS, IMAGE, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Schedule
from hwgen.model.compiled import njit

__all__ = ["input_ring"]

M, C, Y, X, K, L = range(len(DIMS))
PER_GROUP, CHANNELS, STRIDE, PAD, SIZE, WORD, BYTES, BESIDE = 0, 1, 2, 4, 6, 8, 9, 10
"""Places in a layer's figures: outputs and inputs of a group; stride, padding and input size of rows and of columns;
bytes of a word of the map port and of an input; rows and columns that a range of the kernel needs beside it."""
NOT_ONE_RANGE = -1


def input_ring(schedule: Schedule) -> int | None:
    """Bytes of the ring; None where a tile is not one range along each axis, none can be placed, in halves, and with
    loops over images."""
    if schedule.in_halves("I") or any(loop.dim == IMAGE for loop in schedule.loops):
        return None
    marked = schedule.marked_loop("I", TCDM)
    assert marked is not None
    loops = schedule.loops[: marked + 1]
    dims = np.array([DIMS.index(loop.dim) for loop in loops], np.int64)
    steps = np.array([loop.step for loop in loops], np.int64)
    extents = np.array([schedule.layer.extents[dim] for dim in DIMS], np.int64)
    figures = _figures(schedule.layer, schedule.ports.map_bytes, schedule.bits.I // 8)
    rows, pitch = _pitches(dims, steps, extents, figures)
    if rows == NOT_ONE_RANGE:
        return None
    return max(int(_ring(dims, steps, extents, figures, rows, pitch)), LEAST_RING)


def _figures(layer: Layer, word: int, size: int) -> "np.ndarray":
    sizes = (layer.input_height, layer.input_width)
    groups = (layer.outputs_per_group, layer.channels_per_group)
    return np.array(
        [*groups, *layer.stride, *layer.padding[:2], *sizes, word, size, 0, layer.columns_beside], np.int64
    )


@njit(cache=True)
def _started(dims, steps, extents):  # type: ignore[no-untyped-def]
    """Ranges [0 first, 1 end] of each loop's iteration, of the ranges around it, and of all dimensions inside."""
    low, high = np.zeros(len(extents), np.int64), extents.copy()
    around = np.zeros((2, len(dims)), np.int64)
    for at in range(len(dims)):
        around[0, at], around[1, at] = low[dims[at]], high[dims[at]]
        high[dims[at]] = min(low[dims[at]] + steps[at], high[dims[at]])
    return low, high, around


@njit(cache=True)
def _advanced(dims, steps, low, high, around):  # type: ignore[no-untyped-def]
    """Go to the next iteration of the innermost loop: the loop that advanced, -1 at the end."""
    at = len(dims) - 1
    while at >= 0 and low[dims[at]] + steps[at] >= around[1, at]:
        low[dims[at]], high[dims[at]] = around[0, at], around[1, at]
        at -= 1
    if at < 0:
        return -1
    low[dims[at]] += steps[at]
    high[dims[at]] = min(low[dims[at]] + steps[at], around[1, at])
    for inside in range(at + 1, len(dims)):
        dim = dims[inside]
        around[0, inside], around[1, inside] = low[dim], high[dim]
        high[dim] = min(low[dim] + steps[inside], high[dim])
    return at


@njit(cache=True)
def _touched(low, high, figures, touch):  # type: ignore[no-untyped-def]
    """Fill in the ranges [axis, end] of channels, rows and columns; False if some axis has several.

    An axis without any inputs has the range from 0 to 0.
    """
    per_group, channels = figures[PER_GROUP], figures[CHANNELS]
    first, last = low[M] // per_group, (high[M] - 1) // per_group
    if low[C] == 0 and high[C] == channels:
        touch[0, 0], touch[0, 1] = first * channels, (last + 1) * channels
    elif first == last:
        touch[0, 0], touch[0, 1] = first * channels + low[C], first * channels + high[C]
    else:
        return False
    for line in range(2):
        stride, pad, size = figures[STRIDE + line], figures[PAD + line], figures[SIZE + line]
        start, end, tap, taps = low[Y + line], high[Y + line], low[K + line], high[K + line]
        taps += figures[BESIDE + line]
        if taps - tap < stride and end - start > 1:
            return False
        begin, beyond = max(start * stride + tap - pad, 0), min((end - 1) * stride + taps - pad, size)
        if begin >= beyond:
            begin = beyond = 0
        touch[1 + line, 0], touch[1 + line, 1] = begin, beyond
    return True


@njit(cache=True)
def _present(touch):  # type: ignore[no-untyped-def]
    return touch[0, 0] < touch[0, 1] and touch[1, 0] < touch[1, 1] and touch[2, 0] < touch[2, 1]


@njit(cache=True)
def _slides(touch, held):  # type: ignore[no-untyped-def]
    return _present(held) and touch[0, 0] == held[0, 0] and touch[0, 1] == held[0, 1]


@njit(cache=True)
def _keep(touch, held):  # type: ignore[no-untyped-def]
    for axis in range(3):  # slices would bring numba's texts of errors along
        held[axis, 0], held[axis, 1] = touch[axis, 0], touch[axis, 1]


@njit(cache=True)
def _pitches(dims, steps, extents, figures):  # type: ignore[no-untyped-def]
    """Rows from channel to channel, bytes from row to row."""
    low, high, around = _started(dims, steps, extents)
    touch, held = np.zeros((3, 2), np.int64), np.zeros((3, 2), np.int64)
    rows, pitch, word, size = 0, 0, figures[WORD], figures[BYTES]
    advanced = 0
    begins = True
    while advanced >= 0:
        if not _touched(low, high, figures, touch):
            return NOT_ONE_RANGE, NOT_ONE_RANGE
        slides = not begins and _slides(touch, held)
        if not begins and not slides and _present(held) and touch[0, 0] < held[0, 1] and held[0, 0] < touch[0, 1]:
            return NOT_ONE_RANGE, NOT_ONE_RANGE
        if _present(touch):
            first_row, end_row = touch[1]
            first_column, end_column = touch[2]
            if slides:
                first_row, end_row = min(first_row, held[1, 0]), max(end_row, held[1, 1])
                first_column, end_column = min(first_column, held[2, 0]), max(end_column, held[2, 1])
            rows = max(rows, end_row - first_row)
            words = -(-size * end_column // word) - size * first_column // word
            pitch = max(pitch, words * word)
        _keep(touch, held)
        advanced = _advanced(dims, steps, low, high, around)
        begins = advanced < len(dims) - 1
    return rows, pitch


@njit(cache=True)
def _ring(dims, steps, extents, figures, rows, pitch):  # type: ignore[no-untyped-def]
    """The smallest ring that holds every two consecutive tiles."""
    low, high, around = _started(dims, steps, extents)
    touch, held = np.zeros((3, 2), np.int64), np.zeros((3, 2), np.int64)
    word, size, plane = figures[WORD], figures[BYTES], rows * pitch
    ring = origin = end = before = 0
    advanced = 0
    begins = first = True
    while advanced >= 0:
        _touched(low, high, figures, touch)
        if begins or not (touch == held).all():
            start = end
            if _present(touch):
                corner = touch[1, 0] * pitch + size * touch[2, 0] // word * word
                if begins or not _slides(touch, held):
                    origin = end - corner
                start = origin + corner
                end = origin + (touch[0, 1] - touch[0, 0] - 1) * plane + (touch[1, 1] - 1) * pitch
                end += -(-size * touch[2, 1] // word) * word
            ring = max(ring, end - (start if first else before), end - start)
            before, first = start, False
        _keep(touch, held)
        advanced = _advanced(dims, steps, low, high, around)
        begins = advanced < len(dims) - 1
    return ring
