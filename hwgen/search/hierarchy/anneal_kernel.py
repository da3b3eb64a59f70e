"""Simulated annealing over nests of one sequence of markers: the compiled loop.

The state is an order of all markers (an operand at a level each), which of them are held, and for each row of loops
between two markers the number of iterations along each axis; the steps follow from the inside outward, each a
multiple of the next one or the whole extent. So every state is a nest, and a change of one row is a change of all
rows outside it.
"""

import numpy as np

from hwgen.model.compiled import borrowing, njit
from hwgen.search.hierarchy.nest_cost import cost_of

__all__ = ["WHOLE", "anneal", "below", "change", "copy_state", "drawn", "random_state", "steps_of"]

WHOLE = 1 << 20
"""Iterations that make a step the whole extent."""
_13, _7, _17, _11 = np.uint64(13), np.uint64(7), np.uint64(17), np.uint64(11)


@borrowing
def drawn(state):  # type: ignore[no-untyped-def]
    """A number from 0 to 1 (Marsaglia 2003, Xorshift); the same sequence everywhere. ``state`` [1] is not 0."""
    word = state[0]
    word ^= word << _13
    word ^= word >> _7
    word ^= word << _17
    state[0] = word
    return float(word >> _11) * 2.0**-53


@njit(cache=True)
def random_state(seed):  # type: ignore[no-untyped-def]
    """The state of the sequence of random numbers of a seed."""
    state = np.full(1, np.uint64(seed) * np.uint64(2654435769) + np.uint64(88172645463325252))
    for _ in range(8):
        drawn(state)
    return state


@borrowing
def below(state, number):  # type: ignore[no-untyped-def]
    """A random number from 0, below ``number``."""
    return int(drawn(state) * number)


@borrowing
def steps_of(factors, extents, steps):  # type: ignore[no-untyped-def]
    """Fill ``steps`` [row, axis] from the iterations of each row of loops; the last row is the innermost step."""
    last = len(factors) - 1
    for axis in range(7):
        step = min(factors[last, axis], extents[axis])
        steps[last, axis] = step
        for row in range(last - 1, -1, -1):
            step = min(step * factors[row, axis], extents[axis])
            steps[row, axis] = step


