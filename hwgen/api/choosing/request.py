"""``hwgen choose``: the cluster, or the HWC alone, that fits a network, or layers, and a budget."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any

from hwgen.api.arguments import claim_folder
from hwgen.api.choosing.cells import CellMap, MadeInCells, made_in_cells, measured_map, with_cells
from hwgen.api.choosing.clock import Clock
from hwgen.api.choosing.front import Front, Point
from hwgen.api.choosing.pages import area_unit, asked_lines, bound_cloud, columns_in, plan_rows
from hwgen.api.choosing.selection import PLAN_IN_DRAFTS, Budget, Planned, Selection
from hwgen.api.choosing.space import Candidate, Space
from hwgen.api.choosing.synthesis import Synthesised, synthesised
from hwgen.api.choosing.workload import ChosenFor, chosen_for
from hwgen.api.networks import NetworkLike
from hwgen.api.progress import note, remark
from hwgen.api.results import Answer, Figure
from hwgen.api.session import call
from hwgen.api.synthesis import Liberty, cells_of_files
from hwgen.arch.boards import BOARDS
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError, dump_yaml, json_text, sealed, write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.lower.network.forecast import NodeForecast
from hwgen.tools.cache import digest_of
from hwgen.tools.kept import sealed_document
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import as_they_come

__all__ = ["BOARD_NAMES", "Choice", "ChooseRequest", "budget_of", "choose", "planned_on"]

BOARD_NAMES = tuple(BOARDS)
"""Boards whose FPGA may be the budget."""
PLANS = 11
"""Number of the planner; plans that another number kept are not used again."""
KEPT_KEYS = ("cycles", "bytes", "energy", "host", "measured")
MINUTES = 5.0
MOST_PLANS = 200
PART_OF_PLANS = 0.5
"""The part of the time that is for plans, while something may still be drafted."""
RUNS = 0.5
"""The part of the time that is kept for a run, at most: what takes longer is not waited for."""
ENDING_SECONDS = 2.0
"""What passes, at most, until drafts and plans that are under way have been ended for a run."""
INTERRUPTED = "interrupted"
"""How `stopped` begins after Ctrl-C."""
CHOSEN, FRONT, KEPT, DOCUMENT, PAGE = "chosen.yaml", "front", "planned", "choice.json", "choice.html"
"""What is in the folder: the hardware, that of the front, plans that are kept, the document, the page."""


@dataclass(frozen=True, repr=False, eq=False)
class Choice(Answer):
    """What is chosen for a network or for layers, and what else was planned.

    Members
    -------
    work : what it is chosen for.
    budget : what was asked for.
    chosen : the chosen one; None where nothing that was planned does what is asked.
    nearest : the one of the most images a second; where all take more energy than asked, the one of the least.
    least : those that no other one undercuts in area and in time, the smallest first.
    plans : what was planned.
    cloud : area and milliseconds of an image, by the bound, of all there are.
    candidates, drafted, refused : how many there are, how many were drafted, how many do not run the network.
    in_question : how many that were not planned could be better still by their bounds.
    folder : where the files are; None: nowhere.
    stopped : what was left undone, and why: the time was over, or it was interrupted; None: nothing.
    synthesised : the chosen one after synthesis; None where that was not asked for.
    in_cells : the chosen one mapped to the cells of a library; None without one.
    """

    work: ChosenFor
    budget: Budget
    chosen: Planned | None
    nearest: Planned
    least: tuple[Planned, ...]
    plans: tuple[Planned, ...]
    cloud: tuple[tuple[float, float], ...]
    candidates: int
    drafted: int
    refused: int
    in_question: int
    folder: Path | None
    stopped: str | None = None
    synthesised: Synthesised | None = None
    in_cells: MadeInCells | None = None

    @property
    def network(self) -> str:
        """What it is chosen for is called."""
        return self.work.name

    @property
    def next(self) -> str | None:
        """The command that takes the chosen one; None where there is none, or no folder."""
        if self.chosen is None or self.folder is None:
            return None
        return self.work.command(quote(str(self.folder / CHOSEN)), self.chosen.candidate.hardware)

    @property
    def interrupted(self) -> bool:
        """Whether it was interrupted: it is the best that was found by then."""
        return (self.stopped or "").startswith(INTERRUPTED)

    @property
    def alone(self) -> bool:
        """Whether they are HWCs alone, whose host moves the data and runs what is no layer with weights."""
        return self.nearest.candidate.hardware.cluster is None

    @property
    def kind(self) -> str:
        """What was chosen from: clusters, or HWCs alone."""
        return _kind(alone=self.alone)

    @property
    def best(self) -> Point | None:
        """The chosen one; None where nothing that was planned does what is asked."""
        return None if self.chosen is None else self._point(self.chosen)

    @property
    def front(self) -> Front:
        """What no other plan undercuts in area and in time, the smallest first."""
        return Front(self.network, tuple(map(self._point, self.least)), self.plot)

    @property
    def shortfalls(self) -> list[str]:
        """What was asked for and, after synthesis, is not so, a line each."""
        if self.chosen is None:
            return []
        if self.in_cells is not None:
            return self.in_cells.shortfalls(self.chosen, self.budget)
        if self.synthesised is None:
            return []
        return self.synthesised.shortfalls(self.chosen, self.budget)

    @property
    def beyond(self) -> str | None:
        """What of the chosen one no FPGA has among those of the boards; None where nothing was asked of an ECP5."""
        budget, largest = self.budget, max(BOARDS.values(), key=lambda board: board.fpga.dsps).fpga
        if self.chosen is None or self.in_cells is not None or self.chosen.candidate.mm2 is not None:
            return None
        area = self.chosen.candidate.area
        told = [
            f"{took:,} {what} where the largest FPGA of the boards has {most:,} ({option} N)"
            for what, option, took, most, asked in (
                ("multipliers", "--dsps", area.dsps, largest.dsps, budget.dsps),
                ("block RAMs", "--brams", area.block_rams, largest.brams, budget.brams),
            )
            if took > most and asked is None
        ]
        return f"It takes {' and '.join(told)}; --clock-of BOARD has both" if told else None

    @property
    def hardware(self) -> Hardware:
        """The hardware that is chosen; raises `InputError` where there is none."""
        if self.chosen is None:
            raise InputError(self.summary())
        return self.chosen.candidate.hardware

    @property
    def planned(self) -> int:
        """How many were planned."""
        return len(self.plans)

    @property
    def effort(self) -> str:
        """How many there are, and of these how many were drafted and planned."""
        drafted = f"{self.drafted} drafted, " if self.drafted else ""
        return f"Of {self.candidates:,} {self.kind} {drafted}{self.planned} planned"

    def plot(self) -> Figure:
        """Time against area: what was planned, the front, and the bounds of all there is."""
        from hwgen.report.choice.page import choice_picture, thinned  # its libraries take a second

        unit = area_unit(self.nearest.candidate)
        return Figure.of(choice_picture(self._plan_rows(), thinned(self.cloud), asked_lines(self.budget), unit))

    def page(self) -> str:
        """The page of the choice: the picture, of each plan its hardware and where its time goes, a table."""
        from hwgen.report.choice.page import choice_page, thinned

        title = f"{self.network}: which hardware"
        made = "" if self.synthesised is None else f" {self.synthesised.summary()}."
        summary = f"{self.summary()}.{made} {self.effort}."
        summary += f" Left undone: {self.stopped}." if self.stopped else ""
        cloud = thinned(self.cloud)
        unit = area_unit(self.nearest.candidate)
        rows, asked = self._plan_rows(), asked_lines(self.budget)
        return choice_page(title, summary, rows, cloud, asked, columns_in(unit), unit)

    def _plan_rows(self) -> list[dict[str, Any]]:
        return plan_rows(self.plans, self.least, self.chosen, self.budget)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen choose --json`` prints."""
        return {
            "network": self.network,
            "asked": self.budget.document(),
            "alone": self.alone,
            "best": None if self.chosen is None else self._point(self.chosen).to_dict(),
            "nearest": self.nearest.candidate.hardware.name,
            "limit": self.limit,
            "stopped": self.stopped,
            "candidates": self.candidates,
            "drafted": self.drafted,
            "tried": self.planned + self.refused,
            "refused": self.refused,
            "in_question": self.in_question,
            "confirmed": self._confirmed(),
            "synthesised": None if self.synthesised is None else self.synthesised.document(),
            **({} if self.in_cells is None else {"in_cells": self.in_cells.document()}),
            "shortfalls": self.shortfalls,
            "front": self.rows(),
        }

    def rows(self) -> list[dict[str, object]]:
        """One row for each hardware of the front, and the chosen one if it is not there."""
        shown = list(self.least)
        if self.chosen is not None and self.chosen not in shown:
            shown.append(self.chosen)
        return [self._point(one).to_dict() for one in sorted(shown, key=lambda one: one.candidate.size)]

    @property
    def limit(self) -> str | None:
        """Why what is asked cannot be had; None where it can."""
        if self.chosen is not None:
            return None
        if self.budget.energy is not None and not self.budget.saves(self.nearest):
            least = self.nearest.energy / 1e6
            return f"--energy: {self.budget.energy:g} uJ of an image; the least that was found is {least:,.1f}"
        if self.budget.fps is None:
            return None
        rate = self.nearest.images_a_second(self.budget)
        text = f"--fps: {self.budget.fps:g} images a second; the fastest that was found makes {rate:,.1f}"
        return text if self.in_question else f"{text}, and by their bounds no other one makes that many"

    def _confirmed(self) -> dict[str, object] | None:
        """What was not predicted of the chosen one, or estimated, but measured: a run that fails chooses nothing."""
        if self.chosen is None or (self.chosen.measured is None and self.synthesised is None):
            return None
        ran, made = self.chosen.measured is not None, self.synthesised
        return {
            "cycles": self.chosen.measured,
            "luts": None if made is None else made.area.lut4_equivalents,
            "clock_mhz": None if made is None else made.mhz,
            "equal": True if ran else None,
            "exact": True if ran else None,
        }

    def _point(self, one: Planned) -> Point:
        file = CHOSEN if one is self.chosen else f"{FRONT}/{one.candidate.hardware.name}.yaml"
        return Point(one, self.budget, None if self.folder is None else self.folder / file)

    def summary(self) -> str:
        """The hardware, and what it makes; or what comes the nearest."""
        one = self.chosen or self.nearest
        rate = f"{one.images_a_second(self.budget):,.1f} images a second"
        rate += "" if self.budget.energy is None else f", {one.energy / 1e6:,.1f} uJ each,"
        made = (
            f"{one.candidate.hardware.name}: {rate} at {self.budget.clock(one.candidate):.3g} MHz, "
            f"{one.candidate.area_text} (estimated)"
        )
        made += f"; a host moves the data and runs the other {one.host} nodes" if self.alone else ""
        return f"Network {self.network}: {'' if self.chosen else 'nothing does what is asked; the nearest is '}{made}"


