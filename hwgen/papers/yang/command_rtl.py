"""``hwgen paper yang-2016 --rtl``: layers of the paper on a cluster designed for them, in the simulator."""

from pathlib import Path

import typer

from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from hwgen.api.arguments import claim_folder, size_text
from hwgen.cli.console import note, printable, progress
from hwgen.ir.hardware import Hardware
from hwgen.ir.level import DRAM, LOCAL, TCDM
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.papers.answer import answer_rtl
from hwgen.papers.yang import measured
from hwgen.papers.yang.measured import ClusterRow, cluster_claims, cluster_lines
from hwgen.search.hierarchy.clusters import ClusterSpace, best_clusters

__all__ = ["yang_measured"]


def yang_measured(output: Path, *, small: bool, as_json: bool) -> int:
    """Design a cluster for layers of the paper (with ``small`` for small ones), and run it; 1 if the RTL differs."""
    claim_folder(output)
    scale = measured.SMALL if small else measured.FULL
    space = ClusterSpace(scale.bytes, (scale.hwcs,), scale.lanes)
    with progress(len(space.stacks()), "searching a cluster") as step:
        best = best_clusters(scale.layers, space, _check, step)[0]
    note("simulating; the first run builds the cluster")
    with progress(len(best.schedules), "simulating") as step:
        found = cosimulate_clusters(best.schedules, best.hardware, progress=lambda result: step())
    for failure in (f"{result.layer}: {line}" for result in found for line in result.failures):
        typer.echo(printable(failure), err=True)
    rows = [_row(result) for result in found]
    stated = cluster_claims(rows, scale)
    sections = {
        "# Yang et al. 2016: layers on a designed cluster, in the RTL": [],
        "## Layers": cluster_lines(rows, _text(best.hardware)),
    }
    answer_rtl(output, "yang-2016", sections, stated, rows, ("share",), as_json=as_json)
    return 0 if all(row.equal for row in rows) else 1


def _check(schedule: Schedule, hardware: Hardware) -> None:
    compile_cluster(schedule, hardware)


def _text(hardware: Hardware) -> str:
    cluster = hardware.cluster
    assert cluster is not None
    buffers = ", ".join(f"{array} {size_text(size)}" for array, size in (hardware.buffers or {}).items())
    return (
        f"{cluster.hwcs} HWCs, lanes {hardware.lanes}; shared memory {size_text(cluster.tcdm)}; each HWC {buffers}."
    )


def _row(result: LayerResult) -> ClusterRow:
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
    )