@borrowing
def _change_loops(state, factors, extents, least):  # type: ignore[no-untyped-def]
    """One random change of the loops, in place."""
    last = len(factors) - 1
    axis = below(state, 7)
    for _ in range(20):
        if extents[axis] == 1:
            axis = below(state, 7)
    row = below(state, last)
    other = below(state, last)
    kind = below(state, 12)
    if axis >= 5:
        if extents[axis] > least[axis]:
            # Whole from one row outward, or cut everywhere.
            factors[:last, axis] = 1
            if kind:
                factors[row, axis] = WHOLE
        return
    if kind == 0:
        factors[row, axis] = min(factors[row, axis], extents[axis]) + 1
    elif kind == 1:
        factors[row, axis] = max(1, min(factors[row, axis], extents[axis]) - 1)
    elif kind == 2:
        ratio = -(-extents[axis] // least[axis])
        factors[row, axis] = max(1, int(np.exp(drawn(state) * np.log(ratio + 1.0))))
    elif kind == 3:
        factors[other, axis] = min(WHOLE, factors[other, axis] * factors[row, axis])
        if other != row:
            factors[row, axis] = 1
    elif kind == 4:
        factors[row, axis], factors[other, axis] = factors[other, axis], factors[row, axis]
    elif kind == 5:
        by = 2 + below(state, 2)
        if other != row and factors[row, axis] >= by:
            factors[row, axis] = max(1, min(factors[row, axis], extents[axis]) // by)
            factors[other, axis] = min(WHOLE, factors[other, axis] * by)
    elif kind in (6, 7) and row > 0:
        # Another step here; the one of the row outside stays about the same.
        both = min(factors[row, axis], extents[axis]) * min(factors[row - 1, axis], extents[axis])
        factors[row, axis] = 1 + below(state, min(both, extents[axis]))
        factors[row - 1, axis] = max(1, both // factors[row, axis] + below(state, 2))
    elif kind in (8, 9):
        # More along one axis, less along another one, of about the same room.
        second = below(state, 5)
        by = 2 + below(state, 2)
        if second != axis and factors[row, second] >= by:
            factors[row, axis] = min(WHOLE, factors[row, axis] * by)
            factors[row, second] = max(1, min(factors[row, second], extents[second]) // by)
    elif kind == 10:
        factors[row, axis] = WHOLE if below(state, 2) else 1
    elif least[axis] > 1:
        factors[last, axis] = least[axis] if below(state, 3) else 1 + below(state, least[axis])


@borrowing
def copy_state(markers, held, factors, to_markers, to_held, to_factors):  # type: ignore[no-untyped-def]
    """Copy the first three into the last three."""
    for at in range(len(markers)):
        to_markers[at, 0], to_markers[at, 1] = markers[at, 0], markers[at, 1]
        to_held[at] = held[at]
    for row in range(len(factors)):
        for axis in range(7):
            to_factors[row, axis] = factors[row, axis]


@borrowing
def _swap(markers, held, at, to):  # type: ignore[no-untyped-def]
    for column in range(2):
        kept = markers[at, column]
        markers[at, column] = markers[to, column]
        markers[to, column] = kept
    was = held[at]
    held[at] = held[to]
    held[to] = was


@borrowing
def change(t, state, markers, held, factors, may_hold):  # type: ignore[no-untyped-def]
    """One random change of a state, in place."""
    number = len(markers)
    kind = below(state, 10)
    if kind < 3 and number > 1:
        # A marker changes its place with others, as far as the next one of its own operand.
        at = below(state, number)
        to = below(state, number) if kind else min(at + 1, number - 1)
        way = 1 if to > at else -1
        while at != to and markers[at, 0] != markers[at + way, 0]:
            _swap(markers, held, at, at + way)
            at += way
    elif kind == 3:
        at = below(state, number)
        if may_hold[markers[at, 1], markers[at, 0]]:
            held[at] = not held[at]
    else:
        _change_loops(state, factors, t.extents, t.least)
        if kind > 6:
            _change_loops(state, factors, t.extents, t.least)


@njit(cache=True)
def anneal(t, seed, iterations, hot, cold, markers, held, factors, may_hold):  # type: ignore[no-untyped-def]
    """Improve a state in place, from temperature ``hot`` to ``cold`` (parts of the cost); returns the least cost.

    ``t``: see `hwgen.search.hierarchy.nest_cost.Costs`. ``may_hold[level, operand]``. The state must fit. It ends as
    the best one that was met.
    """
    state = random_state(seed)
    steps = np.empty((len(markers) + 1, 7), np.int64)
    used = np.empty((len(t.serves), 3))
    steps_of(factors, t.extents, steps)
    cost = cost_of(t, markers, held, steps, used)
    best = cost
    best_markers, best_held, best_factors = markers.copy(), held.copy(), factors.copy()
    old_markers, old_held, old_factors = markers.copy(), held.copy(), factors.copy()
    cooling = (cold / hot) ** (1.0 / max(iterations, 1))
    heat = hot
    for _ in range(iterations):
        if best == 0.0:
            break
        heat *= cooling
        change(t, state, markers, held, factors, may_hold)
        steps_of(factors, t.extents, steps)
        found = cost_of(t, markers, held, steps, used)
        if found <= cost or (found < np.inf and drawn(state) < np.exp((cost - found) / (cost * heat))):
            cost = found
            copy_state(markers, held, factors, old_markers, old_held, old_factors)
            if cost < best:
                best = cost
                copy_state(markers, held, factors, best_markers, best_held, best_factors)
        else:
            copy_state(old_markers, old_held, old_factors, markers, held, factors)
    copy_state(best_markers, best_held, best_factors, markers, held, factors)
    return best
