"""Vectors of the output: tiles that are drained, and partial sums that are loaded."""

import numpy as np

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.arch.latency import (
    BIAS_KEPT,
    NEXT_BIASES,
    NEXT_VECTOR,
    PORT_ISSUE,
    REQUEST_TO_ANSWER,
    REQUESTED_AGAIN,
    ROW_ADDRESS,
    TILES_LOADED_AHEAD,
)
from hwgen.model.compiled import inner_unchecked
from hwgen.model.hwc.timing.requests import SAVED_COUNT, SAVED_GONE, note, note_words
from hwgen.model.hwc.timing.state import (
    L_AHEAD,
    L_AT,
    L_LOADED,
    L_LOOPS,
    L_MOVED,
    L_RESUMES,
    L_TAKEN,
    L_TILES,
    L_TIMES,
    L_VALID,
    L_VECTOR,
    L_VECTORS,
    NEVER,
)
from hwgen.model.hwc.timing.waits import GONE, waits_of

__all__ = ["BIASES", "LOADED", "SPILLED", "STORED", "next_tile", "serve"]

STORED, SPILLED, LOADED, BIASES = range(4)
"""What is written down of vectors: that they are stored as outputs or as sums, loaded, or that biases are fetched."""


@inner_unchecked
def _cut(block, nest, low, high, pieces):  # type: ignore[no-untyped-def]
    """The pieces into which the loops inside a tile of O cut its channels, rows and columns.

    ``pieces`` has three rows for each: beginnings, sizes, and indices among the vectors of the tile. Its last row has
    the three numbers of pieces.
    """
    for axis in range(3):
        dim, row, number = axis + (axis > 0), 3 * axis, 1
        pieces[row, 0], pieces[row + 1, 0], pieces[row + 2, 0] = low[dim], high[dim] - low[dim], 0
        for j in range(block.marker_o, len(nest.loops)):
            if nest.loops[j, 0] == dim:
                step = nest.loops[j, 1]
                at = 0
                for i in range(number):
                    at += -(-pieces[row + 1, i] // step)
                total = at
                for i in range(number - 1, -1, -1):
                    begin, size, index = pieces[row, i], pieces[row + 1, i], pieces[row + 2, i]
                    for piece in range(-(-size // step) - 1, -1, -1):
                        at -= 1
                        pieces[row, at] = begin + piece * step
                        pieces[row + 1, at] = min(step, size - piece * step)
                        pieces[row + 2, at] = index + piece * nest.index_steps[j]
                number = total
        pieces[9, axis] = number


@inner_unchecked
def _vector(pieces, vector):  # type: ignore[no-untyped-def]
    """A vector of a tile: its piece of the channels, rows and columns, and its index in the tile."""
    rows, columns = pieces[9, 1], pieces[9, 2]
    m, y, x = vector // (rows * columns), vector // columns % rows, vector % columns
    return m, y, x, pieces[2, m] + pieces[5, y] + pieces[8, x]


@inner_unchecked
def _store_cycles(block, lines, begin, columns, ends_row, final):  # type: ignore[no-untyped-def]
    """Cycles for storing a vector of ``lines`` rows of lanes: one for a sum, a wide output, or the outputs of a row
    that are requantised together.

    Outputs that do not fill a word wait for those of the next vector, unless the row ends.
    """
    if not final or block.element > 1:
        return lines * columns
    together = block.requantisers
    last = (columns - 1) // together * together
    in_word = (block.output_begins + begin + last) % WORD_BYTES
    overflows = ends_row and in_word + columns - 1 - last >= WORD_BYTES
    return lines * (-(-columns // together) + overflows)


@inner_unchecked
def _sum_accesses(block, begin, columns):  # type: ignore[no-untyped-def]
    """Accesses to the sums of a row of lanes."""
    first = block.sums_begin + begin * SUM_BYTES
    return (first + columns * SUM_BYTES - 1) // block.output_word - first // block.output_word + 1


@inner_unchecked
def _accesses(block, lines, begin, columns, ends_row, final):  # type: ignore[no-untyped-def]
    """Accesses with which a vector of ``lines`` rows of lanes is stored: one for each word of sums, or for each word
    of outputs that is full with them or ends the row."""
    if not final:
        return lines * _sum_accesses(block, begin, columns)
    first = block.output_begins + begin * block.element
    end = first + columns * block.element
    return lines * (
        end // block.output_word - first // block.output_word + (ends_row and end % block.output_word > 0)
    )


@inner_unchecked
def next_tile(block, nest, walk, pieces):  # type: ignore[no-untyped-def]
    """Advance the walk of the loads to the next tile, or to the first one."""
    turned = -1
    if walk[L_VALID]:
        turned = block.marker_o - 1
        while turned >= 0 and walk[L_LOOPS + 4 * turned + 3] == walk[L_LOOPS + 4 * turned + 1]:
            turned -= 1
        if turned < 0:
            walk[L_VALID] = 0
            return
        at = L_LOOPS + 4 * turned
        walk[at + 2] = walk[at + 3]
        walk[at + 3] = min(walk[at + 2] + nest.loops[turned, 1], walk[at + 1])
    walk[L_VALID] = 1
    low, high = np.zeros(6, np.int64), nest.extents.copy()
    for j in range(block.marker_o):
        at, dim = L_LOOPS + 4 * j, nest.loops[j, 0]
        if j > turned:
            walk[at], walk[at + 1], walk[at + 2] = low[dim], high[dim], low[dim]
            walk[at + 3] = min(low[dim] + nest.loops[j, 1], high[dim])
        low[dim], high[dim] = walk[at + 2], walk[at + 3]
    walk[L_RESUMES] = block.resumes or low[1] > 0 or low[4] > 0 or low[5] > 0
    for i in range(L_LOOPS - 1, L_TILES + 2, -1):
        walk[i] = walk[i - 3]
    walk[L_TILES], walk[L_TILES + 1], walk[L_TILES + 2] = low[0], low[2], low[3]
    walk[L_VECTOR] = 0
    _cut(block, nest, low, high, pieces)
    walk[L_VECTORS] = pieces[9, 0] * pieces[9, 1] * pieces[9, 2]


@inner_unchecked
def _go_back(output, block, nest, walk, pieces, saved):  # type: ignore[no-untyped-def]
    """Restore the walk of the loads, and the port, to what they were when the last tile had been drained."""
    taken, size = walk[L_TAKEN], len(walk)
    for i in range(size):
        walk[i] = saved[i]
    walk[L_TAKEN] = taken
    output.free, output.near, output.idle = saved[size], saved[size + 1], saved[size + 2]
    output.granted, output.granted_1 = saved[size + 3], saved[size + 4]
    low, high = np.zeros(6, np.int64), nest.extents.copy()
    for j in range(block.marker_o):
        at, dim = L_LOOPS + 4 * j, nest.loops[j, 0]
        low[dim], high[dim] = walk[at + 2], walk[at + 3]
    _cut(block, nest, low, high, pieces)


@inner_unchecked
def _same_tile(walk, other):  # type: ignore[no-untyped-def]
    """Whether the present tile has the same outputs as an earlier one."""
    at = L_TILES + 3 * other
    return walk[L_TILES] == walk[at] and walk[L_TILES + 1] == walk[at + 1] and walk[L_TILES + 2] == walk[at + 2]


@inner_unchecked
def _load_wanted(block, nest, walk, pieces, unloaded):  # type: ignore[no-untyped-def]
    """The first cycle in which the next vector may be loaded: there is room, and its partial sums have been written.

    Tiles that begin their reduction are skipped, a vector a cycle.
    """
    while walk[L_VALID] and not walk[L_RESUMES] and walk[L_AHEAD] <= TILES_LOADED_AHEAD:
        walk[L_AT] = max(walk[L_AT], walk[L_MOVED]) + walk[L_VECTORS]
        walk[L_AHEAD] += 1
        next_tile(block, nest, walk, pieces)
    ahead = walk[L_AHEAD]
    if not walk[L_VALID] or ahead > TILES_LOADED_AHEAD:
        return NEVER
    if _vector(pieces, walk[L_VECTOR])[3] + ahead * block.tile_vectors >= block.vectors + unloaded:
        return NEVER
    for other in range(1, ahead + 1):
        if _same_tile(walk, other):
            return NEVER
    return max(walk[L_AT], walk[L_MOVED])


@inner_unchecked
def _access(output, waits, offered, first):  # type: ignore[no-untyped-def]
    """The cycle in which the port takes an access that is ``offered`` to it: one may wait beside another one."""
    taken = max(offered, output.granted_1 + 1)
    granted = max(taken, output.granted) + 1 + waits_of(output, 1, waits, first)
    output.granted_1, output.granted = output.granted, granted
    return taken


@inner_unchecked
def _again(block, late):  # type: ignore[no-untyped-def]
    """How often a vector is asked for in vain, and after how many cycles with success, that comes ``late`` cycles too
    early."""
    period = block.capture + REQUESTED_AGAIN
    times = max(0, -(-late // period))
    return times, times * period


@inner_unchecked
def _fetch(output, block, waits, start, words, accesses, first):  # type: ignore[no-untyped-def]
    """Fetch a word a cycle, where no access ``waits``; returns the cycle in which the last one is requested."""
    taken = start + PORT_ISSUE + block.scaling
    if not block.waits_o:
        return taken + words
    done = 0
    for word in range(words):
        if word * accesses >= done * words:
            taken = _access(output, waits, taken + 1, first)
            done += 1
        else:
            taken += 1
    return taken


@inner_unchecked
def _load(output, block, nest, walk, pieces, start, records, waits):  # type: ignore[no-untyped-def]
    """Load a vector; returns the cycle of the access that keeps it, and how often that was tried in vain before.

    It is requested with the last word, which must have come when it is made.
    """
    m, y, x, _ = _vector(pieces, walk[L_VECTOR])
    words, lost = pieces[1, m] * pieces[4, y] * pieces[7, x], np.int64(0)
    lines, columns = pieces[1, m] * pieces[4, y], pieces[7, x]
    accesses = lines * _sum_accesses(block, pieces[6, x], columns)
    note(records, LOADED, pieces[0, m], pieces[3, y], pieces[6, x], pieces[1, m], pieces[4, y], columns, 0, words, 0)
    note_words(records, start + PORT_ISSUE + block.scaling + 1, accesses)
    keeps = _fetch(output, block, block.waits_o, start, words, accesses, waits)
    if block.waits_o:
        lost, later = _again(block, output.granted + REQUEST_TO_ANSWER - keeps - block.capture)
        keeps += later
    output.free, output.near = keeps + block.capture, keeps + 1
    walk[L_VECTOR] += 1
    walk[L_AT] = start + 1 + (ROW_ADDRESS if x + 1 == pieces[9, 2] else 0)
    if walk[L_VECTOR] == walk[L_VECTORS]:
        for i in range(L_TILES - 1, L_TIMES, -1):
            walk[i] = walk[i - 1]
        walk[L_TIMES] = output.free + 1
        walk[L_LOADED] += 1
        walk[L_AHEAD] += 1
        next_tile(block, nest, walk, pieces)
    return keeps, lost


@inner_unchecked
def _store(output, block, at, stored, accesses, waits):  # type: ignore[no-untyped-def]
    """Play the accesses of a vector that was requested at ``at``.

    Returns by how many cycles they hold up its steps until the next vector may be requested, and until the last one.
    """
    first, latency = at + block.capture + 1, PORT_ISSUE + block.scaling
    held = late = min(output.holds, max(0, output.held - first))
    early = late if stored > block.capture + 2 else 0
    output.holds = 0
    for i in range(accesses):
        step = (i + 1) * stored // accesses - 1 + latency
        offered = first + step + held
        taken = _access(output, block.waits_o, offered, waits)
        held += taken - offered
        if step < stored - block.capture - 2:
            early += taken - offered
        if step < stored:
            late += taken - offered
        elif taken > offered:
            output.holds += taken - offered
            output.held = taken
    return early, late


@inner_unchecked
def serve(output, block, nest, low, high, final, pieces, walk, to_load, saved, times, indices, records, waits):  # type: ignore[no-untyped-def]
    """Run the output's stream until it has nothing to do: drain the tile that has ended, load partial sums.

    Loads have priority. What was loaded while no tile had ended is computed once more when one has: from then on
    vectors may be drained between the loads.
    """
    head, count = output.head, output.count
    for i in range(head, count):
        times[i - head], indices[i - head] = times[i], indices[i]
    count -= head
    vector = vectors = np.int64(0)  # no literal, for which numba would compile `_vector` once more
    if output.ended < NEVER:
        _cut(block, nest, low, high, pieces)
        vectors = pieces[9, 0] * pieces[9, 1] * pieces[9, 2]
        if block.spills:
            _go_back(output, block, nest, walk, to_load, saved)
            records[0, 0], waits[GONE] = records[0, SAVED_COUNT], records[0, SAVED_GONE]
            count = 0
    unloaded, has_biases, has_saved = np.int64(0), False, False
    period, lost, later = block.capture + REQUESTED_AGAIN, np.int64(0), np.int64(0)
    while True:
        if block.spills and vector == vectors and not has_saved:
            size = len(walk)
            for i in range(size):
                saved[i] = walk[i]
            saved[size], saved[size + 1], saved[size + 2] = output.free, output.near, output.idle
            saved[size + 3], saved[size + 4] = output.granted, output.granted_1
            records[0, SAVED_COUNT], records[0, SAVED_GONE] = records[0, 0], waits[GONE]
            has_saved = True
        wanted = at = NEVER
        if block.spills:
            wanted = _load_wanted(block, nest, walk, to_load, unloaded)
        if vector < vectors:
            has_biases = has_biases or not final
            at = max(output.ended, output.near) if has_biases else max(output.free, output.idle + NEXT_BIASES)
            if has_biases and block.waits_o:
                lost, later = _again(block, output.in_time - at)
                at += later
        if wanted == NEVER and at == NEVER:
            break
        # Whether a vector is requested is decided a cycle before.
        if wanted <= at - has_biases:
            start = max(output.free, wanted, output.idle)
            keeps, lost = _load(output, block, nest, walk, to_load, start, records, waits)
            for i in range(lost, -1, -1):
                if i == 0 or count < len(times) // 2:
                    times[count], indices[count] = keeps - i * period, -1
                    count += 1
            continue
        m, y, x, index = _vector(pieces, vector)
        if not has_biases:
            words = pieces[1, m] * block.record_words
            note(records, BIASES, pieces[0, m], 0, 0, pieces[1, m], 0, 0, 0, 0, 0)
            note_words(records, at + PORT_ISSUE + block.scaling + 1, words)
            requested = _fetch(output, block, block.waits_b, at, words, words, waits[:1].copy())
            output.free, output.near = requested + REQUEST_TO_ANSWER + BIAS_KEPT, requested
            if block.waits_o:
                output.free = output.granted - 1 + REQUEST_TO_ANSWER + BIAS_KEPT
                output.in_time = output.free - block.capture
            has_biases = True
            continue
        # Lost, and with it the next one, if that was on its way too.
        for i in range(lost, 0, -1):
            for other in range(1 + (block.apart <= block.capture and vector + 1 < vectors)):
                if count < len(times) - (vectors - vector):
                    times[count], indices[count] = at - i * period + other * block.apart, -1
                    count += 1
        # Captured, and stored from the next cycle on. The next one may be requested so that it arrives when that is
        # over, also before this one has come; but at the end of a tile, and where biases are to be fetched first.
        times[count], indices[count] = at, index
        count += 1
        columns, ends_row = pieces[7, x], x + 1 == pieces[9, 2]
        stored = _store_cycles(block, pieces[1, m] * pieces[4, y], pieces[6, x], columns, ends_row, final)
        accesses = _accesses(block, pieces[1, m] * pieces[4, y], pieces[6, x], columns, ends_row, final)
        early, late = np.int64(0), np.int64(0)
        note(records, STORED if final else SPILLED, pieces[0, m], pieces[3, y], pieces[6, x], pieces[1, m],
             pieces[4, y], columns, ends_row, stored, 0)  # fmt: skip
        note_words(records, at + block.capture + 1 + PORT_ISSUE + block.scaling, accesses)
        if block.waits_o:
            early, late = _store(output, block, at, stored, accesses, waits)
        known = output.idle + NEXT_VECTOR
        output.idle = at + block.capture + 1
        output.near = max(at + block.apart, at + stored + early, known if vector + 1 < vectors else output.idle)
        output.in_time = at + stored + late
        output.free = output.in_time + block.capture
        if wanted == NEVER:  # the next load has waited for this vector
            walk[L_MOVED] = output.idle
        unloaded = index + 1
        vector += 1
        has_biases = not (ends_row and y + 1 == pieces[9, 1])
        if vector == vectors:
            unloaded = np.int64(0)
            walk[L_AHEAD] -= 1
            output.drained = output.idle
    output.head, output.count, output.ended = 0, count, NEVER
