"""``hwgen choose``: the cluster that fits a network and a budget."""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

from hwgen.api.arguments import claim_folder
from hwgen.api.choosing.front import Front, Point
from hwgen.api.choosing.pages import COLUMNS, asked_lines, bound_cloud, plan_rows
from hwgen.api.choosing.selection import Budget, Planned, Selection
from hwgen.api.choosing.space import Candidate, candidates
from hwgen.api.choosing.synthesis import Synthesised, synthesised
from hwgen.api.networks import Network, is_model
from hwgen.api.progress import note, steps
from hwgen.api.results import Answer, Difference, Figure
from hwgen.api.running import RunRequest
from hwgen.api.session import call
from hwgen.ir.document import InputError, dump_yaml, json_text, sealed, write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.bound import NetworkBound
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.network.forecast import NodeForecast, forecast_of
from hwgen.lower.network.placement import possible_placement
from hwgen.readers.integers.reader import read_quantised
from hwgen.tools.cache import digest_of
from hwgen.tools.kept import sealed_document
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import as_they_come

__all__ = ["Choice", "ChooseRequest", "choose", "planned_on"]

PLANS = 4
"""Number of the planner; plans that another number kept are not used again."""
KEPT_KEYS = ("cycles", "bytes", "energy", "host", "measured")
MINUTES = 5.0
MOST_PLANS = 200
SEED = 1
"""The seed of the random inputs of runs."""
CHOSEN, FRONT, KEPT, DOCUMENT, PAGE = "chosen.yaml", "front", "planned", "choice.json", "choice.html"
"""What is in the folder: the hardware, that of the front, plans that are kept, the document, the page."""


