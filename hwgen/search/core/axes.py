"""The factors of one axis of a nest in traffic and buffer need, for every step of its tile loop.

Traffic and need of the input are products over three axes: channels (m, c), rows (y, k) and columns (x, l). From
one iteration of the marked loop to the next only one axis moves, so the new part is a product, too. The *state* of
an axis says which of its loops stand at or above the marked loop, and whether the marked loop is one of them. If it
is, the tile slides: what consecutive iterations share is not fetched again. The tables are filled by marking rows,
columns and groups iteration by iteration; no closed form is used that could be wrong at an edge.

This is the fast path of one level: a search asks for millions of nests. What comes of the tables is what the closed
form of any level counts (`hwgen.model.nest.traffic`), on random nests by test, and of every schedule found by replay.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.model.compiled import njit

__all__ = [
    "INNER",
    "KERNEL",
    "PAIR_STATES",
    "TILE",
    "Channels",
    "Ranges",
    "Window",
    "channels",
    "mark_tile",
    "place_of",
    "ranges",
    "window",
]

Floats = NDArray[np.float64]
TILE, INNER, KERNEL = 1, 2, 4
"""Bits of a state: the tile loop, the inner loop, the kernel loop of an axis."""

PAIR_STATES: tuple[tuple[int, int], ...] = (
    (0, 0),
    (TILE, 0),
    (TILE, TILE),
    (TILE | INNER, 0),
    (TILE | INNER, INNER),
    (KERNEL, 0),
    (KERNEL, KERNEL),
    (TILE | KERNEL, 0),
    (TILE | KERNEL, KERNEL),
    (TILE | KERNEL, TILE),
    (TILE | INNER | KERNEL, 0),
    (TILE | INNER | KERNEL, KERNEL),
    (TILE | INNER | KERNEL, INNER),
)
"""States of rows and columns: (loops at or above the marked loop, the marked loop if it is one of them).

