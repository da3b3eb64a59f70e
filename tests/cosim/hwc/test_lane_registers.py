"""HWCs whose lanes have registers: accesses of the local memories as predicted, outputs and cycles as without.

Which operand stays depends on the innermost loops: sums in `fig8`, the input in `channels`, weights in `columns`.
"""

from random import Random

import pytest

from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from cosim.hwc.results import cosimulate
from cosim.system.results import cosimulate_systems
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.schedule import ARRAYS, Schedule
from tests.random.clusters import cluster_schedules
from tests.random.layers import HWCS, hwc, schedules_for

STAYS = {"fig8": "O", "channels": "I", "columns": "W"}
WAYS = (("I", "read"), ("W", "read"), ("O", "read_partial"), ("O", "write"))


def with_registers(name: str, **more: object) -> Hardware:
    one = hwc(name)
    buffers = {"I": 1536 * one.shape.y * one.shape.c, "W": 256 * one.shape.c, "O": 4096}
    return one.model_copy(update={"operand_bits": 8, "lane_registers": True, "buffers": buffers, **more})


def check(results: list[LayerResult]) -> None:
    wrong = [f"{result.schedule.as_data()}: {result.failures}" for result in results if not result.passed]
    assert not wrong, wrong
    for result in results:
        read = {way: result.measured["local", *way].words for way in WAYS}
        assert min(count for (_, way), count in read.items() if way != "read_partial") > 0


def fewest(results: list[LayerResult]) -> str:
    """The operand whose vectors are read least often, in all layers together."""
    totals = {
        array: sum(result.measured["local", array, "write" if array == "O" else "read"].words for result in results)
        for array in ARRAYS
    }
    return min(totals, key=lambda array: totals[array])


def without(schedule: Schedule) -> Schedule:
    return schedule.model_copy(update={"lane_registers": False})


@pytest.mark.parametrize("name", STAYS)
def test_accesses_and_outputs_with_random_stalls(name: str) -> None:
    """With stalls an operation comes cycles after the one before: what stays is held."""
    hardware = with_registers(name, block_ram=name == "channels")
    results = cosimulate(schedules_for(hardware, Random(f"lanes {name}"), 4, 8000), hardware, stalls=True, fast=False)
    check(results)
    assert fewest(results) == STAYS[name]


@pytest.mark.usefixtures("icarus")
def test_no_cycle_differs() -> None:
    """In another simulator, whose unknown bits would show what no memory was read for."""
    hardware = with_registers("fig8")
    schedules = schedules_for(hardware, Random("lanes fig8"), 2, 4000)
    found = cosimulate(schedules, hardware, simulator="icarus")
    check(found)
    plain = hardware.model_copy(update={"lane_registers": False})
    others = cosimulate([without(schedule) for schedule in schedules], plain, simulator="icarus")
    assert [result.cycles for result in found] == [result.cycles for result in others]
    assert {level for result in others for level in result.measured.levels()} == {"tcdm"}


def test_each_hwc_of_a_cluster_is_counted() -> None:
    hardware = with_registers("fig8", cluster=Cluster(hwcs=2, tcdm=1 << 16, banks=8))
    check(cosimulate_clusters(cluster_schedules(hardware, Random("lanes"), 3), hardware, fast=False))


@pytest.mark.nightly
def test_a_bus_in_python_counts_them_too() -> None:
    hardware = with_registers("columns")
    schedules = schedules_for(hardware, Random("bus"), 2, 2000)
    check(cosimulate(schedules, hardware, bench="tests.cosim.hwc.tb_bus", stalls=True))


@pytest.mark.nightly
def test_each_hwc_of_several_clusters_is_counted() -> None:
    hardware = with_registers("rows_of_kernel", cluster=Cluster(hwcs=2, tcdm=1 << 14, banks=4))
    check(cosimulate_systems(cluster_schedules(hardware, Random("lanes"), 3), hardware, 2, "OFM", fast=False))


@pytest.mark.nightly
@pytest.mark.parametrize("name", HWCS)
def test_every_hwc(name: str) -> None:
    for block_ram in (False, True):
        hardware = with_registers(name, block_ram=block_ram)
        check(
            cosimulate(schedules_for(hardware, Random(f"every {name} {block_ram}"), 12, 20000), hardware, stalls=True)
        )


@pytest.mark.nightly
@pytest.mark.parametrize("name", HWCS)
def test_every_cluster(name: str) -> None:
    hardware = with_registers(name, cluster=Cluster(hwcs=3, tcdm=1 << 16, banks=8, multicast=name == "fig8"))
    check(cosimulate_clusters(cluster_schedules(hardware, Random(f"every {name}"), 5), hardware, stalls=True))
