"""``hwgen paper yang-2016 --rtl``: layers of the paper on clusters designed for them, in the simulator."""

from dataclasses import replace
from pathlib import Path

import typer

from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from hwgen.api.arguments import claim_folder, size_text
from hwgen.cli.console import note, printable, progress
from hwgen.ir.counts import DIRECTIONS, Counts
from hwgen.ir.hardware import Hardware
from hwgen.ir.level import DRAM, LOCAL, TCDM
from hwgen.ir.memory.hierarchy import Hierarchy, MemoryLevel
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.nest.hierarchy_counts import counts_of, require_fit
from hwgen.papers.answer import answer_rtl
from hwgen.papers.yang import measured
from hwgen.papers.yang.measured import ClusterRow, cluster_claims, cluster_lines
from hwgen.search.hierarchy.clusters import ClusterPoint, ClusterSpace, best_clusters

__all__ = ["is_nested", "yang_measured"]


def yang_measured(output: Path, *, small: bool, as_json: bool) -> int:
    """Design clusters for layers of the paper (with ``small`` for small ones), and run them; 1 if the RTL differs."""
    claim_folder(output)
    scale = measured.SMALL if small else measured.FULL
    rows, lines = list[ClusterRow](), dict[str, list[str]]()
    every = [("## Layers", scale.layers, ClusterSpace(scale.bytes, (scale.hwcs,), scale.lanes))]
    for layer in scale.connected:
        heading = f"## {layer.name} of {layer.batch} image{'s' if layer.batch > 1 else ''}"
        every.append((heading, (layer,), ClusterSpace(scale.connected_bytes, (1,), scale.lanes)))
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
        nested=is_nested(result.schedule, result.measured, hardware),
    )


def is_nested(schedule: Schedule, measured: Counts, hardware: Hardware) -> bool | None:
    """Whether the bytes that were counted are those of the schedule on a hierarchy; None of several HWCs."""
    cluster = hardware.cluster
    assert cluster is not None
    if cluster.hwcs > 1:
        return None
    hierarchy = Hierarchy(
        name=hardware.name,
        levels=(
            MemoryLevel(name=DRAM.name),
            MemoryLevel(name=TCDM.name, bytes=cluster.tcdm),
            MemoryLevel(name=LOCAL.name, bytes=hardware.buffers),
        ),
    )
    loops = (replace(item, over=None) if isinstance(item, Loop) else item for item in schedule.nest)
    found = counts_of(schedule.model_copy(update={"nest": tuple(loops)}), hierarchy)
    require_fit(found, hierarchy, schedule.layer.name)
    return all(
        _moved(measured, level.name, array) == _moved(found.served, level.name, array)
        for level in (DRAM, TCDM)
        for array in ARRAYS
    )


def _moved(counts: Counts, level: str, array: ArrayName) -> tuple[int, int]:
    """Bytes of an operand that are read at a level, and that are written: final outputs and partial sums together."""
    moved = {way: counts[level, array, way].bytes for way in DIRECTIONS[array]}
    read = sum(size for way, size in moved.items() if way.startswith("read"))
    return read, sum(moved.values()) - read
