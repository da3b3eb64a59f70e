"""Operations: the loops of a played tile, and what its operations wait for."""

import numpy as np

from hwgen.arch import bus, latency
from hwgen.arch.latency import OUTPUT_ROOM, ROW_ADDRESS
from hwgen.model.compiled import digest, inner_unchecked, njit
from hwgen.model.hwc.timing import inputs, outputs, repeats, requests, state, waits, weight_lines, weights
from hwgen.model.hwc.timing.inputs import input_tile
from hwgen.model.hwc.timing.outputs import next_tile, serve
from hwgen.model.hwc.timing.repeats import kept_size, repeat
from hwgen.model.hwc.timing.requests import LIMIT, note_words
from hwgen.model.hwc.timing.state import L_AT, L_LOADED, L_LOOPS, L_TAKEN, L_TIMES, SAVED, SIZE, STATE
from hwgen.model.hwc.timing.weight_lines import line_tile
from hwgen.model.hwc.timing.weights import weight_tile

__all__ = ["play"]


@inner_unchecked
def _issue(output, times, at, number):  # type: ignore[no-untyped-def]
    """Issue operations from a cycle on, none in the cycle of an access; returns the first and the last cycle."""
    head, count = output.head, output.count
    while head < count and times[head] < at:
        head += 1
    while head < count and times[head] == at:
        at += 1
        head += 1
    last = at + number - 1
    while head < count and times[head] <= last:
        last += 1
        head += 1
    output.head = head
    return at, last


@inner_unchecked
def _operations(block, nest, segment, begin, end, sizes, often):  # type: ignore[no-untyped-def]
    """The number of operations of the loops from ``segment`` on.

    For each dimension it counts in ``often`` how often each extent, in ``sizes``, occurs. Only the innermost loop,
    over x, may take several operations for an iteration.
    """
    total, innermost = 1, len(nest.loops) - 1
    for dim in range(6):
        count = 0
        for j in range(segment, len(nest.loops)):
            if nest.loops[j, 0] == dim:
                if count == 0:
                    sizes[0], often[0], count = end[j] - begin[j], 1, 1
                step = nest.loops[j, 1]
                if j == innermost and block.next_columns + block.first_columns > 2:
                    for i in range(count):
                        often[i] *= block.first_columns + (sizes[i] - 1) * block.next_columns
                    continue
                for i in range(count):
                    whole, rest = sizes[i] // step, sizes[i] % step
                    if rest:
                        sizes[count], often[count] = rest, often[i]
                        count += 1
                    sizes[i], often[i] = step, often[i] * whole
        if count:
            number = 0
            for i in range(count):
                number += often[i]
            total *= number
    return total


@inner_unchecked
def _place_free(output, block, nest, lo, begin, times, indices):  # type: ignore[no-untyped-def]
    """The first cycle in which the place of the operation's vector is free, if this is its first touch."""
    index = 0
    for j in range(block.marker_o, len(nest.loops)):
        dim = nest.loops[j, 0]
        if dim == 1 or dim >= 4:
            if lo[j] != begin[j]:
                return 0
        else:
            index += (lo[j] - begin[j]) // nest.loops[j, 1] * nest.index_steps[j]
    index -= block.vectors - block.tile_vectors
    if index >= 0:
        for i in range(output.count):
            if indices[i] >= index:
                return min(times[i] + block.capture + 1 + OUTPUT_ROOM, output.drained)
    return 0


@inner_unchecked
def _ranges(nest, operand, lo, hi, tile_low, tile_high, low, high):  # type: ignore[no-untyped-def]
    """The ranges of the present tile of an operand over all dimensions."""
    for dim in range(6):
        j = nest.sources[operand, dim]
        low[dim] = tile_low[dim] if j < 0 else lo[j]
        high[dim] = tile_high[dim] if j < 0 else hi[j]


