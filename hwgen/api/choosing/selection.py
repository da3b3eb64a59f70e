"""What is drafted and planned next, and what is the best of what is planned.

A bound of each candidate's cycles is known, and a guess. What a draft takes of the guess is taken for a product of
factors, one for each place along each axis of the space; the drafts so far say how large they are, and how surely (a
linear regression of logarithms with a prior). What a plan takes of its draft is guessed in the same way. So the
fewest LUTs, or the most images a second, are looked for among candidates that may well do: of these the most
promising is drafted, or planned if it has been drafted, and the search ends where there is none.

A plan only estimates waits at the banks of the shared memory. What a run in the RTL takes beyond the plan is guessed
in the same way from the runs so far; what is the best is run until the best has been run. What has been run is given
up only for what may be better by `WORTH`: a run takes as long as a dozen plans.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.api.choosing.space import Candidate
from hwgen.lower.network.forecast import NodeForecast

__all__ = ["PLAN_IN_DRAFTS", "Budget", "Planned", "Selection"]

FIRST_GUESS = 1.2
"""What a draft is guessed to take of the bound before there is any, where nothing else is guessed."""
SPREAD, SPREAD_OF_DRAFTS, SPREAD_OF_PLANS = 0.1, 0.07, 0.02
"""The parts by which a place along an axis is guessed to matter: to waits and energies, to a draft, and to what a
plan takes of its draft. Standard deviations of the logarithm of its factor."""
SPREAD_OF_FIRST = 0.25
"""The same of the first axis, the lanes, which guesses know least about."""
NOISE, NOISE_OF_PLANS = 0.02, 0.03
"""The parts by which drafts, and plans, are guessed to miss such a product."""
HOPE, WAITS_HOPE = 2.0, 1.0
"""The standard deviations by which a plan, and waits, are hoped to be less than they are guessed to be."""
WAITS, WAITS_OF_A_BANK = 0.005, 0.01
"""What a run is guessed to take beyond the plan before there is any: as a logarithm, and for each HWC a bank."""
WORTH = 0.01
"""The part by which what was not run has to be better than what was, to be the best in its place."""
AS_GOOD = 1.002
"""A draft that is longer by this part at most is as good."""
NEARLY = 1.1
"""What is like those that are worse than the best by this part is taken in, too, where nothing else is promising."""
MUCH = 2.0
"""Having one that is fast enough is worth as much as saving area by this factor, against the largest."""
SURE = 0.01
"""The standard deviation of what is guessed, at the least."""
PLAN_IN_DRAFTS = 12
"""About how many quick drafts take as long as a plan, before there is one."""
BELOW = 0.05
"""What counts of a hope for less than is possible: it puts in order what would be alike."""
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
    energy : uJ of one image, at most, as plans have it.
    mm2 : area in the cells of a library, at most.
    board : whose FPGA ``luts``, ``dsps`` and ``brams`` are of, where they were not given.
    """

    fps: float | None = None
    mhz: float | None = None
    luts: int | None = None
    dsps: int | None = None
    brams: int | None = None
    energy: float | None = None
    mm2: float | None = None
    board: str | None = None

    def clock(self, one: Candidate) -> float:
        """MHz."""
        return self.mhz or one.area.mhz or 0.0

    def allows(self, one: Candidate) -> bool:
        """Whether its area fits, and its clock can be had."""
        limits = (
            (self.luts, one.area.lut4),
            (self.dsps, one.area.dsps),
            (self.brams, one.area.block_rams),
            (self.mm2, one.mm2 or 0.0),
        )
        fits = all(most is None or took <= most for most, took in limits)
        return fits and (self.mhz is None or self.mhz <= (one.area.mhz or 0.0))

    def saves(self, one: "Planned") -> bool:
        """Whether an image takes no more energy than it may."""
        return self.energy is None or one.energy <= 1e6 * self.energy

    def rate(self, one: Candidate, cycles: float) -> float:
        """Images a second."""
        return self.clock(one) * 1e6 / cycles

    def document(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Planned:
    """A candidate with the plan of the network on it.

    Members
    -------
    cycles : of one image by the plan, without what the host does.
    bytes : at the DRAM.
    energy : pJ.
    host : nodes that the host runs.
    nodes : what runs on it, in order.
    measured : cycles of a run in the RTL; None where there was none.
    expected, hoped : those, or about what they are, and what they are hoped to be.
    """

    candidate: Candidate
    cycles: int
    bytes: int
    energy: float
    host: int
    nodes: tuple[NodeForecast, ...] = ()
    measured: int | None = None
    expected: float = 0.0
    hoped: float = 0.0

    def images_a_second(self, budget: Budget) -> float:
        """Images that it takes in a second, as far as is known."""
        return budget.rate(self.candidate, self.measured or self.expected or self.cycles)


class _Factors:
    """A product of factors, one for each place along each axis, that is learnt from examples."""

    def __init__(
        self,
        places: NDArray[np.float64],
        first: NDArray[np.float64] | float = 0.0,
        spread: float | NDArray[np.float64] = SPREAD,
        noise: float = NOISE,
    ) -> None:
        """``first`` : the logarithm of the product that is guessed for each candidate before there is an example.

        ``spread`` : of factors, of all or of each column of ``places``.
        """
        self._places, self._first, self._noise = places, np.full(len(places), first), noise
        self._precision = np.diag(1 / np.full(places.shape[1], spread) ** 2)
        self._seen = np.zeros(places.shape[1])

    def learn(self, number: int, factor: float) -> None:
        """Take in an example."""
        place = self._places[number]
        self._precision += np.outer(place, place) / self._noise**2
        self._seen += place * (log(factor) - self._first[number]) / self._noise**2

    def guess(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Logarithms of the products of all candidates, and their standard deviations."""
        covariance = np.linalg.inv(self._precision)
        deviation = np.sqrt(np.einsum("ij,ij->i", self._places @ covariance, self._places))
        return self._first + self._places @ (covariance @ self._seen), deviation


class Selection:
    """The candidates of a choice, and those that are drafted, planned or under way.

    Members
    -------
    planned : plans so far.
    drafts : cycles by the drafts so far, by name.
    refused : the candidates that do not run the network, by name, and why.
    """

    def __init__(
        self,
        candidates: Iterable[Candidate],
        budget: Budget,
        *,
        runs: bool = True,
        drafts: bool = False,
        near: Callable[[Candidate], Iterable[Candidate]] = lambda one: (),
    ) -> None:
        """``runs`` : what is the best will be run, and so is the best of what may be hoped; else of guesses.

        ``drafts`` : there are drafts; else what has no plan is guessed from the plans. ``near`` : gives what is like
        a candidate. Where none is hoped to be better than the best, what is like that one is taken in.
        """
        self._budget, self._runs, self._near, self._has_drafts = budget, runs, near, drafts
        self._looked_around: set[str] = set()
        self.planned: list[Planned] = []
        self.drafts: dict[str, float] = {}
        self.refused: dict[str, str] = {}
        self._candidates: list[Candidate] = []
        self._numbers: dict[str, int] = {}
        self._left = np.ones(0, np.bool_)
        self.extend(candidates)

    def extend(self, candidates: Iterable[Candidate]) -> None:
        """Take in more candidates: those that are new and that the budget allows."""
        more = {one.hardware.name: one for one in candidates if self._budget.allows(one)}
        new = [one for name, one in more.items() if name not in self._numbers]
        self._candidates += new
        self._left = np.concatenate([self._left, np.ones(len(new), np.bool_)])
        self._numbers = {one.hardware.name: number for number, one in enumerate(self._candidates)}
        self._places, spread = _one_hot([one.place for one in self._candidates])
        self._sizes = np.array([one.size for one in self._candidates], float)
        self._bounds = np.array([self._budget.rate(one, one.bound) for one in self._candidates])
        waits = [WAITS + WAITS_OF_A_BANK * _hwcs_a_bank(one) for one in self._candidates]
        guesses = [log(FIRST_GUESS) if one.guess is None else log(one.guess / one.bound) for one in self._candidates]
        self._rough = _Factors(self._places, np.array(guesses), spread)
        self._plans = _Factors(self._places, 0.0, SPREAD_OF_PLANS, NOISE_OF_PLANS)
        self._waits = _Factors(self._places, np.array(waits))
        self._energies = _Factors(self._places)
        self._drafted, self._least = np.full(len(waits), np.nan), np.full(len(waits), -inf)
        self._log_bounds = np.log([one.bound for one in self._candidates])
        self._know_families()
        for name in self.refused:
            self._rough.learn(self._numbers[name], FAILED)
        for name, cycles in self.drafts.items():
            self._learn_draft(self._numbers[name], cycles)
        for one in self.planned:
            self._learn(one)

    def _know_families(self) -> None:
        """Which candidates differ only in what helps, and which of these in the shared memory alone."""
        numbers: dict[Hashable, int] = {}
        own = [one.hardware.name if one.family is None else one.family for one in self._candidates]
        self._families = np.array([numbers.setdefault(family, len(numbers)) for family in own])
        self._helps = np.array([one.helps for one in self._candidates])
        alike: dict[Hashable, list[int]] = {}
        for number, one in enumerate(self._candidates):
            alike.setdefault((own[number], one.helps[1:]), []).append(number)
        self._with_less: dict[int, int] = {}
        for some in alike.values():
            by_memory = sorted(some, key=lambda number: self._candidates[number].helps[:1])
            self._with_less |= dict(zip(by_memory[1:], by_memory[:-1], strict=True))

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self._candidates)

    def draft(self, candidate: Candidate, found: float | str) -> None:
        """Take in the cycles of a draft, or why there is none: the candidate may be planned now, or never is."""
        number = self._numbers[candidate.hardware.name]
        if isinstance(found, str):
            self._refuse(number, found)
            return
        self.drafts[candidate.hardware.name] = found
        self._learn_draft(number, found)
        self._left[number] = True

    def add(self, candidate: Candidate, found: Planned | str) -> None:
        """Take in a plan, with its run if there was one, or why there is no plan."""
        if isinstance(found, str):
            self._refuse(self._numbers[candidate.hardware.name], found)
            return
        self.planned.append(found)
        self._learn(found)
        self._expect()

    def _refuse(self, number: int, why: str) -> None:
        self.refused[self._candidates[number].hardware.name] = why
        self._rough.learn(number, FAILED)

    def _learn_draft(self, number: int, cycles: float) -> None:
        self._drafted[number] = log(cycles / self._candidates[number].bound)
        self._rough.learn(number, cycles / self._candidates[number].bound)
        no_more = (self._families == self._families[number]) & (self._helps <= self._helps[number]).all(axis=1)
        self._least[no_more] = np.maximum(self._least[no_more], log(cycles) - self._log_bounds[no_more])

    def _learn(self, found: Planned) -> None:
        """Take in the factors of a plan, and of its run if there was one."""
        name = found.candidate.hardware.name
        number = self._numbers[name]
        if name in self.drafts:
            self._plans.learn(number, found.cycles / self.drafts[name])
        else:
            self._rough.learn(number, found.cycles / found.candidate.bound)
        if self._budget.energy is not None:
            self._energies.learn(number, found.energy / self.planned[0].energy)
        if found.measured is not None:
            self._waits.learn(number, found.measured / found.cycles)

    def confirm(self, one: Planned, cycles: int) -> None:
        """Take in the cycles of a run of a plan in the RTL."""
        self.planned[self.planned.index(one)] = replace(one, measured=cycles)
        self._waits.learn(self._numbers[one.candidate.hardware.name], cycles / one.cycles)
        self._expect()

    @property
    def best(self) -> Planned | None:
        """The one of the least area of those that do what is asked; the fastest where no rate is asked for.

        By what runs took, and what others are hoped to take: what is run next, if it was not.
        """
        return self._best(self._rate)

    @property
    def settled(self) -> Planned | None:
        """The answer where nothing more is run: where there are runs the best of these, if one does what is asked.

        Else the best by what others are expected to take. Plans that look the best are more often too low than not.
        """

        def known(one: Planned) -> float:
            return one.images_a_second(self._budget)

        ran = [one for one in self.planned if self._runs and one.measured is not None]
        return self._best(known, ran) or self._best(known) or self.best

    def _best(self, rate: Callable[[Planned], float], among: Sequence[Planned] | None = None) -> Planned | None:
        plans, fps = self.planned if among is None else among, self._budget.fps
        if fps is None:
            return self._fastest_by(rate, plans)
        enough = [one for one in plans if rate(one) >= fps and self._budget.saves(one)]
        return min(enough, key=lambda one: (_size(one) / _worth(one), -rate(one)), default=None)

    @property
    def fastest(self) -> Planned | None:
        """The one of the most images a second, enough or not, of those that take no more energy than asked."""
        return self._fastest_by(self._rate, self.planned)

    def _fastest_by(self, rate: Callable[[Planned], float], plans: Sequence[Planned]) -> Planned | None:
        saving = filter(self._budget.saves, plans)
        return max(saving, key=lambda one: (rate(one) * _worth(one), -_size(one)), default=None)

    @property
    def nearest(self) -> Planned | None:
        """The fastest; where all take more energy than is asked for, the one of the least."""
        return self.fastest or min(self.planned, key=lambda one: one.energy, default=None)

    @property
    def front(self) -> list[Planned]:
        """Those that no other one undercuts in area and in about their time, the smallest first."""

        def rate(one: Planned) -> float:
            return one.images_a_second(self._budget)

        found: list[Planned] = []
        for one in sorted(self.planned, key=lambda one: (_size(one), -rate(one))):
            if not found or rate(one) > rate(found[-1]):
                found.append(one)
        return found

    @property
    def in_question(self) -> int:
        """How many that are not planned are better than the best by their bounds: they may be, or may not."""
        best, fps = self.best, self._budget.fps
        if best is None:
            return int((self._left & (self._bounds >= (fps or 0.0))).sum())
        if fps is None:
            return int((self._left & (self._bounds > self._rate(best))).sum())
        return int((self._left & (self._sizes < _size(best)) & (self._bounds >= fps)).sum())

    def next(self, *, drafts: bool = True, plans: bool = True) -> Candidate | None:
        """The candidate to draft or to plan next, which is left no more; None: none is hoped to be better.

        ``drafts`` : it may be one without a draft. ``plans`` : it may be one with a draft, also where one without is
        hoped to be better than all that is known. What is to be done with it says `is_drafted`.
        """
        later: list[int] = []
        found = None
        while found is None:
            number = self._promising(drafts=drafts, plans=plans)
            if number is not None:
                found, wait = self._with_less_memory(number, drafts=drafts)
                self._left[number] = False
                later += [number] * wait
                continue
            one = self._to_look_around() if drafts else None
            if one is not None:
                self._looked_around.add(one.hardware.name)
                self.extend(self._near(one))
            elif plans:
                break
            plans = plans or one is None
        self._left[later] = True
        if found is None:
            return None
        self._left[found] = False
        return self._candidates[found]

    def _with_less_memory(self, number: int, *, drafts: bool) -> tuple[int | None, bool]:
        """What is drafted or planned in the place of a candidate; None: nothing, and whether it is only for now.

        Before it is planned, one like it with less shared memory is drafted; if that is as good, it is not planned.
        """
        less = self._with_less.get(number)
        if not self._has_drafts or np.isnan(self._drafted[number]) or less is None:
            return number, False
        name = self._candidates[less].hardware.name
        if name in self.drafts:
            as_good = self.drafts[name] <= AS_GOOD * self.drafts[self._candidates[number].hardware.name]
            return (None, False) if as_good else (number, False)
        if name in self.refused or not drafts:
            return number, False
        return (less, True) if self._left[less] else (None, True)

    def _to_look_around(self) -> Candidate | None:
        """The best that is known by a draft or a plan, then those nearly as good, the best first, each once."""
        rates, fps = self._known_rates(), self._budget.fps
        enough = rates > 0 if fps is None else rates >= fps
        if not enough.any():
            enough, fps = rates > 0, None
        nearly = np.flatnonzero(enough)
        if fps is None:
            order = nearly[np.argsort(-rates[nearly], kind="stable")]
            order = order[rates[order] * NEARLY >= rates.max()]
        else:
            order = nearly[np.argsort(self._sizes[nearly], kind="stable")]
            order = order[self._sizes[order] <= NEARLY * self._sizes[order[0]]]
        names = (self._candidates[number].hardware.name for number in order)
        name = next((one for one in names if one not in self._looked_around), None)
        return None if name is None else self._candidates[self._numbers[name]]

    def _known_rates(self) -> NDArray[np.float64]:
        """Images a second of what was planned and, about, of what was drafted; 0: of others."""
        known = np.zeros(len(self._candidates))
        if self._has_drafts:
            drafted = ~np.isnan(self._drafted)
            plans = self._drafted + self._plans.guess()[0] + self._guessed_waits()[self._runs]
            known[drafted] = (self._bounds * np.exp(-np.maximum(0.0, plans)))[drafted]
        for one in self.planned:
            known[self._numbers[one.candidate.hardware.name]] = self._rate(one) if self._budget.saves(one) else 0.0
        return known

    @property
    def goes_on(self) -> bool:
        """Whether one that is not drafted is hoped to be the best."""
        return self._promising(drafts=True, plans=False) is not None

    def is_drafted(self, candidate: Candidate) -> bool:
        """Whether it is planned next, without a draft or after it."""
        return not self._has_drafts or candidate.hardware.name in self.drafts

    def _promising(self, *, drafts: bool, plans: bool) -> int | None:
        """The number of the candidate that is hoped to be the best; None: none is hoped to be better.

        What is drafted next has to be hoped to be better than what is expected of all that are drafted, too.
        """
        fps = self._budget.fps
        rates = np.where(self._left & self._may_save(), self._hoped_rates(), 0.0)
        if self._has_drafts:
            known, drafted = self._known_rates(), ~np.isnan(self._drafted)
            if fps is None:
                worse = rates <= (1 + WORTH) * known.max()
            else:
                worse = self._sizes >= self._sizes[known >= fps].min(initial=inf)
            rates[drafted & (not plans)] = 0.0
            rates[~drafted & (worse | (not drafts))] = 0.0
        return self._fastest(rates) if fps is None else self._smallest(rates, fps)

    def _hoped_rates(self) -> NDArray[np.float64]:
        """Images a second that may be hoped for."""
        rates: NDArray[np.float64] = self._bounds * np.exp(-self._hoped() - self._guessed_waits()[self._runs])
        return rates

    def _hoped(self) -> NDArray[np.float64]:
        """What plans are hoped to take of the bound, as logarithms."""
        expected, deviation, least = self._guessed_plans()
        hoped = expected - HOPE * deviation
        found: NDArray[np.float64] = np.where(hoped < least, least + BELOW * (hoped - least), hoped)
        return found

    def _guessed_plans(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """What plans are guessed to take of the bound, the standard deviation of that, and what they take at least,
        as logarithms."""
        rough, deviation = self._rough.guess()
        if not self._has_drafts:
            return rough, deviation, np.zeros(len(rough))
        known = ~np.isnan(self._drafted)
        of_drafts, variance = self._plans.guess()
        rough = np.where(known, self._drafted, rough) + of_drafts
        deviation = np.hypot(np.where(known, 0.0, deviation), variance)
        return rough, deviation, np.maximum(0.0, np.where(known, 0.0, self._least + of_drafts))

    def put_back(self, candidate: Candidate) -> None:
        """A candidate of `next` that is not planned after all."""
        self._left[self._numbers[candidate.hardware.name]] = True

    @property
    def possible(self) -> bool:
        """Whether some candidate does what is asked by its bound."""
        return self._budget.fps is None or bool((self._bounds >= self._budget.fps).any())

    def _fastest(self, guess: NDArray[np.float64]) -> int | None:
        best = self.fastest
        number = int(np.lexsort((*-self._helps.T, self._sizes, -guess))[0])
        return number if guess[number] > (0.0 if best is None else self._rate(best)) else None

    def _smallest(self, guess: NDArray[np.float64], fps: float) -> int | None:
        """The number of the one that saves the most area as far as can be guessed: by how likely it is fast enough,
        and by what it then saves of the smallest that is known to be.

        So it goes from what surely does to what is smaller and may do; the smallest that might do were drafted for
        long in vain.
        """
        best = self.best
        hoped = np.flatnonzero(guess >= fps)
        if best is not None:
            hoped = hoped[self._sizes[hoped] < _size(best)]
        if not len(hoped):
            return self._fastest(guess) if best is None else None
        sizes = self._sizes[hoped]
        known = MUCH * sizes.max() if best is None else _size(best)
        smallest = np.full(len(hoped), known)
        costs = np.ones(len(hoped))
        if self._has_drafts:
            drafted = ~np.isnan(self._drafted[hoped])
            enough = self._sizes[self._known_rates() >= fps]
            smallest[~drafted] = min(known, enough.min(initial=inf))
            costs[drafted] = PLAN_IN_DRAFTS
        worth = self._chances(fps)[hoped] * np.log(smallest / sizes) / costs
        return int(hoped[np.lexsort((*-self._helps[hoped].T, sizes, -worth))[0]])

    def _chances(self, fps: float) -> NDArray[np.float64]:
        """About how likely each makes so many images a second; the logistic function is nearly the normal one."""
        expected, deviation, least = self._guessed_plans()
        logs = np.log(self._bounds / fps) - np.maximum(expected, least) - self._guessed_waits()[0]
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(1.7 * logs / np.maximum(deviation, SURE), -50, 50)))
        return chances

    def _may_save(self) -> NDArray[np.bool_]:
        """The candidates that may be hoped to take no more energy than is asked for."""
        if self._budget.energy is None or not self.planned:
            return np.ones(len(self._candidates), np.bool_)
        energies, deviation = self._energies.guess()
        return energies - HOPE * deviation <= log(1e6 * self._budget.energy / self.planned[0].energy)

    def _guessed_waits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """About what waits take of runs, as logarithms, and what they are hoped to take."""
        waits, deviation = self._waits.guess()
        return np.maximum(0.0, waits), np.maximum(0.0, waits - WAITS_HOPE * deviation)

    def _expect(self) -> None:
        """Say anew what runs of the plans, those that were not run, take and are hoped to take."""
        guessed = self._guessed_waits()
        for at, one in enumerate(self.planned):
            number = self._numbers[one.candidate.hardware.name]
            expected, hoped = (float(one.measured or one.cycles * np.exp(waits[number])) for waits in guessed)
            self.planned[at] = replace(one, expected=expected, hoped=hoped)

    def _rate(self, one: Planned) -> float:
        """Images a second, as far as may be hoped where a run will say; else as far as is known."""
        return self._budget.rate(one.candidate, one.hoped) if self._runs else one.images_a_second(self._budget)


def _one_hot(places: Sequence[tuple[Hashable, ...]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[candidate, column]: each value along each axis has a column, which is 1 for the candidates that have it.

    And of each column the spread of its factor.
    """
    columns, spread = list[NDArray[np.float64]](), list[float]()
    for axis in zip(*places, strict=True):
        numbers = {value: number for number, value in enumerate(dict.fromkeys(axis))}
        spread += [SPREAD_OF_DRAFTS if columns else SPREAD_OF_FIRST] * len(numbers)
        columns.append(np.eye(len(numbers))[[numbers[value] for value in axis]])
    return np.concatenate(columns, axis=1), np.array(spread)


def _hwcs_a_bank(one: Candidate) -> float:
    cluster = one.hardware.cluster
    return 0.0 if cluster is None else cluster.hwcs / cluster.banks


def _size(one: Planned) -> float:
    return one.candidate.size


def _worth(one: Planned) -> float:
    """What having been run makes of a rate."""
    return 1.0 if one.measured is None else 1 + WORTH
