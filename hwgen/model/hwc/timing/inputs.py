"""Tiles of the input: when each one is placed, fetched and written to its ring."""

import numpy as np

from hwgen.arch.latency import (
    FREED,
    INPUT_NOTICED,
    INPUT_OFFERED,
    INPUT_PLACE,
    INPUT_PLACE_COLUMNS,
    INPUT_PLACE_ROWS,
    INPUT_PLACE_SAME,
    INPUT_PLACE_SKIPPED,
    INPUT_TOKEN,
    REQUEST_TO_ANSWER,
)
from hwgen.model.compiled import inner_unchecked
from hwgen.model.hwc.timing.requests import note, note_words
from hwgen.model.hwc.timing.waits import waits_of

__all__ = ["input_tile"]


@inner_unchecked
def _rows_between(block, low, high, first, end):  # type: ignore[no-untyped-def]
    """Rows of a tile from ``first`` to before ``end``; rows count from the padding's edge."""
    stride, y0, y1, k0, k1 = block.stride_y, low[2], high[2], low[4], high[4]
    if k1 - k0 >= stride or y1 - y0 == 1:
        return max(min((y1 - 1) * stride + k1, end) - max(y0 * stride + k0, first), 0)
    number = 0
    for y in range(y0, y1):
        number += max(min(y * stride + k1, end) - max(y * stride + k0, first), 0)
    return number


@inner_unchecked
def _written(stream, block, at):  # type: ignore[no-untyped-def]
    """A word, or the end of a tile without new ones, is the last one that was written."""
    for i in range(block.words_ahead - 1, 0, -1):
        stream.words[i] = stream.words[i - 1]
    stream.words[0] = at


