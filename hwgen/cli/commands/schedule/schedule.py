"""``hwgen schedule``: the best schedule of every layer for every buffer size, with the figures of its proof."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.arguments import buffer_sizes, checked_multipliers, claim_folder, size_text
from hwgen.api.machines import read_hardware
from hwgen.api.networks import covered
from hwgen.api.schedule_files import clear_earlier, require_hardware, save_beside, schedule_files
from hwgen.api.work import (
    SHARED,
    balance_data,
    balance_of,
    best_schedules,
    cluster_slack,
    of_size,
    one_for_all,
    slack_of,
)
from hwgen.cli.commands.layers import LayerSet
from hwgen.cli.commands.schedule.clusters import energy_cost, schedule_on_cluster
from hwgen.cli.commands.schedule.hierarchies import schedule_on_hierarchy
from hwgen.cli.commands.schedule.utilisation import print_plan
from hwgen.cli.console import Json, print_json, print_table
from hwgen.cli.coverage import Partial, tell_activations
from hwgen.cli.jobs import MEMORY_OF_A_SEARCH, jobs_option
from hwgen.cli.workload import FillsOption, HardwareOption, HierarchyOption, PerLayer, SlackOption, tell_balance
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import save_schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.bounds import Bounds, bounds
from hwgen.search.core.optimal import Result
from hwgen.search.objectives.of_cluster import CLUSTER_OBJECTIVES
from hwgen.search.objectives.of_hwc import HWC_OBJECTIVES
from hwgen.tools.output import keep_unless_refused

__all__ = ["schedule"]

Buffers = Annotated[
    str | None,
    typer.Option(
        "--buffer", metavar="SIZE[,SIZE...]", help="Sizes such as 512 or 1KiB,4KiB; none with a cluster's hardware."
    ),
]
OBJECTIVES = ("balanced", *HWC_OBJECTIVES, *CLUSTER_OBJECTIVES)
Goal = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar=f"[{'|'.join(OBJECTIVES)}|LEVEL]",
        help="What to have least of. On an HWC balanced by default: the fewest cycles within the slack of the least "
        "traffic; without hardware traffic, or with-bias: with the biases, none of which is kept. On a cluster the "
        "same at the DRAM, or dram-bytes, dram-time, energy. On a hierarchy energy, or a level's bytes.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Write the schedules here; what is finished is not done again."
    ),
]
Busy = Annotated[
    float | None,
    typer.Option(
        "--min-utilisation",
        metavar="U",
        help="What the mean estimated MAC utilisation must reach, 0 to 1; on a cluster, each layer's.",
    ),
]
Energy = Annotated[
    str | None,
    typer.Option(
        "--energy", metavar="DRAM,TCDM,LOCAL,MAC", help="With --objective energy: of a byte in each, of a MAC."
    ),
]
Lanes = Annotated[
    str | None,
    typer.Option("--lanes", metavar="auto|SHAPE", help="With --min-utilisation: lanes such as m8x2; any by default."),
]
Multipliers = Annotated[
    int | None,
    typer.Option(
        "--multipliers",
        metavar="N",
        help="With --min-utilisation or --shared: of each HWC, 4 to 256 (16), where the lanes are free.",
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option(
        "--max-ratio", min=1.0, help="With --min-utilisation: most traffic, by the least without hardware (1.2)."
    ),
]
OneForAll = Annotated[bool, typer.Option("--shared", help="One HWC for all layers, as cosim and generate find it.")]
Jobs = Annotated[int, jobs_option("Layers at a time.", MEMORY_OF_A_SEARCH)]

STORE = ".found"
"""Folder, beside the schedules, of the results of each finished layer."""


def schedule(
    name: LayerSet,
    *,
    buffer: Buffers = None,
    hardware: HardwareOption = None,
    hierarchy: HierarchyOption = None,
    fills: FillsOption = False,
    partial: Partial = False,
    objective: Goal = None,
    slack: SlackOption = None,
    energy: Energy = None,
    min_utilisation: Busy = None,
    lanes: Lanes = None,
    multipliers: Multipliers = None,
    max_ratio: Ratio = None,
    shared: OneForAll = False,
    per_layer: PerLayer = False,
    output: Folder = None,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Find the schedule of least traffic for each layer and buffer size, of all loop orders, markers and steps.

    The result is proven: nothing of that space is left out. With --min-utilisation: schedules and HWCs of little
    traffic whose mean utilisation meets the demand, by estimated cycles. With the hardware of a cluster: schedules of
    two memory levels and the one cluster that runs them all, of fewest cycles within 1 % of the least bytes of the
    DRAM; or with --objective of the least bytes or time of the DRAM, or the least energy, and then the fewest bytes
    at the TCDM. That search is bounded; it says where it may have left out something better. With --hierarchy:
    schedules of least energy, or least bytes of a level, on memories of any depth, each with a proven lower bound.
    """
    if hierarchy is not None:
        others = [buffer, hardware, slack, energy, min_utilisation, lanes, max_ratio]
        if shared or per_layer or any(one is not None for one in others):
            raise InputError(
                "--hierarchy: expected no options but --objective, --fills, --partial, -o, -j and --json beside it"
            )
        claim_folder(output)
        schedule_on_hierarchy(
            covered(name, partial=partial), hierarchy, objective, output, fills=fills, jobs=jobs, as_json=as_json
        )
        return
    if fills:
        raise InputError("--fills: expected with --hierarchy")
    given = read_hardware(hardware)
    goal = _known_objective(objective)
    sizes = [] if buffer is None else buffer_sizes(buffer)
    claim_folder(output)
    coverage = covered(name, partial=partial)
    layers = coverage.layers
    if given is not None and given.cluster is not None:
        if buffer is not None or lanes is not None or max_ratio is not None or shared or multipliers:
            raise InputError(
                f"--hardware: {hardware}: a cluster has its sizes: expected no options but --objective, "
                "--traffic-slack, --energy, --min-utilisation, --per-layer, --partial, -o and --json beside it"
            )
        if min_utilisation is not None and not 0 <= min_utilisation <= 1:
            raise InputError(f"--min-utilisation: expected 0 to 1, got {min_utilisation:g}")
        on_cluster = _cluster_objective(goal)
        demanded = "--min-utilisation" if min_utilisation is not None else objective or "balanced"
        near = cluster_slack(slack_of(demanded, slack))
        if objective == "balanced" and min_utilisation is not None:
            raise InputError("--min-utilisation: expected without --objective balanced")
        if energy is not None:
            if on_cluster != "energy":
                raise InputError("--energy: expected together with --objective energy")
            weighed = given.cluster.model_copy(update={"energy": energy_cost(energy)})
            given = given.model_copy(update={"cluster": weighed})
        schedule_on_cluster(
            coverage, given, on_cluster, min_utilisation, output, slack=near, per_layer=per_layer, as_json=as_json
        )
        return
    if per_layer:
        raise InputError("--per-layer: expected with the hardware of a cluster")
    one_level = _one_level_objective(goal, on_hardware=given is not None or shared)
    if energy is not None:
        raise InputError("--energy: expected with the hardware of a cluster and --objective energy")
    if buffer is None:
        raise InputError("--buffer: expected sizes such as 512 or 1KiB,4KiB (only a cluster's hardware does without)")
    store = None if output is None else output / STORE
    if store is not None:
        keep_unless_refused(store)
    if min_utilisation is None and (lanes is not None or max_ratio is not None):
        option = "lanes" if lanes is not None else "max-ratio"
        raise InputError(f"--{option}: expected together with --min-utilisation")
    if multipliers is not None and min_utilisation is None and not shared:
        raise InputError("--multipliers: expected with --min-utilisation or --shared; else in the hardware file")
    number = checked_multipliers(multipliers)
    if min_utilisation is not None:
        if hardware is not None or objective not in (None, "traffic") or slack is not None:
            raise InputError("--min-utilisation: expected without --hardware, --objective and --traffic-slack")
        print_plan(
            coverage, sizes, min_utilisation, max_ratio=max_ratio, lanes=lanes, multipliers=multipliers,
            one_for_all=shared, output=output, store=store, jobs=jobs, as_json=as_json,
        )  # fmt: skip
        return
    if shared and (given is not None or one_level not in ("balanced", "traffic")):
        raise InputError("--shared: expected without --hardware, and with --objective balanced or traffic")
    allowed = slack_of(one_level, slack)
    if output is not None:
        wanted = SHARED if shared else None if given is None else given.name
        for size in sizes:
            require_hardware(wanted, _folder(output, size, sizes))
    if shared:
        best = [one_for_all(layers, size, allowed, multipliers=number) for size in sizes]
        runs_on = [one.hardware for one in best]
        balances = [one.balance for one in best]
        results = [result for same in zip(*(one.results for one in best), strict=True) for result in same]
    else:
        runs_on = [] if given is None else [of_size(given, size) for size in sizes]
        least = "traffic" if one_level == "balanced" else one_level
        results = best_schedules(layers, sizes, given, least, slack=allowed, jobs=jobs, store=store)
        _require_programs(results, runs_on, sizes)
        balances = [balance_of([one for one in results if one.buffer_bytes == size]) for size in sizes]
    names = schedule_files(layers)
    found = [(result, _file(output, result, sizes, names)) for result in results]
    for result, path in found:
        if path is not None:
            save_schedule(result.schedule, path, _remarks(result, runs_on, one_level))
    if output is not None:
        beside = [
            save_beside(machine, _folder(output, size, sizes)) for machine, size in zip(runs_on, sizes, strict=False)
        ]
        clear_earlier(output, [*(path for _, path in found if path is not None), *beside])
    if as_json:
        entries = [_as_json(result, path) for result, path in found]
        together = [
            {"buffer_bytes": size, **balance_data(one)} for size, one in zip(sizes, balances, strict=True) if one
        ]
        print_json({"schedules": entries, "together": together, "left_out": coverage.as_json()})
        return
    columns = [
        "layer",
        "buffer",
        "needs",
        "bytes",
        "words",
        "/ compulsory",
        "/ bound",
        "schedules covered",
        "pruned",
        "seconds",
    ]
    rows = [
        [
            result.schedule.layer.name,
            size_text(result.buffer_bytes),
            result.need.total,
            result.total_bytes,
            result.counts.total_words(),
            result.total_bytes / _bounds(result).compulsory,
            _bounds(result).ratio(result.total_bytes),
            result.covered,
            result.pruned,
            result.seconds,
        ]
        for result in results
    ]
    fewest = "Schedules of the fewest cycles found within the slack of the least traffic"
    ranking = HWC_OBJECTIVES.get(one_level)
    title = fewest if ranking is None else f"Schedules of least {ranking.title}"
    if ranking is not None and ranking.biases:
        columns.insert(4, "with bias")
        for row, result in zip(rows, results, strict=True):
            row.insert(4, result.counts.total_with_bias())
    wide = ["words", "/ compulsory", "seconds", "pruned", "schedules covered"]
    print_table(title, columns, rows, wide=wide)
    _print_weighed(results)
    for one in balances:
        tell_balance(one)
    tell_activations(coverage)


