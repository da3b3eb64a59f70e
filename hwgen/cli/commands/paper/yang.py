"""``hwgen paper yang-2016``: blocking for energy on DianNao's memories, computed anew."""

import sys
from dataclasses import asdict
from pathlib import Path

from hwgen.cli.console import chosen_names, note, print_json, progress, require_folder
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.report.documents import write_bytes
from hwgen.report.yang.claims import blocking_claims
from hwgen.report.yang.rows import (
    BENCHMARKS,
    benchmark_layers,
    diannao,
    energy_rows,
    network_rows,
    on_diannao,
    seeded_over_enumerated,
)
from hwgen.search.hierarchy.batch import HierarchyRequest, search_on_hierarchy

__all__ = ["yang"]

PAPER = "yang-2016"


def yang(output: Path, layers: str | None, *, jobs: int, as_json: bool) -> int:
    """Compute what the model alone shows: tables, Fig. 5, and a README.md of claims beside what was found.

    The exit status is 1 if a schedule that was found takes more energy than the baseline.
    """
    names = chosen_names("--networks", layers, BENCHMARKS)
    require_folder(output)
    hierarchy, wanted = diannao(), benchmark_layers(names)
    with progress(len(wanted), "searching") as step:
        results = search_on_hierarchy(wanted, HierarchyRequest(hierarchy), jobs=jobs, progress=lambda layer: step())
    found = {result.schedule.layer.name: result for result in results}

    def best(layer: Layer) -> tuple[Schedule, float]:
        return found[layer.name].schedule, found[layer.name].gap

    seeded: dict[str, float] = {}
    with progress(len(wanted), "the paper's own searches") as step:
        for layer in wanted:
            seeded[layer.name] = seeded_over_enumerated(layer, hierarchy)
            step()
    networks, energies, rows = network_rows(), energy_rows(), on_diannao(wanted, hierarchy, best)
    stated = blocking_claims(networks, rows, seeded)
    note("drawing")
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.report.figures import rendered
    from hwgen.report.yang.documents import blocking_5, blocking_files, blocking_readme

    text = blocking_readme(rows, stated)
    files = {"README.md": text.encode()}
    files |= {file: table.encode() for file, table in blocking_files(networks, energies, rows).items()}
    files |= {f"fig5.{suffix}": data for suffix, data in rendered(blocking_5(rows)).items()}
    for file, data in files.items():
        write_bytes(output / file, data)
    if as_json:
        print_json({
            "paper": PAPER,
            "claims": [asdict(claim) for claim in stated],
            "layers": [{**asdict(row), "memory": row.memory} for row in rows],
            "files": sorted(str(output / file) for file in files),
        })  # fmt: skip
    else:
        sys.stdout.write(text)
    return 0 if all(second.memory <= first.memory for first, second in zip(rows[::2], rows[1::2], strict=True)) else 1
