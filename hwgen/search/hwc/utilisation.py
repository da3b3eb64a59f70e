"""Schedules and HWCs of high utilisation: the least traffic whose estimated utilisation meets a demand.

A choice is a shape of the lanes, an order (`hwgen.search.hwc.canonical`) and a division of the budget, which make an
HWC, and for each layer the steps of its tile loops. One HWC is chosen for all layers, or a few, each layer running on
the one that suits it.

*What is proven*: counts and memories are exact. For one HWC, each layer's front of traffic and cycles covers every
schedule of the canonical orders whose steps are the least multiples of the lanes for their numbers of tiles. *What
is not proven*: cycles are estimates; other orders and steps may be better; the choice of several HWCs is greedy.
One price for idle lanes trades utilisation for traffic in all layers, so that on the fronts of the chosen HWCs the
total traffic is the least for the mean utilisation that it reaches. The remaining surplus of utilisation is traded
layer by layer.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
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
from hwgen.search.hwc.layer_fronts import Choice, LayerFronts, Point
from hwgen.tools.kept import sealed_document

__all__ = ["ENGINE", "MOST_HARDWARE", "Plan", "plan_hwcs"]

ENGINE = 7
"""Number of this engine; plans that another number stored are not used again."""
MOST_HARDWARE = 20
"""HWCs that are chosen at most where each layer may have its own."""


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


def plan_hwcs(
    layers: Sequence[Layer],
    budget: int,
    min_utilisation: float,
    max_ratio: float,
    *,
    most_hardware: int = 1,
    lanes: Lanes | None = None,
    multipliers: int = LANES,
    store: Path | None = None,
    jobs: int | None = None,
) -> Plan:
    """A plan with one HWC of ``budget`` bytes for all layers, or with several.

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
    most_hardware
        HWCs at most; `MOST_HARDWARE` where each layer may have its own.
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
    if not 0 <= min_utilisation <= 1:
        raise InputError(f"utilisation: expected 0 to 1, got {min_utilisation}")
    if not layers:
        raise InputError("utilisation: expected at least one layer")
    keys = [json.dumps(layer.shape_data, sort_keys=True) for layer in layers]
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
    distinct: dict[str, Layer] = {}
    for key, layer in zip(keys, layers, strict=True):
        distinct.setdefault(key, layer)
    few = list(distinct.values())
    weights = np.array([float(keys.count(key)) for key in distinct])
    shapes = [lanes] if lanes else lane_shapes(few, multipliers, budget)
    fronts = LayerFronts.of(few, weights, budget, shapes, everywhere=most_hardware == 1, jobs=jobs)
    chosen = fronts.choose(min_utilisation, max_ratio, most_hardware)
    plan = _plan(fronts, layers, keys, dict(zip(distinct, chosen, strict=True)))
    if file is not None:
        write_atomically(file, _text(request, plan))
    return plan


def _plan(fronts: LayerFronts, layers: Sequence[Layer], keys: Sequence[str], chosen: Mapping[str, Point]) -> Plan:
    """The plan of what was chosen for each key, of which every layer has one."""
    numbers = {at: number for number, at in enumerate(sorted({one.hardware for one in chosen.values()}), 1)}
    choices = [
        fronts.choice(layer, chosen[key], numbers[chosen[key].hardware])
        for key, layer in zip(keys, layers, strict=True)
    ]
    return Plan(tuple(choices), int(fronts.free_bytes))


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
