"""Which schedules run on which HWC: the configurations of a regression over a layer set."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import hwgen.arch
import hwgen.ir
import hwgen.lower
import hwgen.model
import hwgen.search
from hwgen.arch.hwc import ALONG_X, LANES
from hwgen.ir.document import InputError, json_text
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.core.optimal import Balance
from hwgen.search.hwc.balanced import ANY_TRAFFIC, BalancedRequest
from hwgen.search.hwc.balanced_shared import balanced_shared, least_shared
from hwgen.search.hwc.canonical import order_from_text
from hwgen.search.hwc.utilisation import MOST_HARDWARE, plan_hwcs
from hwgen.studies.regress.goals import TRAFFIC_FIRST, Goal, Kind, demanded, goal_of
from hwgen.studies.regress.published_nests import FIG8, hwce, hwce_stripe
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_text

__all__ = ["Configuration", "Entry", "GivenHwc", "Plan", "make_plan"]


@dataclass(frozen=True)
class GivenHwc:
    """An HWC that is given, not found: ``label`` tells it from others, ``document`` is its hardware file as text."""

    label: str
    document: str

    @property
    def hardware(self) -> Hardware:
        """The HWC."""
        return Hardware.from_data(json.loads(self.document))


@dataclass(frozen=True)
class Configuration:
    """A kind of HWC, and the bytes of its local memories.

    With a demand on the mean utilisation the HWCs of the first two kinds have ``multipliers`` in any shape, and as
    little traffic as that allows, at most ``ratio`` times the optima; without, the least traffic, or with ``slack``
    the fewest cycles that traffic within this slack of the least allows. Then the lanes are the given ones, along x
    by default (None: of any shape), and the loop order is the given one (as `hwgen.search.hwc.canonical` writes them)
    or the best one. With ``room`` the memories of an HWC for one layer have what its schedule leaves of the budget,
    without only what it needs. Of kind ``given`` is what runs on one HWC that is ``given``.
    """

    kind: Kind
    budget: int
    utilisation: float | None = None
    ratio: float = 1.2
    lanes: Lanes | None = ALONG_X
    order: str | None = None
    room: bool = False
    slack: float | None = None
    multipliers: int = LANES
    given: GivenHwc | None = None

    @classmethod
    def busy(cls, kind: Kind, budget: int, multipliers: int = LANES) -> "Configuration":
        """Asked for what `hwgen.studies.regress.goals` demands, where the kind has a goal."""
        traffic_first = TRAFFIC_FIRST.get((multipliers, budget, kind))
        if traffic_first is not None:
            lanes, slack = traffic_first
            return cls(kind, budget, lanes=lanes, slack=slack, multipliers=multipliers)
        demand = demanded(kind, budget, multipliers)
        if demand is None:
            return cls(kind, budget, multipliers=multipliers)
        return cls(kind, budget, demand.utilisation, demand.ratio, multipliers=multipliers)

    @property
    def goal(self) -> tuple[Goal, bool] | None:
        """The goal of a configuration that `busy` makes (see `goal_of`); others have none."""
        if self != Configuration.busy(self.kind, self.budget, self.multipliers):
            return None
        return goal_of(self.kind, self.budget, self.multipliers)

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked for of HWCs that are found, by member."""
        return {key: value for key, value in asdict(self).items() if key != "given"}

    @property
    def engine(self) -> str:
        """What tables call what it runs on: its kind, or the HWC that is given."""
        return self.kind if self.given is None else f"hardware {self.given.label}"

    @property
    def name(self) -> str:
        """Its name in results and tables."""
        name = f"{self.engine} {self.budget}"
        if self.given is None:
            name += "".join(f" {part}" for part in self._differing)
        if self.slack is not None:
            name += " cycles" if self.slack == ANY_TRAFFIC else f" balanced {self.slack:g}"
        return name if self.utilisation is None else f"{name} at {self.utilisation:g}, {self.ratio:g}"

    @property
    def _differing(self) -> Iterator[str]:
        """What is not as usual of an HWC that is found."""
        if self.multipliers != LANES:
            yield f"{self.multipliers} multipliers"
        if self.shape != "x16":
            yield self.shape
        if self.order is not None:
            yield self.order

    @property
    def shape(self) -> str:
        """The lanes as text: ``x16``, ``m8x2``, or ``auto`` for any shape."""
        return "auto" if self.lanes is None else str(self.lanes)

    @property
    def items(self) -> Order | None:
        """The loop order asked for."""
        return None if self.order is None else order_from_text(self.order)


