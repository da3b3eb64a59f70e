"""Tiles of publications on our own cluster: cycles by the model, and simulated (``hwgen paper PAPER --rtl``)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import typer

import hwgen.arch
import hwgen.gateware
import hwgen.ir
import hwgen.lower
import hwgen.model
from cosim.cluster.results import cosimulate_clusters
from cosim.device.device import HARNESS
from cosim.device.result import LayerResult
from hwgen.arch.dram import Dram
from hwgen.arch.hardware_file import load_hardware
from hwgen.cli.console import note, printable, progress
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster.cycles import cluster_cycles
from hwgen.lower.cluster.program import compile_cluster
from hwgen.papers.own_cluster import OwnCase, OwnRun, own_hardware
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.ledger import Ledger

__all__ = ["DEFAULT", "calibrated", "cycles_on", "simulated"]

DEFAULT = "cluster_ddr3"
"""The hardware of figures for our own cluster, unless another one is given."""


def calibrated(name: str) -> Cluster:
    """The cluster of a hardware file that `hwgen calibrate` has filled in."""
    cluster = load_hardware(named_file("hardware", name)).cluster
    if cluster is None or cluster.load is None:
        raise InputError(f"--hardware: {name}: expected cluster.load, as hwgen calibrate stores it")
    return cluster


def cycles_on(cluster: Cluster, store: Path | None = None) -> Callable[[Schedule, bool], float]:
    """Cycles of a nest by the cycle model of the cluster; raises `InputError` where it cannot run the nest.

    With True, one load, computation or store after the other. What is in the file ``store`` is not computed again.
    """
    hardware, dram = own_hardware(cluster), cluster.dram or Dram()
    ledger = None if store is None else Ledger(store)
    kept = {} if ledger is None else ledger.load()
    state = "" if ledger is None else _state(hwgen.arch, hwgen.ir, hwgen.lower, hwgen.model)

    def cycles_of(schedule: Schedule, serial: bool) -> float:
        key = digest_of([schedule.as_data(), hardware.model_dump(mode="json"), serial, state])
        if key in kept:
            return float(kept[key]["cycles"])
        found = cluster_cycles(compile_cluster(schedule, hardware, serial=serial), dram).total
        if ledger is not None:
            ledger.add(key, {"cycles": found})
        return found

    return cycles_of


def simulated(
    cases: Sequence[OwnCase], cluster: Cluster, *, fast: bool = False, store: Path | None = None
) -> list[OwnRun]:
    """Run all of them on one cluster, results in the order of the cases; what is wrong is told on standard error.

    What has passed is kept in the file ``store``, and is not simulated again in the same state of everything.
    """
    note(f"simulating {len(cases)} tilings on the cluster; the first run builds its simulator")
    hardware = own_hardware(cluster)
    ledger = None if store is None else Ledger(store)
    kept = {} if ledger is None else ledger.load()
    state = "" if ledger is None else _state(hwgen.arch, hwgen.ir, hwgen.lower, hwgen.model, hwgen.gateware)
    runs = []
    with progress(len(cases), "simulating") as step:
        for case in cases:
            data = [case.schedule.as_data(), case.serial, case.chosen, case.tile, case.expected]
            key = digest_of([*data, hardware.model_dump(mode="json"), state])
            if key in kept:
                runs.append(OwnRun(**{name: value for name, value in kept[key].items() if name != "key"}))
            else:
                (result,) = cosimulate_clusters([case.schedule], hardware, serial=case.serial, fast=fast)
                for failure in result.failures:
                    typer.echo(printable(f"{result.layer}: {failure}"), err=True)
                runs.append(_run(case, result))
                if ledger is not None and result.passed:
                    ledger.add(key, asdict(runs[-1]))
            step()
    return runs


def _state(*rooms: ModuleType) -> str:
    """A digest of all that results depend on."""
    return sources_digest([HARNESS, *(Path(room.__path__[0]) for room in rooms)])


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
