"""``hwgen paper yang-2016 --rtl``: layers of the paper on clusters designed for them, in the simulator."""

from dataclasses import replace
from pathlib import Path

import typer

from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from hwgen.api.arguments import claim_folder, size_text
from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.lanes import vector_bytes
from hwgen.cli.console import note, printable, progress
from hwgen.ir.counts import DIRECTIONS, Counts
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import LANE_DIMS
from hwgen.ir.level import DRAM, LOCAL, TCDM, level_named
from hwgen.ir.memory.hierarchy import Hierarchy, MemoryLevel
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.levels import run_depth
from hwgen.model.nest.hierarchy_counts import counts_of, require_fit
from hwgen.model.nest.lane_accesses import LaneLevel
from hwgen.model.nest.ranges import Nest
from hwgen.papers.answer import answer_rtl
from hwgen.papers.yang import measured
from hwgen.papers.yang.measured import ClusterRow, cluster_claims, cluster_lines
from hwgen.search.hierarchy.clusters import ClusterPoint, ClusterSpace, best_clusters

__all__ = ["is_nested", "yang_measured"]

LANES = "lanes"
"""The level of registers at the lanes, as the hierarchy has it."""


def yang_measured(output: Path, *, small: bool, as_json: bool) -> int:
    """Design clusters for layers of the paper (with ``small`` for small ones), and run them; 1 if the RTL differs."""
    claim_folder(output)
    scale = measured.SMALL if small else measured.FULL
    rows, lines = list[ClusterRow](), dict[str, list[str]]()
    every = [("## Layers", scale.layers, ClusterSpace(scale.bytes, (scale.hwcs,), scale.lanes, lane_registers=True))]
    for layer in scale.connected:
        heading = f"## {layer.name} of {layer.batch} image{'s' if layer.batch > 1 else ''}"
        every.append((heading, (layer,), ClusterSpace(scale.connected_bytes, (1,), scale.lanes, lane_registers=True)))
    for heading, layers, space in every:
        with progress(len(space.stacks()), "searching a cluster") as step:
            best = best_clusters(layers, space, _check, step)[0]
        note("simulating; the first run builds the cluster")
        found = _simulated(best)
        for failure in (f"{result.layer}: {line}" for result in found for line in result.failures):
            typer.echo(printable(failure), err=True)
        made = [_row(result, best.hardware) for result in found]
        rows, lines[heading] = rows + made, cluster_lines(made, _text(best.hardware))
    stated = cluster_claims(rows, scale)
    sections = {"# Yang et al. 2016: layers on designed clusters, in the RTL": [], **lines}
    answer_rtl(output, "yang-2016", sections, stated, rows, ("share",), as_json=as_json)
    return 0 if all(row.equal and row.nested is not False for row in rows) else 1


def _simulated(best: ClusterPoint) -> list[LayerResult]:
    with progress(len(best.schedules), "simulating") as step:
        return cosimulate_clusters(best.schedules, best.hardware, progress=lambda result: step())


def _check(schedule: Schedule, hardware: Hardware) -> None:
    compile_cluster(schedule, hardware)


def _text(hardware: Hardware) -> str:
    cluster = hardware.cluster
    assert cluster is not None
    buffers = ", ".join(f"{array} {size_text(size)}" for array, size in (hardware.buffers or {}).items())
    hwcs = "1 HWC" if cluster.hwcs == 1 else f"{cluster.hwcs} HWCs"
    return f"{hwcs}, lanes {hardware.lanes}; shared memory {size_text(cluster.tcdm)}; each HWC {buffers}."


def _row(result: LayerResult, hardware: Hardware) -> ClusterRow:
    energy = result.as_json()["energy"]["measured"]
    dram, tcdm, local = (sum(energy["levels"][level.name].values()) for level in (DRAM, TCDM, LOCAL))
    return ClusterRow(
        result.layer,
        dram_bytes=result.measured.total_bytes(DRAM.name),
        tcdm_bytes=result.measured.total_bytes(TCDM.name),
        dram=dram,
        tcdm=tcdm,
        local=local,
        mac=energy["mac"],
        equal=result.passed,
        predicted=result.predicted_cycles,
        cycles=result.cycles,
        images=result.schedule.layer.batch,
        lane_vectors=sum(
            result.measured[LOCAL.name, array, way].words for array in ARRAYS for way in DIRECTIONS[array]
        ),
        nested=is_nested(result.schedule, result.measured, hardware),
    )


