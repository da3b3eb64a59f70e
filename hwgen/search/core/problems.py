"""What the searches of one layer have in common: its tables, the steps that matter, the triples that none beats."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits
from hwgen.search.core.branch import Problem, lists_of, problem
from hwgen.search.core.dominance import StepLists, Triples, step_list, undominated
from hwgen.search.core.orders import TILED, Orders
from hwgen.search.core.space import Tables, Target, tables

__all__ = ["LayerProblems", "with_memories"]


@dataclass
class LayerProblems:
    """The problems of one layer on one target; each part is made once, however many searches ask for it."""

    layer: Layer
    bits: Bits
    target: Target
    _lists: dict[tuple[Dim, bytes, bool, bool], StepLists] = field(default_factory=dict)
    _problems: dict[tuple[bytes, ...], Problem] = field(default_factory=dict)
    _triples: dict[tuple[int, bool, bool], Triples] = field(default_factory=dict)

    @cached_property
    def tables(self) -> Tables:
        """The tables, for memories of any size. Raises `InputError` for a huge map."""
        return tables(self.layer, self.bits, self.target)

    def problem(self, allowed: Mapping[Dim, NDArray[np.bool_]], *, words: bool, biases: bool = False) -> Problem:
        """The problem with those of the allowed steps that no other one beats; also in words, or in biases."""
        key = (*(allowed[dim].tobytes() for dim in TILED), b"words" if words else b"", b"biases" if biases else b"")
        if key not in self._problems:
            lists = [self._list(dim, allowed[dim], words=words, biases=biases) for dim in TILED]
            self._problems[key] = problem(self.tables, lists_of(lists))
        return self._problems[key]

    def _list(self, dim: Dim, allowed: NDArray[np.bool_], *, words: bool, biases: bool) -> StepLists:
        key = (dim, allowed.tobytes(), words, biases)
        if key not in self._lists:
            self._lists[key] = step_list(self.tables, dim, allowed, words=words, biases=biases)
        return self._lists[key]

    def triples(self, orders: Orders, *, words: bool, biases: bool = False) -> Triples:
        """The triples of forms that no other one beats; see `undominated` for which orders may be asked for."""
        key = (id(orders), words, biases)
        if key in self._triples and len(orders.triples) > 1:  # a single one may not live as long
            return self._triples[key]
        found = undominated(orders, [self.tables], words=words, hardware=self.target.hardware, biases=biases)
        return self._triples.setdefault(key, found) if len(orders.triples) > 1 else found


def with_memories(one: Problem, memories: Mapping[ArrayName, int] | None) -> Problem:
    """The same problem with given sizes of the three memories, in bytes; without them, with any."""
    if memories is None:
        return one
    return one._replace(caps=np.array([memories[array] for array in ARRAYS], dtype=np.float64))
