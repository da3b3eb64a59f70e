"""What schedules cost, by the model: counts, needs, cycles, energy."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hwgen.api.arguments import is_given
from hwgen.api.depth_first import StackPrediction, predict_stacks, solution_among
from hwgen.api.machines import HardwareLike, HierarchyLike, read_hardware, read_hierarchy
from hwgen.api.nests import Given, Nest, ScheduleLike, given_schedules
from hwgen.api.results import Answer, Figure
from hwgen.api.session import call
from hwgen.ir.counts import Counts
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster.cost import OnCluster, predicted_on_cluster
from hwgen.lower.hwc import compile_layer, parameters_for
from hwgen.model.cluster.levels import is_for_cluster
from hwgen.model.energy import DevicePrices, Energy, device_energy, energy_of, prices_of
from hwgen.model.hwc.cycles import Cycles, least_cycles, predicted_cycles
from hwgen.model.nest import one_level
from hwgen.model.nest.hierarchy_counts import HierarchyCounts, counts_of, require_fit
from hwgen.model.nest.one_level import Prediction as OneLevel

__all__ = ["LayerOnCluster", "LayerOnHierarchy", "LayerOnHwc", "LayerPrediction", "PredictRequest", "Prediction",
           "predict"]  # fmt: skip


@dataclass(frozen=True)
class LayerPrediction(ABC):
    """What one schedule costs."""

    given: Given

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return self.schedule.layer.name

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return self.given.schedule

    @property
    def nest(self) -> Nest:
        """Its nest."""
        return Nest.of(self.schedule)

    @property
    @abstractmethod
    def counts(self) -> Counts:
        """Accesses by level, operand and direction."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Bytes of I, W and O at the outermost memory."""

    @property
    @abstractmethod
    def by_operand(self) -> dict[str, int]:
        """The same of each operand."""

    @property
    def cycles(self) -> int | None:
        """Cycles; None where no hardware is known that takes some."""
        return None

    @property
    def utilisation(self) -> float | None:
        """The part of what the lanes could have done in these cycles that they do."""
        return None if not self.cycles else self.schedule.layer.macs / (self.cycles * self.lanes)

    @property
    def lanes(self) -> int:
        """Multiply-accumulates in one cycle, at most."""
        return self.schedule.lanes.product

    @property
    @abstractmethod
    def energy(self) -> Energy | None:
        """Energy in pJ; None where nothing says what an access costs."""

    @abstractmethod
    def to_dict(self, *, elements: bool = False) -> dict[str, Any]:
        """An entry of the document; ``elements`` : counts in elements, too."""

    @property
    def file(self) -> str | None:
        """The file of the schedule; None where it was not read from one."""
        return None if self.given.file is None else str(self.given.file)


@dataclass(frozen=True)
class LayerOnHwc(LayerPrediction):
    """A schedule of one memory level. ``found`` : None where no HWC runs it; ``cycles`` are then the least of any."""

    model: OneLevel
    found: Cycles | None
    prices: DevicePrices | None

    @property
    def counts(self) -> Counts:
        """Accesses by level, operand and direction."""
        return self.model.counts

    @property
    def bytes(self) -> int:
        """Bytes of I, W and O at the shared memory."""
        return self.model.total_bytes

    @property
    def by_operand(self) -> dict[str, int]:
        """The same of each operand."""
        return {array: self.counts.operand_bytes(array, "tcdm") for array in ARRAYS}

    @property
    def cycles(self) -> int:
        """Cycles on the HWC; without one the least that any hardware with three ports takes."""
        return least_cycles(self.model) if self.found is None else self.found.total

    @property
    def utilisation(self) -> float | None:
        """The part of what the lanes could have done in these cycles that they do; None where no HWC runs it."""
        return None if self.found is None else super().utilisation

    @property
    def energy(self) -> Energy | None:
        """Energy of all accesses and multiply-accumulates."""
        return None if self.prices is None else device_energy(self.schedule, self.counts, self.prices)

    def to_dict(self, *, elements: bool = False) -> dict[str, Any]:
        """An entry of the document."""
        energy = self.energy
        return {
            "layer": self.layer,
            "file": self.file,
            **self.model.as_json(elements=elements),
            "cycles": self.cycles,
            "stalls": None if self.found is None else self.found.stalls_by_name(),
            "energy": None if energy is None else energy.as_json(),
            "macs": self.schedule.layer.macs,
        }