def _require_programs(results: Sequence[Result], runs_on: Sequence[Hardware], sizes: Sequence[int]) -> None:
    """Raise `InputError` where hardware cannot run a schedule, as `generate` does: all programs are made.

    A setting may be beyond its bits, or fitted to another value.
    """
    machines = dict(zip(sizes, runs_on, strict=False))
    for result in results:
        if (machine := machines.get(result.buffer_bytes)) is not None:
            compile_layer(result.schedule, machine)


def _print_weighed(results: Sequence[Result]) -> None:
    """What was chosen for each layer, and what both ends would be."""
    rows = [
        [
            result.schedule.layer.name,
            size_text(result.buffer_bytes),
            str(result.schedule.lanes),
            *(number for cost in result.balance.ends for number in (cost.total_bytes, cost.cycles)),
        ]
        for result in results
        if result.balance is not None
    ]
    if rows:
        columns = ["layer", "buffer", "lanes", "bytes", "cycles", "least bytes", "cycles ", "bytes ", "fewest cycles"]
        print_table("What was weighed: the choice, the least traffic, the fewest cycles", columns, rows)


def _known_objective(objective: str | None) -> str | None:
    if objective is not None and objective not in OBJECTIVES:
        raise InputError(f"--objective: expected one of {', '.join(OBJECTIVES)}, got {objective[:40]!r}")
    return objective