@dataclass(frozen=True)
class Entry:
    """One layer of a plan: what runs, and on what; without hardware the smallest HWC that runs it."""

    schedule: Schedule
    hardware: Hardware | None


@dataclass(frozen=True)
class Plan:
    """The layers of a configuration.

    Members
    -------
    entries : what runs.
    left_out : the other layers, each with the reason.
    optima : for each layer the bytes that its best schedule moves in the pure model: no lanes, buffers to the byte.
    balances : with a slack, what was weighed for each layer.
    """

    configuration: Configuration
    entries: tuple[Entry, ...]
    left_out: dict[str, str]
    optima: dict[str, int]
    balances: dict[str, Balance] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "entries": [
                {
                    "schedule": entry.schedule.as_data(),
                    "hardware": None if entry.hardware is None else entry.hardware.as_data(),
                }
                for entry in self.entries
            ],
            "left_out": self.left_out,
            "optima": self.optima,
            "balances": {name: balance.as_data() for name, balance in self.balances.items()},
        }

    @classmethod
    def from_data(cls, configuration: Configuration, data: dict[str, Any]) -> "Plan":
        """The inverse of `as_data`."""
        return cls(
            configuration,
            tuple(
                Entry(
                    Schedule.from_data(entry["schedule"]),
                    None if entry["hardware"] is None else Hardware.from_data(entry["hardware"]),
                )
                for entry in data["entries"]
            ),
            data["left_out"],
            data["optima"],
            {name: Balance.from_data(balance) for name, balance in data["balances"].items()},
        )


def make_plan(layers: Sequence[Layer], configuration: Configuration, store: Path) -> Plan:
    """The plan for some layers; read from the store if the same search made it before."""
    file = store / f"{_key(layers, configuration)}.json"
    store.mkdir(parents=True, exist_ok=True)
    text = kept_text(file, lambda: json_text(_made(layers, configuration).as_data()))
    return Plan.from_data(configuration, json.loads(text))


def _made(layers: Sequence[Layer], configuration: Configuration) -> Plan:
    """What a search of these layers gives."""
    budget = configuration.budget
    left_out: dict[str, str] = {}
    balances: dict[str, Balance] = {}
    match configuration.kind:
        case "shared":
            entries, balances = _shared(layers, configuration)
        case "per-layer":
            entries, balances = _per_layer(layers, configuration)
        case "published":
            entries, left_out = _published(layers, budget)
        case "hwce":
            entries, left_out = _hwce(layers, budget)
        case "given":
            entries, left_out, balances = _given(layers, configuration)
    if configuration.room:
        own = Hardware(name="own", lanes=configuration.lanes, budget=budget)
        entries = [Entry(entry.schedule, entry.hardware or own) for entry in entries]
    found = search_layers(layers, Request((budget,)), jobs=1)
    best = {layer.name: result.total_bytes for layer, (result,) in zip(layers, found, strict=True)}
    return Plan(configuration, tuple(entries), left_out, best, balances)


def _key(layers: Sequence[Layer], configuration: Configuration) -> str:
    packages = (hwgen.arch, hwgen.ir, hwgen.model, hwgen.search, hwgen.lower)
    sources = sources_digest([*(Path(package.__path__[0]) for package in packages), Path(__file__)])
    return digest_of(
        [[layer.model_dump(mode="json") for layer in layers], configuration.name, configuration.room, sources]
    )


Weighed = tuple[list[Entry], dict[str, Balance]]
"""Entries, and for each layer what was weighed, if anything was."""