@inner_unchecked
def input_tile(stream, block, low, high, same_execution, group_seeks, first_channel, records, waits):  # type: ignore[no-untyped-def]
    """The first cycle in which an operation can use the next tile of I. Each step to another group takes a cycle."""
    stride, taps = block.phases, high[5] + block.beside - low[5]
    begin = stream.placed + 1 + group_seeks
    stays = same_execution and group_seeks == 0
    rows = drop = next_new = 0
    corner = low[3] * block.stride_x + low[5] - block.left
    first = max(corner, 0)
    last = min((high[3] - 1) * block.stride_x + high[5] + block.beside - 1 - block.left, block.width - 1)
    slid = block.columns_slide > 0 and stays and stream.live > 0 and (taps > stride or block.columns_slide == 2)
    if slid:
        first = max(first, stream.next_new)
    gaps = taps < stride and high[3] - low[3] > 1 and not slid
    if block.same and stays:
        offered = begin + INPUT_PLACE_SAME
    else:
        top, bottom = block.top, block.top + block.height
        next_new = max(stream.next_new, top) if block.slides and stays else top
        skipped = _rows_between(block, low, high, np.int64(0), next_new)
        kept = _rows_between(block, low, high, top, next_new)
        rows = _rows_between(block, low, high, next_new, bottom)
        if last < first:
            kept = rows = 0
        # Rows with gaps are counted one output row after the other.
        counted = begin + INPUT_PLACE_ROWS + (high[2] - low[2] - 1 if high[4] - low[4] < block.stride_y else 0)
        placed = begin + INPUT_PLACE_COLUMNS - (stride == 1)
        if stride > 1:
            clip = max(-corner, 0)
            aligned = gaps or block.columns_slide > 0
            place = first + block.input_begins // block.element
            phase = ((first - corner) % stride if aligned else 0) - place % (block.input_word // block.element)
            placed += clip // stride + (-(phase // stride) if phase < 0 else 0)
        if slid:
            counted = max(counted, placed)
        else:
            drop = 0 if stream.first else (stream.live - kept) * block.slab
            stream.live = kept + rows
        offered = max(counted + INPUT_PLACE - INPUT_PLACE_ROWS + (INPUT_PLACE_SKIPPED if skipped > 0 else 0), placed)
        stream.next_new = last + 1 if block.columns_slide else min((high[2] - 1) * block.stride_y + high[4], bottom)
    # The end of a tile without new words takes a place among the outstanding words.
    placed = stream.placed = max(offered, stream.pushed + 1)
    earliest = max(placed + INPUT_OFFERED, stream.begun_1 + 1)
    pushed = max(
        earliest, stream.requested if rows else max(stream.requested, stream.words[block.words_ahead - 1]) + 1
    )
    drop_at = max(stream.released, pushed + 1) + FREED + INPUT_NOTICED
    stream.pushed, stream.first = pushed, 0
    # New columns overwrite others, whose last use must be over.
    if slid and rows:
        earliest, pushed = max(earliest, drop_at - INPUT_NOTICED - 1), max(pushed, drop_at - INPUT_NOTICED - 1)
    if not rows:
        stream.free += stream.drop
        stream.requested = pushed
        _written(stream, block, max(pushed, stream.words[0]) + 1)
    elif stride == 1:
        begins = first * block.element + block.input_begins
        word = block.input_word
        words = (begins + (last + 1 - first) * block.element - 1) // word - begins // word + 1
        note(records, np.int64(0), next_new, low[2], high[2], low[4], high[4], first_channel, high[1] - low[1],
             begins // word, words)  # fmt: skip
        drop = _fetch(
            stream,
            block,
            pushed,
            earliest,
            rows,
            high[1] - low[1],
            words,
            begins % word,
            drop,
            drop_at,
            slid,
            records,
            waits,
        )
    else:
        cycles = _write_cycles(block, first, last, corner, stride, taps if gaps else stride)
        begins = first * block.element + block.input_begins
        note(records, np.int64(0), next_new, low[2], high[2], low[4], high[4], first_channel, high[1] - low[1],
             begins // block.input_word, len(cycles))  # fmt: skip
        drop = _fetch_phases(
            stream, block, pushed, earliest, rows, high[1] - low[1], cycles, drop, drop_at, slid, records, waits
        )
    stream.drop, stream.drop_at = drop, drop_at
    return stream.words[0] + INPUT_TOKEN


@inner_unchecked
def _cycles(stream, block, words, earliest, records, waits):  # type: ignore[no-untyped-def]
    """Cycles in which words are requested, a word a cycle where nothing waits."""
    note_words(records, earliest + 1, words)
    return words + waits_of(stream, words, block.waits_i, waits)


@inner_unchecked
def _fetch(stream, block, pushed, earliest, rows, channels, words, offset, drop, drop_at, slid, records, waits):  # type: ignore[no-untyped-def]
    """Fetch row by row, a word a cycle where there is room; returns the part of ``drop`` that is not used.

    A word needs room for the bytes of its slab up to it, the last one for the whole slab; where the tile has ``slid``
    there is always room. ``offset`` is where in its first word a line begins.
    """
    line, slab = block.line, block.slab
    requested, free, earlier = pushed, stream.free, stream.drop
    left = rows
    if slid:
        requested += _cycles(stream, block, rows * channels * words, earliest, records, waits)
        left = 0
    while left:
        whole = min(left, free // slab)
        requested += _cycles(stream, block, whole * channels * words, earliest, records, waits)
        free -= whole * slab
        left -= whole
        if left:
            done = 0
            while free < slab:
                lines = min(free // line * block.lane_c, channels)
                fit = lines * words
                if lines < channels:
                    fit += max(0, min(words - 1, (free % line + offset) // block.input_word))
                fit = min(fit, channels * words - 1)
                requested += _cycles(stream, block, max(fit - done, 0), earliest, records, waits)
                done = max(fit, done)
                if earlier:
                    free += earlier
                    earlier = 0
                    earliest, requested = stream.drop_at - 1, max(requested, stream.drop_at - 1)
                elif drop:
                    free += drop
                    drop = 0
                    earliest, requested = drop_at - 1, max(requested, drop_at - 1)
                else:
                    free = slab  # the tile is too large: the hardware refuses it
            requested += _cycles(stream, block, channels * words - done, earliest, records, waits)
            free -= slab
            left -= 1
    stream.free, stream.requested = free + earlier, requested
    for i in range(block.words_ahead):
        stream.words[i] = requested + REQUEST_TO_ANSWER - i
    return drop


@inner_unchecked
def _write_cycles(block, first, last, corner, stride, used):  # type: ignore[no-untyped-def]
    """Cycles for writing each word of a line to the ring: one for each phase of its used columns."""
    in_word, before = block.input_word // block.element, block.input_begins // block.element
    begin = (first + before) // in_word
    cycles = np.zeros((last + before) // in_word - begin + 1, np.int64)
    for word in range(len(cycles)):
        phases = 0
        at = in_word * (begin + word) - before
        for column in range(max(first, at), min(last, at + in_word - 1) + 1):
            if (column - corner) % stride < used:
                phases |= 1 << column % stride
        while phases:
            cycles[word] += phases & 1
            phases >>= 1
    return cycles


@inner_unchecked
def _fetch_phases(stream, block, pushed, earliest, rows, channels, cycles, drop, drop_at, slid, records, waits):  # type: ignore[no-untyped-def]
    """The fetch of `_fetch`, with strides. A word waits for a place among the outstanding ones, and until its line
    has room."""
    requested, free, earlier = pushed, stream.free, stream.drop
    for row in range(rows):
        for channel in range(channels):
            for word in range(len(cycles)):
                last = channel == channels - 1 and word == len(cycles) - 1
                need = 0 if slid else block.slab if last else block.line * (channel // block.lane_c + 1)
                if free < need and earlier:
                    free += earlier
                    earlier = 0
                    earliest, requested = stream.drop_at - 1, max(requested, stream.drop_at - 1)
                if free < need and drop:
                    free += drop
                    drop = 0
                    earliest, requested = drop_at - 1, max(requested, drop_at - 1)
                earliest = max(earliest, stream.words[block.words_ahead - 1])
                note_words(records, earliest + 1, 1)
                requested = (
                    max(requested, stream.words[block.words_ahead - 1])
                    + 1
                    + waits_of(stream, 1, block.waits_i, waits)
                )
                written = stream.words[0]
                if cycles[word]:
                    _written(stream, block, max(requested + REQUEST_TO_ANSWER, written + 1) + cycles[word] - 1)
                elif last and row == rows - 1:
                    _written(stream, block, max(requested, written) + 1)
        free -= 0 if slid else block.slab
    stream.free, stream.requested = free + earlier, requested
    return drop