@dataclass(frozen=True, kw_only=True)
class ChooseRequest:
    """A quantised network or layers, a budget, the folder that gets the files, minutes that it takes at most.

    No draft, plan or run is begun that will not end in this time, as those before it say, but the first draft, and
    the first plan.
    ``dram`` : a hardware file, or a built-in name, whose cluster has the DRAM of all; None: it answers at once.
    ``confirm`` : run the network on what is the best by its plan, in the RTL, until that has been run. ``synth`` :
    synthesise what is chosen. ``liberty`` : area in the cells of this library; ``confirm`` then maps what is chosen
    to it, too. ``partial`` : leave out layers that no schedule can be made for. ``alone`` : of HWCs alone, which is
    what is looked at, too, where no cluster fits.
    """

    network: NetworkLike
    budget: Budget
    output: Path | None = None
    minutes: float = MINUTES
    confirm: bool = True
    synth: bool = False
    dram: str | None = None
    liberty: Liberty | None = None
    partial: bool = False
    alone: bool = False
    jobs: int | None = None

    @call
    def answer(self) -> Choice:
        """Plan the network on what is hoped to be the best until nothing is, or the time is over."""
        clock = Clock(self.minutes)
        self._check()
        library = None if self.liberty is None else measured_map(cells_of_files(self.liberty))
        dram = _dram_of(self.dram)
        claim_folder(self.output)
        work = chosen_for(self.network, partial=self.partial)
        note(f"reading {work.given}")
        if library is not None:
            note("areas of all that there is in cells of the library")

        def with_areas(some: Iterable[Candidate]) -> list[Candidate]:
            return list(some) if library is None else with_cells(some, library)

        space, found = self._found(Space(work.bound(), dram, work.scaled, work.depthwise), work, with_areas)
        allowed = [one for one in found if self.budget.allows(one)]
        if library is not None:
            remark(library.summary() + self._clock_of(library))
        selection = Selection(
            allowed,
            self.budget,
            runs=self.confirm,
            drafts=not space.alone,
            near=lambda one: with_areas(space.near(one)),
        )
        if not selection.possible:
            few = f"by their bounds no {_kind(alone=space.alone, number=1)} makes that many"
            remark(f"--fps: {self.budget.fps:g} images a second: {few}; the fastest is looked for")
        note(f"planning {work.name} on {_kind(alone=space.alone)}, the most promising first")
        with clock.told():
            stopped = self._chosen(selection, clock, work)
        best, nearest = selection.settled, selection.nearest
        if nearest is None:
            reasons = "; ".join(list(dict.fromkeys(selection.refused.values()))[:3])
            raise InputError(f"{work.given}: nothing that was tried runs it: {reasons}")
        choice = Choice(
            work, self.budget, best, nearest, tuple(selection.front), tuple(selection.planned),
            tuple(bound_cloud(found, self.budget)), len(found) + len(selection) - len(allowed),
            len(selection.drafts), len(selection.refused), selection.in_question, self.output, stopped,
        )  # fmt: skip
        note(f"writing what was found{'' if self.output is None else f' to {self.output}'}")
        self._write(choice)
        if self.synth and best is not None:
            made = synthesised(best.candidate.hardware, best.candidate.area)
            choice = replace(choice, synthesised=made)
            self._write(choice)
        if self.confirm and library is not None and best is not None:
            choice = replace(choice, in_cells=made_in_cells(best.candidate, library))
            self._write(choice)
        return choice

    def _found(
        self, clusters: Space, work: ChosenFor, with_areas: Callable[[Iterable[Candidate]], list[Candidate]]
    ) -> tuple[Space, list[Candidate]]:
        """The space to choose from, and its grid: HWCs alone where that is asked for, or no cluster fits."""
        told = ""
        for space in (clusters, replace(clusters, alone=True)):
            if self.alone and not space.alone:
                continue
            found = with_areas(space.grid())
            if any(map(self.budget.allows, found)):
                if told:
                    remark(f"{told}: HWCs alone, whose host moves the data and runs what is no layer with weights")
                return space, found
            limits = f"no {'HWC' if space.alone else 'cluster'} fits; {_what_limits(found, self.budget)}"
            told += f"; {limits}" if told else limits
            if self.dram is not None:  # only clusters have one
                break
        raise InputError(f"{work.given}: {told}")

    def _clock_of(self, library: CellMap) -> str:
        """What is said of the clock."""
        if self.budget.mhz is not None:
            return ""
        told = "the library has no delays, and the clock is that of an ECP5"
        return f"; {told if library.mhz is None else f'{library.mhz:g} MHz, of logic without wires; see --mhz'}"

    def _check(self) -> None:
        asked = {"--fps": self.budget.fps, "--mhz": self.budget.mhz, "--minutes": self.minutes}
        asked |= {"--luts": self.budget.luts, "--dsps": self.budget.dsps, "--brams": self.budget.brams}
        asked |= {"--energy": self.budget.energy, "--mm2": self.budget.mm2}
        for option, value in asked.items():
            if value is not None and not 0 < value < inf:
                raise InputError(f"{option}: expected a number above 0, got {value:g}")
        if self.alone and self.dram is not None:
            raise InputError("--dram: expected without --alone: only clusters have a DRAM")
        if self.liberty is None and self.budget.mm2 is not None:
            raise InputError("--mm2: expected with --liberty: the cells that it is of")
        if self.liberty is not None and (self.synth or self.budget.board is not None):
            option = "--synth" if self.synth else "--clock-of"
            raise InputError(f"{option}: expected without --liberty: it is of an ECP5")

    def _chosen(self, selection: Selection, clock: Clock, work: ChosenFor) -> str | None:
        """Plan what is hoped to be the best and run what is, until the best has been run or the time is over.

        Returns what was left undone, and why. What is planned is kept as it comes, in ``output``.
        """
        try:
            while True:
                left = self._planned(selection, clock, work)
                best = selection.best
                if not self.confirm or best is None or best.measured is not None:
                    return left or None
                if not self._confirmed_in_time(selection, best, clock, work):
                    return self._without_run(selection, left or f"--minutes {self.minutes:g} were over")
        except KeyboardInterrupt:
            if not selection.planned:
                raise
            return self._without_run(selection, INTERRUPTED)

    def _without_run(self, selection: Selection, left: str) -> str:
        """What was left undone, with what it means for the best."""
        best = selection.settled
        if best is None or not self.confirm or best.measured is not None:
            return left
        return f"{left}; {best.candidate.hardware.name} was not run in the RTL"

    def _planned(self, selection: Selection, clock: Clock, work: ChosenFor) -> str | None:
        """Draft and plan until nothing is hoped to be better. Returns why it ended before."""
        left: str | None = None
        under_way: dict[str, Candidate] = {}

        def draw() -> tuple[Any, ...] | None:
            nonlocal left
            while True:
                drafts = self._may_draft(selection, clock)
                one = selection.next(drafts=drafts, plans=not drafts or clock.part_of_plans <= PART_OF_PLANS)
                if one is None:
                    left = None if drafts or not selection.goes_on else self._over(selection)
                    return None
                draft = not selection.is_drafted(one)
                kept = self._kept(work, one, draft=draft)
                left = self._why_no_more(selection, clock, draft=draft) if kept is None else None
                if left is not None:
                    selection.put_back(one)
                    return None
                if kept is None:
                    under_way[one.hardware.name] = one
                    clock.begins(one.hardware.name, draft=draft)
                    return work, one, draft
                self._take_in(selection, one, kept)

        def seconds() -> float | None:
            return max(0.0, clock.left - self._kept_for_a_run(selection, clock)) if selection.planned else None

        for (_, one, draft), made in as_they_come(worked_out, draw, self.jobs or processors(), seconds):
            under_way.pop(one.hardware.name)
            clock.ended(one.hardware.name)
            self._keep(work, one, made, draft=draft)
            self._take_in(selection, one, made)
        for one in under_way.values():
            clock.dropped(one.hardware.name)
            selection.put_back(one)
        return self._over(selection) if under_way else left

    def _may_draft(self, selection: Selection, clock: Clock) -> bool:
        """Whether a draft leaves the time for a plan and a run after it, or is the first."""
        if not (selection.drafts or selection.planned or clock.under_way):
            return True
        a_plan = clock.of_a_plan or PLAN_IN_DRAFTS * clock.of_a_quick_draft
        return clock.has(clock.of_a_draft + a_plan + self._kept_for_a_run(selection, clock))

    def _kept_for_a_run(self, selection: Selection, clock: Clock) -> float:
        """Seconds that are kept for a run of the best, where it is waited for."""
        best = selection.best
        if not self.confirm or best is None or best.measured is not None:
            return 0.0
        run = clock.of_a_run(best.cycles)
        return run + ENDING_SECONDS if run <= RUNS * clock.seconds else 0.0

    def _why_no_more(self, selection: Selection, clock: Clock, *, draft: bool) -> str | None:
        """Why no further draft, or plan, is begun; None: one is."""
        done = len(selection.planned) + len(selection.refused)
        if clock.under_way + done == 0:
            return None
        if not draft and clock.under_way + done >= MOST_PLANS:
            return f"{MOST_PLANS} were planned"
        takes = clock.of_a_draft if draft else clock.of_a_plan
        if clock.has(takes + self._kept_for_a_run(selection, clock)):
            return None
        return self._over(selection)

    def _over(self, selection: Selection) -> str:
        """What is left undone where the time is over."""
        done = len(selection.planned) + len(selection.refused)
        drafts = f"{len(selection.drafts)} drafts and " if selection.drafts else ""
        return f"--minutes {self.minutes:g} were over after {drafts}{done} plans"

    def _take_in(self, selection: Selection, one: Candidate, made: Planned | float | str) -> None:
        """Take in a draft, a plan or why there is none."""
        if isinstance(made, Planned) or selection.is_drafted(one):
            assert not isinstance(made, float)
            self._add(selection, one, made)
        else:
            selection.draft(one, made)

    def _add(self, selection: Selection, one: Candidate, made: Planned | str) -> None:
        """Take in a plan; write down what is the best by now."""
        before = selection.settled
        selection.add(one, made)
        best = selection.settled
        told = best or selection.nearest
        if told is not None and told.candidate is not (before and before.candidate):
            rate, area = told.images_a_second(self.budget), told.candidate.area_text
            note(f"planning; {told.candidate.hardware.name}: {rate:,.1f} images a second, {area}")
        if best is not None and self.output is not None:
            write_atomically(self.output / CHOSEN, dump_yaml(best.candidate.hardware.as_data()))

    def _confirmed_in_time(self, selection: Selection, best: Planned, clock: Clock, work: ChosenFor) -> bool:
        """Whether there was time to run it in the RTL."""
        name = best.candidate.hardware.name
        expected = clock.of_a_run(best.cycles)
        if not clock.has(expected):
            return False
        note(f"running {work.name} on {name}, about {expected:.0f} s")
        with clock.running(best.cycles) as over:
            try:
                cycles = work.run_on(best.candidate.hardware)
            except Exception:
                if over.is_set():
                    return False
                raise
        selection.confirm(best, cycles)
        self._keep(work, best.candidate, replace(best, measured=cycles))
        return True

    # --- files ---

    def _kept(self, work: ChosenFor, one: Candidate, *, draft: bool) -> Planned | float | str | None:
        """The draft, or the plan, that an earlier call made; None: none did."""
        if self.output is None:
            return None
        document = sealed_document(self._file(work, one, draft=draft))
        if document is None:
            return None
        if "refused" in document:
            return str(document["refused"])
        if draft:
            return float(document["cycles"])
        nodes = tuple(NodeForecast.from_dict(node) for node in document["nodes"])
        return Planned(one, nodes=nodes, **{key: document[key] for key in KEPT_KEYS})

    def _keep(self, work: ChosenFor, one: Candidate, made: Planned | float | str, *, draft: bool = False) -> None:
        if self.output is None:
            return
        content: dict[str, Any] = {"hardware": one.hardware.name}
        if isinstance(made, str):
            content["refused"] = made
        elif isinstance(made, float):
            content["cycles"] = made
        else:
            content |= {key: getattr(made, key) for key in KEPT_KEYS}
            content["nodes"] = [node.to_dict() for node in made.nodes]
        write_atomically(self._file(work, one, draft=draft), sealed(content))

    def _file(self, work: ChosenFor, one: Candidate, *, draft: bool) -> Path:
        assert self.output is not None
        kind = ["draft"] if draft else []
        return self.output / KEPT / f"{digest_of([PLANS, work.key, one.hardware.as_data(), *kind])}.json"

    def _write(self, choice: Choice) -> None:
        if self.output is None:
            return
        for old in (self.output / FRONT).glob("*.yaml"):
            old.unlink()
        (self.output / CHOSEN).unlink(missing_ok=True)
        for one in choice.front:
            hardware = one.hardware
            write_atomically(self.output / FRONT / f"{hardware.name}.yaml", dump_yaml(hardware.as_data()))
        if choice.best is not None:
            write_atomically(self.output / CHOSEN, dump_yaml(choice.best.hardware.as_data()))
        write_atomically(self.output / DOCUMENT, json_text(choice.document()))
        write_atomically(self.output / PAGE, choice.page())
        for suffix in ("svg", "png"):
            choice.plot().save((self.output / PAGE).with_suffix(f".{suffix}"))


