"""Branch and bound over rows of five axes: the compiled loop of the relaxed search."""

import numpy as np

from hwgen.model.compiled import njit

__all__ = ["least_cost"]


@njit(cache=True)
def _lowest(rows, lowest, at):  # type: ignore[no-untyped-def]
    for factor in range(6):
        smallest = np.inf
        for row in range(len(rows)):
            smallest = min(smallest, rows[row, factor])
        lowest[at, factor] = smallest


@njit(cache=True)
def _open(product, price, room, caps, together, best):  # type: ignore[no-untyped-def]
    """Whether a lower bound of traffic is below the best cost, and one of the need fits."""
    cost, need = 0.0, 0.0
    for operand in range(3):
        cost += price[operand] * product[operand]
        held = room[operand] * product[3 + operand]
        need += held
        if held > caps[operand]:
            return False
    return cost < best and (not together or need <= caps[0])


@njit(cache=True)
def least_cost(rows, columns, images, filters, channels, price, room, caps, together, best):  # type: ignore[no-untyped-def]
    """The least sum of price times traffic over all combinations of rows that fit, if below ``best``; else that.

    ``price``, ``room`` [operand]: what traffic and room of one unit of the products cost; 0 for what is not held.
    """
    lowest = np.ones((5, 6))
    _lowest(channels, lowest, 4)
    _lowest(filters, lowest, 3)
    _lowest(images, lowest, 2)
    _lowest(columns, lowest, 1)
    for level in range(3, 0, -1):
        for factor in range(6):
            lowest[level, factor] *= lowest[level + 1, factor]
    product = np.ones((5, 6))
    bound = np.ones(6)
    for a in range(len(rows)):
        for factor in range(6):
            product[0, factor] = rows[a, factor]
            bound[factor] = rows[a, factor] * lowest[1, factor]
        if not _open(bound, price, room, caps, together, best):
            continue
        for b in range(len(columns)):
            if rows[a, 6] + columns[b, 6] > 1:
                continue
            for factor in range(6):
                product[1, factor] = product[0, factor] * columns[b, factor]
                bound[factor] = product[1, factor] * lowest[2, factor]
            if not _open(bound, price, room, caps, together, best):
                continue
            for d in range(len(images)):
                for factor in range(6):
                    product[2, factor] = product[1, factor] * images[d, factor]
                    bound[factor] = product[2, factor] * lowest[3, factor]
                if not _open(bound, price, room, caps, together, best):
                    continue
                for e in range(len(filters)):
                    for factor in range(6):
                        product[3, factor] = product[2, factor] * filters[e, factor]
                        bound[factor] = product[3, factor] * lowest[4, factor]
                    if not _open(bound, price, room, caps, together, best):
                        continue
                    for f in range(len(channels)):
                        for factor in range(6):
                            bound[factor] = product[3, factor] * channels[f, factor]
                        if _open(bound, price, room, caps, together, best):
                            best = 0.0
                            for operand in range(3):
                                best += price[operand] * bound[operand]
    return best
