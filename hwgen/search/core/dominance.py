"""Dominance: forms and steps that another one beats in every factor need not be searched.

Two statements carry the proof of the search; both rest on traffic and need being monotone in non-negative factors
(`hwgen.search.core.space.Tables`), so that a candidate whose every factor is no larger costs no more and needs no
more.

1. *Forms.* If an order offers the triple of forms (i', w, o), and i' is no worse than i in every factor for every
   step, no schedule of (i, w, o) is better than the same steps with (i', w, o). Of forms that are equal in every
   factor the one of the smallest number is kept. "Beats" is then a strict partial order, so dropping every beaten
   triple leaves, for each dropped one, one that beats it.
2. *Steps.* Given the triple, a step of one tile loop is dropped if another one is no worse in every factor that this
   triple takes from that dimension: then exchanging the one for the other, the rest unchanged, is no worse. Nothing
   is assumed about steps with the same number of ranges.

With ``words`` the factors of words (and of innermost iterations) are compared, too, so that ties in bytes are broken
exactly. The words of W round every tile up: the factor is the number of ranges by size modulo a word, from which, for
each residue of the rest of the tile, the bytes missing to full words follow; tiles of W that are cut otherwise are
not compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim
from hwgen.model.compiled import njit
from hwgen.search.core.orders import INPUT_STATES, OUTPUT_STATES, WEIGHT_STATES, Orders
from hwgen.search.core.space import IMPOSSIBLE, Tables

__all__ = ["StepLists", "Triples", "step_list", "undominated"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Triples:
    """Triples of forms that no other beats.

    Members
    -------
    index : [triple], into ``Orders.triples``.
    states : [triple, 17], the states of I (4), W (6) and O (7) in the order of `hwgen.search.core.orders`.
    """

    index: NDArray[np.int64]
    states: NDArray[np.int64]


_KNOWN: dict[tuple[object, ...], NDArray[np.int64]] = {}
"""Outcomes by what beats what: layers of a network mostly agree in that."""


def undominated(
    orders: Orders, layers: Sequence[Tables], *, words: bool, hardware: bool, biases: bool = False
) -> Triples:
    """Triples that no other triple beats for all of the layers at once; also in words, or in biases that are fetched.

    ``orders`` must live as long as the process (`orders.all_orders` sees to that) or offer a single triple.
    """
    states = [
        np.stack(np.unravel_index(numbers, shape), axis=1)
        for numbers, shape in zip(orders.numbers, (INPUT_STATES, WEIGHT_STATES, OUTPUT_STATES), strict=True)
    ]
    index = np.arange(len(orders.triples))
    if hardware:
        index = index[states[2][orders.triples[:, 2], 6] == 0]
    if len(index) > 1:
        beats = _beats(states, layers, words, biases)
        key = (id(orders), hardware, *(np.packbits(table).tobytes() for table in beats))
        if key not in _KNOWN:
            _KNOWN[key] = _unbeaten(orders, index, beats)
        index = _KNOWN[key]
    chosen = orders.triples[index]
    return Triples(index, np.hstack([states[operand][chosen[:, operand]] for operand in range(3)]).astype(np.int64))


def _beats(states: list[NDArray[np.int64]], layers: Sequence[Tables], words: bool, biases: bool) -> list[Bools]:
    """Arrays of I, W, O: [f, g], f beats g: no worse in every factor of every layer, and better or of smaller
    number."""
    result = []
    for operand in range(3):
        columns = states[operand]
        no_worse = np.ones((len(columns),) * 2, dtype=np.bool_)
        for layer in layers:
            for column, axis in zip(columns.T, _factors(layer, words, biases)[operand], strict=True):
                no_worse &= _no_worse(axis)[column[:, None], column[None, :]]
        smaller = np.arange(len(columns))[:, None] < np.arange(len(columns))[None, :]
        result.append(no_worse & (~no_worse.T | smaller))
    return result


def _factors(t: Tables, words: bool, biases: bool) -> tuple[list[list[Floats]], ...]:
    """Factors of I, W, O and each of their states: the tables [state, step] that are their factors."""
    k_tile, l_tile = np.array([[t.scale.k_size], [1.0]]), np.array([[t.scale.l_size], [1.0]])
    k_cuts, l_cuts = np.array([[1.0], [t.scale.k_size]]), np.array([[1.0], [t.scale.l_size]])
    i_words, o_words = ([t.x_words], [t.x_output_words]) if words else ([], [])
    y_biases, x_biases = ([t.y_cuts], [t.x_cuts]) if biases else ([], [])
    # Tiles of W that are cut otherwise are rounded otherwise: only equal cuts compare.
    w_tiles = [[table[:, 1:]] for table in (t.m_sizes, t.c_sizes)]
    w_tiles += [[k_tile], [l_tile]]
    if words:
        w_tiles = [[*w_tile, -w_tile[0]] for w_tile in w_tiles]
    steps = slice(1, None)
    return (
        [
            [t.m_fetched[:, steps], t.m_groups[:, steps]],
            [t.c_sizes[:, steps]],
            [t.y_fetched[:, steps], t.y_rows[:, steps]],
            [table[:, steps] for table in (t.x_fetched, t.x_columns, *i_words)],
        ],
        [*w_tiles, [t.y_cuts[:, steps]], [t.x_cuts[:, steps]]],
        [
            [t.m_sums[:, steps]],
            [table[:, steps] for table in (t.y_sums, *y_biases)],
            [table[:, steps] for table in (t.x_sums, *o_words, *x_biases)],
            [t.c_cuts[:, steps]],
            [k_cuts],
            [l_cuts],
            [np.zeros((2, 1))],
        ],
    )


def _no_worse(factors: list[Floats]) -> Bools:
    """[f, g]: state f is nowhere above state g in any factor."""
    result = np.ones((len(factors[0]),) * 2, dtype=np.bool_)
    for table in factors:
        result &= (table[:, None, :] <= table[None, :, :]).all(axis=2)
    return result


def _unbeaten(orders: Orders, index: NDArray[np.int64], beats: list[Bools]) -> NDArray[np.int64]:
    counts = [len(numbers) for numbers in orders.numbers]
    present = np.zeros(counts, dtype=np.bool_)
    triples = orders.triples[index]
    present[triples[:, 0], triples[:, 1], triples[:, 2]] = True
    # Orders of the rows: for each form, those that beat it.
    keep = _single(triples, present, beats[0].T.copy(), beats[1].T.copy(), beats[2].T.copy())
    index, triples = index[keep], triples[keep]
    return index[_pairwise(triples, *beats)]


@njit(cache=True)
def _single(triples, present, beaten_i, beaten_w, beaten_o):  # type: ignore[no-untyped-def]
    """Triples that stay when one operand at a time may be exchanged for a form that beats it."""
    keep = np.ones(len(triples), np.bool_)
    for n in range(len(triples)):
        i, w, o = triples[n]
        for f in range(beaten_o.shape[0]):
            if beaten_o[o, f] and present[i, w, f]:
                keep[n] = False
                break
        if not keep[n]:
            continue
        for f in range(beaten_w.shape[0]):
            if beaten_w[w, f] and present[i, f, o]:
                keep[n] = False
                break
        if not keep[n]:
            continue
        for f in range(beaten_i.shape[0]):
            if beaten_i[i, f] and present[f, w, o]:
                keep[n] = False
                break
    return keep


@njit(cache=True)
def _pairwise(triples, beats_i, beats_w, beats_o):  # type: ignore[no-untyped-def]
    """Triples that stay when several operands may be exchanged at once."""
    keep = np.ones(len(triples), np.bool_)
    for a in range(len(triples)):
        i, w, o = triples[a]
        for b in range(len(triples)):
            bi, bw, bo = triples[b]
            if a == b or not (bi == i or beats_i[bi, i]):
                continue
            if (bw == w or beats_w[bw, w]) and (bo == o or beats_o[bo, o]):
                keep[a] = False
                break
    return keep


# --- steps ---


@dataclass(frozen=True)
class StepLists:
    """The steps that matter for each combination of the states that I, W and O have along one dimension.

    Members
    -------
    start : [combination + 1], where each list starts; combination = (I state * 3 + W state) * 3 + O state.
    steps : the lists, one after the other, each ascending.
    """

    start: NDArray[np.int64]
    steps: NDArray[np.int64]


PLACES: dict[Dim, tuple[int, int, int]] = {"m": (0, 4, 10), "c": (1, 5, 13), "y": (2, 8, 11), "x": (3, 9, 12)}
"""Where the states of I, W and O of a dimension are among those of a triple."""


def step_list(
    t: Tables, dim: Dim, allowed: Bools, *, words: bool, biases: bool = False, triples: Triples | None = None
) -> StepLists:
    """The lists of one dimension: m, c, y or x. With ``triples`` those of other states than theirs are empty."""
    match dim:
        case "m":
            inputs, weights, outputs, cuts = [t.m_fetched, t.m_groups], [t.m_sizes], [t.m_sums], [t.m_cuts[2]]
            weights += _waste(t.m_residues) if words else []
            cuts += [t.m_lines] if words else []
        case "c":
            inputs, weights, outputs, cuts = [t.c_sizes], [t.c_sizes], [t.c_cuts], []
            weights += _waste(t.c_residues) if words else []
        case "y":
            inputs, weights, outputs, cuts = [t.y_fetched, t.y_rows], [t.y_cuts], [t.y_sums], [t.y_cuts[2]]
            outputs += [t.y_cuts] if biases else []
        case _:
            inputs, weights, outputs, cuts = [t.x_fetched, t.x_columns], [t.x_cuts], [t.x_sums], [t.x_cuts[2]]
            inputs += [t.x_words] if words else []
            outputs += [t.x_output_words] if words else []
            cuts += [t.x_sum_words] if words else []
            outputs += [t.x_cuts] if biases else []
    wanted = None if triples is None else set(map(tuple, triples.states[:, PLACES[dim]].tolist()))
    return _lists(inputs, weights, outputs, cuts if words else [], allowed, wanted)


def _lists(
    inputs: list[Floats],
    weights: list[Floats],
    outputs: list[Floats],
    common: list[Floats],
    allowed: Bools,
    wanted: set[tuple[int, ...]] | None,
) -> StepLists:
    """Undominated steps, first in view of all states at once, then of each combination of states alone."""
    everything = np.array([row for group in (inputs, weights, outputs) for table in group for row in table] + common)
    steps = _skyline(everything, np.flatnonzero(allowed))
    by_state = [_by_state(group, steps) for group in (inputs, weights, outputs)]
    also = np.array([row[steps] for row in common]).reshape(len(common), len(steps))
    start, lists = [0], [np.empty(0, np.int64)]
    known: dict[tuple[bytes, ...], NDArray[np.int64]] = {}
    for states, some in zip(product(*(range(len(one)) for one in by_state)), product(*by_state), strict=True):
        if wanted is not None and states not in wanted:
            start.append(start[-1])
            continue
        key = tuple(rows for _, rows in some)
        if key not in known:
            factors = np.concatenate([*(factors for factors, _ in some), also])
            possible = np.flatnonzero((factors < IMPOSSIBLE).all(axis=0))
            known[key] = steps[_skyline(factors, possible)]
        lists.append(known[key])
        start.append(start[-1] + len(known[key]))
    return StepLists(np.array(start, dtype=np.int64), np.concatenate(lists))


def _by_state(group: list[Floats], steps: NDArray[np.int64]) -> list[tuple[Floats, bytes]]:
    """The factors [factor, step] of each state of an operand, and the same as a key."""
    factors = [np.ascontiguousarray(rows) for rows in np.stack([table[:, steps] for table in group], axis=1)]
    return [(one, one.tobytes()) for one in factors]


def _waste(residues: Floats) -> list[Floats]:
    """Bytes missing to full words in all ranges together, by what the rest of the tile has modulo a word."""
    word = residues.shape[2]
    missing = [[(-(size * rest)) % word for size in range(word)] for rest in range(1, word)]
    return [residues @ np.array(row, dtype=np.float64) for row in missing]


@njit(cache=True)
def _skyline(factors, steps):  # type: ignore[no-untyped-def]
    """Steps that no other one equals or undercuts in every factor; of equal ones the smallest. Ascending."""
    kept = np.empty(len(steps), np.int64)
    number = 0
    for step in steps:
        beaten = False
        for other in range(number):
            if _nowhere_above(factors, kept[other], step):
                beaten = True
                break
        if beaten:
            continue
        left = 0
        for other in range(number):
            if not _nowhere_above(factors, step, kept[other]):
                kept[left] = kept[other]
                left += 1
        kept[left] = step
        number = left + 1
    return kept[:number].copy()


@njit(cache=True)
def _nowhere_above(factors, a, b):  # type: ignore[no-untyped-def]
    row = 0
    while row < factors.shape[0] and factors[row, a] <= factors[row, b]:
        row += 1
    return row == factors.shape[0]
