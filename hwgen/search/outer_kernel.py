"""What loops around a tile move, and the least room they need in the TCDM: the compiled loops over steps and forms.

A form is one row of three tables: ``orders`` says which of m, c, y, x have a loop, ``above`` which of them stand
above the marked loop of each operand, ``marked`` which that one is over.
"""

import numpy as np
from numba import njit

from hwgen.search.outer_tables import (
    ALIGNMENT,
    AREA,
    BIAS_BYTES,
    BOX,
    CUT,
    EDGE,
    EDGE_ROW,
    FETCHED,
    I_BYTES,
    JOINT,
    JOINT_SPAN,
    LEAST_LINES,
    LINES,
    O_BYTES,
    PAIR,
    PAIR_ROW,
    RETURN_BYTES,
    ROW,
    SLID,
    SPAN,
    TILES,
    W_BYTES,
    WORD,
)  # fmt: skip

__all__ = ["forms_of", "least"]

M, C, Y, X = range(4)


@njit(cache=True)
def _moved(above, marked, rows, of):  # type: ignore[no-untyped-def]
    """Bytes through the DMA."""
    m, c, y, x = rows
    inputs = of[I_BYTES]
    inputs *= m[CUT] if above[0, M] else m[SLID] if marked[0] == M else m[FETCHED]
    inputs *= y[CUT] if above[0, Y] else y[SLID] if marked[0] == Y else y[FETCHED]
    inputs *= x[CUT] if above[0, X] else x[SLID] if marked[0] == X else x[FETCHED]
    weights = (y[TILES] if above[1, Y] else 1) * (x[TILES] if above[1, X] else 1)
    returns = c[TILES] - 1 if above[2, C] else 0
    return inputs + weights * of[W_BYTES] + of[O_BYTES] + returns * of[RETURN_BYTES]


@njit(cache=True)
def _inside(above, marked, operand, rows, whole):  # type: ignore[no-untyped-def]
    """The rows of m, c, y, x as the operand's box has them, and whether it is followed by another execution."""
    again = 1
    m, c, y, x = whole
    if above[operand, M] or marked[operand] == M:
        m = rows[M]
    if above[operand, C] or marked[operand] == C:
        c = rows[C]
    if above[operand, Y] or marked[operand] == Y:
        y = rows[Y]
    if above[operand, X] or marked[operand] == X:
        x = rows[X]
    for dim in range(4):
        if above[operand, dim]:
            again *= rows[dim][TILES]
    return m, c, y, x, again > 1


@njit(cache=True)
def _ring_of_inputs(above, marked, rows, whole):  # type: ignore[no-untyped-def]
    m, c, y, x, again = _inside(above, marked, 0, rows, whole)
    groups = m[LINES]
    lines = y[JOINT] if marked[0] == Y else y[LINES]
    pitch = x[JOINT_SPAN] if marked[0] == X else x[SPAN]
    start = (groups * c[BOX] - 1) * lines * pitch
    box = max(start + (y[LINES] - 1) * pitch + x[SPAN], 0)
    ring = box
    if marked[0] == Y:
        ring = max(start + (lines - 1) * pitch + x[SPAN], 0)
    elif marked[0] == X:
        ring = max(start + y[LINES] * pitch, 0)
    elif marked[0] == C and c[TILES] > 1:
        ring = box + max((groups * (c[PAIR] - c[BOX]) - 1) * lines * pitch + (y[LINES] - 1) * pitch + x[SPAN], 0)
    if again:
        ring = max(ring, box + c[EDGE] * y[LEAST_LINES] * x[LEAST_LINES])
    return ring


@njit(cache=True)
def _ring_of_weights(above, marked, rows, whole, area):  # type: ignore[no-untyped-def]
    m, c, _, _, again = _inside(above, marked, 1, rows, whole)
    box = m[BOX] * c[BOX]
    ring = m[PAIR] * c[BOX] if marked[1] == M else m[BOX] * c[PAIR] if marked[1] == C else box
    if again:
        ring = max(ring, box + m[EDGE] * c[EDGE])
    return ring * area


