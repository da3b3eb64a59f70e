"""``hwgen paper yang-2016``: blocking for energy, memories chosen with it, and several cores, computed anew."""

from dataclasses import asdict
from pathlib import Path

from hwgen.api.arguments import chosen_names, claim_folder
from hwgen.cli.console import note, progress
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.papers.answer import answer
from hwgen.papers.kept import command_text
from hwgen.papers.yang.caches import CACHE_FIGURES, Measured, cache_rows, measured_layers
from hwgen.papers.yang.designs import WIDE, core_rows, design_rows, design_tasks, designs
from hwgen.papers.yang.documents import Computed, blocking_files, blocking_readme, stated
from hwgen.papers.yang.rows import (
    BENCHMARKS,
    benchmark_layers,
    diannao,
    energy_rows,
    network_rows,
    on_diannao,
    seeded_over_enumerated,
)
from hwgen.search.hierarchy.batch import HierarchyRequest, search_on_hierarchy

__all__ = ["CACHES", "yang"]

PAPER = "yang-2016"
CACHES = Path("results/cpu/accesses.csv")
"""Where `make cpu` leaves what it counted."""
ON_CORES = "Conv1"
"""The layer of Fig. 9."""


def yang(output: Path, layers: str | None, caches: Path | None, *, jobs: int, as_json: bool) -> int:
    """Compute tables, Fig. 5 to 9, and a README.md of claims beside what was found; Fig. 3 and 4 from ``caches``.

    ``caches``: accesses that were counted (None: `CACHES`, if the file is there). The exit status is 1 if a schedule
    that was found takes more energy than the baseline.
    """
    names = chosen_names("--networks", layers, BENCHMARKS)
    claim_folder(output)
    computed = _computed(benchmark_layers(names), _counted(caches), jobs)
    claims = stated(computed)
    note("drawing")
    text = blocking_readme(computed, claims)
    files = {"README.md": text.encode()}
    files |= {file: table.encode() for file, table in blocking_files(computed).items()}
    files |= _drawn(computed)
    data = {"paper": PAPER, "layers": [{**asdict(row), "memory": row.memory} for row in computed.on_diannao]}
    command = command_text(PAPER, {"--networks": layers, "--cpu": caches})
    answer(output, command, claims, files, text, data, as_json=as_json)
    pairs = zip(computed.on_diannao[::2], computed.on_diannao[1::2], strict=True)
    return 0 if all(second.memory <= first.memory for first, second in pairs) else 1


def _counted(caches: Path | None) -> list[Measured] | None:
    """What was counted of the caches; None if there is nothing."""
    path = CACHES if caches is None else caches
    if caches is None and not path.exists():
        return None
    return measured_layers(cache_rows(path), str(path))


def _computed(wanted: list[Layer], caches: list[Measured] | None, jobs: int) -> Computed:
    hierarchy = diannao()
    with progress(len(wanted), "searching schedules") as step:
        results = search_on_hierarchy(wanted, HierarchyRequest(hierarchy), jobs=jobs, progress=lambda layer: step())
    found = {result.schedule.layer.name: result for result in results}

    def best(layer: Layer) -> tuple[Schedule, float]:
        return found[layer.name].schedule, found[layer.name].gap

    seeded: dict[str, float] = {}
    with progress(len(wanted), "the paper's own searches") as step:
        for layer in wanted:
            seeded[layer.name] = seeded_over_enumerated(layer, hierarchy)
            step()
    assert hierarchy.lanes is not None
    tasks = design_tasks(wanted, hierarchy.lanes)
    with progress(len(tasks), "memories with schedules") as step:
        designed = designs(tasks, jobs, step)
    schedules = {name: result.schedule for name, result in found.items()}
    on_cores = [
        fitted
        for task, by_budget in zip(tasks, designed, strict=True)
        if (task.layer.name, task.width) == (ON_CORES, WIDE)
        for fitted in by_budget[-1]
    ]
    return Computed(
        network_rows(),
        energy_rows(),
        on_diannao(wanted, hierarchy, best),
        seeded,
        design_rows(tasks, designed, hierarchy, schedules),
        core_rows(on_cores),
        caches,
    )


def _drawn(computed: Computed) -> dict[str, bytes]:
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.papers.figures import rendered
    from hwgen.papers.yang.figures import blocking_5, caches_3_4, cores_9, designs_6, designs_7, designs_8

    figures = {
        "fig5": blocking_5(computed.on_diannao),
        "fig6": designs_6(computed.designs),
        "fig7": designs_7(computed.designs),
        "fig8": designs_8(computed.designs),
    }
    if computed.cores:
        figures["fig9"] = cores_9(computed.cores)
    if computed.caches is not None:
        for where, level in CACHE_FIGURES:
            figures[where.replace(". ", "").lower()] = caches_3_4(computed.caches, level)
    return {f"{stem}.{suffix}": data for stem, figure in figures.items() for suffix, data in rendered(figure).items()}
