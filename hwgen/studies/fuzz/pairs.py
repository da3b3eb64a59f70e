"""Cases in which each value of a feature comes together with each value of any other one, as far as it can."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from random import Random
from typing import Any

__all__ = ["Case", "Pair", "Space"]

Case = dict[str, Any]
"""A value for each feature."""
Pair = tuple[tuple[str, Any], tuple[str, Any]]
"""Two features with a value each, in the order of the features."""
DRAWS, CANDIDATES = 90, 8
"""Draws after which two values exclude each other; and cases of which that with the most new pairs is taken."""


@dataclass(frozen=True)
class Space:
    """What cases are drawn from.

    A feature with a dot in its name is part of another one, and has no value without it: ``cluster.banks`` is part of
    ``cluster``.

    Members
    -------
    features : values by name, the simplest first: None, where the feature may be absent.
    legal : whether files can be made of a case.
    """

    features: Mapping[str, tuple[Any, ...]]
    legal: Callable[[Case], bool]

    def cases(self, rng: Random) -> Iterator[Case]:
        """Cases without end: each has a pair that none before it has, and many of them, while there is one."""
        left = dict.fromkeys(self.possible)
        while True:
            given = dict(rng.choice(list(left))) if left else {}
            found = [case for _ in range(CANDIDATES) if (case := self.drawn(rng, given))]
            if found:
                best = max(found, key=lambda case: sum(pair in left for pair in self.pairs(case)))
                for pair in self.pairs(best):
                    left.pop(pair, None)
                yield best

    def drawn(self, rng: Random, given: Case) -> Case | None:
        """A legal case with some values given; None if none is found."""
        needed = [above for name in given for above in _above(name)]
        for _ in range(DRAWS):
            case = {name: rng.choice(values) for name, values in self.features.items()} | given
            case |= {name: rng.choice(self.features[name][1:]) for name in needed if not case[name]}
            case = self._completed(case)
            if given.items() <= case.items() and all(case[name] for name in needed) and self.legal(case):
                return case
        return None

    def simpler(self, case: Case) -> Iterator[Case]:
        """Legal cases that are simpler in one feature, the simplest value first."""
        for name, values in self.features.items():
            if case[name] is not None:
                for value in values[: values.index(case[name])]:
                    other = self._completed(case | {name: value})
                    if self.legal(other):
                        yield other

    def has(self, case: Case) -> bool:
        """Whether it is one of its cases."""
        known = all(case.get(name) is None or case[name] in values for name, values in self.features.items())
        return known and list(case) == list(self.features) and self._completed(case) == case and self.legal(case)

    def pairs(self, case: Case) -> list[Pair]:
        """The pairs of its values; what is part of something absent has none."""
        there = [(name, case[name]) for name, above in self._parents.items() if not above or case[above]]
        return list(combinations(there, 2))

    @cached_property
    def possible(self) -> tuple[Pair, ...]:
        """All pairs that do not exclude each other."""
        rng, seen = Random("possible"), dict[Pair, None]()
        for one, two in combinations(self.features, 2):
            for pair in (((one, this), (two, that)) for this in self.features[one] for that in self.features[two]):
                if pair not in seen and (case := self.drawn(rng, dict(pair))):
                    seen |= dict.fromkeys(self.pairs(case))
        return tuple(seen)

    def _completed(self, case: Case) -> Case:
        """The case without parts of what is absent, and with those that what is there cannot be without."""
        found: Case = {}
        for name, above in self._parents.items():
            value = case[name]
            if above and not found[above]:
                value = None
            elif value is None:
                value = self.features[name][0]
            found[name] = value
        return found

    @cached_property
    def _parents(self) -> dict[str, str]:
        """What each feature is part of; nothing, of most."""
        return {name: name.rpartition(".")[0] for name in self.features}


def _above(name: str) -> Iterator[str]:
    """All that a feature is part of."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
