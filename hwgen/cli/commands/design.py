"""``hwgen design``: the memories, and the schedules on them, of least energy for all layers of a set."""

from pathlib import Path
from typing import Annotated, Any

import typer

import hwgen.ir
import hwgen.model
import hwgen.search
from hwgen.api.arguments import buffer_sizes, claim_folder, size_text
from hwgen.api.networks import covered
from hwgen.api.schedule_files import clear_earlier, schedule_files
from hwgen.cli.commands.design_clusters import cores_of, design_cluster
from hwgen.cli.console import Json, note, print_json, print_table, progress
from hwgen.cli.coverage import Partial, tell_activations
from hwgen.cli.jobs import MEMORY_OF_A_SEARCH, jobs_option, set_names
from hwgen.ir.document import InputError, csv_lines, is_model, write_atomically
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.memory.energy import TABLES
from hwgen.ir.memory.hierarchy import Hierarchy, save_hierarchy
from hwgen.ir.schedule import Bits, Schedule, save_schedule
from hwgen.lower.network.layers import weighted
from hwgen.readers.integers.reader import read_quantised
from hwgen.search.hierarchy.batch import HierarchyRequest, search_tasks
from hwgen.search.hierarchy.design import TABLE, Design, DesignSpace, Point, design_of, table_sizes
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.ledger import Ledger

__all__ = ["design"]

RESULTS = "design.jsonl"
"""The file in the output's folder: each layer on each hierarchy, a line each, so that an interrupted run goes on."""
SCHEDULES = "schedules"
MOST_MEMORIES = 6
LEVELS = 3
CORES = "4"

LayerSet = Annotated[
    str,
    typer.Argument(
        metavar="SET",
        help="A layer set: built-in name, NAME:NETWORK, YAML, ONNX or TFLite file.",
        autocompletion=set_names,
    ),
]
Sram = Annotated[str | None, typer.Option("--sram", metavar="SIZE", help="Bytes of all levels together, at most.")]
Area = Annotated[
    float | None, typer.Option("--area", metavar="MM2", help="Area of datapath and memories, at most, in 45 nm.")
]
Memories = Annotated[
    int | None,
    typer.Option(
        "--levels", min=2, max=MOST_MEMORIES, help=f"Of any hierarchy: memories at most, with the DRAM ({LEVELS})."
    ),
]
Cores = Annotated[
    str | None, typer.Option("--cores", metavar="N[,N...]", help=f"Of a cluster: how many HWCs, 1 to 8 ({CORES}).")
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes", metavar="SIZE,...", help="Of any hierarchy: sizes of a level; 512, 2KiB, 8KiB, ... by default."
    ),
]
Shape = Annotated[str, typer.Option("--lanes", metavar="SHAPE", help="The datapath's lanes, such as m4c4 or m16.")]
Registers = Annotated[
    bool,
    typer.Option("--lane-registers", help="Of a cluster: what the innermost loops do not move stays at the lanes."),
]
Folder = Annotated[
    Path, typer.Option("-o", "--output", metavar="DIR", help="Results; what is searched is not searched again.")
]


