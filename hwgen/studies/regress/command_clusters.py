"""``hwgen regress-clusters``: full-size layers on clusters in the simulator, kept line by line."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import require_folder
from hwgen.api.schedule_files import load_schedules
from hwgen.api.sharing import sharing_of
from hwgen.arch.hardware_file import load_hardware
from hwgen.cli.clusters import ClustersOption
from hwgen.cli.console import Json, note, print_cycles_note, print_json, print_table, progress
from hwgen.cli.jobs import hardware_names
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.schedule import Schedule
from hwgen.studies.regress.cluster import ClusterRegression, regression_cases, shared_cases
from hwgen.studies.regress.summary import cluster_rows_csv, longest_wait, words_read

__all__ = ["regress_clusters"]

WITHIN = 0.05
"""Cycles may differ from the prediction by that."""
ROWS = "clusters.csv"
LEAST_SPEEDUP = 3.6
"""The least speedup of four HWCs against one."""

Schedules = Annotated[list[str], typer.Argument(metavar="SCHEDULE...", help="Schedule files, or folders of them.")]
Cluster = Annotated[
    str,
    typer.Option("--hardware", metavar="FILE", help="The cluster that they run on.", autocompletion=hardware_names),
]
AgainstOne = Annotated[
    str,
    typer.Option(
        "--against-one",
        metavar="LAYER[,LAYER...]",
        help="Layers whose nest is searched, for the fewest cycles near the fewest bytes of the DRAM, and runs "
        f"at full rate on all HWCs at least {LEAST_SPEEDUP} times as fast as on one.",
    ),
]
Together = Annotated[
    str,
    typer.Option(
        "--together",
        metavar="LAYER[,LAYER...]",
        help="Layers that also run on the same cluster with multicast: HWCs read together what they need alike.",
    ),
]
Folder = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Where results go; what is there is not simulated again."),
]


def regress_clusters(
    schedules: Schedules,
    *,
    hardware: Cluster,
    output: Folder,
    against_one: AgainstOne = "",
    together: Together = "",
    clusters: ClustersOption = None,
    as_json: Json = False,
) -> int:
    """Run schedules of clusters on a cluster with a DRAM that takes its time, and compare counts, outputs and cycles.

    The last one runs with random stalls on every port and channel too. An interrupted run goes on where it was. With
    --clusters each layer is shared out in every way.
    """
    sharing = sharing_of(clusters, None)
    if sharing is not None and (against_one or together):
        raise InputError("--clusters: expected without --against-one and --together")
    require_folder(output)
    given = load_hardware(named_file("hardware", hardware))
    found = [file.schedule for file in load_schedules(schedules, given)]
    names, beside = (
        _layers(option, text, found) for option, text in (("--against-one", against_one), ("--together", together))
    )
    note("the first run of each cluster builds its simulator")
    if sharing is None:
        cases = regression_cases(found, given, names, beside)
    else:
        cases = shared_cases(found, given, sharing.clusters)
    with progress(len(cases), "simulating") as step:
        results = ClusterRegression(cases, output).run(lambda result: step())
    write_atomically(output / ROWS, cluster_rows_csv(results))
    gains = _speedups(results)
    wrong = [(result["case"], line) for result in results for line in [*result["failures"], *_late(result)]]
    wrong += [
        (gain["case"], f"only {gain['measured']:.2f} times as fast as one HWC, expected {LEAST_SPEEDUP} times")
        for gain in gains
        if gain["measured"] < LEAST_SPEEDUP
    ]
    if as_json:
        print_json({"results": results, "speedups": gains, "failures": [f"{case}: {line}" for case, line in wrong]})
    else:
        _print(results, gains)
        for case, line in wrong:
            typer.echo(f"{case}: {line}")
    return 1 if wrong else 0


def _layers(option: str, text: str, schedules: Sequence[Schedule]) -> list[str]:
    """The names of layers that an option lists; raises `InputError` at one that no schedule has."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in {schedule.layer.name for schedule in schedules}:
            raise InputError(f"{option}: expected layers of the schedules, got {name[:40]!r}")
    return names


def _error(result: dict[str, Any]) -> float:
    """Predicted cycles less measured ones, by these."""
    cycles = result["cycles"]
    return float(cycles["predicted"] / cycles["measured"] - 1)


def _late(result: dict[str, Any]) -> list[str]:
    """What is wrong with the time of a run; nobody predicts random stalls."""
    if result["stalled"] or abs(_error(result)) <= WITHIN:
        return []
    return [f"{result['cycles']['measured']} cycles, {result['cycles']['predicted']} predicted"]


def _speedups(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The speedups of cases that ran on all HWCs, and then on one."""
    runs = pairwise(results)
    return [
        {
            "case": alone["case"],
            **{kind: alone["cycles"][kind] / all_["cycles"][kind] for kind in ("predicted", "measured")},
        }
        for all_, alone in runs
        if alone["case"] == all_["case"]
    ]


def _spared(apart: dict[str, Any], together: dict[str, Any]) -> bool:
    """Whether the reads are fewer by as many words as predicted."""
    predicted, measured = (words_read(apart, kind) - words_read(together, kind) for kind in ("predicted", "measured"))
    return predicted == measured


def _print(results: list[dict[str, Any]], gains: list[dict[str, Any]]) -> None:
    rows: list[list[object]] = [
        [
            result["case"],
            result["hwcs"],
            result["equal"],
            result["output_exact"],
            result["cycles"]["measured"],
            "" if result["stalled"] else f"{_error(result):+.2%}",
            result["utilisation"],
            result["seconds"],
        ]
        for result in results
    ]
    columns = ["row", "HWCs", "counts equal", "output exact", "cycles", "predicted", "MAC utilisation", "seconds"]
    print_table("Clusters, measured in the RTL, against the model", columns, rows, wide=["HWCs", "seconds"])
    waits: list[list[object]] = [
        [result["case"], *(longest_wait(result, channel) for channel in ("read", "write"))]
        for result in results
        if "shared_out" in result
    ]
    if waits:
        title = "Most cycles that a burst of one cluster waited for those of others"
        print_table(title, ["row", "read", "write"], waits)
    speeds: list[list[object]] = [[gain["case"], gain["predicted"], gain["measured"]] for gain in gains]
    if speeds:
        print_table("All HWCs against one", ["row", "predicted", "measured"], speeds)
    apart = {result["case"]: result for result in results}
    pairs = [(apart[name], apart[f"{name}, together"]) for name in apart if f"{name}, together" in apart]
    reads: list[list[object]] = [
        [one["case"], *(words_read(each, "measured") for each in (one, other)), _spared(one, other)]
        for one, other in pairs
    ]
    if reads:
        columns = ["row", "each for itself", "together", "fewer as predicted"]
        print_table("Words of I and W that HWCs read at the TCDM", columns, reads)
    print_cycles_note()