def is_nested(schedule: Schedule, measured: Counts, hardware: Hardware) -> bool | None:
    """Whether what was counted is that of the schedule on a hierarchy, whose innermost level are the lanes; None of
    several HWCs. Vectors at the lanes are compared in bytes if all of them are full."""
    cluster = hardware.cluster
    assert cluster is not None
    if cluster.hwcs > 1:
        return None
    levels = [
        MemoryLevel(name=DRAM.name),
        MemoryLevel(name=TCDM.name, bytes=cluster.tcdm),
        MemoryLevel(name=LOCAL.name, bytes=hardware.buffers),
    ]
    nest, vectors = _of_one(schedule), vector_bytes(hardware.shape)
    if schedule.lane_registers:
        levels.append(MemoryLevel(name=LANES, bytes=vectors))
        nest = _with_lanes(nest)
    hierarchy = Hierarchy(name=hardware.name, levels=tuple(levels))
    found = counts_of(nest, hierarchy)
    require_fit(found, hierarchy, schedule.layer.name)
    moved = {
        (level.name, array): tuple(_moved(counts, level.name, array) for counts in (measured, found.served))
        for level in (DRAM, TCDM)
        for array in ARRAYS
    }
    if schedule.lane_registers and _all_full(nest):
        moved |= {(LOCAL.name, array): _at_lanes(measured, found.served, array, vectors[array]) for array in ARRAYS}
    return all(counted == of_hierarchy for counted, of_hierarchy in moved.values())


def _of_one(schedule: Schedule) -> Schedule:
    """The nest of a cluster with one HWC, on which no loop is spread."""
    nest = (replace(item, over=None) if isinstance(item, Loop) else item for item in schedule.nest)
    return schedule.model_copy(update={"nest": tuple(nest)})


def _with_lanes(schedule: Schedule) -> Schedule:
    """The nest with the lanes as a level."""
    level = LaneLevel(schedule, run_depth(schedule))
    nest, loops = list[Loop | Marker](), 0
    for item in level.nest.schedule.nest:
        if isinstance(item, Loop):
            held = tuple(array for array, depth in level.depths.items() if depth == loops)
            nest += [Marker(held, level_named(LANES))] if held else []
            loops += 1
        nest.append(item)
    return schedule.model_copy(update={"nest": tuple(nest)})


def _all_full(schedule: Schedule) -> bool:
    """Whether each operation has work for all lanes."""
    nest = Nest(schedule)
    return all((nest.ranges(dim, nest.depth).sizes == schedule.lanes.along(dim)).all() for dim in LANE_DIMS)


def _at_lanes(measured: Counts, served: Counts, array: ArrayName, vector: int) -> tuple[tuple[int, int], ...]:
    """Bytes that lanes read and that they write, by the vectors that were counted, and as a hierarchy has them: sums
    have 32 bits in the local memory, final ones, too."""
    size = SUM_BYTES if array == "O" else 1
    found = []
    for counts, quantity, each in ((measured, "words", vector), (served, "elements", size)):
        moved = {way: each * getattr(counts[LOCAL.name, array, way], quantity) for way in DIRECTIONS[array]}
        read = sum(number for way, number in moved.items() if way.startswith("read"))
        found.append((read, sum(moved.values()) - read))
    return tuple(found)


def _moved(counts: Counts, level: str, array: ArrayName) -> tuple[int, int]:
    """Bytes of an operand that are read at a level, and that are written: final outputs and partial sums together."""
    moved = {way: counts[level, array, way].bytes for way in DIRECTIONS[array]}
    read = sum(size for way, size in moved.items() if way.startswith("read"))
    return read, sum(moved.values()) - read