@dataclass(frozen=True, repr=False, eq=False)
class Choice(Answer):
    """What is chosen for a network, and what else was planned.

    Members
    -------
    model, network : its file, and its name.
    budget : what was asked for.
    chosen : the chosen one; None where nothing that was planned does what is asked.
    nearest : the one of the most images a second.
    least : those that no other one undercuts in LUTs and in time, the smallest first.
    plans : what was planned.
    cloud : LUT4 and milliseconds of an image, by the bound, of all there are.
    candidates, refused : how many there are, how many did not run the network.
    in_question : how many that were not planned could be better still by their bounds.
    folder : where the files are; None: nowhere.
    synthesised : the chosen one after synthesis; None where that was not asked for.
    """

    model: Path
    network: str
    budget: Budget
    chosen: Planned | None
    nearest: Planned
    least: tuple[Planned, ...]
    plans: tuple[Planned, ...]
    cloud: tuple[tuple[int, float], ...]
    candidates: int
    refused: int
    in_question: int
    folder: Path | None
    synthesised: Synthesised | None = None

    @property
    def best(self) -> Point | None:
        """The chosen one; None where nothing that was planned does what is asked."""
        return None if self.chosen is None else self._point(self.chosen)

    @property
    def front(self) -> Front:
        """What no other plan undercuts in LUTs and in time, the smallest first."""
        return Front(self.network, tuple(map(self._point, self.least)), self.plot)

    @property
    def shortfalls(self) -> list[str]:
        """What was asked for and, after synthesis, is not so, a line each."""
        if self.synthesised is None or self.chosen is None:
            return []
        return self.synthesised.shortfalls(self.chosen, self.budget)

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

    def plot(self) -> Figure:
        """Time against area: what was planned, the front, and the bounds of all there is."""
        from hwgen.report.choice.page import choice_picture, thinned  # its libraries take a second

        return Figure.of(choice_picture(self._plan_rows(), thinned(self.cloud), asked_lines(self.budget)))

    def page(self) -> str:
        """The page of the choice: the picture, of each plan its hardware and where its time goes, a table."""
        from hwgen.report.choice.page import choice_page, thinned

        title = f"{self.network}: which hardware"
        made = "" if self.synthesised is None else f" {self.synthesised.summary()}."
        summary = f"{self.summary()}.{made} {self.planned} of {self.candidates:,} clusters planned."
        cloud = thinned(self.cloud)
        return choice_page(title, summary, self._plan_rows(), cloud, asked_lines(self.budget), COLUMNS)

    def _plan_rows(self) -> list[dict[str, Any]]:
        return plan_rows(self.plans, self.least, self.chosen, self.budget)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen choose --json`` prints."""
        return {
            "network": self.network,
            "asked": self.budget.document(),
            "best": None if self.chosen is None else self._point(self.chosen).to_dict(),
            "nearest": self.nearest.candidate.hardware.name,
            "limit": self.limit,
            "candidates": self.candidates,
            "tried": self.planned + self.refused,
            "refused": self.refused,
            "in_question": self.in_question,
            "confirmed": self._confirmed(),
            "synthesised": None if self.synthesised is None else self.synthesised.document(),
            "shortfalls": self.shortfalls,
            "front": self.rows(),
        }

    def rows(self) -> list[dict[str, object]]:
        """One row for each hardware of the front, and the chosen one if it is not there."""
        shown = list(self.least)
        if self.chosen is not None and self.chosen not in shown:
            shown.append(self.chosen)
        return [self._point(one).to_dict() for one in sorted(shown, key=lambda one: one.candidate.area.lut4)]

    @property
    def limit(self) -> str | None:
        """Why what is asked cannot be had; None where it can."""
        if self.chosen is not None or self.budget.fps is None:
            return None
        rate = self.nearest.images_a_second(self.budget)
        return f"--fps: {self.budget.fps:g} images a second; the fastest that was found makes {rate:,.1f}"

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
        area, rate = one.candidate.area, f"{one.images_a_second(self.budget):,.1f} images a second"
        made = (
            f"{one.candidate.hardware.name}: {rate} at {self.budget.clock(one.candidate):.3g} MHz, "
            f"{area.lut4:,} LUT4 (estimated)"
        )
        return f"Network {self.network}: {'' if self.chosen else 'nothing does what is asked; the nearest is '}{made}"


@dataclass(frozen=True, kw_only=True)
class ChooseRequest:
    """A quantised network, a budget, the folder that gets the files, minutes after which no plan is begun.

    ``confirm`` : run the network on what is the best by its plan, in the RTL, until that has been run. ``synth`` :
    synthesise what is chosen.
    """

    model: Path
    budget: Budget
    output: Path | None = None
    minutes: float = MINUTES
    confirm: bool = True
    synth: bool = False
    jobs: int | None = None

    @call
    def answer(self) -> Choice:
        """Plan the network on what is hoped to be the best until nothing is, or the time is over."""
        self._check()
        claim_folder(self.output)
        note(f"reading {self.model}")
        graph = read_quantised(self.model)
        bound = NetworkBound(graph)
        if not bound.macs:
            raise InputError(f"{self.model}: expected a network of which a cluster runs a node with weights")
        found = list(candidates(bound))
        allowed = [one for one in found if self.budget.allows(one)]
        if not allowed:
            raise InputError(f"{self.model}: {_what_limits(found, self.budget)}")
        selection = Selection(allowed, self.budget, runs=self.confirm)
        self._plan(selection)
        best, nearest = selection.best, selection.fastest
        if nearest is None:
            reasons = "; ".join(list(dict.fromkeys(selection.refused.values()))[:3])
            raise InputError(f"{self.model}: no cluster that was tried runs the network: {reasons}")
        choice = Choice(
            self.model, graph.name, self.budget, best, nearest, tuple(selection.front), tuple(selection.planned),
            tuple(bound_cloud(found, self.budget)), len(found), len(selection.refused), selection.in_question,
            self.output,
        )  # fmt: skip
        self._write(choice)
        if self.synth and best is not None:
            made = synthesised(best.candidate.hardware, best.candidate.area)
            choice = replace(choice, synthesised=made)
            self._write(choice)
        return choice

    def _check(self) -> None:
        if not is_model(self.model):
            raise InputError(
                f"{self.model}: expected a quantised model (ONNX, TFLite): layers of a set are not planned as one "
                f"program; hwgen sweep compares hardware for them"
            )
        asked = {"--fps": self.budget.fps, "--mhz": self.budget.mhz, "--minutes": self.minutes}
        asked |= {"--luts": self.budget.luts, "--dsps": self.budget.dsps, "--brams": self.budget.brams}
        for option, value in asked.items():
            if value is not None and not 0 < value < inf:
                raise InputError(f"{option}: expected a number above 0, got {value:g}")

    def _plan(self, selection: Selection) -> None:
        """Plan what is hoped to be the best and run what is, until the best has been run or the time is over."""
        end = time.monotonic() + 60 * self.minutes
        model = hashlib.sha256(self.model.read_bytes()).hexdigest()
        drawn = 0

        def draw() -> tuple[Any, ...] | None:
            nonlocal drawn
            while drawn < MOST_PLANS and (time.monotonic() < end or not drawn):
                one = selection.next()
                if one is None:
                    return None
                drawn += 1
                kept = self._kept(model, one)
                if kept is None:
                    return self.model, one
                selection.add(one, kept)
                step()
            return None

        while True:
            with steps(MOST_PLANS, "planning the network on clusters, at most") as step:
                for (_, one), made in as_they_come(planned_on, draw, self.jobs or processors()):
                    selection.add(one, made)
                    self._keep(model, one, made)
                    step()
            best = selection.best
            if not self.confirm or best is None or best.measured is not None:
                return
            name = best.candidate.hardware.name
            note(f"running the network on {name}")
            run = RunRequest(model=self.model, hardware=best.candidate.hardware, seed=SEED, resident=True).answer()
            if not run.passed:
                raise Difference(f"{name}: hwgen run {self.model} --seed {SEED} --resident fails there")
            selection.confirm(best, run.cycles)
            self._keep(model, best.candidate, replace(best, measured=run.cycles))

    # --- files ---

    def _kept(self, model: str, one: Candidate) -> Planned | str | None:
        if self.output is None:
            return None
        document = sealed_document(self._file(model, one))
        if document is None:
            return None
        if "refused" in document:
            return str(document["refused"])
        nodes = tuple(NodeForecast.from_dict(node) for node in document["nodes"])
        return Planned(one, nodes=nodes, **{key: document[key] for key in KEPT_KEYS})

    def _keep(self, model: str, one: Candidate, made: Planned | str) -> None:
        if self.output is None:
            return
        content: dict[str, Any] = {"hardware": one.hardware.name}
        if isinstance(made, str):
            content["refused"] = made
        else:
            content |= {key: getattr(made, key) for key in KEPT_KEYS}
            content["nodes"] = [node.to_dict() for node in made.nodes]
        write_atomically(self._file(model, one), sealed(content))

    def _file(self, model: str, one: Candidate) -> Path:
        assert self.output is not None
        return self.output / KEPT / f"{digest_of([PLANS, model, one.hardware.as_data()])}.json"

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


@lru_cache(maxsize=1)
def _graph(model: Path) -> Graph:
    return read_quantised(model)


def planned_on(model: Path, one: Candidate) -> Planned | str:
    """The plan of a network on a candidate, maps in the TCDM where they fit; or why it does not run it."""
    graph = _graph(model)
    try:
        plan = plan_cluster(graph, one.hardware, resident=True)
    except InputError as error:
        return str(error)
    possible = possible_placement(graph)
    missing = sorted(possible.here - plan.here)
    if missing:
        return f"{missing[0]}: {plan.refused.get(missing[0], 'the host runs it')}"
    each = [forecast_of(plan, stretch) for stretch in plan.stretches]
    return Planned(
        one, round(sum(part.cycles for part in each)), sum(part.bytes for part in each),
        sum(part.energy for part in each), len(possible.reasons), tuple(node for part in each for node in part.nodes),
    )  # fmt: skip


def _what_limits(found: list[Candidate], budget: Budget) -> str:
    """The option that leaves nothing, with the least that would leave something."""

    def told() -> Iterator[str]:
        if budget.luts is not None:
            yield f"--luts: the smallest cluster takes {min(one.area.lut4 for one in found):,} LUT4 (estimated)"
        if budget.dsps is not None:
            yield f"--dsps: at least {min(one.area.dsps for one in found)}"
        if budget.brams is not None:
            yield f"--brams: at least {min(one.area.block_rams for one in found)}"
        if budget.mhz is not None:
            yield f"--mhz: at most {max(one.area.mhz or 0.0 for one in found):.3g} (estimated)"

    return f"no cluster fits; {', '.join(told())}"


def choose(
    model: str | PathLike[str] | Network,
    *,
    fps: float | None = None,
    mhz: float | None = None,
    luts: int | None = None,
    dsps: int | None = None,
    brams: int | None = None,
    output: str | PathLike[str] | None = None,
    minutes: float = MINUTES,
    confirm: bool = True,
    synth: bool = False,
) -> Choice:
    """Choose a cluster for a quantised network: the fewest LUTs that reach ``fps``, else the fastest.

    Cycles of the chosen one are those of a run in the RTL, its outputs and counts checked; area and clock, of an
    ECP5, are estimates. Maps stay in the shared memory where they fit (``resident``).

    Parameters
    ----------
    model : the model's file, or what `load` made of it.
    fps : images a second, at the least.
    mhz : the clock; else of each cluster that which it is estimated to have.
    luts, dsps, brams : LUT4-equivalents, multipliers and block RAMs that it may take, at most.
    output : a folder for the files; what is planned is kept there, and a later call goes on with it.
    minutes : after this time no further plan is begun.
    confirm : run the network on what is the best by its plan, in the RTL, until that has been run.
    synth : synthesise what is chosen, which takes minutes, for its area and clock beside the estimates.

    Raises `InputError` where no cluster fits.
    """
    given = model.given if isinstance(model, Network) else model
    budget = Budget(fps, mhz, luts, dsps, brams)
    folder = None if output is None else Path(output)
    return ChooseRequest(
        model=Path(given), budget=budget, output=folder, minutes=minutes, confirm=confirm, synth=synth
    ).answer()
