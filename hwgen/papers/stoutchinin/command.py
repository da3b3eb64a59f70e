"""``hwgen paper stoutchinin-2019``: schedules against the published models, and HWCE against HWC, computed anew."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from hwgen.api.arguments import claim_folder
from hwgen.api.schedule_files import load_schedules
from hwgen.arch.hardware_file import load_hardware
from hwgen.cli.console import note, printable, progress
from hwgen.ir.builtin import named_file
from hwgen.ir.counts import Counts
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.papers.answer import answer
from hwgen.papers.kept import command_text
from hwgen.papers.stoutchinin.claims import FIG4_BYTES, claims
from hwgen.papers.stoutchinin.cluster import (
    FOR_ALL_LAYERS,
    ON_CLUSTERS,
    RowOnCluster,
    cluster_claims,
    cluster_csv,
    cluster_lines,
)
from hwgen.papers.stoutchinin.documents import Found, readme, tables
from hwgen.papers.stoutchinin.loop_orders import Tiles, order_quality, order_summaries, order_traffic
from hwgen.papers.stoutchinin.measured import (
    OF_LAYERS,
    RunOfLayer,
    measured_claims,
    measured_csv,
    measured_engines,
    measured_readme,
)
from hwgen.papers.stoutchinin.published_nest import SMALL_SIZES, Division, layers_in_nests, nest_quality
from hwgen.papers.stoutchinin.rows import (
    HWC_BYTES,
    READINGS,
    SIZES,
    TABLE,
    Search,
    engines,
    exceptions,
    median_ratios,
    network_of,
    totals,
    traffic,
)
from hwgen.papers.stoutchinin.utilisation import busy_lanes
from hwgen.readers.layer_sets import load_layer_set
from hwgen.studies.regress.cluster import kept_results, regression_cases
from hwgen.studies.regress.goals import Kind
from hwgen.studies.regress.hwc import expected_rows, kept_configurations
from hwgen.studies.regress.plans import Configuration
from hwgen.studies.regress.published_nests import PRINTED

__all__ = ["stoutchinin", "stoutchinin_measured"]

PAPER = "stoutchinin-2019"
STORE = ".found"
"""Folder, beside the figures, of the results of each finished layer."""

Results = dict[str, dict[str, Any]]
DIVIDED: tuple[tuple[Kind, Division], ...] = (("shared", "one HWC"), ("per-layer", "a division for each layer"))
"""Kinds of regressions, and how the HWC's memory is divided there."""


def stoutchinin(
    output: Path,
    networks: str | None,
    sizes: Sequence[int],
    *,
    orders: bool,
    all_tiles: bool,
    jobs: int,
    as_json: bool,
) -> int:
    """Compute the figures by the models: plots, CSV, and a README.md of claims beside what was found.

    ``orders``: Fig. 7, in sampled tiles; ``all_tiles``: in all integer tiles, too.
    """
    layers = _layers(networks, TABLE)
    _check_folder(output)
    kinds: list[Tiles] = [*(["sampled"] if orders else []), *(["all"] if orders and all_tiles else [])]  # type: ignore[list-item]
    passes = len(READINGS) + 1 + len(SMALL_SIZES) + len(kinds)
    with progress(passes * len(layers), "searching") as step:
        how = Search(jobs, output / STORE, lambda layer: step())
        rows = [row for reading in READINGS for row in traffic(layers, sizes, reading, how)]
        pairs = engines(layers, how)
        best_nests = nest_quality(layers, how)
        nests = layers_in_nests(layers, how, _cycles_of)
        busy = busy_lanes(layers, how, _cycles_of)
        tried = {one: order_traffic(layers, sorted(sizes), one, how) for one in kinds}
    summaries = [one for some in tried.values() for one in order_summaries(some)]
    quality = [one for some in tried.values() for one in order_quality(some)]
    stated = claims(
        rows, pairs, nests, best_nests, busy, summaries, every_layer=len(layers) == OF_LAYERS,
        every_size={size for size in SIZES if size <= FIG4_BYTES} <= {*sizes},
    )  # fmt: skip
    found = Found(rows, totals(rows), pairs, nests, best_nests, busy, quality, summaries, stated)
    note("drawing")
    text = readme(found)
    files = {"README.md": text.encode(), **{file: table.encode() for file, table in tables(found).items()}}
    files |= _drawn(found)
    data = {
        "paper": PAPER,
        "layers": len(layers),
        "buffer_bytes": sizes,
        "median_ratios": {str(size): round(ratio, 6) for size, ratio in median_ratios(rows).items()},
        "exceptions": [asdict(row) for row in exceptions(rows)],
    }
    command = command_text(PAPER, {"--networks": networks, "--no-orders": not orders, "--all-tiles": all_tiles})
    answer(output, command, found.stated, files, text, data, as_json=as_json)
    return 0


