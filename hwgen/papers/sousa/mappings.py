"""Mappings of layers on several clusters: the cycle model of all, the simulator for those that fit a limit.

Each result is kept as soon as it is there; an interrupted campaign goes on where it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import hwgen.arch
import hwgen.gateware
import hwgen.ir
import hwgen.lower
import hwgen.model
from cosim.cluster.model import SimulatedCluster
from cosim.cluster.run import run_clusters
from cosim.device.device import HARNESS, dram_depth
from cosim.device.judge import judge
from cosim.system.model import load_system
from cosim.system.results import prepare_system
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import SystemParameters
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.system.program import compile_system, system_times
from hwgen.lower.system.shares import Partition
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.ledger import Ledger

__all__ = ["MappingCampaign", "MappingCase", "MappingResult"]

FAST_FROM = 400_000
"""Cycles of a whole campaign from which on an optimised build pays."""
Candidate = tuple[Schedule, Partition]


@dataclass(frozen=True)
class MappingCase:
    """A layer and its mappings, best first: the first that the hardware can run is taken."""

    name: str
    candidates: Sequence[Candidate]


@dataclass(frozen=True)
class MappingResult:
    """What came of one case.

    Members
    -------
    chosen : which candidate ran; None: the hardware can run none, and nothing else is known.
    refused : why the first candidate did not, if it did not.
    predicted : cycles of the layer by the cycle model.
    moving, computing : cycles in which the busiest cluster's DMA moves data, and its HWCs compute, by the model.
    measured : cycles in the RTL; None: over the limit.
    passed : whether all counts and outputs were right.
    failures : what was wrong.
    """

    name: str
    chosen: int | None
    refused: str
    predicted: float
    moving: float
    computing: float
    measured: int | None = None
    passed: bool = True
    failures: Sequence[str] = ()
    seconds: float = 0.0

    @property
    def error(self) -> float | None:
        """Predicted cycles over measured ones, less 1."""
        return self.predicted / self.measured - 1 if self.measured else None


@dataclass(frozen=True)
class MappingCampaign:
    """Cases on several clusters of some hardware, results kept in ``folder``.

    Members
    -------
    groups : cases that are simulated together or not at all, so that their cycles can be compared.
    limit : predicted cycles up to which a case is simulated.
    """

    groups: Sequence[Sequence[MappingCase]]
    hardware: Hardware
    clusters: int
    folder: Path
    limit: int

    def predict(self, progress: Callable[[], None] = lambda: None) -> list[list[MappingResult]]:
        """All cases by the cycle model, groups as they were given."""
        found = []
        for group in self.groups:
            found.append([self._predicted(case) for case in group])
            progress()
        return found

    def measure(
        self,
        predicted: Sequence[Sequence[MappingResult]],
        within: Sequence[int] | None = None,
        progress: Callable[[], None] = lambda: None,
    ) -> list[list[MappingResult]]:
        """The same, with what was measured for the groups of these numbers, or of those within the limit."""
        if within is None:
            within = [number for number, group in enumerate(predicted) if self.fits(group)]
        within = list(within)
        within.sort(key=lambda number: max(one.predicted for one in predicted[number]))
        wanted = {number: [_taken(*pair) for pair in zip(self.groups[number], predicted[number], strict=True)]
                  for number in within}  # fmt: skip
        cycles = sum(one.predicted for number in within for one in predicted[number])
        loaded = _Loaded(self, [one for group in wanted.values() for one in group], fast=cycles > FAST_FROM)
        results = [list(group) for group in predicted]
        for number in within:
            for place, candidate in enumerate(wanted[number]):
                entry = self._entry("rtl", candidate, loaded.measured)
                results[number][place] = replace(predicted[number][place], **entry)
            progress()
        return results

    def fits(self, group: Sequence[MappingResult]) -> bool:
        """Whether all of a group run, and are short enough to be simulated."""
        return all(one.chosen is not None and one.predicted <= self.limit for one in group)

    def _predicted(self, case: MappingCase) -> MappingResult:
        refused = ""
        for number, candidate in enumerate(case.candidates):
            entry = self._entry("model", candidate, self._times)
            if "predicted" in entry:
                return MappingResult(case.name, number, refused, **entry)
            refused = refused or entry["refused"]
        return MappingResult(case.name, None, refused, 0.0, 0.0, 0.0)

    def _times(self, candidate: Candidate) -> dict[str, Any]:
        schedule, partition = candidate
        try:
            program = compile_system(schedule, self.hardware, self.clusters, partition, serial=True)
        except InputError as error:
            return {"refused": str(error)}
        times = system_times(program)
        return {
            "predicted": times.total,
            "moving": max(one.busy["load"] + one.busy["store"] for one in times.clusters),
            "computing": max(one.busy["compute"] for one in times.clusters),
        }

    # --- results that are kept ---

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self.folder / "mappings.jsonl")

    @cached_property
    def _kept(self) -> dict[str, dict[str, Any]]:
        return self._ledger.load()

    @cached_property
    def _sources(self) -> dict[str, str]:
        model = [Path(room.__path__[0]) for room in (hwgen.arch, hwgen.ir, hwgen.model, hwgen.lower)]
        rtl = [*model, Path(hwgen.gateware.__path__[0]), HARNESS]
        return {"model": sources_digest(model), "rtl": sources_digest(rtl)}

    def _entry(self, kind: str, candidate: Candidate, make: Callable[[Candidate], dict[str, Any]]) -> dict[str, Any]:
        """What is kept of a mapping, or made now."""
        schedule, partition = candidate
        data = [kind, schedule.as_data(), partition, self.hardware.model_dump(mode="json"), self.clusters]
        key = digest_of([*data, self._sources[kind]])
        if key not in self._kept:
            self._kept[key] = make(candidate)
            self._ledger.add(key, self._kept[key])
        return {name: value for name, value in self._kept[key].items() if name != "key"}


def _taken(case: MappingCase, found: MappingResult) -> Candidate:
    """The candidate that ran."""
    assert found.chosen is not None
    return case.candidates[found.chosen]


class _Loaded:
    """The simulated system of a campaign, built when the first mapping runs."""

    def __init__(self, campaign: MappingCampaign, wanted: Sequence[Candidate], *, fast: bool) -> None:
        self._campaign, self._wanted, self._fast = campaign, wanted, fast

    @cached_property
    def _model(self) -> SimulatedCluster:
        """The model with a DRAM for the largest mapping, so that one build serves all."""
        campaign, hardware = self._campaign, self._campaign.hardware
        programs = [compile_system(one, hardware, campaign.clusters, by, serial=True) for one, by in self._wanted]
        (system,) = {SystemParameters(one.programs[0].hardware, campaign.clusters) for one in programs}
        words = max(one.dram_size for one in programs) // WORD_BYTES + 1
        return load_system(system, dram_log2=dram_depth(words), fast=self._fast)

    def measured(self, candidate: Candidate) -> dict[str, Any]:
        """Run a mapping, and compare counts and outputs."""
        schedule, partition = candidate
        task = prepare_system(schedule, self._campaign.hardware, self._campaign.clusters, partition, serial=True)
        result = judge(task.wanted, run_clusters(self._model, task.job))
        return {
            "measured": result.cycles,
            "passed": result.passed,
            "failures": result.failures,
            "seconds": round(result.seconds, 3),
        }