def design(
    name: LayerSet,
    *,
    output: Folder,
    sram: Sram = None,
    area: Area = None,
    levels: Memories = None,
    sizes: Sizes = None,
    cores: Cores = None,
    lanes: Shape = "m4c4",
    lane_registers: Registers = False,
    partial: Partial = False,
    jobs: Annotated[int, jobs_option("Searches at a time.", MEMORY_OF_A_SEARCH)] = 1,
    as_json: Json = False,
) -> None:
    """Choose memories and schedules together: of all within a budget those of least energy for all layers.

    Energies are those of Yang et al. 2016. Without --levels and --sizes the memories are those of a cluster: TCDM
    and local buffers; of one for a quantised network the sums are scaled, and it has a vector unit. Written: its
    hardware file and a schedule for each layer, as predict, generate and cosim take
    them. With --levels or --sizes each layer is scheduled on each hierarchy, of the model alone. Written: the best
    one, its schedules, the table of all hierarchies, and energy against area as a picture.
    """
    claim_folder(output)
    budget = _budget(sram, area)
    option = "--area" if sram is None else "--sram"
    if cores is not None and (levels is not None or sizes is not None):
        raise InputError("--cores: expected without --levels and --sizes: cores are the HWCs of a cluster")
    if lane_registers and (levels is not None or sizes is not None):
        raise InputError("--lane-registers: expected without --levels and --sizes: they are the lanes of a cluster")
    allowed = table_sizes(budget) if sizes is None else tuple(buffer_sizes(sizes, "--sizes"))
    try:
        shape = Lanes.parse(lanes)
    except ValueError as error:
        raise InputError(f"--lanes: {error}") from None
    on_cluster = levels is None and sizes is None
    number = cores_of(cores or CORES)
    coverage = covered(name, partial=partial, batches=True)
    if on_cluster:
        design_cluster(
            coverage.layers,
            name,
            budget,
            option,
            shape,
            number,
            output,
            quantised=_is_quantised(name),
            lane_registers=lane_registers,
            as_json=as_json,
        )
        if not as_json:
            tell_activations(coverage)
        return
    space = DesignSpace(budget, levels or LEVELS, allowed, shape, Bits())
    try:
        hierarchies = space.hierarchies()
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    found = _searched(coverage.layers, hierarchies, output, jobs)
    points = [
        Point(
            hierarchy,
            tuple(found[index, layer]["energy"] for layer in range(len(coverage.layers))),
            tuple(found[index, layer]["bound"] for layer in range(len(coverage.layers))),
        )
        for index, hierarchy in enumerate(hierarchies)
    ]
    chosen = design_of(points)
    best = hierarchies.index(chosen.best.hierarchy)
    schedules = [found[best, layer]["schedule"] for layer in range(len(coverage.layers))]
    files = _write(chosen, schedules, coverage.layers, output)
    if as_json:
        print_json(_as_json(chosen, coverage.layers, files))
        return
    _print(chosen, coverage.layers, name, budget)
    tell_activations(coverage)
    note(f"written to {output}: hierarchy.yaml, schedules, design.csv, front.png")


def _is_quantised(name: str) -> bool:
    """Whether it is a quantised network, whose sums are scaled channel by channel."""
    path = Path(name)
    if not is_model(path):
        return False
    try:
        return bool(weighted(read_quantised(path)))
    except InputError:
        return False


def _budget(sram: str | None, area: float | None) -> int:
    """Bytes of all levels together."""
    if (sram is None) == (area is None):
        raise InputError("--sram, --area: expected one of them, such as --sram 256KiB or --area 2.5")
    if sram is not None:
        sizes = buffer_sizes(sram, "--sram")
        if len(sizes) != 1:
            raise InputError(f"--sram: expected one size, got {sram}")
        return sizes[0]
    assert area is not None
    table = TABLES[TABLE]
    left = area - table.area_without_memory
    if not left > 0:
        raise InputError(f"--area: expected more than the {table.area_without_memory:.2f} mm2 without memories")
    return int(left / table.area(1))


Found = dict[tuple[int, int], dict[str, Any]]
"""What was found by hierarchy and layer: energy and bound in pJ, and the schedule."""


def _searched(layers: tuple[Layer, ...], hierarchies: list[Hierarchy], output: Path, jobs: int) -> Found:
    """Each layer on each hierarchy; what an earlier run left in the folder is taken over."""
    ledger = Ledger(output / RESULTS)
    kept = ledger.load()
    sources = sources_digest([Path(room.__path__[0]) for room in (hwgen.ir, hwgen.model, hwgen.search)])
    keys = {
        (i, j): digest_of([layer.shape_data, hierarchy.as_data(), sources])
        for i, hierarchy in enumerate(hierarchies)
        for j, layer in enumerate(layers)
    }
    left = [pair for pair, key in keys.items() if key not in kept]
    with progress(len(keys), "searching") as step:
        step(len(keys) - len(left))

        def arrived(index: int, result: Any) -> None:
            entry = {"energy": result.value, "bound": result.bound, "schedule": result.schedule.as_data()}
            kept[keys[left[index]]] = entry
            ledger.add(keys[left[index]], entry)
            step()

        tasks = [(layers[j], HierarchyRequest(hierarchies[i])) for i, j in left]
        search_tasks(tasks, jobs=jobs if jobs > 1 else None, arrived=arrived)
    return {pair: kept[key] for pair, key in keys.items()}


