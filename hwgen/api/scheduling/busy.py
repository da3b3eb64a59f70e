"""Plans under a demand on utilisation: schedules of little traffic, and the HWCs that they run on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.arguments import size_text
from hwgen.api.progress import note
from hwgen.api.schedule_files import clear_earlier, save_beside, schedule_files
from hwgen.api.scheduling.plan import Plan
from hwgen.api.work import Work
from hwgen.arch.hwc import check_lanes
from hwgen.arch.parameter_error import ParameterError
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.hardware import MULTIPLIERS, Hardware
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.schedule import Schedule, save_schedule
from hwgen.model.nest.one_level import predict
from hwgen.search.hwc.layer_fronts import Choice
from hwgen.search.hwc.utilisation import MOST_HARDWARE, plan_hwcs
from hwgen.search.hwc.utilisation import Plan as Choices

__all__ = ["BusyPlan", "lanes_of", "plan_busy"]

DEFAULT_RATIO = 1.2


def lanes_of(text: str | None, multipliers: int | None = None) -> Lanes | None:
    """The shape, of ``multipliers`` if they are given, that ``auto``, ``m8x2`` or ``{m: 8, x: 2}`` stands for;
    None for any."""
    if text in (None, "auto"):
        return None
    try:
        lanes = Lanes.parse(re.sub(r"[{}:,\s]", "", str(text)))
        check_lanes(lanes)
        if multipliers in (None, lanes.product):
            return lanes
    except (ValueError, ParameterError):
        pass
    raise InputError(
        f"--lanes: expected auto, or {multipliers or '4 to 256'} lanes in powers of two over {', '.join(LANE_DIMS)} "
        f"such as m8x2 or {{m: 8, x: 2}}, got {str(text)[:40]!r}"
    )


@dataclass(frozen=True, repr=False, eq=False)
class BusyPlan(Plan):
    """Schedules whose mean estimated utilisation meets a demand, in folders for each HWC.

    Members
    -------
    choices : for each layer a schedule and its HWC, with estimated cycles.
    size : bytes of each HWC.
    min_utilisation : what was demanded.
    """

    choices: Choices
    size: int
    min_utilisation: float
    output: Path | None

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules, layer by layer."""
        return tuple(choice.schedule for choice in self.choices.choices)

    def works(self) -> list[Work]:
        """The schedules of each HWC."""
        return [
            Work(
                tuple(one.schedule for one in self.choices.choices if one.hardware.name == hardware.name),
                hardware,
                Path(hardware.name),
                self.coverage,
            )
            for hardware in self.choices.hardware
        ]

    def machines(self) -> Sequence[Hardware]:
        """The HWC of each schedule."""
        return [choice.hardware for choice in self.choices.choices]

    def files(self) -> Sequence[Path | None]:
        """The file of each schedule."""
        names = schedule_files(self.coverage.layers)
        return [
            None if self.output is None else self.output / one.hardware.name / names[one.schedule.layer.name]
            for one in self.choices.choices
        ]

    def write_files(self) -> None:
        """Write the files, in place of those of an earlier run."""
        if self.output is None:
            return
        found = [path for path in self.files() if path is not None]
        for choice, path in zip(self.choices.choices, found, strict=True):
            save_schedule(choice.schedule, path, self._remarks(choice))
        beside = [save_beside(hardware, self.output / hardware.name) for hardware in self.choices.hardware]
        clear_earlier(self.output, [*found, *beside])

    def kind(self) -> str:
        """What they are the best of."""
        return f"{size_text(self.size)} with busy lanes"

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen schedule --min-utilisation --json`` prints."""
        found = zip(self.choices.choices, self.files(), strict=True)
        return {
            "schedules": [_entry(choice, path) for choice, path in found],
            "hardware": [hardware.as_data() for hardware in self.choices.hardware],
            "total_bytes": self.choices.total_bytes,
            "ratio": round(self.choices.ratio, 6),
            "utilisation": round(self.choices.utilisation, 6),
            "left_out": self.coverage.as_json(),
        }

    def _remarks(self, choice: Choice) -> list[str]:
        hardware = choice.hardware
        return [
            f"For {hardware.name} ({hardware.name}.hardware.yaml in this folder), lanes {hardware.lanes}:",
            f"{choice.total_bytes} bytes, estimated utilisation {choice.utilisation:.3f}",
            f"(at least {self.min_utilisation:g} in the mean over {len(self.choices.choices)} layers).",
        ]


def plan_busy(
    coverage: Coverage,
    sizes: Sequence[int],
    min_utilisation: float,
    *,
    max_ratio: float | None,
    lanes: str | None,
    multipliers: int | None,
    one_for_all: bool,
    output: Path | None,
    store: Path | None,
    jobs: int,
) -> BusyPlan:
    """Search, and write the files: schedules in a folder for each HWC, beside its hardware file."""
    if len(sizes) != 1:
        raise InputError("--min-utilisation: expected one buffer size")
    shape = lanes_of(lanes, multipliers)
    if not 0 <= min_utilisation <= 1:
        raise InputError(f"--min-utilisation: expected 0 to 1, got {min_utilisation:g}")
    note(f"searching {'one HWC' if one_for_all else 'HWCs'} of {sizes[0]} bytes for {len(coverage.layers)} layers")
    choices = plan_hwcs(
        coverage.layers,
        sizes[0],
        min_utilisation,
        DEFAULT_RATIO if max_ratio is None else max_ratio,
        most_hardware=1 if one_for_all else MOST_HARDWARE,
        lanes=shape,
        multipliers=multipliers or MULTIPLIERS,
        store=store,
        jobs=jobs,
    )
    plan = BusyPlan(coverage, choices, sizes[0], min_utilisation, output)
    plan.write_files()
    return plan


def _entry(choice: Choice, path: Path | None) -> dict[str, object]:
    prediction = predict(choice.schedule)
    return {
        "layer": choice.schedule.layer.name,
        "buffer_bytes": choice.hardware.budget,
        "file": None if path is None else str(path),
        "hardware": choice.hardware.name,
        "counts": prediction.counts.as_json(),
        "total_bytes": choice.total_bytes,
        "total_with_bias": prediction.total_with_bias,
        "need": {operand: prediction.allocation[operand] for operand in ("I", "W", "O")},
        "cycles": round(choice.cycles),
        "utilisation": round(choice.utilisation, 6),
    }
