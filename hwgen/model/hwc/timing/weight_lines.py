"""Tiles of the weights that are packed in lines: when each one arrives."""

import numpy as np

from hwgen.arch.latency import FREED, REQUEST_TO_ANSWER, WEIGHT_TOKEN
from hwgen.model.compiled import inner_unchecked
from hwgen.model.hwc.timing.requests import note, note_words
from hwgen.model.hwc.timing.waits import waits_of

__all__ = ["line_tile"]

M, C, Y, X = range(4)


@inner_unchecked
def _words(word, pitch, element, outputs, channels):  # type: ignore[no-untyped-def]
    """Words that a line of ``outputs`` times ``channels`` weights is fetched with; see `hwgen.arch.weights`."""
    if pitch < word:
        return -(-channels * pitch // word)
    return channels * -(-outputs * element // word)


@inner_unchecked
def _first_lines(block, nest, low, high, most):  # type: ignore[no-untyped-def]
    """Lines of a tile, ``most`` at most, and their words; outputs and channels of the last of these lines.

    Walks the loops over weights inside the marked one.
    """
    n = len(nest.loops)
    lo, hi, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    first = min(block.marker_w + 1, n)
    lines = words = outputs = channels = 0
    turned = first
    while turned >= first and lines < most:
        outputs, channels = high[M] - low[M], high[C] - low[C]
        for j in range(first, n):
            dim, step, parent = nest.loops[j, 0], nest.loops[j, 1], nest.loops[j, 2]
            if dim in (Y, X):
                continue
            if j > turned or lines == 0:
                lo[j] = low[dim] if parent < first else lo[parent]
                end[j] = high[dim] if parent < first else hi[parent]
                hi[j] = min(lo[j] + step, end[j])
            if dim == M:
                outputs = hi[j] - lo[j]
            elif dim == C:
                channels = hi[j] - lo[j]
        lines += 1
        words += _words(block.weight_word, block.line_pitch, block.element, outputs, channels)
        turned = n - 1
        while turned >= first and (nest.loops[turned, 0] in (Y, X) or hi[turned] == end[turned]):
            turned -= 1
        if turned >= first:
            lo[turned] = hi[turned]
            hi[turned] = min(lo[turned] + nest.loops[turned, 1], end[turned])
    return lines, words, outputs, channels


@inner_unchecked
def line_tile(stream, block, nest, low, high, fetches, records, waits):  # type: ignore[no-untyped-def]
    """The first cycle in which an operation can use the next tile of W.

    A tile is pushed with the last word of the one before, or later. One that stays is passed over a line a cycle.
    """
    lines, words, _, _ = _first_lines(block, nest, low, high, np.int64(1 << 60))
    after = stream.requested if fetches and not stream.passed else stream.requested + 1
    earliest = 1 if stream.first else stream.begun_1 + 1
    pushed = 1 if stream.first else max(after, earliest)
    drop = stream.live if fetches and not stream.first else 0
    drop_at = max(stream.released, pushed) + FREED
    requested, free, earlier = pushed, stream.free, stream.drop
    if fetches:
        done = asked = 0
        if len(records) > 1:
            _, _, outputs, channels = _first_lines(block, nest, low, high, np.int64(1))
            note(records, low[0], low[1], low[4], low[5], words, lines, outputs, channels, 0, 0)
        for step in range(3):
            number = min(lines - done, free)
            done += number
            free -= number
            there = words if done == lines else _first_lines(block, nest, low, high, done)[1]
            note_words(records, earliest + 1, there - asked)
            requested += there - asked + waits_of(stream, there - asked, block.waits_w, waits)
            asked = there
            if done < lines and step == 0 and earlier:
                free += earlier
                earlier = 0
                earliest, requested = stream.drop_at - 1, max(requested, stream.drop_at - 1)
            elif done < lines and drop:
                free += drop
                drop = 0
                earliest, requested = drop_at - 1, max(requested, drop_at - 1)
        stream.live = lines
        stream.written = requested + REQUEST_TO_ANSWER
    else:
        stream.written = max(pushed, stream.written) + 1
        requested = pushed + lines - 1
    stream.free = free + earlier
    stream.drop, stream.drop_at = drop, drop_at
    stream.pushed, stream.requested, stream.first, stream.passed = pushed, requested, 0, not fetches
    return stream.written + WEIGHT_TOKEN
