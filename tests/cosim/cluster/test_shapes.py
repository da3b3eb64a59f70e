"""Clusters of other shapes than the default one: every access at both levels, and every output."""

from random import Random

import pytest

from cosim.cluster.results import cosimulate_clusters
from hwgen.arch.dram import Dram
from hwgen.ir.hardware import Cluster
from tests.random.clusters import cluster_schedules
from tests.random.layers import hwc

SHAPES = {
    "one HWC, two banks, AXI of 32 bits": ("two_tiles", Cluster(hwcs=1, tcdm=1 << 14, banks=2, axi_bits=32)),
    "eight HWCs, 64 banks, AXI of 128 bits": ("squares", Cluster(hwcs=8, tcdm=1 << 16, banks=64, axi_bits=128)),
    "three HWCs, four banks": ("channels", Cluster(hwcs=3, tcdm=12 << 10, banks=4)),
}


@pytest.mark.nightly
@pytest.mark.parametrize("shape", SHAPES)
def test_clusters_of_any_shape(shape: str) -> None:
    name, cluster = SHAPES[shape]
    hardware = hwc(name).model_copy(update={"operand_bits": 8, "cluster": cluster})
    cases = cluster_schedules(hardware, Random(shape), 12)
    timing = Dram(latency=20, miss_cycles=30, block_cycles=18.0)
    free = cosimulate_clusters(cases, hardware, fast=False)
    stalled = cosimulate_clusters(cases, hardware, fast=False, stalls=True, timing=timing)
    for results in (free, stalled):
        wrong = [f"{result.schedule.as_data()}: {result.failures}" for result in results if not result.passed]
        assert not wrong, wrong
    assert [result.measured for result in free] == [result.measured for result in stalled]