@inner_unchecked
def _play(block, nest, tile_low, tile_high, state, records, waiting):  # type: ignore[no-untyped-def]
    """Play one tile: operation by operation, or many at a time where no event can come between them.

    ``state`` is the state before the tile, and is changed to the one after it. ``records`` : of I, W and O, what is
    asked for at their ports, then how many operations are done by when, where there is room for them; no more is
    played then than up to the cycle `LIMIT`. ``waiting`` : what the first accesses to I, W and O wait.
    """
    of_i, of_w, of_o = records[0], records[1], records[2]
    waits_i, waits_w, waits_o = waiting
    recorded = len(of_i) > 1
    s = state[:SIZE].view(STATE)[0]
    loops, n = nest.loops, len(nest.loops)
    lo, hi, begin, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    low, high, o_low, o_high = (
        np.empty(6, np.int64),
        np.empty(6, np.int64),
        np.empty(6, np.int64),
        np.empty(6, np.int64),
    )
    sizes, often = np.empty(1 << n, np.int64), np.empty(1 << n, np.int64)
    capacity = (len(state) - SIZE) // 2
    times, indices = state[SIZE : SIZE + capacity], state[SIZE + capacity :]
    pieces, to_load = np.empty((10, capacity + 3), np.int64), np.empty((10, capacity + 3), np.int64)
    walk, saved = np.zeros(L_LOOPS + 4 * n, np.int64), np.zeros(L_LOOPS + 4 * n + SAVED, np.int64)
    size = kept_size(walk, capacity) if nest.repeats.any() else 0
    kept, relative = np.zeros((n, size), np.int64), np.empty(size, np.int64)
    segment = min(n, max(block.marker_i + 1, block.marker_w + 1, block.marker_o))
    resumes = final = one_by_one = False
    if block.spills:
        walk[L_AT] = 1 + ROW_ADDRESS
        next_tile(block, nest, walk, to_load)
        serve(
            s.output, block, nest, low, high, s.now < 0, pieces, walk, to_load, saved, times, indices, of_o, waits_o
        )
    turned = -1
    while True:
        for j in range(turned + 1, n):
            parent, dim = loops[j, 2], loops[j, 0]
            begin[j] = tile_low[dim] if parent < 0 else lo[parent]
            end[j] = tile_high[dim] if parent < 0 else hi[parent]
            lo[j], hi[j] = begin[j], min(begin[j] + loops[j, 1], end[j])
            if nest.repeats[j]:
                kept[j, 0] = 0
        new_i, new_w, new_o = turned <= block.marker_i, turned <= block.marker_w, turned < block.marker_o
        now = s.now
        if new_i:
            _ranges(nest, np.int64(0), lo, hi, tile_low, tile_high, low, high)
            seeks = 0
            if block.grouped:
                seeks = abs(low[0] // block.group - s.input.group)
                s.input.group = low[0] // block.group
            stays = turned >= 0 and turned == block.marker_i
            channel = low[0] // block.group * nest.extents[1] + low[1] if block.grouped else low[1]
            arrived = input_tile(s.input, block, low, high, stays, seeks, channel, of_i, waits_i)
            s.stall_i += max(arrived - now, 0)
            now = max(arrived, now)
        if new_w:
            _ranges(nest, np.int64(1), lo, hi, tile_low, tile_high, low, high)
            fetches = not block.weights_stay or turned < 0 or turned != block.marker_w
            if block.line_pitch:
                arrived = line_tile(s.weight, block, nest, low, high, fetches, of_w, waits_w)
            else:
                size = (high[0] - low[0]) * (high[1] - low[1]) * (high[4] - low[4]) * (high[5] - low[5])
                words = -(-size * block.element // block.weight_word)
                arrived = weight_tile(s.weight, block, low, nest.size_steps[turned], fetches, words, of_w, waits_w)
            s.stall_w += max(arrived - now, 0)
            now = max(arrived, now)
        at = now
        if new_o:
            _ranges(nest, np.int64(2), lo, hi, tile_low, tile_high, o_low, o_high)
            resumes = block.resumes or o_low[1] > 0 or o_low[4] > 0 or o_low[5] > 0
            final = o_high[1] == nest.extents[1] and o_high[4] == nest.extents[4] and o_high[5] == nest.extents[5]
            final = final and not block.goes_on
            if resumes:
                walk[L_TAKEN] += 1
                at = max(at, walk[L_TIMES + walk[L_LOADED] - walk[L_TAKEN]])
        if turned < segment:
            one_by_one = not resumes and now < s.output.drained
            for j in range(block.marker_o, segment):
                if (loops[j, 0] == 1 or loops[j, 0] >= 4) and lo[j] != begin[j]:
                    one_by_one = False
        number = 1
        if one_by_one:
            number = block.first_columns if lo[n - 1] == begin[n - 1] else block.next_columns
            at = max(at, _place_free(s.output, block, nest, lo, begin, times, indices))
        else:
            number = _operations(block, nest, segment, begin, end, sizes, often)
        following = (n if one_by_one else segment) - 1
        while following >= 0 and hi[following] == end[following]:
            following -= 1
        ends_o = following < block.marker_o
        if not ends_o:
            first, last = _issue(s.output, times, at, number)
        elif number == 1:
            first, last = _issue(s.output, times, max(at, s.output.drained), number)
        else:
            first, last = _issue(s.output, times, at, number - 1)
            last = _issue(s.output, times, max(last + 1, s.output.drained), number // number)[1]
        s.stall_o += last + 1 - number - now
        s.operations += number
        s.now = last + 1
        if new_i:
            s.input.begun_1, s.input.begun = s.input.begun, first
        if new_w:
            s.weight.begun_1, s.weight.begun = s.weight.begun, first
        if following <= block.marker_i:
            s.input.released = last
        if following <= block.marker_w:
            s.weight.released = last
        if ends_o:
            s.output.ended = last + 1
            serve(
                s.output, block, nest, o_low, o_high, final, pieces, walk, to_load, saved, times, indices,
                of_o, waits_o,
            )  # fmt: skip
        if recorded:
            note_words(records[3], s.now, s.operations)
        if following < 0 or (recorded and s.now > of_i[0, LIMIT]):
            return
        turned = following
        if nest.repeats[turned] and lo[turned] > begin[turned] and not recorded:
            left = (end[turned] - 1 - lo[turned]) // loops[turned, 1]
            skipped = repeat(block, nest, state, walk, saved, kept[turned], relative, turned, lo[turned], left)
            hi[turned] += skipped * loops[turned, 1]
        lo[turned] = hi[turned]
        hi[turned] = min(lo[turned] + loops[turned, 1], end[turned])


def _cached(sources: int):  # type: ignore[no-untyped-def]
    """The compiled kernel, kept in numba's cache for as long as ``sources`` stays the same: see `digest`."""

    @njit(cache=True, error_model="numpy")
    def kernel(block, nest, tile_low, tile_high, state, records, waiting):  # type: ignore[no-untyped-def]
        """Play one tile; ``state`` is the state before it, and is changed to the one after it."""
        if sources:
            _play(block, nest, tile_low, tile_high, state, records, waiting)

    return kernel


play = _cached(digest(bus, latency, inputs, outputs, repeats, requests, state, waits, weight_lines, weights))