def worked_out(work: ChosenFor, one: Candidate, draft: bool) -> Planned | float | str:
    """The cycles of a draft, or the plan, of a network or of layers on a candidate; or why it does not run it."""
    return work.drafted_on(one) if draft else planned_on(work, one)


def planned_on(work: ChosenFor, one: Candidate) -> Planned | str:
    """The plan of a network, or of layers, on a candidate; or why it does not run it."""
    return work.planned_on(one)


def _dram_of(name: str | None) -> dict[str, object] | None:
    """The DRAM of the cluster in a hardware file, or built-in, as the key ``dram``; None: it answers at once."""
    if name is None:
        return None
    cluster = load_hardware(named_file("hardware", name)).cluster
    if cluster is None or cluster.dram is None:
        raise InputError(f"--dram: expected the hardware of a cluster with a DRAM that takes its time, got {name}")
    return cluster.dram.model_dump(mode="json", exclude_none=True)


def _kind(*, alone: bool, number: int = 2) -> str:
    one, more = ("HWC alone", "HWCs alone") if alone else ("cluster", "clusters")
    return one if number == 1 else more


def _what_limits(found: list[Candidate], budget: Budget) -> str:
    """The options that leave nothing, with the least that would leave something."""

    def told() -> Iterator[str]:
        if budget.luts is not None:
            least = min(found, key=lambda one: one.area.lut4)
            yield f"--luts: the smallest takes {least.area.lut4:,} LUT4 (estimated), {least.hardware.name}"
        if budget.mm2 is not None:
            small = min(found, key=lambda one: one.size)
            yield f"--mm2: the smallest takes {small.size:.3f} mm2 (estimated), {small.hardware.name}"
        if budget.dsps is not None:
            yield f"--dsps: at least {min(one.area.dsps for one in found)}"
        if budget.brams is not None:
            yield f"--brams: at least {min(one.area.block_rams for one in found)}"
        if budget.mhz is not None:
            yield f"--mhz: at most {max(one.area.mhz or 0.0 for one in found):.3g} (estimated)"

    return ", ".join(told())


