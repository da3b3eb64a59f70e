"""``hwgen paper sousa-2022``: mapping layers with DRAM bursts in view against counting bytes, computed anew."""

import sys
from dataclasses import asdict
from pathlib import Path

from hwgen.cli.commands.paper.own_cluster import DEFAULT, calibrated, cycles_on, simulated
from hwgen.cli.console import chosen_names, note, print_json, progress, require_folder
from hwgen.report.documents import write_bytes
from hwgen.report.sousa.claims import mapping_claims
from hwgen.report.sousa.documents import mapping_files, mapping_readme
from hwgen.report.sousa.own_hardware import JUDGED, distinct_layers, judged_layers, own_mappings, own_npu
from hwgen.report.sousa.rows import MODELS, NPU, READINGS, layer_rows, model_rows

__all__ = ["sousa"]

PAPER = "sousa-2022"


def sousa(output: Path, networks: str | None, hardware: str | None, *, rtl: bool, as_json: bool) -> int:
    """Compute the figures: plots, CSV, and a README.md of claims beside what was found; also for our own cluster.

    The exit status is 1 if the search fails its check, that the burst-aware mapping is the fastest by the objective
    that it minimises; with ``rtl`` also if the RTL differs.
    """
    names = chosen_names("--networks", networks, tuple(MODELS))
    require_folder(output)
    cluster = calibrated(hardware or DEFAULT)
    with progress(len(names) * (len(READINGS) + 1), "searching") as step:
        layers = layer_rows(names, progress=step)
        own_layers = layer_rows(names, own_npu(cluster), ("exact",), step)
    models, own = model_rows(layers), model_rows(own_layers)
    wanted = [network for network in names if network in JUDGED]
    cycles_of = cycles_on(cluster)
    with progress(sum(len(distinct_layers(network)) for network in wanted), "judging by cycles") as step:
        judged = judged_layers(wanted, cluster, lambda schedule: cycles_of(schedule, False), step)
    stated = mapping_claims(layers, models, NPU, judged)
    runs = simulated(own_mappings(cluster), cluster) if rtl else []
    text = mapping_readme(models, stated, own, judged, runs)
    files = {"README.md": text.encode()}
    files |= {file: table.encode() for file, table in mapping_files(layers, models, own_layers, judged, runs).items()}
    note("drawing")
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.report.figures import rendered
    from hwgen.report.sousa.figures import mapping_5, mapping_6, mapping_7

    figures = {"fig5": mapping_5(models), "fig6": mapping_6(layers), "fig7": mapping_7(layers, NPU)}
    for stem, figure in figures.items():
        files |= {f"{stem}.{suffix}": data for suffix, data in rendered(figure).items()}
    for file, data in files.items():
        write_bytes(output / file, data)
    if as_json:
        print_json(
            {
                "paper": PAPER,
                "claims": [asdict(claim) for claim in stated],
                "models": [{**asdict(model), "speedup": model.speedup} for model in models],
                "own": [{**asdict(model), "speedup": model.speedup} for model in own],
                "judged": [{**asdict(row), "gain": row.gain} for row in judged],
                "rtl": [asdict(run) for run in runs],
                "files": sorted(str(output / file) for file in files),
            }
        )
    else:
        sys.stdout.write(text)
    is_least = all(row.burst <= min(row.volume, row.kindest) for row in [*layers, *own_layers])
    return 0 if is_least and all(run.equal for run in runs) else 1
