"""Tiles of publications on our own cluster: cycles by the model, and simulated (``hwgen paper PAPER --rtl``)."""

from collections.abc import Callable, Sequence

import typer

from cosim.cluster.results import cosimulate_clusters
from cosim.hwc.comparison import LayerResult
from hwgen.arch.dram import Dram
from hwgen.cli.console import note, printable, progress
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, load_hardware
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster.cycles import cluster_cycles
from hwgen.lower.cluster.program import compile_cluster
from hwgen.report.own_cluster import OwnCase, OwnRun, own_hardware

__all__ = ["DEFAULT", "calibrated", "cycles_on", "simulated"]

DEFAULT = "cluster_ddr3"
"""The hardware of figures for our own cluster, unless another one is given."""


def calibrated(name: str) -> Cluster:
    """The cluster of a hardware file that `hwgen calibrate` has filled in."""
    cluster = load_hardware(named_file("hardware", name)).cluster
    if cluster is None or cluster.load is None:
        raise InputError(f"--hardware: {name}: expected cluster.load, as hwgen calibrate stores it")
    return cluster


def cycles_on(cluster: Cluster) -> Callable[[Schedule, bool], float]:
    """Cycles of a nest by the cycle model of the cluster; raises `InputError` where it cannot run the nest.

    With True, one load, computation or store after the other.
    """
    hardware, dram = own_hardware(cluster), cluster.dram or Dram()

    def cycles_of(schedule: Schedule, serial: bool) -> float:
        return cluster_cycles(compile_cluster(schedule, hardware, serial=serial), dram).total

    return cycles_of


def simulated(cases: Sequence[OwnCase], cluster: Cluster, *, fast: bool = False) -> list[OwnRun]:
    """Run all of them on one cluster, results in the order of the cases; what is wrong is told on standard error."""
    note(f"simulating {len(cases)} tilings on the cluster; the first run builds its simulator")
    found: dict[int, LayerResult] = {}
    with progress(len(cases), "simulating") as step:
        for serial in (False, True):
            chosen = [index for index, case in enumerate(cases) if case.serial == serial]
            schedules = [cases[index].schedule for index in chosen]
            ran = cosimulate_clusters(
                schedules, own_hardware(cluster), serial=serial, fast=fast, progress=lambda result: step()
            )
            found |= dict(zip(chosen, ran, strict=True))
    results = [found[index] for index in range(len(cases))]
    for result in results:
        for failure in result.failures:
            typer.echo(printable(f"{result.layer}: {failure}"), err=True)
    return [_run(case, result) for case, result in zip(cases, results, strict=True)]


def _run(case: OwnCase, result: LayerResult) -> OwnRun:
    dram = [access for (_, operand, _), access in result.measured.at("dram").accesses.items() if operand in ARRAYS]
    tcdm = [access for (_, operand, _), access in result.measured.at("tcdm").accesses.items() if operand in ARRAYS]
    return OwnRun(
        result.layer,
        case.chosen,
        case.tile,
        case.expected,
        dram_bytes=sum(access.bytes for access in dram),
        axi_bursts=sum(access.axi_bursts for access in dram),
        blocks=sum(access.blocks for access in dram),
        row_misses=sum(access.row_misses for access in dram),
        tcdm_words=sum(access.words for access in tcdm),
        equal=result.passed,
        moving=result.stalls["busy_load"] + result.stalls["busy_store"],
        predicted=result.predicted_cycles,
        cycles=result.cycles,
    )