@dataclass(frozen=True)
class LayerOnCluster(LayerPrediction):
    """A schedule of two memory levels, its program included where a cluster runs it."""

    found: OnCluster

    @property
    def counts(self) -> Counts:
        """Accesses by level, operand and direction."""
        return self.found.prediction.counts

    @property
    def bytes(self) -> int:
        """Bytes of I, W and O at the DRAM."""
        return self.counts.total_bytes("dram")

    @property
    def by_operand(self) -> dict[str, int]:
        """The same of each operand."""
        return {array: self.counts.operand_bytes(array, "dram") for array in ARRAYS}

    @property
    def cycles(self) -> int | None:
        """Cycles of the program; None where no cluster runs it."""
        return None if self.found.times is None else round(self.found.times.total)

    @property
    def lanes(self) -> int:
        """Multiply-accumulates of all HWCs in one cycle."""
        hardware = self.given.hardware
        cluster = (hardware and hardware.cluster) or Cluster()
        return self.schedule.lanes.product * cluster.hwcs

    @property
    def energy(self) -> Energy | None:
        """Energy of all accesses and multiply-accumulates."""
        return self.found.energy

    def to_dict(self, *, elements: bool = False) -> dict[str, Any]:
        """An entry of the document."""
        found, times = self.found, self.found.times
        waits = None if times is None else {f"{who} for {whom}": round(n) for (who, whom), n in times.waits.items()}
        return {
            "layer": self.layer,
            "file": self.file,
            **found.prediction.as_json(elements=elements),
            "tcdm_rings": None if found.rings is None else {array: found.rings[array] for array in ARRAYS},
            "cycles": self.cycles,
            "energy": None if found.energy is None else found.energy.as_json(),
            "busy": None if times is None else {queue: round(cycles) for queue, cycles in times.busy.items()},
            "waits": waits,
            "refused": found.refused,
            "macs": self.schedule.layer.macs,
        }


@dataclass(frozen=True)
class LayerOnHierarchy(LayerPrediction):
    """A schedule on memories of any depth."""

    hierarchy: Hierarchy
    found: HierarchyCounts
    spent: Energy

    @property
    def counts(self) -> Counts:
        """Accesses by the level that serves, operand and direction."""
        return self.found.served

    @property
    def bytes(self) -> int:
        """Bytes that the outermost level serves."""
        return sum(self.by_operand.values())

    @property
    def by_operand(self) -> dict[str, int]:
        """The same of each operand."""
        return {array: self.counts.operand_bytes(array, self.hierarchy.outermost.name) for array in ARRAYS}

    @property
    def energy(self) -> Energy:
        """Energy of all accesses and multiply-accumulates."""
        return self.spent

    def to_dict(self, *, elements: bool = False) -> dict[str, Any]:
        """An entry of the document."""
        return {
            "layer": self.layer,
            "file": self.file,
            "hierarchy": self.hierarchy.name,
            **self.found.as_json(elements=elements),
            "energy": self.spent.as_json(),
            "macs": self.schedule.layer.macs,
        }