def _shared(layers: Sequence[Layer], wanted: Configuration) -> Weighed:
    if wanted.utilisation is not None:
        return _busy(layers, wanted, wanted.utilisation, 1), {}
    budget, lanes, order = wanted.budget, wanted.lanes, wanted.items
    if wanted.slack is None:
        best = least_shared(layers, budget, lanes, multipliers=wanted.multipliers, order=order)
    else:
        best = balanced_shared(
            layers, budget, lanes, multipliers=wanted.multipliers, order=order, slack=wanted.slack, clocked=False
        )
    balances = {layer.name: part for layer, part in zip(layers, best.parts, strict=bool(best.parts))}
    return [Entry(result.schedule, best.hardware) for result in best.results], balances


def _per_layer(layers: Sequence[Layer], wanted: Configuration) -> Weighed:
    budget = wanted.budget
    if wanted.utilisation is not None:
        return _busy(layers, wanted, wanted.utilisation, MOST_HARDWARE), {}
    number = None if wanted.lanes or wanted.multipliers == LANES else wanted.multipliers
    own = Hardware(name="per_layer", lanes=wanted.lanes, multipliers=number, budget=budget, order=wanted.items)
    request = Request((budget,), own) if wanted.slack is None else BalancedRequest((budget,), own, slack=wanted.slack)
    found = [results[0] for results in search_layers(layers, request, jobs=1)]
    balances = {layer.name: one.balance for layer, one in zip(layers, found, strict=True) if one.balance is not None}
    return [Entry(result.schedule, None) for result in found], balances


def _given(layers: Sequence[Layer], wanted: Configuration) -> tuple[list[Entry], dict[str, str], dict[str, Balance]]:
    assert wanted.given is not None
    entries, left_out, balances = [], {}, {}
    budget, own = wanted.budget, wanted.given.hardware
    request = Request((budget,), own) if wanted.slack is None else BalancedRequest((budget,), own, slack=wanted.slack)
    for layer in layers:
        try:
            ((found,),) = search_layers([layer], request, jobs=1)
            compile_layer(found.schedule, own)
        except InputError as error:
            left_out[layer.name] = str(error)
        else:
            entries.append(Entry(found.schedule, own))
            if found.balance is not None:
                balances[layer.name] = found.balance
    return entries, left_out, balances


def _busy(layers: Sequence[Layer], wanted: Configuration, utilisation: float, most_hardware: int) -> list[Entry]:
    """The schedules of least traffic at a mean utilisation, on at most so many HWCs."""
    plan = plan_hwcs(
        layers, wanted.budget, utilisation, wanted.ratio, most_hardware=most_hardware,
        multipliers=wanted.multipliers, jobs=1,
    )  # fmt: skip
    return [Entry(choice.schedule, choice.hardware) for choice in plan.choices]


def _published(layers: Sequence[Layer], budget: int) -> tuple[list[Entry], dict[str, str]]:
    entries, left_out = [], {}
    request = Request((budget,), Hardware(name="published", lanes=ALONG_X, budget=budget), order=FIG8)
    for layer in layers:
        try:
            ((found,),) = search_layers([layer], request, jobs=1)
        except InputError as error:
            left_out[layer.name] = str(error)
        else:
            entries.append(Entry(found.schedule, None))
    return entries, left_out


def _hwce(layers: Sequence[Layer], budget: int) -> tuple[list[Entry], dict[str, str]]:
    """Whole rows in the line buffer; where they do not fit, the widest stripes that do."""
    entries, left_out = [], {}
    hardware = Hardware(name="hwce", lanes=ALONG_X, budget=budget)
    for layer in layers:
        refused = ""
        for columns in range(hwce_stripe(layer, budget) or 1, 0, -1):
            schedule = hwce(layer, columns, lanes=ALONG_X)
            try:
                compile_layer(schedule, hardware)
            except InputError as error:
                refused = refused or str(error)
            else:
                entries.append(Entry(schedule, None))
                break
        else:
            left_out[layer.name] = refused
    return entries, left_out
