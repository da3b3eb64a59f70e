"""The loops around a tile: which of them, in which order, with which `tcdm` markers, in which steps, move least.

A nest of two levels begins with loops over m, c, y, x, one at most over each, and the `tcdm` marker of each operand
above one of them. What the DMA moves depends on these loops alone: it is the traffic of the nest whose local buffers
are the TCDM. Every operand knows of them only which loops stand above its marked one, and which that is.

`OuterSpace` goes through all orders, marker places and steps, and gives those that move fewest bytes, of those that
may fit. Whether one does is for `hwgen.model.tcdm_placement` to say: here a ring has at least the bytes of a box, and
where there are several boxes, of two that may follow each other.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Marker
from hwgen.search.outer_kernel import forms_of, least
from hwgen.search.outer_tables import (
    CUT,
    I_BYTES,
    O_BYTES,
    RETURN_BYTES,
    STEP,
    TILES,
    W_BYTES,
    constants,
    outer_tables,
    worth_while,
)

__all__ = ["Outer", "OuterSpace"]

Ints = NDArray[np.int64]
TILED: tuple[Dim, ...] = ("m", "c", "y", "x")
MOST_STEPS = 1 << 21
"""Combinations of steps, at most, that are all looked at; of more, those that are worth while."""


@dataclass(frozen=True)
class Outer:
    """Loops of a nest, outermost first, with their steps; the place of the marked loop of I, W and O among them."""

    dims: tuple[Dim, ...]
    steps: tuple[int, ...]
    marked: tuple[int, ...]

    def items(self) -> tuple[Loop | Marker, ...]:
        """As items of a nest."""
        nest: list[Loop | Marker] = []
        for place, (dim, step) in enumerate(zip(self.dims, self.steps, strict=True)):
            arrays = tuple(array for array, at in zip("IWO", self.marked, strict=True) if at == place)
            if arrays:
                nest.append(Marker(arrays, "tcdm"))  # type: ignore[arg-type]
            nest.append(Loop(dim, step))
        return tuple(nest)


class Form(NamedTuple):
    """An order of loops with marker places."""

    dims: tuple[int, ...]
    marked: tuple[int, ...]


def forms() -> list[Form]:
    """All that differ for some operand: the loops above each marked loop as a set, and the marked loop."""
    found: dict[tuple[object, ...], Form] = {}
    for number in range(1, 5):
        for dims in permutations(range(4), number):
            for marked in product(range(number), repeat=3):
                if max(marked) == number - 1:
                    key = tuple((frozenset(dims[:at]), dims[at]) for at in marked)
                    found.setdefault(key, Form(dims, marked))
    return list(found.values())


class OuterSpace:
    """All loops around a tile of one layer.

    Parameters
    ----------
    layer
        The layer.
    bits
        Widths of its elements.
    size
        Bytes of the TCDM.
    most_steps
        With more combinations of steps than this, only those that are worth while.
    """

    def __init__(self, layer: Layer, bits: Bits, size: int, most_steps: int = MOST_STEPS) -> None:
        self._layer, self._size = layer, size
        every = outer_tables(layer)
        number = math.prod(len(table) - 1 for table in every)
        self._tables = every if number <= most_steps else worth_while(every)
        self._of = constants(layer, bits)
        self._forms = forms()
        self._orders, self._marked = np.zeros((2, len(self._forms), 4), np.int64)
        self._above = np.zeros((len(self._forms), 3, 4), np.int64)
        for number, form in enumerate(self._forms):
            self._orders[number, list(form.dims)] = 1
            for operand, at in enumerate(form.marked):
                self._marked[number, operand] = form.dims[at]
                self._above[number, operand, list(form.dims[:at])] = 1

    def least(self, above: int = -1) -> int | None:
        """The fewest bytes, more than ``above``, that the DMA moves for anything that may fit."""
        found = int(
            least(*self._tables, self._orders, self._above, self._marked, self._of, self._size, above)
        )  # fmt: skip
        return None if found < 0 else found

    def moving(self, bytes_moved: int) -> Iterator[tuple[int, dict[Dim, int], list[Outer]]]:
        """Steps with which some form moves so many bytes and may fit: those first with which the HWCs fetch least.

        Yields bytes that they fetch at the least, the steps of m, c, y, x, and the loops.
        """
        m, c, y, x = (table[:-1] for table in self._tables)
        inputs = self._of[I_BYTES] * np.multiply.outer(np.multiply.outer(m[:, CUT], y[:, CUT]), x[:, CUT])
        inputs += self._of[W_BYTES] * np.multiply.outer(y[:, TILES], x[:, TILES])
        returns = self._of[RETURN_BYTES] * (c[:, TILES] - 1)
        fetched = self._of[O_BYTES] + inputs[:, None] + returns[:, None, None]
        whole = tuple(table[-1] for table in self._tables)
        forms_found = np.zeros(len(self._forms), np.int64)
        order = np.argsort(fetched, axis=None, kind="stable")
        # Of steps that fetch equally much, larger tiles first.
        for flat in order[np.lexsort((-order, fetched.ravel()[order]))].tolist():
            places = np.unravel_index(flat, fetched.shape)
            rows = tuple(table[place] for table, place in zip((m, c, y, x), places, strict=True))
            number = forms_of(
                rows, whole, self._orders, self._above, self._marked, self._of, self._size, bytes_moved,
                forms_found,
            )  # fmt: skip
            if number:
                steps: dict[Dim, int] = {dim: int(row[STEP]) for dim, row in zip(TILED, rows, strict=True)}
                outers = [self._outer(self._forms[form], steps) for form in forms_found[:number].tolist()]
                yield int(fetched.ravel()[flat]), steps, outers

    def _outer(self, form: Form, steps: dict[Dim, int]) -> Outer:
        dims = tuple(TILED[dim] for dim in form.dims)
        return Outer(dims, tuple(steps[dim] for dim in dims), form.marked)
