"""Iterations that repeat: where a loop over channels comes back to a state, what lies between is not played again.

All iterations of such a loop are alike but the first and the last. So when two of them end in like states, with all
times taken relative to the present and all positions to the loop's, every number of iterations after them takes what
those between took. Like states are found by Brent's algorithm (1980): each is compared with one that was kept, which
is replaced after 1, 2, 4, ... iterations.
"""

import numpy as np

from hwgen.arch.latency import TILES_LOADED_AHEAD
from hwgen.model.compiled import inner_unchecked
from hwgen.model.hwc.timing.state import (
    COUNT,
    COUNTERS,
    HEAD,
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
    LONG_AGO,
    SAVED,
    SIZE,
    TIMES,
)

__all__ = ["LEAST_ITERATIONS", "kept_size", "repeat"]

AT_THE_END = TILES_LOADED_AHEAD + 4
"""Last iterations that are always played: loads are ahead of operations, and the last one differs."""
LEAST_ITERATIONS = 2 * AT_THE_END
"""Loops of fewer iterations are not looked at."""
NUMBERS = len(COUNTERS)
K_KEPT, K_SINCE, K_POWER, K_LENGTH, K_COUNTERS = range(5)
K_STATE = K_COUNTERS + NUMBERS
"""What is kept of a loop: whether there is something, iterations since, after how many to replace it, its length, the
counters, the relative state."""


@inner_unchecked
def kept_size(walk, capacity):  # type: ignore[no-untyped-def]
    """Numbers that are kept of one loop."""
    return K_STATE + SIZE + 2 * capacity + 2 * len(walk) + SAVED


@inner_unchecked
def _moved(nest, walks, j, i):  # type: ignore[no-untyped-def]
    """Which of begin, end, low, high of a loop i move with loop j: none (4), the last two (2), or all (0)."""
    if not walks or i < j or nest.loops[i, 0] != nest.loops[j, 0]:
        return 4
    return 2 if i == j else 0


@inner_unchecked
def _relative_walk(out, at, block, nest, walk, now, taken, j, position):  # type: ignore[no-untyped-def]
    """The walk of the loads, relative to the present and to the position of loop j."""
    walks = j < block.marker_o
    for field in (L_VALID, L_RESUMES, L_AHEAD, L_VECTOR, L_VECTORS):
        out[at] = walk[field]
        at += 1
    out[at], out[at + 1] = max(walk[L_AT] - now, -LONG_AGO), max(walk[L_MOVED] - now, -LONG_AGO)
    out[at + 2] = walk[L_LOADED] - taken
    at += 3
    for field in range(L_TIMES, L_TILES):
        out[at] = max(walk[field] - now, -LONG_AGO)
        at += 1
    for field in range(L_TILES, L_LOOPS):
        along = walks and nest.loops[j, 0] == 0 and (field - L_TILES) % 3 == 0
        out[at] = walk[field] - (position if along else 0)
        at += 1
    for i in range(block.marker_o):
        first = _moved(nest, walks, j, i)
        for part in range(4):
            out[at] = walk[L_LOOPS + 4 * i + part] - (position if part >= first else 0)
            at += 1
    return at


@inner_unchecked
def _relative(out, block, nest, state, walk, saved, j, position):  # type: ignore[no-untyped-def]
    """The state, relative to the present and to the position of loop j; returns its length."""
    now, head, count, capacity = state[0], state[HEAD], state[COUNT], (len(state) - SIZE) // 2
    for i in range(SIZE):
        out[i] = state[i] if i >= NUMBERS else 0
    for place in TIMES:
        out[place] = max(state[place] - now, -LONG_AGO)
    out[HEAD], out[COUNT] = 0, count - head
    at = np.int64(SIZE)
    for i in range(SIZE + head, SIZE + count):
        out[at], out[at + 1] = state[i] - now, state[i + capacity]
        at += 2
    if block.spills:
        at = _relative_walk(out, at, block, nest, walk, now, walk[L_TAKEN], j, position)
        at = _relative_walk(out, at, block, nest, saved, now, walk[L_TAKEN], j, position)
        for i in range(len(walk), len(walk) + SAVED):
            out[at] = max(saved[i] - now, -LONG_AGO)
            at += 1
    return at


@inner_unchecked
def _move_walk(block, nest, walk, cycles, j, distance):  # type: ignore[no-untyped-def]
    walks = j < block.marker_o
    walk[L_AT] += cycles
    walk[L_MOVED] += cycles
    for field in range(L_TIMES, L_TILES):
        walk[field] += cycles
    if walks and nest.loops[j, 0] == 0:
        for field in range(L_TILES, L_LOOPS, 3):
            walk[field] += distance
    for i in range(block.marker_o):
        for part in range(_moved(nest, walks, j, i), 4):
            walk[L_LOOPS + 4 * i + part] += distance


@inner_unchecked
def repeat(block, nest, state, walk, saved, kept, now, j, position, left):  # type: ignore[no-untyped-def]
    """Iterations that need no play, at the end of one of loop j at ``position``, ``left`` before its last.

    ``kept``: of this loop; ``now`` is room for a relative state. The state is moved on by as many iterations as it
    returns.
    """
    length = _relative(now, block, nest, state, walk, saved, j, position)
    same = kept[K_KEPT] == 1 and length == kept[K_LENGTH]
    kept[K_SINCE] += 1
    for i in range(length):
        if not same:
            break
        same = now[i] == kept[K_STATE + i]
    if same:
        period = kept[K_SINCE]
        times = max(0, left - AT_THE_END) // period
        kept[K_KEPT] = 2  # nothing more of this execution
        cycles, distance = times * (state[0] - kept[K_COUNTERS]), times * period * nest.loops[j, 1]
        for i in range(NUMBERS):
            state[i] += times * (state[i] - kept[K_COUNTERS + i])
        for place in TIMES:
            state[place] += cycles
        for i in range(SIZE + state[HEAD], SIZE + state[COUNT]):
            state[i] += cycles
        if block.spills:
            _move_walk(block, nest, walk, cycles, j, distance)
            _move_walk(block, nest, saved, cycles, j, distance)
            for i in range(len(walk), len(walk) + SAVED):
                saved[i] += cycles
        return times * period
    if kept[K_KEPT] == 0 or (kept[K_KEPT] == 1 and kept[K_SINCE] == kept[K_POWER]):
        kept[K_POWER] = 2 * kept[K_POWER] if kept[K_KEPT] else 1
        kept[K_KEPT], kept[K_SINCE], kept[K_LENGTH] = 1, 0, length
        for i in range(NUMBERS):
            kept[K_COUNTERS + i] = state[i]
        for i in range(length):
            kept[K_STATE + i] = now[i]
    return 0