The order of the loops above the marked one does not matter: each execution starts with an empty buffer.
"""


class Window(NamedTuple):
    """Tables [state, step of the tile loop] of rows or columns; step 0 is unused.

    Members
    -------
    fetched : coordinates fetched, summed over all iterations.
    words : aligned words of the port that hold a byte of them, summed over all iterations.
    need : the most coordinates that one iteration touches.
    stored : the most slots that the hardware stores for one iteration (gaps between columns included).
    shared : the most coordinates that two consecutive iterations of the marked loop share.
    outputs : the most outputs of one iteration.
    """

    fetched: Floats
    words: Floats
    need: Floats
    stored: Floats
    shared: Floats
    outputs: Floats


class Channels(NamedTuple):
    """Tables [state, step] of the groups of input channels that ranges of m touch: fetched in all, most in one range.

    States: no loop over m at or above the marked one; the tile loop; the same, marked; both; the same, inner marked.
    """

    fetched: Floats
    need: Floats


class Ranges(NamedTuple):
    """Tables [state, step] of one dimension. States: not cut; cut by the tile loop; by the inner loop too.

    Members
    -------
    number : number of ranges.
    largest : size of the largest range.
    vectors : most innermost iterations in one range.
    residues : [state, step, r]: number of ranges whose size is r modulo the bytes of a word.
    words : aligned words that all ranges touch in one row, for elements of ``width`` bytes.
    sum_words : the same for sums of ``sum_width`` bytes, of which a vector of lanes moves at a time, in any state.
    """

    number: Floats
    largest: Floats
    vectors: Floats
    residues: Floats
    words: Floats
    sum_words: Floats


def window(
    extent: int, kernel: int, stride: int, padding: int, size: int, width: int, lanes: int = 1, word: int = WORD_BYTES
) -> Window:
    """Tables of one image axis: ``extent`` outputs, ``size`` inputs of ``width`` bytes, ``lanes`` outputs at once.

    ``word`` : bytes that an access of the port moves.
    """
    masks = np.array([mask for mask, _ in PAIR_STATES], dtype=np.int64)
    slides = np.array([slide for _, slide in PAIR_STATES], dtype=np.int64)
    tables = np.zeros((6, len(PAIR_STATES), extent + 1))
    _fill_window(masks, slides, extent, kernel, stride, padding, size, width, word, lanes, tables)
    return Window(*tables)


def channels(extent: int, groups: int, lanes: int = 1) -> Channels:
    """Tables of m, for an input of ``groups`` groups."""
    tables = np.zeros((2, 5, extent + 1))
    _fill_channels(extent, groups, lanes, tables)
    return Channels(*tables)


def ranges(
    extent: int, lanes: int = 1, width: int = 1, first: int = 0, word: int = WORD_BYTES, sum_width: int = WORD_BYTES
) -> Ranges:
    """Tables of one dimension whose inner loop does ``lanes`` at a time; it begins at element ``first`` of a row.

    ``word`` : bytes that an access of the port moves.
    """
    tables = np.zeros((5, 3, extent + 1))
    residues = np.zeros((3, extent + 1, word))
    _fill_ranges(extent, lanes, width, first, word, sum_width, tables, residues)
    return Ranges(tables[0], tables[1], tables[2], residues, tables[3], tables[4])


@njit(cache=True)
def place_of(slide, around, along, taps, parts):  # type: ignore[no-untyped-def]
    """(tile, part of it, tap) of an iteration: the marked loop is at ``along``, the loops around it at ``around``."""
    if slide == TILE:
        return along, around % parts, around // parts
    if slide == KERNEL:
        return around // parts, around % parts, along
    return around // taps, along, around % taps


@njit(cache=True)
def mark_tile(first, last, tap, tap_end, stride, padding, size, width, word, stamp, held, seen, word_seen):  # type: ignore[no-untyped-def]
    """Mark the elements of one tile; returns (touched, new, words of ``word`` bytes of the new ones).

    ``stamp``: number of the tile. ``held``: the tile with the number before is still in the buffer.
    """
    touched, new, words = 0, 0, 0
    for output in range(first, last):
        for k in range(tap, tap_end):
            at = output * stride + k - padding
            if at < 0 or at >= size or seen[at] == stamp:
                continue
            touched += 1
            if not held or seen[at] != stamp - 1:
                new += 1
                for place in range(at * width // word, (at * width + width - 1) // word + 1):
                    if word_seen[place] != stamp:
                        word_seen[place] = stamp
                        words += 1
            seen[at] = stamp
    return touched, new, words


@njit(cache=True)
def _fill_window(masks, slides, extent, kernel, stride, padding, size, width, word, lanes, tables):  # type: ignore[no-untyped-def]
    seen = np.full(size, -1, np.int64)
    word_seen = np.full(size * width // word + 2, -1, np.int64)
    stamp = 1
    for state in range(len(masks)):
        mask, slide = masks[state], slides[state]
        tap_step = 1 if mask & KERNEL else kernel
        taps = -(-kernel // tap_step)
        for step in range(1, extent + 1):
            if not mask & TILE and step > 1:
                for table in range(len(tables)):
                    tables[table, state, step] = tables[table, state, 1]
                continue
            tile = step if mask & TILE else extent
            part_size = min(lanes, tile) if mask & INNER else tile
            tiles, parts = -(-extent // tile), -(-tile // part_size)
            fetched, all_words, need, stored, shared, outputs = 0, 0, 0, 0, 0, 0
            # The marked loop runs fastest; those around it come in any order.
            fast = tiles if slide == TILE else taps if slide == KERNEL else parts
            slow = tiles * taps * parts // fast
            for around in range(slow):
                started = False
                for along in range(fast):
                    t, p, k = place_of(slide, around, along, taps, parts)
                    start = t * tile + p * part_size
                    stop = min(start + part_size, (t + 1) * tile, extent)
                    if start >= stop:
                        continue
                    held = started and slide != 0
                    started = True
                    stamp += 1 if held else 2
                    touched, new, words = mark_tile(
                        start, stop, k * tap_step, (k + 1) * tap_step, stride, padding, size, width, word, stamp,
                        held, seen, word_seen,
                    )  # fmt: skip
                    slots = touched
                    if tap_step < stride and stop - start > 1:
                        clipped = max(padding - start * stride - k * tap_step, 0) // stride
                        slots = tap_step * max(stop - start - clipped, 0)
                    fetched += new
                    all_words += words
                    need, stored = max(need, touched), max(stored, slots)
                    shared, outputs = max(shared, touched - new), max(outputs, stop - start)
            tables[0, state, step], tables[1, state, step] = fetched, all_words
            tables[2, state, step], tables[3, state, step] = need, stored
            tables[4, state, step], tables[5, state, step] = shared, outputs


@njit(cache=True)
def _fill_channels(extent, groups, lanes, tables):  # type: ignore[no-untyped-def]
    per_group = extent // groups
    for step in range(1, extent + 1):
        tables[0, 0, step] = tables[1, 0, step] = groups
        for tile in range(0, extent, step):
            tile_end = min(tile + step, extent)
            tile_first, tile_last = tile // per_group, (tile_end - 1) // per_group
            met = tile_last - tile_first + 1
            again = 1 if tile > 0 and (tile - 1) // per_group == tile_first else 0
            tables[0, 1, step] += met
            tables[0, 2, step] += met - again
            tables[0, 4, step] += met
            tables[1, 1, step] = max(tables[1, 1, step], met)
            for part in range(tile, tile_end, lanes if lanes > 1 else tile_end - tile):
                met = (min(part + lanes, tile_end) - 1) // per_group - part // per_group + 1
                tables[0, 3, step] += met if lanes > 1 else tile_end - tile
                tables[1, 3, step] = max(tables[1, 3, step], met)
        tables[1, 2, step], tables[1, 4, step] = tables[1, 1, step], tables[1, 3, step]


@njit(cache=True)
def _fill_ranges(extent, lanes, width, first, word, sum_width, tables, residues):  # type: ignore[no-untyped-def]
    for step in range(1, extent + 1):
        vectors = 0
        for start in range(0, extent, step):
            stop = min(start + step, extent)
            residues[1, step, (stop - start) % word] += 1
            tables[3, 1, step] += _words(first + start, first + stop, width, word)
            if lanes == 1 and step > 1:  # single elements, however they are tiled
                continue
            for part in range(start, stop, lanes):
                end = min(part + lanes, stop)
                vectors += 1
                residues[2, step, (end - part) % word] += 1
                tables[3, 2, step] += _words(first + part, first + end, width, word)
                tables[4, 2, step] += _words(first + part, first + end, sum_width, word)
        if lanes == 1:
            vectors = extent
            tables[3, 2, step], tables[4, 2, step] = tables[3, 2, 1], tables[4, 2, 1]
            for rest in range(word):
                residues[2, step, rest] = residues[2, 1, rest]
        residues[0, step, extent % word] = 1
        tables[3, 0, step] = _words(first, first + extent, width, word)
        tables[0, 0, step], tables[0, 1, step], tables[0, 2, step] = 1, -(-extent // step), vectors
        tables[1, 0, step], tables[1, 1, step], tables[1, 2, step] = extent, step, min(step, lanes)
        tables[2, 0, step], tables[2, 1, step], tables[2, 2, step] = vectors, -(-step // lanes), 1
        tables[4, 0, step] = tables[4, 1, step] = tables[4, 2, step]


@njit(cache=True)
def _words(start, stop, width, word):  # type: ignore[no-untyped-def]
    return (stop * width - 1) // word - start * width // word + 1