@dataclass(frozen=True, repr=False)
class Prediction(Answer):
    """What schedules cost: of each in `layers`, of all together in the attributes."""

    layers: tuple[LayerPrediction, ...]
    elements: bool = False

    @property
    def cycles(self) -> int | None:
        """Cycles of all, one after the other; None where one has none."""
        known = [one.cycles for one in self.layers if one.cycles is not None]
        return sum(known) if len(known) == len(self.layers) else None

    @property
    def bytes(self) -> int:
        """Bytes of I, W and O at the outermost memory."""
        return sum(one.bytes for one in self.layers)

    @property
    def utilisation(self) -> float | None:
        """The part of what the lanes could have done in these cycles that they do."""
        if any(one.utilisation is None for one in self.layers):
            return None
        possible = sum((one.cycles or 0) * one.lanes for one in self.layers)
        return sum(one.schedule.layer.macs for one in self.layers) / possible

    @property
    def energy(self) -> float | None:
        """Energy in pJ; None where that of one is not known."""
        known = [one.energy.total for one in self.layers if one.energy is not None]
        return sum(known) if len(known) == len(self.layers) else None

    def __getitem__(self, layer: str) -> LayerPrediction:
        found = next((one for one in self.layers if one.layer == layer), None)
        if found is None:
            raise InputError(f"{layer}: expected one of {', '.join(one.layer for one in self.layers)}")
        return found

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen predict --json`` prints."""
        return {"schedules": [one.to_dict(elements=self.elements) for one in self.layers]}

    def rows(self) -> list[dict[str, object]]:
        """One row a schedule."""
        return [
            {
                "layer": one.layer,
                "macs": one.schedule.layer.macs,
                "cycles": one.cycles,
                "utilisation": one.utilisation,
                "bytes": one.bytes,
                **{f"{operand}_bytes": amount for operand, amount in one.by_operand.items()},
                "energy_pj": None if one.energy is None else one.energy.total,
                **({"file": one.file} if self._again else {}),
            }
            for one in self.layers
        ]

    @property
    def _again(self) -> bool:
        """Whether there are several schedules of a layer."""
        return len({one.layer for one in self.layers}) < len(self.layers)

    def summary(self) -> str:
        """The sums."""
        cycles = "" if self.cycles is None else f", {self.cycles:,} cycles"
        busy = "" if self.utilisation is None else f", utilisation {self.utilisation:.3f}"
        return f"Prediction of {len(self.layers)} layers: {self.bytes:,} bytes{cycles}{busy}"

    def plot(self) -> Figure:
        """Bytes of each layer at the outermost memory, by operand."""
        from hwgen.report.charts import layer_bars

        names = [one.layer for one in self.layers]
        if self._again:
            names = [one.file or f"{number}: {one.layer}" for number, one in enumerate(self.layers, 1)]
        return Figure.of(layer_bars(list(zip(names, (one.by_operand for one in self.layers), strict=True)), "bytes"))


@dataclass(frozen=True, kw_only=True)
class PredictRequest:
    """What is to be predicted; see `predict`."""

    schedules: ScheduleLike | Iterable[ScheduleLike]
    hardware: HardwareLike | None = None
    hierarchy: HierarchyLike | None = None
    fills: bool = False
    elements: bool = False
    macs: int | None = None
    dram: str | None = None

    def __post_init__(self) -> None:
        if self.hierarchy is not None:
            for option, value in (("--hardware", self.hardware), ("--macs", self.macs), ("--dram", self.dram)):
                if is_given(value):
                    raise InputError(f"{option}: not with --hierarchy")
        elif self.fills:
            raise InputError("--fills: expected with --hierarchy")

    @call
    def answer(self) -> Prediction | StackPrediction:
        """The prediction; that of stacks, where a depth-first solution is given."""
        if self.hierarchy is not None:
            return self._on_hierarchy(read_hierarchy(self.hierarchy))
        unfit = {"--hardware": self.hardware, "--elements": self.elements}
        solution = solution_among(self.schedules, self.macs, unfit, dram=self.dram)
        if solution is not None:
            return predict_stacks(solution, macs=self.macs, dram=self.dram)
        given = given_schedules(self.schedules, read_hardware(self.hardware))
        return Prediction(tuple(map(predicted, given)), self.elements)

    def _on_hierarchy(self, hierarchy: Hierarchy) -> Prediction:
        found = []
        for one in given_schedules(self.schedules, hierarchy=hierarchy):
            counts = counts_of(one.schedule, hierarchy)
            require_fit(counts, hierarchy, one.where)
            energy = energy_of(counts, hierarchy, one.schedule.layer.macs, fills=self.fills)
            found.append(LayerOnHierarchy(one, hierarchy, counts, energy))
        return Prediction(tuple(found), self.elements)


def predict(
    schedules: ScheduleLike | Iterable[ScheduleLike],
    hardware: HardwareLike | None = None,
    *,
    hierarchy: HierarchyLike | None = None,
    fills: bool = False,
    elements: bool = False,
) -> Prediction:
    """Predict exact counts, buffer needs and cycles of schedules; nothing is simulated.

    Parameters
    ----------
    schedules : a plan, nests, or files and folders of schedules.
    hardware : what they run on; None: what the plan, or a file beside them, says, else the smallest HWC that runs
        each.
    hierarchy : memories of any depth, in place of hardware: a file or a built-in name.
    fills : with a hierarchy: energy of the writes into the level that receives, too.
    elements : `to_dict` has counts in elements, too.
    """
    request = PredictRequest(schedules=schedules, hardware=hardware, hierarchy=hierarchy, fills=fills,
                             elements=elements)  # fmt: skip
    found = request.answer()
    if isinstance(found, StackPrediction):
        raise InputError(f"{found.file}: expected schedules, got a depth-first solution: hwgen predict takes it")
    return found


def predicted(given: Given) -> LayerPrediction:
    """What one schedule costs."""
    if is_for_cluster(given.schedule):
        return LayerOnCluster(given, _on_cluster(given))
    prediction = _one_level(given)
    on_hwc = _on_hwc(given)
    cycles, prices = (None, None) if on_hwc is None else on_hwc
    return LayerOnHwc(given, prediction, cycles, prices)


def _on_cluster(given: Given) -> OnCluster:
    """Its costs; raises `InputError` with its place where the given hardware does not run it."""
    try:
        return predicted_on_cluster(given.schedule, given.hardware)
    except InputError as error:
        raise InputError(f"{given.where}: {error}") from None


def _one_level(given: Given) -> OneLevel:
    try:
        return one_level.predict(given.schedule)
    except InputError as error:
        raise InputError(f"{given.where}: {error}") from None


def _on_hwc(given: Given) -> tuple[Cycles, DevicePrices] | None:
    """Cycles and prices on the given HWC; without one on the smallest that runs it, None if there is none."""
    schedule, hardware = given.schedule, given.hardware
    try:
        # On the given one its program is made, too: settings may be fitted to other layers, or too narrow.
        on_given = None if hardware is None else compile_layer(schedule, hardware).parameters
        parameters = on_given or parameters_for(schedule)
        return predicted_cycles(schedule, parameters), prices_of(parameters, None)
    except InputError as error:
        if hardware is not None:
            raise InputError(f"{given.where}: {error}") from None
        return None