def budget_of(
    *,
    fps: float | None = None,
    mhz: float | None = None,
    luts: int | None = None,
    dsps: int | None = None,
    brams: int | None = None,
    energy: float | None = None,
    mm2: float | None = None,
    board: str | None = None,
) -> Budget:
    """What is asked for; a board has what its FPGA has where nothing else is given. Raises `InputError`."""
    if board is None:
        return Budget(fps, mhz, luts, dsps, brams, energy, mm2)
    if board not in BOARDS:
        raise InputError(f"--clock-of: expected one of {', '.join(BOARDS)}, got {board}")
    if mhz is not None:
        raise InputError("--clock-of: expected without --mhz: the clock is what a cluster is estimated to have")
    fpga = BOARDS[board].fpga
    return Budget(
        fps,
        None,
        fpga.luts if luts is None else luts,
        fpga.dsps if dsps is None else dsps,
        fpga.brams if brams is None else brams,
        energy,
        mm2,
        board,
    )


def choose(
    network: NetworkLike,
    *,
    fps: float | None = None,
    mhz: float | None = None,
    luts: int | None = None,
    dsps: int | None = None,
    brams: int | None = None,
    energy: float | None = None,
    dram: str | PathLike[str] | None = None,
    output: str | PathLike[str] | None = None,
    minutes: float = MINUTES,
    confirm: bool = True,
    synth: bool = False,
    partial: bool = False,
    mm2: float | None = None,
    liberty: Liberty | None = None,
    clock_of: str | None = None,
    alone: bool = False,
) -> Choice:
    """Choose a cluster for a quantised network or for layers: the fewest LUTs that reach ``fps``, else the fastest.

    Where no cluster fits it is one HWC alone, whose host moves the data and runs what is no layer with weights.

    Cycles of the chosen one are those of a run in the RTL, its outputs and counts checked, unless the time was over
    (``stopped``); area and clock, of an ECP5, are estimates. Maps stay in the shared memory where they fit
    (``resident``).

    Parameters
    ----------
    network : a quantised model by its file, or what `load` made of it, which is planned as `run` has it with
        ``resident``; or what else `load` takes, whose layers are scheduled one by one as `schedule` does, each from
        the DRAM and back.
    fps : images a second, at the least.
    mhz : the clock; else of each cluster that which it is estimated to have.
    luts, dsps, brams : LUT4-equivalents, multipliers and block RAMs that it may take, at most.
    energy : uJ of one image, at most, as `predict` has it.
    dram : hardware, a file or built-in, whose cluster has the DRAM of all; else it answers at once.
    output : a folder for the files; what is planned is kept there, and a later call goes on with it.
    minutes : what it takes at most: what would end later is not begun, but for the first plan.
    confirm : run the network on what is the best by its plan, in the RTL, until that has been run or the time is
        over.
    synth : synthesise what is chosen, which takes minutes, for its area and clock beside the estimates.
    partial : of layers: leave out those that no schedule can be made for.
    mm2 : area that it may take, at most, in the cells of ``liberty``, a Liberty file or several: the estimate is
        measured once for each library, in minutes; ``confirm`` maps what is chosen to it. The shared memory counts
        where the library has macros for it.
    clock_of : a board with an ECP5, such as ``ulx3s_85f``: its LUT4, multipliers and block RAMs are the budget where
        none are given, and the clock is what each cluster is estimated to have there.
    alone : one HWC alone, also where a cluster fits.

    Raises `InputError` where nothing fits.
    """
    budget = budget_of(fps=fps, mhz=mhz, luts=luts, dsps=dsps, brams=brams, energy=energy, mm2=mm2, board=clock_of)
    folder = None if output is None else Path(output)
    return ChooseRequest(
        network=network, budget=budget, output=folder, minutes=minutes, confirm=confirm, synth=synth,
        dram=None if dram is None else str(dram), partial=partial, liberty=liberty, alone=alone,
    ).answer()  # fmt: skip
