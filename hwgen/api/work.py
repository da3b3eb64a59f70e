"""What ``generate``, ``cosim`` and ``synth`` work on: schedules from files, or layers that are scheduled first."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from hwgen.api.arguments import buffer_sizes, is_given, size_text
from hwgen.api.cluster_search import search_clusters
from hwgen.api.machines import HardwareLike, read_hardware
from hwgen.api.nests import Given, Planned, given_schedules, is_schedules
from hwgen.api.networks import NetworkLike, covered, is_model, is_network
from hwgen.api.progress import note, steps
from hwgen.api.schedule_files import clear_earlier, is_builtin_folder, require_hardware, save_beside
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError, load_yaml
from hwgen.ir.hardware import MULTIPLIERS, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.names import file_names
from hwgen.ir.schedule import Schedule, save_schedule
from hwgen.lower.hwc.fitting import fitted, narrowed
from hwgen.model.area.estimate import estimated_area
from hwgen.model.cluster.levels import is_for_cluster
from hwgen.model.nest.one_level import predict
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.core.optimal import Balance, Cost, Result
from hwgen.search.hwc.balanced import ANY_TRAFFIC, TRAFFIC_SLACK, BalancedRequest
from hwgen.search.hwc.balanced_shared import SHARED_SLACK, balanced_shared, least_shared, number_of_steps
from hwgen.search.hwc.shared import Shared
from hwgen.search.objectives.of_cluster import CYCLES

__all__ = [
    "MOST_SLACK",
    "PER_LAYER",
    "SHARED",
    "SHARED_SLACK",
    "TRAFFIC_SLACK",
    "Balance",
    "Cost",
    "SetObjective",
    "Work",
    "balance_data",
    "balance_of",
    "best_schedules",
    "cluster_slack",
    "default_objective",
    "fitted_works",
    "left_out",
    "of_size",
    "one_for_all",
    "save_works",
    "sizes_on",
    "slack_of",
    "time_and_area",
    "time_text",
    "work_of",
]

DEFAULT_BUDGET = 1024
SHARED, PER_LAYER = "shared", "per_layer"
"""Names of the HWC that `one_for_all` finds, and of those that are made for one layer each."""
MOST_SLACK = 10.0
"""The largest slack that may be asked for."""
SetObjective = Literal["balanced", "cycles", "traffic"]


@dataclass(frozen=True)
class Work:
    """Schedules, and the HWC or cluster that runs them all; None: for each schedule the smallest that runs it.

    ``folder``: where its files go inside a command's output folder. ``coverage``: what became of the layers of the
    set; None for schedules from files. ``balance``: what was weighed for them, of all layers together.
    """

    schedules: tuple[Schedule, ...]
    hardware: Hardware | None
    folder: Path = Path()
    coverage: Coverage | None = None
    balance: Balance | None = None

    @property
    def on_cluster(self) -> bool:
        """Whether these are schedules of two memory levels; raises `InputError` if some are."""
        clusters = sum(is_for_cluster(schedule) for schedule in self.schedules)
        if clusters not in (0, len(self.schedules)):
            raise InputError("SCHEDULE: expected schedules of one memory level or of two, got both")
        return clusters > 0


def fitted_works(works: Sequence[Work]) -> list[Work]:
    """The works on hardware whose coordinates are as narrow as their layers allow."""
    if any(work.on_cluster or work.hardware is None for work in works):
        raise InputError("--fitted: expected schedules of one HWC, and a hardware file beside them")
    return [
        replace(work, hardware=fitted(work.hardware, work.schedules)) for work in works if work.hardware is not None
    ]


def left_out(works: Sequence[Work]) -> dict[str, object]:
    """The part of the JSON document that says what the schedules of a set leave out; empty for those from files."""
    known = [work.coverage for work in works if work.coverage is not None]
    return {"left_out": known[0].as_json()} if known else {}


def work_of(
    workload: object,
    *,
    buffer: str | None,
    hardware: HardwareLike | None,
    per_layer: bool,
    objective: SetObjective | None = None,
    slack: float | None = None,
    alone: bool = False,
    partial: bool = False,
    begin: Callable[[Sequence[Layer], Hardware], None] = lambda layers, hardware: None,
) -> list[Work]:
    """Read the schedules; or schedule the set: on the given HWC or cluster, one for each layer, the best one for all.

    Schedules that run on different hardware are works of their own. ``alone``: a set is scheduled for one HWC even
    where there is a cluster of them. ``partial``: leave out what cannot be scheduled. ``objective``, ``slack``: those
    of `ObjectiveOption` and `SlackOption`; None: the default. ``begin`` : called with the layers of a set and given
    hardware before they are scheduled.
    """
    given = read_hardware(hardware)
    if not _is_set(workload):
        of_a_set = {"--buffer": buffer, "--per-layer": per_layer, "--partial": partial, "--objective": objective,
                    "--traffic-slack": slack}  # fmt: skip
        for option, value in of_a_set.items():
            if is_given(value):
                raise InputError(f"{option}: expected with a layer set, not with schedules")
        return _given_works(workload, given)
    named = objective or ("balanced" if given is None else default_objective(slack))
    allowed = slack_of(named, slack, shared=given is None and not per_layer)
    network: NetworkLike = workload if is_network(workload) else _names(workload)[0]
    on_cluster = given is not None and given.cluster is not None and not alone
    coverage = covered(network, partial=partial, batches=on_cluster)
    if on_cluster and buffer is not None:
        raise InputError("--buffer: a cluster has its sizes: expected none")
    sizes = sizes_on(given, [] if buffer is None else buffer_sizes(buffer)) or [DEFAULT_BUDGET]
    if len(sizes) != 1:
        raise InputError(f"--buffer: expected one size, got {buffer}")
    if given is not None:
        begin(coverage.layers, given)
    if given is not None and on_cluster:
        least = "dram-bytes" if allowed is None else CYCLES if allowed == ANY_TRAFFIC else None
        found_together = search_clusters(
            coverage.layers, given, per_layer=per_layer, objective=least, slack=cluster_slack(allowed)
        )
        schedules = tuple(result.schedule for result in found_together.results)
        return [Work(schedules, found_together.hardware, coverage=coverage)]
    if given is None and not per_layer:
        if allowed == ANY_TRAFFIC:
            raise InputError("--objective: cycles: expected with --hardware or --per-layer, not for one HWC for all")
        shared = one_for_all(coverage.layers, sizes[0], allowed)
        schedules = tuple(result.schedule for result in shared.results)
        return [Work(schedules, shared.hardware, coverage=coverage, balance=shared.balance)]
    machine = of_size(given or Hardware(name=PER_LAYER, budget=sizes[0]), sizes[0])
    found = best_schedules(coverage.layers, sizes, machine, slack=allowed)
    schedules = tuple(result.schedule for result in found)
    return [Work(schedules, machine, coverage=coverage, balance=balance_of(found))]


def default_objective(slack: float | None, *, demanded: bool = False) -> SetObjective:
    """The objective on given hardware where none is named: cycles, unless a slack asks for the balanced one.

    ``demanded`` : a utilisation is.
    """
    return "cycles" if slack is None and not demanded else "balanced"


def slack_of(objective: str, slack: float | None, *, shared: bool = False) -> float | None:
    """The share by which traffic may exceed the least; None where the objective is one of traffic.

    ``shared`` : one HWC is found for all layers, which has a default of its own. Raises `InputError` for a slack that
    is given with another objective.
    """
    if objective == "balanced":
        return slack if slack is not None else SHARED_SLACK if shared else TRAFFIC_SLACK
    if slack is not None:
        raise InputError(f"--traffic-slack: expected with --objective balanced, got {objective}")
    return ANY_TRAFFIC if objective == CYCLES else None


def cluster_slack(slack: float | None) -> float:
    """The slack of a search on a cluster, which without any has the fewest bytes as its objective."""
    if slack == 0:
        raise InputError("--traffic-slack: expected above 0 on a cluster, got 0 (--objective traffic: fewest bytes)")
    return TRAFFIC_SLACK if slack is None else slack


def sizes_on(hardware: Hardware | None, sizes: list[int]) -> list[int]:
    """The sizes of buffers that are asked for, or the hardware's own where none is.

    A size below its memories restricts the schedules. Raises `InputError` for one above memories that are fixed.
    """
    if hardware is None:
        return sizes
    fixed = None if hardware.buffers is None else sum(hardware.buffers.values())
    if fixed is not None and max(sizes, default=0) > fixed:
        raise InputError(
            f"--buffer: {hardware.name} has buffers of {size_text(fixed)} in all: expected at most that, "
            f"got {size_text(max(sizes))}"
        )
    return sizes or [hardware.budget if fixed is None else fixed]


def of_size(hardware: Hardware, size: int) -> Hardware:
    """The hardware for a size, which is its budget unless its memories are fixed."""
    return hardware if hardware.buffers is not None else hardware.model_copy(update={"budget": size})


def one_for_all(
    layers: tuple[Layer, ...], size: int, slack: float | None, *, name: str = SHARED, multipliers: int = MULTIPLIERS
) -> Shared:
    """The one HWC of some bytes that is best for all layers, and the schedules on it; its lanes are free.

    Its coordinates are as narrow as the layers allow. ``slack`` : by what share traffic may exceed the least, for the
    least time and area; None: the least traffic.
    """
    note(f"searching the best HWC of {size_text(size)} for {len(layers)} layers")
    with steps(number_of_steps(layers, size, slack, multipliers=multipliers), "searching") as step:
        if slack is None:
            found = least_shared(layers, size, multipliers=multipliers, name=name, step=step)
        else:
            found = balanced_shared(layers, size, multipliers=multipliers, slack=slack, name=name, step=step)
    return replace(found, hardware=narrowed(found.hardware, [result.schedule for result in found.results]))


def balance_of(results: Sequence[Result]) -> Balance | None:
    """What was weighed for all layers together."""
    known = [result.balance for result in results if result.balance is not None]
    return Balance.together(known) if known else None


def balance_data(balance: Balance | None) -> dict[str, object]:
    """The keys of a JSON document that say what both ends would be; none where nothing was weighed."""
    if balance is None:
        return {}
    ends = {"chosen": balance.chosen, "least_traffic": balance.least_traffic, "fewest_cycles": balance.fewest_cycles}
    return {
        **{
            name: {key: value for key, value in asdict(cost).items() if value is not None}
            for name, cost in ends.items()
        },
        "weighed": {"within_slack": balance.within_slack, "timed": balance.timed},
        **({} if balance.slack is None else {"traffic_slack": balance.slack}),
    }


def time_and_area(balance: Balance | None, hardware: Hardware | None) -> str | None:
    """A sentence of what one HWC for all layers was chosen by; None of other hardware."""
    if balance is None or balance.slack is None or hardware is None:
        return None
    area = estimated_area(hardware)
    assert area.mhz is not None
    return (
        f"Traffic may be {100 * balance.slack:g} % above the least (--traffic-slack {balance.slack:g}): the HWC is "
        f"that of the least time, then area. Estimated for an ECP5: {time_text(balance.chosen.cycles, area.mhz)}, "
        f"{area.lut4:,} LUT4-equivalents."
    )


def time_text(cycles: float, mhz: float) -> str:
    """Milliseconds that cycles take at a clock, and the clock."""
    milliseconds = 1e-3 * cycles / mhz
    told = f"{milliseconds:,.1f}" if milliseconds >= 10 else f"{milliseconds:.3g}"
    return f"{told} ms at {mhz:.1f} MHz"


def save_works(works: Sequence[Work], folder: Path) -> None:
    """Write the schedules and their hardware as `load_schedules` finds them, in place of those of an earlier run."""
    for work in works:
        require_hardware(None if work.hardware is None else work.hardware.name, folder / work.folder)
    written = []
    for work in works:
        names = file_names([schedule.layer.name for schedule in work.schedules])
        for name, schedule in zip(names, work.schedules, strict=True):
            written.append(folder / work.folder / f"{name}.yaml")
            save_schedule(schedule, written[-1])
        if work.hardware is not None:
            written.append(save_beside(work.hardware, folder / work.folder))
    clear_earlier(folder, written)


def _given_works(workload: object, hardware: Hardware | None) -> list[Work]:
    """The schedules of plans, of nests, or of files."""
    if isinstance(workload, Planned):
        works = workload.works()
        for one in (Given(schedule) for work in works for schedule in work.schedules):
            _require_lanes(one)
        return list(works) if hardware is None else [replace(work, hardware=hardware) for work in works]
    return _works(given_schedules(workload, hardware))  # type: ignore[arg-type]


def _works(files: list[Given]) -> list[Work]:
    """The schedules by the hardware they run on: all together if it is the same one, else folder by folder."""
    for file in files:
        _require_lanes(file)
    names = {file.schedule.layer.name for file in files}
    if len(names) == len(files) and all(file.hardware == files[0].hardware for file in files):
        return [Work(tuple(file.schedule for file in files), files[0].hardware)]
    folders: dict[Path, list[Given]] = {}
    for file in files:
        folders.setdefault((file.file or Path("nest")).resolve().parent, []).append(file)
    common = os.path.commonpath(folders)
    return [
        Work(tuple(one.schedule for one in members), members[0].hardware, folder.relative_to(common))
        for folder, members in folders.items()
    ]


def _require_lanes(file: Given) -> None:
    """Refuse a schedule of the pure model, and say how to get one that runs."""
    if file.schedule.lanes.product == 1 and not is_for_cluster(file.schedule):
        size = 1 << max(DEFAULT_BUDGET.bit_length() - 1, (predict(file.schedule).need_bytes.total - 1).bit_length())
        raise InputError(
            f"{file.where}: a schedule of the pure model, without lanes, runs on no HWC; for schedules, and an HWC "
            f"that runs them: hwgen schedule SET --buffer {size_text(size)} --shared -o DIR"
        )


def best_schedules(
    layers: tuple[Layer, ...],
    sizes: list[int],
    hardware: Hardware | None,
    objective: str = "traffic",
    *,
    slack: float | None = None,
    jobs: int = 1,
    store: Path | None = None,
) -> list[Result]:
    """The best schedule of each layer for each size, layer by layer, with a progress bar.

    ``slack`` : fewest cycles, with traffic that exceeds the least by this share at most; None: ``objective`` alone.
    """
    if slack is None:
        request = Request(tuple(sizes), hardware, objective)
    else:
        request = BalancedRequest(tuple(sizes), hardware, slack=slack)
    with steps(len(layers), "searching") as step:
        found = search_layers(layers, request, jobs=jobs, store=store, progress=lambda layer: step())
    return [result for results in found for result in results]


def _names(workload: object) -> list[str]:
    """Names of files, folders and sets; none where it is something else."""
    several = [workload] if isinstance(workload, str | os.PathLike) else workload
    if not isinstance(several, list | tuple) or not all(isinstance(one, str | os.PathLike) for one in several):
        return []
    return [os.fspath(one) for one in several]


def _is_set(workload: object) -> bool:
    """Whether it is a network: the only name is that of a layer set; what a YAML file is, its ``kind`` says."""
    if is_network(workload) or is_schedules(workload):
        return is_network(workload)
    names = _names(workload)
    if len(names) != 1:
        return False
    path = Path(names[0])
    if path.is_dir() or is_builtin_folder(names[0]):
        return False
    if path.is_file() and not is_model(path):
        data = load_yaml(path)
        return isinstance(data, dict) and data.get("kind") in ("network", "layer_list")
    return True