def _cycles_of(schedule: Schedule, hardware: Hardware | None) -> int:
    return predicted_cycles(schedule, compile_layer(schedule, hardware).parameters).total


def _drawn(found: Found) -> dict[str, bytes]:
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.papers.figures import rendered
    from hwgen.papers.stoutchinin.figures import figure_4, figure_5, figure_7, figure_10

    figures = {
        "fig4": figure_4(found.sums),
        "fig5": figure_5(found.sums),
        "fig10": figure_10(found.pairs, found.nests),
    }
    for tiles in dict.fromkeys(one.tiles for one in found.orders):
        quality = [one for one in found.quality if one.tiles == tiles]
        name = "fig7" if tiles == "sampled" else "fig7_all_tiles"
        figures[name] = figure_7(quality, [one for one in found.orders if one.tiles == tiles])
    return {f"{stem}.{suffix}": data for stem, figure in figures.items() for suffix, data in rendered(figure).items()}


def stoutchinin_measured(output: Path, networks: str | None, layer_set: str, results: Path, *, as_json: bool) -> int:
    """Fig. 10 and section V-C from the results of a regression; 1 if one of them is not what was predicted."""
    layers = _layers(networks, layer_set)
    _check_folder(output)
    kept = kept_configurations(results)
    busy, hwce = Configuration.busy("per-layer", HWC_BYTES), Configuration("hwce", HWC_BYTES)
    own = busy if busy.name in kept else Configuration("per-layer", HWC_BYTES)
    found = {one: _results(layers, layer_set, one, results) for one in (own, hwce)}
    counts = [_counted(found[one]) for one in (own, hwce)]
    striped = {name for name, result in found[hwce].items() if _stripes(Schedule.from_data(result["schedule"]))}
    rows = measured_engines(layers, counts[0], counts[1], striped)
    printed = {
        f"{nest}, {division}": Configuration(kind, HWC_BYTES, order=order)
        for nest, order in PRINTED.items()
        for kind, division in DIVIDED
    }
    others = (Configuration("published", HWC_BYTES), Configuration.busy("shared", HWC_BYTES), *printed.values())
    for other in others:
        complete = expected_rows(layers, other, results) if other.name in kept else {}
        if complete and None not in complete.values():
            found[other] = {name: result for name, result in complete.items() if result is not None}
    in_printed = {
        reading: measured_engines(layers, _counted(found[one]), counts[1], striped)
        for reading, one in printed.items()
        if one in found
    }
    every_layer = len(rows) == len(load_layer_set(layer_set).convolutions())
    stated = measured_claims(rows, _runs(found), in_printed, every_layer=every_layer)
    on_clusters = _on_clusters(layers, results)
    text = measured_readme(rows, stated)
    if on_clusters:
        text += "\n".join(["", "## Clusters of four HWCs", "", *cluster_lines(on_clusters), ""])
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.papers.figures import rendered
    from hwgen.papers.stoutchinin.figures import figure_10_measured

    files = {"README.md": text.encode(), "fig10_rtl.csv": measured_csv(rows).encode()}
    files |= {f"fig10_rtl.{suffix}": data for suffix, data in rendered(figure_10_measured(rows)).items()}
    if on_clusters:
        files["clusters_rtl.csv"] = cluster_csv(on_clusters).encode()
    wrong = [f"{name}: {failure}" for ran in found.values() for name, result in ran.items()
             for failure in result["failures"]]  # fmt: skip
    wrong += [
        f"{row.layer}, {row.bits} bits, on {row.cluster}: not as predicted" for row in on_clusters if not row.equal
    ]
    data = {
        "rows": [{**asdict(row), "ratio_32": row.ratio_32, "ratio_16": row.ratio_16} for row in rows],
        "clusters": [{**asdict(row), "utilisation": row.utilisation, "rate": row.rate} for row in on_clusters],
        "failures": wrong,
    }
    every = [*stated, *cluster_claims(on_clusters)]
    answer(output, f"hwgen paper {PAPER} --rtl", every, files, text, data, as_json=as_json)
    if not as_json:
        for line in wrong:
            typer.echo(printable(line))
    return 1 if wrong else 0


