"""A plan: the schedules that were found for the layers of a network, with what they run on."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hwgen.api.nests import Given, Nest
from hwgen.api.predictions import LayerPrediction, Prediction, predict
from hwgen.api.results import Answer, Figure
from hwgen.api.work import Work, save_works
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.model.cycle_bound import cycle_bound

__all__ = ["Plan"]


@dataclass(frozen=True, repr=False, eq=False)
class Plan(Answer):
    """Schedules for all layers of a network.

    Members
    -------
    coverage : which layers of the network have a schedule, and what is left out.
    """

    coverage: Coverage

    @property
    @abstractmethod
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules; with several buffer sizes all of the first layer come first."""

    @abstractmethod
    def works(self) -> list[Work]:
        """The schedules by the hardware that they run on."""

    @abstractmethod
    def machines(self) -> Sequence[Hardware | None]:
        """The hardware of each schedule; None without any."""

    @abstractmethod
    def files(self) -> Sequence[Path | None]:
        """The file of each schedule; None where no folder was asked for."""

    @abstractmethod
    def kind(self) -> str:
        """What they are the best of, for one line."""

    def given(self) -> list[Given]:
        """The schedules, each with its hardware and its file."""
        return [
            Given(schedule, machine, file)
            for schedule, machine, file in zip(self.schedules, self.machines(), self.files(), strict=True)
        ]

    @property
    def hardware(self) -> Hardware | None:
        """What all of them run on; None for schedules of the pure model. Raises `InputError` if there are several."""
        known = [work.hardware for work in self.works()]
        if any(one != known[0] for one in known):
            raise InputError(f"plan: hardware: expected one, got {len(known)}: .works() has them all")
        return known[0]

    @property
    def nests(self) -> tuple[Nest, ...]:
        """The nests of `schedules`."""
        return tuple(map(Nest.of, self.schedules))

    @cached_property
    def prediction(self) -> Prediction:
        """What the schedules cost by the model, as `predict` says it."""
        return predict(self)

    @property
    def layers(self) -> tuple[LayerPrediction, ...]:
        """What each of the schedules costs."""
        return self.prediction.layers

    @property
    def cycles(self) -> int | None:
        """Cycles of all schedules, one after the other; of the pure model the least that any hardware takes."""
        return self.prediction.cycles

    @property
    def bytes(self) -> int:
        """Bytes of I, W and O at the outermost memory."""
        return self.prediction.bytes

    @property
    def utilisation(self) -> float | None:
        """The part of what the lanes could have done in these cycles that they do."""
        return self.prediction.utilisation

    @property
    def energy(self) -> float | None:
        """Energy in pJ; None where nothing says what an access costs."""
        return self.prediction.energy

    def cycle_bounds(self) -> list[dict[str, float | None]]:
        """What no schedule of a layer goes below in cycles there, for each, and the gap: its own by it, less 1.

        None where no hardware is given.
        """
        found: list[dict[str, float | None]] = []
        for schedule, machine, one in zip(self.schedules, self.machines(), self.layers, strict=True):
            bound = gap = None
            if machine is not None and schedule.lanes is not None and one.cycles is not None:
                shaped = machine.model_copy(update={"lanes": schedule.lanes})
                bound = cycle_bound(schedule.layer, shaped, schedule.bits).cycles
                gap = round(one.cycles / bound - 1, 6)
            found.append({"bound_cycles": bound, "gap_cycles": gap})
        return found

    @property
    def left_out(self) -> dict[str, Any]:
        """Layers without a schedule, their share of the work, activations that run as another one."""
        return self.coverage.as_json()

    def of_size(self, size: str | int) -> "Plan":
        """The plan of one of several buffer sizes. Raises `InputError` if it is no plan of buffer sizes."""
        raise InputError(f"size: {size}: expected a plan of buffer sizes, got one of {self.kind()}")

    def __getitem__(self, layer: str) -> Nest:
        found = next((one for one in self.schedules if one.layer.name == layer), None)
        if found is None:
            raise InputError(f"{layer}: expected one of {', '.join(one.layer.name for one in self.schedules)}")
        return Nest.of(found)

    def __len__(self) -> int:
        return len(self.schedules)

    def save(self, folder: str | Path) -> Path:
        """Write the schedules, and the hardware that they run on, for the commands: ``hwgen predict FOLDER``."""
        save_works(self.works(), Path(folder))
        return Path(folder)

    def rows(self) -> Sequence[dict[str, object]]:
        """One row a schedule."""
        return self.prediction.rows()

    def summary(self) -> str:
        """What was found, summed."""
        cycles = "" if self.cycles is None else f", {self.cycles:,} cycles"
        busy = "" if self.utilisation is None else f", utilisation {self.utilisation:.3f}"
        return f"Plan of {len(self)} schedules of {self.kind()}: {self.bytes:,} bytes{cycles}{busy}"

    def plot(self) -> Figure:
        """Bytes of each layer at the outermost memory, by operand."""
        return self.prediction.plot()