def _cluster_objective(objective: str | None) -> str | None:
    """The objective on a cluster; None: the fewest cycles within a slack of the fewest bytes."""
    if objective in (None, "balanced"):
        return None
    if objective == "traffic":
        return "dram-bytes"
    if objective in CLUSTER_OBJECTIVES:
        return objective
    *others, last = ("balanced", *CLUSTER_OBJECTIVES)
    raise InputError(f"--objective: expected {', '.join(others)} or {last} on a cluster, got {objective}")


def _one_level_objective(objective: str | None, *, on_hardware: bool) -> str:
    if objective is None:
        return "balanced" if on_hardware else "traffic"
    if objective == "balanced" and not on_hardware:
        raise InputError("--objective: balanced: expected with --hardware or --shared, which have cycles")
    if objective == "balanced" or objective in HWC_OBJECTIVES:
        return objective
    *others, last = ("balanced", *HWC_OBJECTIVES)
    raise InputError(f"--objective: expected {', '.join(others)} or {last} without a cluster, got {objective}")


def _file(folder: Path | None, result: Result, sizes: Sequence[int], names: Mapping[str, str]) -> Path | None:
    if folder is None:
        return None
    return _folder(folder, result.buffer_bytes, sizes) / names[result.schedule.layer.name]


def _folder(folder: Path, size: int, sizes: Sequence[int]) -> Path:
    """Where the schedules for a size go: a folder inside for each of several sizes."""
    return folder / size_text(size) if len(sizes) > 1 else folder


