"""What is planned next: against all candidates of spaces whose plans are known."""

from dataclasses import replace
from itertools import product
from math import prod
from random import Random

import pytest

from hwgen.api.choosing import selection
from hwgen.api.choosing.selection import Budget, Planned, Selection
from hwgen.api.choosing.space import Candidate
from hwgen.ir.hardware import Hardware
from hwgen.model.area.estimate import EstimatedArea

AXES = (5, 3, 4, 4, 2, 2)


def space(rng: Random) -> list[Planned]:
    """All candidates with what their plans would take: the bound, and more where there is less of something."""
    made, prices = [], Random(f"energy {rng.getstate()[1][:3]}")
    pj = [[prices.uniform(1, 1.4) for _ in range(size)] for size in AXES]
    more = [sorted((rng.uniform(1, 1.5) for _ in range(size)), reverse=True) for size in AXES]
    luts = [sorted(rng.uniform(2_000, 20_000) for _ in range(size)) for size in AXES]
    faster = [sorted(rng.uniform(1, 4) for _ in range(size)) for size in AXES[:2]]
    for number, place in enumerate(product(*(range(size) for size in AXES))):
        bound = round(1e6 / prod(axis[at] for axis, at in zip(faster, place, strict=False)))
        area = EstimatedArea(round(sum(axis[at] for axis, at in zip(luts, place, strict=True))), 0, place[0], 0, 90.0)
        one = Candidate(Hardware(name=f"number{number}"), area, bound, place)
        slower = prod(axis[at] for axis, at in zip(more, place, strict=True)) * rng.uniform(1, 1.02)
        energy = 1e8 * prod(axis[at] for axis, at in zip(pj, place, strict=True)) * prices.uniform(1, 1.02)
        made.append(Planned(one, round(bound * slower), 0, energy, 0))
    return made


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are guessed to take what their plans do."""
    monkeypatch.setattr(selection, "WAITS", 0.0)
    monkeypatch.setattr(selection, "WAITS_OF_A_BANK", 0.0)


def searched(known: list[Planned], budget: Budget, *, off: float | None = None) -> Selection:
    """``off`` : drafts miss the plans by this part of them at most, those of one place along the last axis by 0.04
    besides; None: there are no drafts."""
    allowed = [one.candidate for one in known if budget.allows(one.candidate)]
    choice = Selection(allowed, budget, drafts=off is not None)
    plans, rng = {one.candidate.hardware.name: one for one in known}, Random(str(off))
    while (one := choice.next()) is not None:
        plan = plans[one.hardware.name]
        if choice.is_drafted(one):
            choice.add(one, plan)
        else:
            assert off is not None
            choice.draft(one, plan.cycles * rng.uniform(1 - off, 1 + off) * (1.04 if one.place[-1] else 1.0))
    return choice


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("off", [None, 0.03])
@pytest.mark.parametrize("seed", range(12))
def test_the_fastest_within_a_budget(seed: int, off: float | None) -> None:
    known = space(Random(seed))
    budget = Budget(luts=Random(f"luts {seed}").randint(55_000, 75_000), mhz=80)
    found = searched(known, budget, off=off)
    allowed = [one for one in known if budget.allows(one.candidate)]
    best = max(one.images_a_second(budget) for one in allowed)
    assert found.best is found.fastest
    assert found.best is not None
    assert found.best.images_a_second(budget) >= 0.98 * best
    assert len(found.planned) <= (max(24, len(allowed) / 3) if off is None else 24)
    assert len(found.drafts) <= max(24, len(allowed) / 3)


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("off", [None, 0.03])
@pytest.mark.parametrize("seed", range(12))
def test_the_smallest_that_is_fast_enough(seed: int, off: float | None) -> None:
    known = space(Random(seed))
    rates = sorted(one.images_a_second(Budget()) for one in known)
    budget = Budget(fps=Random(f"fps {seed}").choice(rates[len(rates) // 3 : -20]))
    found = searched(known, budget, off=off).best
    enough = [one for one in known if one.images_a_second(budget) >= (budget.fps or 0)]
    assert found is not None
    assert found.candidate.hardware.name in {one.candidate.hardware.name for one in enough}
    assert found.candidate.area.lut4 <= 1.02 * min(one.candidate.area.lut4 for one in enough)


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("fps", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_energy_is_a_limit(seed: int, fps: bool) -> None:
    known = space(Random(seed))
    by_energy = sorted(known, key=lambda one: one.energy)
    limit = by_energy[len(known) // 4].energy / 1e6
    rates = sorted(one.images_a_second(Budget()) for one in by_energy[: len(known) // 4])
    budget = Budget(fps=rates[len(rates) // 2] if fps else None, energy=limit)
    found = searched(known, budget)
    saving = [one for one in known if budget.saves(one) and one.images_a_second(budget) >= (budget.fps or 0)]
    assert found.best is not None
    assert found.best.energy <= 1e6 * limit
    assert len(found.planned) <= 24, "up to 50 where the energy of the next is not guessed"
    if fps:
        assert found.best.candidate.area.lut4 <= 1.03 * min(one.candidate.area.lut4 for one in saving)
    else:
        assert found.best.images_a_second(budget) >= 0.97 * max(one.images_a_second(budget) for one in saving)


@pytest.mark.usefixtures("no_waits")
def test_where_all_take_more_energy_the_least_is_named() -> None:
    known = space(Random(3))
    found = searched(known, Budget(energy=min(one.energy for one in known) / 2e6))
    assert found.best is None
    assert found.nearest is not None
    assert found.nearest.energy == min(one.energy for one in found.planned)


WAITS = (1.6, 1.25, 1.08, 1.04)
"""What runs take beyond plans by the place along one axis, as that of the banks."""


@pytest.mark.parametrize("fps", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_chosen_has_been_run_and_is_the_best_of_runs(seed: int, fps: bool) -> None:
    rng = Random(seed)
    known = space(rng)
    runs = {
        one.candidate.hardware.name: round(one.cycles * WAITS[one.candidate.place[2]] * rng.uniform(1, 1.01))
        for one in known
    }
    rates = sorted(90e6 / cycles for cycles in runs.values())
    budget = Budget(fps=rng.choice(rates[len(rates) // 3 : -20]) if fps else None)
    plans = {one.candidate.hardware.name: one for one in known}
    choice = Selection([one.candidate for one in known], budget)
    while True:
        while (one := choice.next()) is not None:
            choice.add(one, plans[one.hardware.name])
        best = choice.best
        assert best is not None
        if best.measured is not None:
            break
        choice.confirm(best, runs[best.candidate.hardware.name])
    assert best.measured == runs[best.candidate.hardware.name]
    assert len([one for one in choice.planned if one.measured is not None]) <= 12
    if budget.fps is None:
        assert best.measured <= 1.03 * min(runs.values())
    else:
        enough = [one for one in known if 90e6 / runs[one.candidate.hardware.name] >= budget.fps]
        assert best.images_a_second(budget) >= budget.fps
        assert best.candidate.area.lut4 <= 1.05 * min(one.candidate.area.lut4 for one in enough)


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize(("took", "best", "settled"), [(1.004, "run", "run"), (1.03, "other", "run")])
@pytest.mark.parametrize("fps", [False, True])
def test_what_was_run_gives_way_only_to_what_may_be_better_by_what_a_run_is_worth(
    took: float, best: str, settled: str, fps: bool
) -> None:
    """Two that differ in one thing take as many cycles by their plans, and have about the same area."""
    area, place = EstimatedArea(20_000, 0, 0, 0, 90.0), (0, 0, 0, 0)
    run = Planned(Candidate(Hardware(name="run"), area, 900_000, place), 1_000_000, 0, 1e8, 0)
    smaller = EstimatedArea(19_900, 0, 0, 0, 90.0)
    other = Planned(Candidate(Hardware(name="other"), smaller, 900_000, (1, *place[1:])), 1_000_000, 0, 1e8, 0)
    budget = Budget(fps=90e6 / 1_029_000 if fps else None)
    choice = Selection([run.candidate, other.candidate], budget)
    for one in (run, other):
        choice.add(one.candidate, one)
    choice.confirm(choice.planned[0], round(took * 1_000_000))
    assert choice.best is not None
    assert choice.best.candidate.hardware.name == best
    assert choice.settled is not None
    assert choice.settled.candidate.hardware.name == (settled if not fps else best)
    choice.planned[1] = replace(choice.planned[1], expected=choice.planned[1].expected / 2)
    assert choice.settled.candidate.hardware.name == (settled if not fps else best)  # what was run is known


@pytest.mark.usefixtures("no_waits")
def test_what_an_earlier_call_ran_does_not_bind_one_without_runs() -> None:
    known = sorted(space(Random(1)), key=lambda one: one.cycles)
    quick, slow = known[0], replace(known[-1], measured=known[-1].cycles)
    for runs, answer in ((True, slow), (False, quick)):
        choice = Selection([quick.candidate, slow.candidate], Budget(), runs=runs)
        for one in (slow, quick):
            choice.add(one.candidate, one)
        assert choice.settled is not None
        assert choice.settled.candidate is answer.candidate


def test_without_runs_what_is_expected_is_what_is_asked() -> None:
    """A run is hoped to take less than is expected: that is no answer where there is none."""
    one = space(Random(1))[0]
    rate = Budget().rate(one.candidate, one.cycles)
    for runs, found in ((True, True), (False, False)):
        choice = Selection([one.candidate], Budget(fps=0.999 * rate), runs=runs)
        choice.add(one.candidate, one)
        assert (choice.best is not None) == found
        assert choice.planned[0].hoped < choice.planned[0].expected
        assert choice.planned[0].images_a_second(Budget()) < 0.999 * rate


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("fps", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_memory_that_does_not_help_is_not_taken(seed: int, fps: bool) -> None:
    """Each candidate of a space with five sizes of memory, of which some are enough."""
    rng, memories = Random(seed), (1, 2, 4, 8, 16)
    known: dict[str, Planned] = {}
    for plan in space(rng)[::3]:
        one, enough = plan.candidate, rng.choice(memories)
        for memory in memories:
            hardware = one.hardware.model_copy(update={"name": f"{one.hardware.name}_{memory}"})
            made = replace(one, hardware=hardware, family=one.place, helps=(memory,))
            slower = 1 + 0.3 * (memory < enough)
            known[hardware.name] = replace(plan, candidate=made, cycles=round(slower * plan.cycles))
    rates = sorted(one.images_a_second(Budget()) for one in known.values())
    budget = Budget(fps=rates[len(rates) * 3 // 4] if fps else None)
    choice = Selection([one.candidate for one in known.values()], budget, drafts=True)
    while (one := choice.next(plans=rng.random() < 0.5)) is not None:
        plan = known[one.hardware.name]
        if choice.is_drafted(one):
            choice.add(one, plan)
        else:
            choice.draft(one, float(plan.cycles))
    assert choice.best is not None
    best = choice.best.candidate
    less = [one for one in known.values() if one.candidate.family == best.family and one.candidate.helps < best.helps]
    assert all(one.cycles > choice.best.cycles for one in less)
    families = [one.candidate.family for one in choice.planned]
    assert len(families) == len(set(families))
    assert len(choice.drafts) < len(known) / 2


def test_drafts_come_before_plans_where_they_may() -> None:
    """What is drafted is not planned while something else is hoped to be better than what is expected of it."""
    known = {one.candidate.hardware.name: one for one in space(Random(4))}
    choice = Selection([one.candidate for one in known.values()], Budget(), drafts=True)
    for _ in range(3):
        one = choice.next(plans=False)
        assert one is not None
        assert not choice.is_drafted(one)
        choice.draft(one, float(known[one.hardware.name].cycles))
    one = choice.next(drafts=False)
    assert one is not None
    assert choice.is_drafted(one)


@pytest.mark.usefixtures("no_waits")
def test_what_is_likely_fast_enough_is_looked_for_before_the_smallest() -> None:
    """Bounds are no guesses: where everything takes far more, the first plan is of one that is fast enough, after a
    few drafts; the smallest that might be came first once, and none was fast enough until the very end."""
    drafts, enough = 0, 0
    for seed in range(12):
        known = space(Random(seed))
        plans = {one.candidate.hardware.name: one for one in known}
        rates = sorted(one.images_a_second(Budget()) for one in known)
        budget = Budget(fps=rates[4 * len(rates) // 5])
        choice = Selection([one.candidate for one in known], budget, drafts=True)
        while not choice.planned:
            one = choice.next()
            assert one is not None
            if choice.is_drafted(one):
                choice.add(one, plans[one.hardware.name])
            else:
                choice.draft(one, float(plans[one.hardware.name].cycles))
        drafts += len(choice.drafts)
        enough += choice.planned[0].images_a_second(budget) >= (budget.fps or 0)
    assert enough >= 10
    assert drafts <= 100


def test_what_nothing_reaches_ends_at_the_fastest() -> None:
    known = space(Random(1))
    found = searched(known, Budget(fps=1e9))
    assert found.best is None
    assert found.fastest is not None
    assert found.fastest.cycles <= 1.02 * min(one.cycles for one in known)
    assert found.in_question == 0
    assert not found.possible


def test_what_does_not_run_the_network_and_what_is_like_it_comes_late() -> None:
    known = space(Random(2))
    choice = Selection([one.candidate for one in known], Budget())
    first = choice.next()
    assert first is not None
    choice.add(first, "no room")
    second = choice.next()
    assert second is not None
    changed = [axis for axis, (a, b) in enumerate(zip(first.place, second.place, strict=True)) if a != b]
    assert 0 in changed or len(changed) > 1  # guesses know the least about the first axis
    assert choice.refused == {first.hardware.name: "no room"}
    assert choice.best is None


def test_the_front_has_what_nothing_undercuts() -> None:
    known, budget = space(Random(3)), Budget()
    choice = Selection([one.candidate for one in known], budget)
    for one in known[::7]:
        choice.add(one.candidate, one)
    for one in known[::7]:
        beaten = any(
            other.candidate.area.lut4 <= one.candidate.area.lut4 and other.cycles < one.cycles for other in known[::7]
        )
        assert (one in choice.front) <= (not beaten)
        assert any(
            other.candidate.area.lut4 <= one.candidate.area.lut4 and other.cycles <= one.cycles
            for other in choice.front
        )


def test_a_budget_counts_all_that_it_names() -> None:
    one = Candidate(Hardware(name="one"), EstimatedArea(100, 0, 10, 5, 80.0), 1000, (0,))
    assert Budget(luts=100, dsps=10, brams=5, mhz=80).allows(one)
    for wrong in (Budget(luts=99), Budget(dsps=9), Budget(brams=4), Budget(mhz=81)):
        assert not wrong.allows(one)
    assert Budget().rate(one, 1000) == 80_000
    assert Budget(mhz=40).rate(one, 1000) == 40_000


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("fps", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_it_goes_on_from_the_best_to_what_is_like_it(seed: int, fps: bool) -> None:
    """A fifth of the candidates are known at first; others are found step by step."""
    rng = Random(seed)
    known = {one.candidate.place: one for one in space(rng)}
    grid = [one.candidate for place, one in known.items() if sum(place) % 5 == 0]
    rates = sorted(one.images_a_second(Budget()) for one in known.values())
    budget = Budget(fps=rates[len(rates) * 3 // 4] if fps else None)

    def near(one: Candidate) -> list[Candidate]:
        steps = [tuple(at + by * (axis == number) for number, at in enumerate(one.place)) for axis in range(6)
                 for by in (1, -1)]  # fmt: skip
        return [known[place].candidate for place in steps if place in known]

    alone, beyond = Selection(grid, budget), Selection(grid, budget, near=near)
    for choice in (alone, beyond):
        while (one := choice.next()) is not None:
            choice.add(one, known[one.place])
    assert alone.best is not None
    assert beyond.best is not None
    assert len(alone) == len(grid) < len(beyond)
    if fps:
        assert beyond.best.candidate.size <= alone.best.candidate.size
        enough = [
            one for one in near(beyond.best.candidate) if known[one.place].images_a_second(budget) >= budget.fps
        ]
        assert beyond.best.candidate.size <= min(one.size for one in enough)
    else:
        assert beyond.best.cycles <= alone.best.cycles
        assert beyond.best.cycles <= min(known[one.place].cycles for one in near(beyond.best.candidate))
    assert beyond.best.candidate not in grid or seed == 0


def test_what_the_budget_does_not_allow_is_not_taken_in() -> None:
    first, *others = (one.candidate for one in space(Random(5)))
    budget = Budget(luts=first.area.lut4)
    choice = Selection([first], budget, near=lambda one: [*others, first])
    while (one := choice.next()) is not None:
        assert budget.allows(one)
        choice.add(one, "does not run")
    assert choice.best is None
    assert len(choice) == 1
