"""Plans of one memory level: for each buffer size, without hardware, on an HWC, or on one HWC for all layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hwgen.api.arguments import buffer_sizes, size_text
from hwgen.api.results import Figure
from hwgen.api.schedule_files import clear_earlier, save_beside, schedule_files
from hwgen.api.scheduling.plan import Plan
from hwgen.api.work import Work, balance_data
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule, save_schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.bounds import Bounds, bounds
from hwgen.search.core.optimal import Balance, Result
from hwgen.search.objectives.of_hwc import HWC_OBJECTIVES

__all__ = ["BufferPlan", "bounds_of", "require_programs", "size_folder"]


@dataclass(frozen=True, repr=False, eq=False)
class BufferPlan(Plan):
    """The best schedule of each layer for each buffer size, with the figures of its proof.

    Members
    -------
    results : layer by layer, for each size.
    sizes : bytes.
    runs_on : the hardware of each size; empty for the pure model.
    objective : what was searched for; ``balanced``, or a name of `HWC_OBJECTIVES`.
    balances : what was weighed, of each size.
    output : where the files are.
    """

    results: tuple[Result, ...]
    sizes: tuple[int, ...]
    runs_on: tuple[Hardware, ...]
    objective: str
    balances: tuple[Balance | None, ...]
    output: Path | None

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules, layer by layer, of each layer one for each size."""
        return tuple(result.schedule for result in self.results)

    @property
    def aim(self) -> str:
        """What the objective ``balanced`` has least of: on one HWC for all layers it knows the clock, too."""
        clocked = any(one is not None and one.slack is not None for one in self.balances)
        return "least time of all layers" if clocked else "fewest cycles"

    def works(self) -> list[Work]:
        """The schedules of each size, in a folder of their own where there are several."""
        return [
            Work(
                tuple(result.schedule for result in self.results if result.buffer_bytes == size),
                machine,
                Path(size_text(size)) if len(self.sizes) > 1 else Path(),
                self.coverage,
                balance,
            )
            for size, machine, balance in zip(
                self.sizes, self.runs_on or [None] * len(self.sizes), self.balances, strict=True
            )
        ]

    def machines(self) -> Sequence[Hardware | None]:
        """The hardware of each schedule."""
        known = dict(zip(self.sizes, self.runs_on, strict=False))
        return [known.get(result.buffer_bytes) for result in self.results]

    def of_size(self, size: str | int) -> "BufferPlan":
        """The plan of one of several buffer sizes."""
        (wanted,) = buffer_sizes(str(size))
        if wanted not in self.sizes:
            raise InputError(
                f"size: expected one of {', '.join(map(size_text, self.sizes))}, got {size_text(wanted)}"
            )
        at = self.sizes.index(wanted)
        return replace(
            self,
            results=tuple(result for result in self.results if result.buffer_bytes == wanted),
            sizes=(wanted,),
            runs_on=self.runs_on[at : at + 1],
            balances=self.balances[at : at + 1],
            output=None if self.output is None else size_folder(self.output, wanted, self.sizes),
        )

    def files(self) -> Sequence[Path | None]:
        """The file of each schedule."""
        if self.output is None:
            return [None] * len(self.results)
        names = schedule_files(self.coverage.layers)
        return [
            size_folder(self.output, result.buffer_bytes, self.sizes) / names[result.schedule.layer.name]
            for result in self.results
        ]

    def write_files(self) -> None:
        """Write the files, in place of those of an earlier run."""
        if self.output is None:
            return
        found = [path for path in self.files() if path is not None]
        for result, path in zip(self.results, found, strict=True):
            save_schedule(result.schedule, path, self._remarks(result))
        beside = [
            save_beside(machine, size_folder(self.output, size, self.sizes))
            for machine, size in zip(self.runs_on, self.sizes, strict=False)
        ]
        clear_earlier(self.output, [*found, *beside])

    def kind(self) -> str:
        """What they are the best of."""
        where = f"on {self.runs_on[0].name}" if self.runs_on else "without hardware"
        return f"{', '.join(map(size_text, self.sizes))} {where}"

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen schedule --json`` prints."""
        entries = [
            _entry(result, path) | bound
            for result, path, bound in zip(self.results, self.files(), self.cycle_bounds(), strict=True)
        ]
        together = [
            {"buffer_bytes": size, **balance_data(one)}
            for size, one in zip(self.sizes, self.balances, strict=True)
            if one
        ]
        machines = [machine.as_data() for machine in self.runs_on]
        known = {"hardware": machines if len(machines) > 1 else machines[0]} if machines else {}
        return {"schedules": entries, "together": together, **known, "left_out": self.coverage.as_json()}

    def rows(self) -> list[dict[str, object]]:
        """One row a schedule: what it costs, and what nothing goes below."""
        return [
            {
                "layer": one["layer"],
                "buffer_bytes": result.buffer_bytes,
                **{name: cell for name, cell in one.items() if name != "layer"},
                "bound_bytes": bounds_of(result).largest,
                "bound_ratio": bounds_of(result).ratio(result.total_bytes),
            }
            for result, one in zip(self.results, self.prediction.rows(), strict=True)
        ]

    def summary(self) -> str:
        """What was found, summed; of several sizes each for itself: they are alternatives."""
        if len(self.sizes) == 1:
            return super().summary()
        each = [f"{size_text(size)} {self.of_size(size).bytes:,} bytes" for size in self.sizes]
        return f"Plan of {len(self)} schedules of {self.kind()}: {', '.join(each)}"

    def plot(self) -> Figure:
        """Bytes of each layer, by operand; with several sizes those of all layers against the size, and the bound."""
        if len(self.sizes) == 1:
            return super().plot()
        from hwgen.report.size_curve import size_curve

        of = {size: [one for one in self.results if one.buffer_bytes == size] for size in self.sizes}
        return Figure.of(
            size_curve(
                [
                    (size, sum(one.total_bytes for one in some), sum(bounds_of(one).largest for one in some))
                    for size, some in of.items()
                ]
            )
        )

    def _remarks(self, result: Result) -> list[str]:
        runs_on = self.runs_on[0].titled if self.runs_on else "the pure model: no lanes, exact buffer need"
        least = HWC_OBJECTIVES.get(self.objective)
        near = f"{self.aim[0].upper()}{self.aim[1:]} found near the least traffic"
        what = near if least is None else f"Least {least.title}"
        return [
            f"{what} with {size_text(result.buffer_bytes)} of local buffers, for {runs_on}:",
            f"{result.total_bytes} bytes, out of {result.covered} schedules.",
        ]


def size_folder(folder: Path, size: int, sizes: Sequence[int]) -> Path:
    """Where the schedules for a size go: a folder inside for each of several sizes."""
    return folder / size_text(size) if len(sizes) > 1 else folder


def bounds_of(result: Result) -> Bounds:
    """What no schedule goes below."""
    return bounds(result.schedule.layer.of_network, result.buffer_bytes, result.schedule.bits)


def require_programs(results: Sequence[Result], machines: Mapping[int, Hardware]) -> None:
    """Raise `InputError` where hardware cannot run a schedule, as `generate` does: all programs are made.

    A setting may be beyond its bits, or fitted to another value.
    """
    for result in results:
        if (machine := machines.get(result.buffer_bytes)) is not None:
            compile_layer(result.schedule, machine)


def _entry(result: Result, path: Path | None) -> dict[str, object]:
    return {
        "layer": result.schedule.layer.name,
        "buffer_bytes": result.buffer_bytes,
        "file": None if path is None else str(path),
        "counts": result.counts.as_json(),
        "total_bytes": result.total_bytes,
        "total_with_bias": result.counts.total_with_bias(),
        "need": {operand: result.need[operand] for operand in ("I", "W", "O")},
        "bound_bytes": bounds_of(result).largest,
        "bound_ratio": round(bounds_of(result).ratio(result.total_bytes), 6),
        "compulsory_ratio": round(result.total_bytes / bounds_of(result).compulsory, 6),
        **balance_data(result.balance),
        "candidates": {"covered": result.covered, "pruned": result.pruned},
        "seconds": round(result.seconds, 6),
    }
