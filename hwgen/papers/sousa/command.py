"""``hwgen paper sousa-2022``: mapping layers with DRAM bursts in view against counting bytes, computed anew."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hwgen.api.arguments import chosen_names, claim_folder
from hwgen.cli.console import note, progress
from hwgen.ir.document import json_text
from hwgen.papers.answer import answer
from hwgen.papers.kept import command_text
from hwgen.papers.own_cluster_rtl import DEFAULT, calibrated, cycles_on, simulated
from hwgen.papers.sousa.claims import mapping_claims
from hwgen.papers.sousa.command_rtl import OnSystem, on_system
from hwgen.papers.sousa.documents import mapping_files, mapping_readme
from hwgen.papers.sousa.own_hardware import JUDGED, distinct_layers, judged_layers, own_mappings, own_npu
from hwgen.papers.sousa.premise import figure_1_claim
from hwgen.papers.sousa.rows import MODELS, NPU, READINGS, LayerRow, ModelRow, layer_rows, model_rows
from hwgen.papers.sousa.system_rows import system_claims, system_csv, system_lines

__all__ = ["sousa"]

PAPER = "sousa-2022"


def sousa(
    output: Path, networks: str | None, hardware: str | None, systems: str, limit: int, *, rtl: bool, as_json: bool
) -> int:
    """Compute the figures: plots, CSV, and a README.md of claims beside what was found; also for our own cluster.

    With ``rtl`` also in the simulator: two small layers on one cluster; and on four of the clusters of each of
    ``systems`` all layers, those of more than ``limit`` cycles by the cycle model, but for the shortest of a network.

    The exit status is 1 if the search fails its check, that the burst-aware mapping is the fastest by the objective
    that it minimises; with ``rtl`` also if the RTL differs.
    """
    names = chosen_names("--networks", networks, tuple(MODELS))
    claim_folder(output)
    cluster = calibrated(hardware or DEFAULT)
    with progress(len(names) * (len(READINGS) + 1), "searching") as step:
        layers = layer_rows(names, progress=step)
        own_layers = layer_rows(names, own_npu(cluster), ("exact",), step)
    models, own = model_rows(layers), model_rows(own_layers)
    wanted = [network for network in names if network in JUDGED]
    cycles_of = cycles_on(cluster)
    with progress(sum(len(distinct_layers(network)) for network in wanted), "judging by cycles") as step:
        judged = judged_layers(wanted, cluster, lambda schedule: cycles_of(schedule, False), step)
    stated = [*mapping_claims(layers, models, NPU, judged), figure_1_claim(NPU)]
    runs = simulated(own_mappings(cluster), cluster) if rtl else []
    together = {one: on_system(names, one, limit, output) for one in systems.split(",")} if rtl else {}
    lines = {}
    for name, found in together.items():
        if found.rows:
            stated += system_claims(found.rows, found.npu)
            lines[name] = system_lines(found.rows, found.npu, found.refused)
    text = mapping_readme(models, stated, own, judged, runs, lines)
    files = {"README.md": text.encode()} | _drawn(layers, models, together)
    files |= {file: table.encode() for file, table in mapping_files(layers, models, own_layers, judged, runs).items()}
    data = {
        "paper": PAPER,
        "models": [{**asdict(model), "speedup": model.speedup} for model in models],
        "own": [{**asdict(model), "speedup": model.speedup} for model in own],
        "judged": [{**asdict(row), "gain": row.gain} for row in judged],
        "rtl": [asdict(run) for run in runs],
        "system": _system_data(together),
    }
    options: dict[str, object] = {"--networks": networks, "--hardware": hardware, "--rtl": rtl}
    if rtl:
        options |= {"--system": systems, "--limit": limit}
    command = command_text(PAPER, options)
    answer(output, command, stated, files, text, data, as_json=as_json)
    is_least = all(row.burst <= min(row.volume, row.kindest) for row in [*layers, *own_layers])
    passed = all(found.passed for found in together.values())
    return 0 if is_least and passed and all(run.equal for run in runs) else 1


def _system_data(together: Mapping[str, OnSystem]) -> list[dict[str, Any]]:
    return [
        {"hardware": name, **asdict(row), "gain": row.gain} for name, found in together.items() for row in found.rows
    ]


def _drawn(
    layers: Sequence[LayerRow], models: Sequence[ModelRow], together: Mapping[str, OnSystem]
) -> dict[str, bytes]:
    """The figures as files, and the rows of several clusters."""
    note("drawing")
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.papers.figures import rendered
    from hwgen.papers.sousa.figures import mapping_5, mapping_6, mapping_7, system_7

    figures = {"fig5": mapping_5(models), "fig6": mapping_6(layers), "fig7": mapping_7(layers, NPU)}
    files: dict[str, bytes] = {}
    for name, found in together.items():
        if found.rows:
            figures[f"fig7_{Path(name).stem}"] = system_7(found.rows, found.npu)
            files["system.json"] = json_text(_system_data(together)).encode()
            files["system.csv"] = system_csv({one: found.rows for one, found in together.items()}).encode()
    for stem, figure in figures.items():
        files |= {f"{stem}.{suffix}": data for suffix, data in rendered(figure).items()}
    return files