@njit(cache=True)
def _ring_of_outputs(above, marked, rows, whole, wide):  # type: ignore[no-untyped-def]
    m, _, y, x, again = _inside(above, marked, 2, rows, whole)
    line = WORD * x[BOX] if wide else x[ROW]
    box = m[BOX] * y[BOX] * line
    ring = box
    if marked[2] == M:
        ring = m[PAIR] * y[BOX] * line
    elif marked[2] == Y and y[TILES] > 1:
        ring = 2 * (m[BOX] - 1) * y[BOX] * line + y[PAIR] * line
    elif marked[2] == X and x[TILES] > 1:
        ring = 2 * (m[BOX] * y[BOX] - 1) * line + (WORD * x[PAIR] if wide else x[PAIR_ROW])
    if again:
        ring = max(ring, box + m[EDGE] * y[EDGE] * (WORD * x[EDGE] if wide else x[EDGE_ROW]))
    return ring


@njit(cache=True)
def _need(above, marked, rows, whole, of, wide):  # type: ignore[no-untyped-def]
    """The least bytes of the TCDM that biases and three rings may take; ``wide``: O has four bytes an element."""
    inputs = _ring_of_inputs(above, marked, rows, whole)
    weights = _ring_of_weights(above, marked, rows, whole, of[AREA])
    inputs, weights = -(-inputs // ALIGNMENT) * ALIGNMENT, -(-weights // ALIGNMENT) * ALIGNMENT
    return of[BIAS_BYTES] + inputs + weights + _ring_of_outputs(above, marked, rows, whole, wide)


@njit(cache=True)
def least(m, c, y, x, orders, above, marked, of, size, floor):  # type: ignore[no-untyped-def]
    """The fewest bytes above ``floor`` that anything moves that may fit; -1 if nothing does."""
    best = np.int64(-1)
    whole = (m[-1], c[-1], y[-1], x[-1])
    limits = (len(m) - 1, len(c) - 1, len(y) - 1, len(x) - 1)
    for form in range(len(orders)):
        first = [0 if orders[form, dim] else limits[dim] for dim in range(4)]
        last = [limits[dim] + (1 - orders[form, dim]) for dim in range(4)]
        for b in range(first[Y], last[Y]):
            for d in range(first[X], last[X]):
                if best >= 0 and _moved(above[form], marked[form], (whole[M], whole[C], y[b], x[d]), of) >= best:
                    continue
                rows = (m[first[M]], c[first[C]], y[b], x[d])
                if _need(above[form], marked[form], rows, whole, of, False) > size:
                    continue
                for e in range(first[C], last[C]):
                    least = _moved(above[form], marked[form], (whole[M], c[e], y[b], x[d]), of)
                    wide = c[e, TILES] > 1
                    rows = (m[first[M]], c[e], y[b], x[d])
                    if best >= 0 and least >= best:
                        continue
                    if _need(above[form], marked[form], rows, whole, of, wide) > size:
                        continue
                    for a in range(first[M], last[M]):
                        rows = (m[a], c[e], y[b], x[d])
                        moved = _moved(above[form], marked[form], rows, of)
                        if (best >= 0 and moved >= best) or moved <= floor:
                            continue
                        if _need(above[form], marked[form], rows, whole, of, wide) <= size:
                            best = moved
    return best


@njit(cache=True)
def forms_of(rows, whole, orders, above, marked, of, size, bytes_moved, found):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the forms that move so many bytes in these steps and may fit; how many."""
    number = 0
    for form in range(len(orders)):
        inside = True
        for dim in range(4):
            if not orders[form, dim] and rows[dim][TILES] > 1:
                inside = False
        if not inside or _moved(above[form], marked[form], rows, of) != bytes_moved:
            continue
        if _need(above[form], marked[form], rows, whole, of, rows[C][TILES] > 1) <= size:
            found[number] = form
            number += 1
    return number
