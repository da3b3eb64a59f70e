"""What is planned next, and what is the best of what is planned.

A bound of each candidate's cycles is known. What a plan takes more is taken for a product of factors, one for each
place along each axis of the space; the plans so far say how large they are, and how surely (a linear regression of
logarithms with a prior). So the fewest LUTs, or the most images a second, are looked for among candidates that may
well do, and the search ends where there is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.api.choosing.space import Candidate

__all__ = ["Budget", "Planned", "Selection"]

FIRST_GUESS = 1.2
"""What a plan is guessed to take of the bound before there is any."""
SPREAD = 0.12
"""The part by which a place along an axis is guessed to matter: the standard deviation of its factor's logarithm."""
NOISE = 0.02
"""The part by which plans are guessed to miss such a product."""
HOPE = 2.0
"""The standard deviations by which a candidate is hoped to be better than it is guessed to be."""
FAILED = 4.0
"""What a candidate that does not run the network counts as, in parts of its bound."""


@dataclass(frozen=True)
class Budget:
    """What is asked for; None: as it comes.

    Members
    -------
    fps : images a second, at the least.
    mhz : the clock; None: of each hardware that which it is estimated to have.
    luts, dsps, brams : what it may take of an ECP5, at most.
    """

    fps: float | None = None
    mhz: float | None = None
    luts: int | None = None
    dsps: int | None = None
    brams: int | None = None

    def clock(self, one: Candidate) -> float:
        """MHz."""
        return self.mhz or one.area.mhz or 0.0

    def allows(self, one: Candidate) -> bool:
        """Whether its area fits, and its clock can be had."""
        limits = ((self.luts, one.area.lut4), (self.dsps, one.area.dsps), (self.brams, one.area.block_rams))
        fits = all(most is None or took <= most for most, took in limits)
        return fits and (self.mhz is None or self.mhz <= (one.area.mhz or 0.0))

    def rate(self, one: Candidate, cycles: float) -> float:
        """Images a second."""
        return self.clock(one) * 1e6 / cycles

    def document(self) -> dict[str, Any]:
        """Plain data."""
        return {"fps": self.fps, "mhz": self.mhz, "luts": self.luts, "dsps": self.dsps, "brams": self.brams}


@dataclass(frozen=True)
class Planned:
    """A candidate with the plan of the network on it.

    Members
    -------
    cycles : of one image, without what the host does.
    bytes : at the DRAM.
    energy : pJ.
    host : nodes that the host runs.
    """

    candidate: Candidate
    cycles: int
    bytes: int
    energy: float
    host: int

    def images_a_second(self, budget: Budget) -> float:
        """Images that it takes in a second."""
        return budget.rate(self.candidate, self.cycles)


class Selection:
    """The candidates of a choice, and those that are planned or under way.

    Members
    -------
    planned : plans so far.
    refused : the candidates that do not run the network, by name, and why.
    """

    def __init__(self, candidates: Sequence[Candidate], budget: Budget) -> None:
        self._candidates, self._budget = candidates, budget
        self.planned: list[Planned] = []
        self.refused: dict[str, str] = {}
        self._places = _one_hot([one.place for one in candidates])
        self._luts = np.array([one.area.lut4 for one in candidates])
        self._bounds = np.array([budget.rate(one, one.bound) for one in candidates])
        self._left = np.ones(len(candidates), np.bool_)
        self._numbers = {one.hardware.name: number for number, one in enumerate(candidates)}
        self._precision = np.eye(self._places.shape[1]) / SPREAD**2
        self._seen = np.zeros(self._places.shape[1])

    def add(self, candidate: Candidate, found: Planned | str) -> None:
        """Take in a plan, or why there is none."""
        if isinstance(found, str):
            self.refused[candidate.hardware.name] = found
            ratio = FAILED
        else:
            self.planned.append(found)
            ratio = found.cycles / candidate.bound
        place = self._places[self._numbers[candidate.hardware.name]]
        self._precision += np.outer(place, place) / NOISE**2
        self._seen += place * log(ratio / FIRST_GUESS) / NOISE**2

    @property
    def best(self) -> Planned | None:
        """The one of fewest LUTs of those that do what is asked; the fastest where no rate is asked for."""
        fps = self._budget.fps
        if fps is None:
            return self.fastest
        enough = [one for one in self.planned if self._rate(one) >= fps]
        return min(enough, key=lambda one: (_luts(one), -self._rate(one)), default=None)

    @property
    def fastest(self) -> Planned | None:
        """The one of the most images a second, whether they are enough or not."""
        return max(self.planned, key=lambda one: (self._rate(one), -_luts(one)), default=None)

    @property
    def front(self) -> list[Planned]:
        """Those that no other one undercuts in LUTs and in time, the smallest first."""
        found: list[Planned] = []
        for one in sorted(self.planned, key=lambda one: (_luts(one), -self._rate(one))):
            if not found or self._rate(one) > self._rate(found[-1]):
                found.append(one)
        return found

    @property
    def in_question(self) -> int:
        """How many that are not planned are better than the best by their bounds: they may be, or may not."""
        best, fps = self.best, self._budget.fps
        if best is None:
            return int(self._left.sum())
        if fps is None:
            return int((self._left & (self._bounds > self._rate(best))).sum())
        return int((self._left & (self._luts < _luts(best)) & (self._bounds >= fps)).sum())

    def next(self) -> Candidate | None:
        """The candidate to plan next, which is left no more; None: none is hoped to be better."""
        guess = np.where(self._left, self._hoped(), 0.0)
        number = self._fastest(guess) if self._budget.fps is None else self._smallest(guess, self._budget.fps)
        if number is None:
            return None
        self._left[number] = False
        return self._candidates[number]

    def _fastest(self, guess: NDArray[np.float64]) -> int | None:
        best = self.fastest
        number = int(np.lexsort((self._luts, -guess))[0])
        return number if guess[number] > (0.0 if best is None else self._rate(best)) else None

    def _smallest(self, guess: NDArray[np.float64], fps: float) -> int | None:
        best = self.best
        hoped = np.flatnonzero(guess >= fps)
        if best is not None:
            hoped = hoped[self._luts[hoped] < _luts(best)]
        if len(hoped):
            return int(hoped[np.lexsort((-guess[hoped], self._luts[hoped]))[0]])
        return self._fastest(guess) if best is None else None

    def _hoped(self) -> NDArray[np.float64]:
        """Images a second of all candidates, as far as may be hoped."""
        covariance = np.linalg.inv(self._precision)
        guess = log(FIRST_GUESS) + self._places @ (covariance @ self._seen)
        deviation = np.sqrt(np.einsum("ij,ij->i", self._places @ covariance, self._places))
        return np.asarray(self._bounds * np.exp(np.minimum(0.0, HOPE * deviation - guess)))

    def _rate(self, one: Planned) -> float:
        return one.images_a_second(self._budget)


def _one_hot(places: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
    """[candidate, column]: each place along each axis has a column, which is 1 for the candidates that are there."""
    array = np.array(places)
    return np.concatenate([np.eye(1 + axis.max())[axis] for axis in array.T], axis=1)


def _luts(one: Planned) -> int:
    return one.candidate.area.lut4