def _on_clusters(layers: Sequence[Layer], results: Path) -> list[RowOnCluster]:
    """Those of the layers that ``hwgen regress-clusters`` has left in the folder, by cluster."""
    rows = []
    for name, bits in ON_CLUSTERS.items():
        searched = results / FOR_ALL_LAYERS
        if name == FOR_ALL_LAYERS and not searched.is_dir():
            continue
        hardware = load_hardware(named_file("hardware", name))
        place = str(searched) if name == FOR_ALL_LAYERS else name
        schedules = [file.schedule for file in load_schedules([place], hardware)]
        chosen = [schedule for schedule in schedules if schedule.layer in layers]
        # The cases of the regression begin with the schedules as they are.
        cases = regression_cases(chosen, hardware)[: len(chosen)] if chosen else []
        for schedule, found in zip(chosen, kept_results(cases, results), strict=True):
            if found is not None:
                layer, lanes = schedule.layer, schedule.lanes.product
                equal = found["equal"] and found["output_exact"] and not found["failures"]
                cycles = found["cycles"]["measured"]
                rows.append(RowOnCluster(name, bits, layer.name, found["hwcs"], lanes, layer.macs, cycles, equal))
    return rows


def _counted(results: Results) -> dict[str, Counts]:
    """What was counted in the RTL, by layer."""
    return {name: Counts.from_json(result["measured"]) for name, result in results.items()}


def _stripes(schedule: Schedule) -> bool:
    """Whether the nest of the HWCE cuts rows."""
    return schedule.loops[0].step < schedule.layer.output_width


def _runs(found: Mapping[Configuration, Results]) -> list[RunOfLayer]:
    return [
        RunOfLayer(
            configuration.name,
            "HWCE" if configuration.kind == "hwce" else "HWC",
            layer,
            Counts.from_json(result["predicted"]).total_bytes(),
            Counts.from_json(result["measured"]).total_bytes(),
            result["utilisation"],
        )
        for configuration, results in found.items()
        for layer, result in results.items()
    ]


def _results(layers: tuple[Layer, ...], layer_set: str, configuration: Configuration, folder: Path) -> Results:
    """The results of a configuration; all of them, or a refusal that says how to come by them."""
    found = expected_rows(layers, configuration, folder)
    missing = [name for name, result in found.items() if result is None]
    if missing:
        kind, busy = configuration.kind, "" if configuration.utilisation is None else " --busy"
        target = "make regress" if kind == "per-layer" else f"make regress-{kind}"
        raise InputError(
            f"--results: {folder}: {len(missing)} of {len(found)} rows of {kind} are missing, or of another state of "
            f"the generator, {missing[0]} the first: run {target} "
            f"(hwgen regress {layer_set} --{kind}{busy} -o {folder})"
        )
    return {name: result for name, result in found.items() if result is not None}


def _layers(networks: str | None, layer_set: str) -> tuple[Layer, ...]:
    """The rows of the paper's tables, or of another set, whose names start with one of the given names."""
    every = load_layer_set(layer_set).convolutions()
    if networks is None:
        return every
    wanted = [name.strip() for name in networks.split(",")]
    for name in wanted:
        if not any(name in (layer.name, network_of(layer)) for layer in every):
            known = ", ".join(dict.fromkeys(map(network_of, every)))
            raise InputError(f"--networks: expected some of {known}, or single rows, got {name[:40]!r}")
    return tuple(layer for layer in every if layer.name in wanted or network_of(layer) in wanted)


def _check_folder(output: Path) -> None:
    claim_folder(output)