def _remarks(result: Result, hardware: Sequence[Hardware], objective: str) -> list[str]:
    runs_on = f"hardware {hardware[0].name}" if hardware else "the pure model: no lanes, exact buffer need"
    least = HWC_OBJECTIVES.get(objective)
    what = "Fewest cycles found near the least traffic" if least is None else f"Least {least.title}"
    return [
        f"{what} with {size_text(result.buffer_bytes)} of local buffers, for {runs_on}:",
        f"{result.total_bytes} bytes, out of {result.covered} schedules.",
    ]


def _bounds(result: Result) -> Bounds:
    return bounds(result.schedule.layer, result.buffer_bytes, result.schedule.bits)


def _as_json(result: Result, path: Path | None) -> dict[str, object]:
    return {
        "layer": result.schedule.layer.name,
        "buffer_bytes": result.buffer_bytes,
        "file": None if path is None else str(path),
        "counts": result.counts.as_json(),
        "total_bytes": result.total_bytes,
        "total_with_bias": result.counts.total_with_bias(),
        "need": {operand: result.need[operand] for operand in ("I", "W", "O")},
        "bound_bytes": _bounds(result).largest,
        "bound_ratio": round(_bounds(result).ratio(result.total_bytes), 6),
        "compulsory_ratio": round(result.total_bytes / _bounds(result).compulsory, 6),
        **balance_data(result.balance),
        "candidates": {"covered": result.covered, "pruned": result.pruned},
        "seconds": round(result.seconds, 6),
    }