def _write(chosen: Design, schedules: list[Any], layers: tuple[Layer, ...], output: Path) -> list[str]:
    """The files of the chosen hierarchy; the names of those of the schedules."""
    hierarchy = chosen.best.hierarchy
    save_hierarchy(hierarchy, output / "hierarchy.yaml")
    paths, names = [], schedule_files(layers)
    for layer, data, energy, bound in zip(layers, schedules, chosen.best.energies, chosen.best.bounds, strict=True):
        schedule = Schedule.from_data(data).model_copy(update={"layer": layer})
        paths.append(output / SCHEDULES / names[layer.name])
        remark = (
            f"On hierarchy {hierarchy.name}: {energy:.12g} pJ, at most {100 * (energy / bound - 1):.2f} % too much."
        )
        save_schedule(schedule, paths[-1], [remark])
    clear_earlier(output / SCHEDULES, paths)
    rows: list[list[object]] = [
        ["hierarchy", "levels", "bytes", "area_mm2", "energy_pj", "bound_pj", *(one.name for one in layers)]
    ]
    for point in chosen.points:
        own = [point.hierarchy.name, len(point.hierarchy.levels), point.bytes, point.area, point.energy, point.bound]
        rows.append([*own, *point.energies])
    write_atomically(output / "design.csv", csv_lines(rows))
    from hwgen.report.charts import front_picture  # its libraries take a second

    for suffix, content in front_picture(chosen).items():
        write_atomically(output / f"front.{suffix}", content)
    return [str(path) for path in paths]


def _sizes(point: Point) -> str:
    return " + ".join(size_text(level.total or 0) for level in point.hierarchy.inner)


def _entry(point: Point) -> dict[str, Any]:
    return {
        "levels": [{"name": level.name, "bytes": level.bytes} for level in point.hierarchy.inner],
        "bytes": point.bytes,
        "area": point.area,
        "energy": point.energy,
        "bound": point.bound,
    }


def _as_json(chosen: Design, layers: tuple[Layer, ...], files: list[str]) -> dict[str, Any]:
    listed = chosen.shortlisted
    return {
        **_entry(chosen.best),
        "bound": chosen.bound,
        "gap": chosen.gap,
        "layers": [
            {"layer": layer.name, "file": file, "energy": energy, "bound": bound, "alone": _entry(own)["levels"],
             "energy_alone": own.energies[index]}
            for index, (layer, file, energy, bound, own) in enumerate(
                zip(layers, files, chosen.best.energies, chosen.best.bounds, chosen.own, strict=True)
            )
        ],
        "energy_alone": chosen.energy_of_own,
        "ten_best": None if listed is None else _entry(listed),
        "front": [_entry(point) for point in chosen.front],
        "hierarchies": len(chosen.points),
    }  # fmt: skip


def _print(chosen: Design, layers: tuple[Layer, ...], name: str, budget: int) -> None:
    rows: list[list[object]] = [
        [_sizes(point), round(point.area, 3), point.energy / 1e6, "chosen" if point is chosen.best else ""]
        for point in chosen.front
    ]
    title = f"{name}: energy against area, {len(chosen.points)} hierarchies within {size_text(budget)}"
    print_table(title, ["levels inside the DRAM", "area mm2", "energy uJ", ""], rows)
    each: list[list[object]] = [
        [layer.name, energy / 1e6, f"{100 * (energy / bound - 1):.2f} %", own.energies[index] / 1e6, _sizes(own)]
        for index, (layer, energy, bound, own) in enumerate(
            zip(layers, chosen.best.energies, chosen.best.bounds, chosen.own, strict=True)
        )
    ]
    columns = ["layer", "energy uJ", "gap", "alone uJ", "its own levels"]
    print_table(f"On {_sizes(chosen.best)}, and on the levels that are best for each layer alone", columns, each)
    listed = chosen.shortlisted
    ways: list[list[object]] = [
        ["one hierarchy for all layers", chosen.best.energy / 1e6, _sizes(chosen.best)],
        ["what no hierarchy of the space is below", chosen.bound / 1e6, ""],
        ["for each layer its own hierarchy", chosen.energy_of_own / 1e6, ""],
        ["best of those among each layer's ten best", "none", ""]
        if listed is None
        else ["best of those among each layer's ten best", listed.energy / 1e6, _sizes(listed)],
    ]
    print_table("All layers together", ["", "energy uJ", "levels"], ways)
