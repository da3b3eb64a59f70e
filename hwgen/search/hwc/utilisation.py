"""Schedules and HWCs of high utilisation: the least traffic whose estimated utilisation meets a demand.

A choice is a shape of the lanes, an order (`hwgen.search.hwc.canonical`) and a division of the budget, which make an
HWC, and for each layer the steps of its tile loops. `shared` chooses one HWC for all layers, `per_layer` a few, each
layer running on the one that suits it.

*What is proven*: counts and memories are exact. For one HWC, each layer's front of traffic and cycles covers every
schedule of the canonical orders whose steps are the least multiples of the lanes for their numbers of tiles. *What is
not proven*: cycles are estimates; other orders and steps may be better; the choice of the HWCs of `per_layer` is
greedy. One price for idle lanes trades utilisation for traffic in all layers, so that on the fronts of the chosen
HWCs the total traffic is the least for the mean utilisation that it reaches. The remaining surplus of utilisation is
traded layer by layer.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hwgen.arch.hwc import LANES
from hwgen.ir.document import InputError, sealed, write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.model.nest.one_level import predict
from hwgen.search.core.lane_shapes import lane_shapes
from hwgen.search.hwc.canonical import orders_for
from hwgen.search.hwc.layer_fronts import Choice, LayerFronts
from hwgen.tools.kept import sealed_document

__all__ = ["ENGINE", "Plan", "per_layer", "plan_per_layer", "plan_shared", "shared"]

ENGINE = 7
"""Number of this engine; plans that another number stored are not used again."""
MOST_HARDWARE = 20
"""HWCs that `per_layer` chooses at most."""


@dataclass(frozen=True)
class Plan:
    """Choices for all layers.

    Members
    -------
    choices : in the order of the layers.
    free_bytes : traffic of the best schedules without hardware (no lanes, exact needs), the measure of the ratio.
    """

    choices: tuple[Choice, ...]
    free_bytes: int

    @property
    def total_bytes(self) -> int:
        """Traffic of all layers."""
        return sum(choice.total_bytes for choice in self.choices)

    @property
    def ratio(self) -> float:
        """Traffic by that of the best schedules without hardware."""
        return self.total_bytes / self.free_bytes

    @property
    def utilisation(self) -> float:
        """Mean of the estimated utilisations."""
        return sum(choice.utilisation for choice in self.choices) / len(self.choices)

    @property
    def hardware(self) -> tuple[Hardware, ...]:
        """The distinct HWCs, in the order of their names."""
        return tuple(sorted({choice.hardware.name: choice.hardware for choice in self.choices}.values(), key=_name))


def _name(hardware: Hardware) -> str:
    return hardware.name


def per_layer(
    layers: Sequence[Layer],
    budget: int,
    min_utilisation: float,
    max_ratio: float,
    *,
    lanes: Lanes | None = None,
    multipliers: int = LANES,
    store: Path | None = None,
    jobs: int | None = None,
) -> list[tuple[Schedule, Hardware]]:
    """A schedule and an HWC for each layer: `plan_per_layer` without its figures."""
    plan = plan_per_layer(
        layers, budget, min_utilisation, max_ratio, lanes=lanes, multipliers=multipliers, store=store, jobs=jobs
    )
    return [(choice.schedule, choice.hardware) for choice in plan.choices]


def shared(
    layers: Sequence[Layer],
    budget: int,
    min_utilisation: float,
    max_ratio: float,
    *,
    lanes: Lanes | None = None,
    multipliers: int = LANES,
    store: Path | None = None,
    jobs: int | None = None,
) -> tuple[Hardware, list[Schedule]]:
    """One HWC and a schedule for each layer: `plan_shared` without its figures."""
    plan = plan_shared(
        layers, budget, min_utilisation, max_ratio, lanes=lanes, multipliers=multipliers, store=store, jobs=jobs
    )
    return plan.choices[0].hardware, [choice.schedule for choice in plan.choices]


def plan_per_layer(
    layers: Sequence[Layer],
    budget: int,
    min_utilisation: float,
    max_ratio: float,
    *,
    lanes: Lanes | None = None,
    multipliers: int = LANES,
    store: Path | None = None,
    jobs: int | None = None,
) -> Plan:
    """A plan with at most `MOST_HARDWARE` HWCs of ``budget`` bytes for all layers.

    Parameters
    ----------
    layers
        The layers; those that differ in nothing but their names share a schedule.
    budget
        Bytes of I, W and O memory together.
    min_utilisation
        The least mean of the layers' estimated utilisations, 0 to 1.
    max_ratio
        The most traffic of all layers, relative to that of the best schedules without hardware.
    lanes
        The shape of the lanes; if left out, any that `hwgen.search.core.lane_shapes` has for ``multipliers``.
    multipliers
        Of the HWCs, where their lanes are free.
    store
        A folder that keeps plans; a plan for the same request is read from there.
    jobs
        Number of parallel processes.

    Raises `InputError` if no choice that was searched satisfies both.
    """
    return _plan(layers, budget, min_utilisation, max_ratio, lanes, multipliers, MOST_HARDWARE, store, jobs)


def plan_shared(
    layers: Sequence[Layer],
    budget: int,
    min_utilisation: float,
    max_ratio: float,
    *,
    lanes: Lanes | None = None,
    multipliers: int = LANES,
    store: Path | None = None,
    jobs: int | None = None,
) -> Plan:
    """One HWC of ``budget`` bytes for all layers; parameters as those of `plan_per_layer`."""
    return _plan(layers, budget, min_utilisation, max_ratio, lanes, multipliers, 1, store, jobs)


# --- the plan ---


def _plan(
    layers: Sequence[Layer],
    budget: int,
    min_utilisation: float,
    max_ratio: float,
    lanes: Lanes | None,
    multipliers: int,
    most_hardware: int,
    store: Path | None,
    jobs: int | None,
) -> Plan:
    if not 0 <= min_utilisation <= 1:
        raise InputError(f"utilisation: expected 0 to 1, got {min_utilisation}")
    if not layers:
        raise InputError("utilisation: expected at least one layer")
    distinct: dict[str, Layer] = {}
    keys = [json.dumps(layer.shape_data, sort_keys=True) for layer in layers]
    for key, layer in zip(keys, layers, strict=True):
        distinct.setdefault(key, layer)
    request = json.dumps(
        {
            "engine": ENGINE,
            "orders": orders_for(budget),
            "layers": keys,
            "budget": budget,
            "utilisation": min_utilisation,
            "ratio": max_ratio,
            "lanes": None if lanes is None else lanes.as_data(),
            "multipliers": multipliers if lanes is None else lanes.product,
            "hardware": most_hardware,
        },
        sort_keys=True,
    )
    file = None if store is None else store / f"{hashlib.sha256(request.encode()).hexdigest()[:32]}.json"
    kept = None if file is None else _kept(file, request, layers)
    if kept is not None:
        return kept
    few = list(distinct.values())
    weights = np.array([float(keys.count(key)) for key in distinct])
    shapes = [lanes] if lanes else lane_shapes(few, multipliers, budget)
    fronts = LayerFronts.of(few, weights, budget, shapes, everywhere=most_hardware == 1, jobs=jobs)
    chosen = fronts.choose(min_utilisation, max_ratio, most_hardware)
    by_key = dict(zip(distinct, chosen, strict=True))
    numbers = {at: number for number, at in enumerate(sorted({choice.hardware for choice in chosen}), 1)}
    choices = []
    for key, layer in zip(keys, layers, strict=True):
        choices.append(fronts.choice(layer, by_key[key], numbers[by_key[key].hardware]))
    plan = Plan(tuple(choices), int(fronts.free_bytes))
    if file is not None:
        write_atomically(file, _text(request, plan))
    return plan


# --- files ---


def _text(request: str, plan: Plan) -> str:
    document = {
        "format": 1,
        "kind": "utilisation plan",
        "question": json.loads(request),
        "free_bytes": plan.free_bytes,
        "hardware": [hardware.as_data() for hardware in plan.hardware],
        "choices": [
            {"hardware": choice.hardware.name, "schedule": choice.schedule.as_data(), "cycles": choice.cycles}
            for choice in plan.choices
        ],
    }
    return sealed(document)


def _kept(file: Path, request: str, layers: Sequence[Layer]) -> Plan | None:
    """A stored plan; None if there is none, or none that can be used."""
    try:
        document = sealed_document(file)
        if document is None or document["question"] != json.loads(request):
            return None
        hwcs = {data["name"]: Hardware.from_data(data) for data in document["hardware"]}
        choices = []
        for row, layer in zip(document["choices"], layers, strict=True):
            schedule = Schedule.from_data(row["schedule"]).model_copy(update={"layer": layer})
            total = predict(schedule).total_bytes
            choices.append(Choice(schedule, hwcs[row["hardware"]], total, float(row["cycles"])))
        return Plan(tuple(choices), int(document["free_bytes"]))
    except (ValueError, KeyError, TypeError, InputError):
        return None
