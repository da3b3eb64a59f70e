"""Plans of two memory levels: the best schedule of every layer on a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.cluster_search import search_clusters, shapes_known
from hwgen.api.schedule_files import clear_earlier, require_hardware, save_beside, schedule_files
from hwgen.api.scheduling.plan import Plan
from hwgen.api.work import Work
from hwgen.ir.counts import Counts
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, EnergyCost, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Schedule, save_schedule
from hwgen.lower.cluster.cost import predicted_on_cluster
from hwgen.search.cluster.optimal import ClusterResult
from hwgen.search.cluster.shared import SharedCluster
from hwgen.search.objectives.of_cluster import CYCLES

__all__ = ["ClusterPlan", "energy_cost", "plan_on_cluster"]


def energy_cost(text: str) -> EnergyCost:
    """Weights such as 200,6,1,1: of a byte of DRAM, TCDM and local buffer, of a multiply-accumulate."""
    try:
        dram, tcdm, local, mac = (float(part) for part in text.split(","))
        return EnergyCost(dram=dram, tcdm=tcdm, local=local, mac=mac)
    except ValueError:
        raise InputError(
            f"--energy: expected DRAM,TCDM,LOCAL,MAC, four numbers from 0 to 1000000, got {text!r}"
        ) from None


@dataclass(frozen=True, repr=False, eq=False)
class ClusterPlan(Plan):
    """A schedule of each layer on a cluster; the search is bounded, and says where it may have left something out.

    Members
    -------
    found : the schedules and the cluster that runs them.
    asked : the hardware as it was given, whose lanes may be free.
    objective : None: the fewest cycles within a slack of the fewest bytes of the DRAM.
    min_utilisation : what each layer's utilisation must reach; None: nothing is demanded.
    """

    found: SharedCluster
    asked: Hardware
    objective: str | None
    min_utilisation: float | None
    output: Path | None

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules, layer by layer."""
        return tuple(one.schedule for one in self.found.results)

    @property
    def cluster(self) -> Cluster:
        """The cluster that was asked for."""
        return self.asked.cluster or Cluster()

    @property
    def timed(self) -> bool:
        """Whether cycles were looked at."""
        return self.objective in (None, CYCLES) or self.min_utilisation is not None

    def works(self) -> list[Work]:
        """The schedules and the one cluster."""
        return [Work(self.schedules, self.found.hardware, coverage=self.coverage)]

    def machines(self) -> Sequence[Hardware]:
        """The cluster, for each schedule."""
        return [self.found.hardware] * len(self.schedules)

    def files(self) -> Sequence[Path | None]:
        """The file of each schedule."""
        names = schedule_files(self.coverage.layers)
        return [None if self.output is None else self.output / names[one.layer.name] for one in self.schedules]

    def write_files(self) -> None:
        """Write the files, in place of those of an earlier run."""
        if self.output is None:
            return
        found = [path for path in self.files() if path is not None]
        for one, path in zip(self.found.results, found, strict=True):
            save_schedule(one.schedule, path, _remarks(one, self.cluster, self.min_utilisation))
        clear_earlier(self.output, [*found, save_beside(self.found.hardware, self.output)])

    def kind(self) -> str:
        """What they are the best of."""
        return f"{self.objective or 'the fewest cycles'} on {self.found.hardware.name}"

    def together(self) -> dict[str, Any]:
        """All layers: as they are, with the fewest bytes, and each on HWCs of its own."""
        return _together(self.found)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen schedule --json`` prints."""
        entries = []
        for one, path, bound in zip(self.found.results, self.files(), self.cycle_bounds(), strict=True):
            counts = predicted_on_cluster(one.schedule, self.found.hardware).prediction.counts
            entry = _entry(one.schedule.layer, one, path, self.cluster, counts, timed=self.timed)
            entries.append(entry | bound)
        return {
            "schedules": entries,
            "hardware": self.found.hardware.as_data(),
            "all_layers": self.together(),
            "lanes": {"searched": [str(lanes) for lanes, _ in self.found.shapes], "of": shapes_known(self.asked)},
            "left_out": self.coverage.as_json(),
        }


def plan_on_cluster(
    coverage: Coverage,
    hardware: Hardware,
    objective: str | None,
    min_utilisation: float | None,
    output: Path | None,
    *,
    slack: float,
    per_layer: bool,
) -> ClusterPlan:
    """Search and write a schedule for each layer, all for one cluster unless ``per_layer``."""
    require_hardware(hardware.name, output)
    found = search_clusters(
        coverage.layers,
        hardware,
        per_layer=per_layer,
        objective=objective,
        min_utilisation=min_utilisation,
        slack=slack,
        ends=True,
    )
    plan = ClusterPlan(coverage, found, hardware, objective, min_utilisation, output)
    plan.write_files()
    return plan


def _ends(results: Sequence[ClusterResult]) -> tuple[int, float | None] | None:
    """Fewest bytes of the DRAM and cycles with them, of all layers together; None where they were not searched."""
    ends = [one.least for one in results]
    bytes_of = [end[0] for end in ends if end is not None]
    cycles = [_cycles(one, end[1]) for one, end in zip(results, ends, strict=True) if end is not None]
    if len(bytes_of) < len(results):
        return None
    known = [one for one in cycles if one is not None]
    return sum(bytes_of), sum(known) if len(known) == len(results) else None


def _cycles(found: ClusterResult, utilisation: float | None) -> float | None:
    """The cycles that a utilisation stands for."""
    if not utilisation or not found.judged:
        return None
    return found.schedule.layer.macs / (found.lanes * utilisation)


def _together(shared: SharedCluster) -> dict[str, Any]:
    """All layers: as they are, with the fewest bytes, and each on HWCs of its own."""

    def sums(results: Sequence[ClusterResult]) -> dict[str, Any]:
        cycles = [_cycles(one, one.judged) for one in results]
        known = [one for one in cycles if one is not None]
        return {
            "total_bytes": sum(one.dram_bytes for one in results),
            "tcdm_bytes": sum(one.tcdm_bytes for one in results),
            "cycles": round(sum(known)) if len(known) == len(results) and results[0].times else None,
        }

    least = _ends(shared.results)
    fewest = None
    if least is not None:
        fewest = {"total_bytes": least[0], "cycles": None if least[1] is None else round(least[1])}
    return {**sums(shared.results), "fewest_bytes": fewest, "alone": sums(shared.alone)}


def _remarks(found: ClusterResult, cluster: Cluster, min_utilisation: float | None) -> list[str]:
    where = f"on {cluster.hwcs} HWCs with {cluster.tcdm} bytes of TCDM"
    if min_utilisation is not None:
        where += f", with a utilisation of {min_utilisation:g} at the least"
    moved = f"{found.dram_bytes} bytes of DRAM and {found.tcdm_bytes} of TCDM for I, W and O"
    if found.objective == CYCLES:
        return [f"Fewest cycles {where}:", f"{found.value:.0f}, at least {found.bound:.0f}; {moved}."]
    if found.slack is not None:
        return [f"Fewest cycles within {100 * found.slack:g} % of the fewest bytes of DRAM, {where}:", f"{moved}."]
    return [
        f"Least {found.objective}, then fewest bytes of TCDM, {where}:",
        f"{found.value:.12g} {found.unit}; {moved}.",
    ]


def _entry(
    layer: Layer, found: ClusterResult, path: Path | None, cluster: Cluster, counts: Counts, *, timed: bool
) -> dict[str, Any]:
    return {
        "layer": layer.name,
        "buffer_bytes": cluster.tcdm,
        "file": None if path is None else str(path),
        "objective": found.objective,
        "value": found.value,
        "unit": found.unit,
        "counts": counts.as_json(),
        "total_bytes": found.dram_bytes,
        "total_with_bias": counts.total_with_bias("dram"),
        "tcdm_bytes": found.tcdm_bytes,
        "by_operand": {array: counts.operand_bytes(array, "dram") for array in ARRAYS},
        "need": found.need,
        "utilisation": round(found.utilisation, 6),
        "utilisation_in_cycles": None if found.judged is None or not timed else round(found.judged, 6),
        "fewest_bytes": None if found.least is None else found.least[0],
        "complete": found.complete,
        "bound": found.bound,
        "gap": found.gap,
        "seconds": round(found.seconds, 6),
    }
