"""HWC and cluster as hierarchies: their bytes are those of the closed form for any depth, and cost what is said."""

import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.ir.counts import DIRECTIONS, Counts
from hwgen.ir.hardware import Cluster, EnergyCost
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.cluster.levels import normalised
from hwgen.model.energy import datapath_counts, device_energy, prices_of
from hwgen.model.nest.hierarchy_counts import counts_of
from hwgen.model.nest.one_level import predict
from tests.oracles.levels_apart import on_hierarchy
from tests.random.cluster_nests import cluster_cases
from tests.random.nests import cases

THREE = Hierarchy.from_data({
    "format": 1, "kind": "hierarchy", "name": "cluster",
    "levels": [{"name": "dram"}, {"name": "tcdm", "bytes": 1 << 30}, {"name": "local", "bytes": 1 << 20}],
})  # fmt: skip
TWO = Hierarchy.from_data({
    "format": 1, "kind": "hierarchy", "name": "hwc",
    "levels": [{"name": "tcdm"}, {"name": "local", "bytes": 1 << 20}],
})  # fmt: skip
PARAMETERS = HwcParameters(
    loops=("c", "m", "y", "x", "k", "l"), input_marker=1, weight_marker=1, output_marker=0, input_bytes=1024,
    weight_bytes=4096, output_bytes=2048, lanes=Lanes(x=16),
)  # fmt: skip


def bytes_at(counts: Counts, level: str) -> dict[tuple[str, str], int]:
    return {(operand, way): counts[level, operand, way].bytes for operand in ARRAYS for way in DIRECTIONS[operand]}


def test_a_cluster_is_a_hierarchy_of_three_levels() -> None:
    """DRAM and TCDM serve what the DMA and the HWCs' ports move; the local buffers serve the datapath."""
    for schedule, hwcs in cluster_cases(7, 150):
        found = predict_cluster(schedule, hwcs)
        served = counts_of(on_hierarchy(normalised(schedule, hwcs)), THREE).served
        assert bytes_at(served, "dram") == bytes_at(found.counts, "dram"), schedule.as_data()
        # An operand without a local marker passes the local buffers by: its port serves the datapath.
        assert bytes_at(served, "tcdm") == bytes_at(found.counts, "tcdm"), schedule.as_data()
        assert bytes_at(served, "local") == bytes_at(datapath_counts(schedule), "local")


def test_an_hwc_is_a_hierarchy_of_two_levels() -> None:
    for schedule in cases(8, 150):
        served = counts_of(schedule, TWO).served
        assert bytes_at(served, "tcdm") == bytes_at(predict(schedule).counts, "tcdm"), schedule.as_data()
        assert bytes_at(served, "local") == bytes_at(datapath_counts(schedule), "local")


LAYER = Layer(name="fc", op="fc", input_channels=4, output_channels=8, input_height=1, input_width=1, kernel=1)
NEST = (Loop("m", 2), Marker(("I", "O")), Loop("c", 1), Loop("m", 1))


def test_energy_of_an_hwc_by_hand() -> None:
    """I is read from its buffer for each product, O read and written; W comes from the port each time."""
    schedule = Schedule(layer=LAYER, nest=NEST)
    found = device_energy(schedule, predict(schedule).counts, prices_of(PARAMETERS, None))
    tcdm = 15.60 / 2  # 256 KiB, pJ for 16 bits
    assert found.levels["tcdm"] == pytest.approx({"I": 16 * tcdm, "W": 32 * tcdm, "O": 8 * tcdm, "B": 32 * tcdm})
    # 1, 2 KiB; I's 4 elements stay for 2 products each, of 4 tiles; 24 partial sums both ways, 8 final outputs.
    assert found.levels["local"] == pytest.approx({"I": 32 * 1.20 / 2, "W": 0, "O": (2 * 24 * 4 + 8) * 1.54 / 2})
    assert found.mac == pytest.approx(32 * 0.9)
    assert found.total == pytest.approx(sum(sum(of.values()) for of in found.levels.values()) + found.mac)


def test_energies_of_a_clusters_file() -> None:
    cost = EnergyCost(dram=100, tcdm=10, local=1, mac=0.5)
    prices = prices_of(PARAMETERS, Cluster(energy=cost))
    assert (prices.outer, prices.mac) == ({"dram": 100, "tcdm": 10}, 0.5)
    assert prices.local == {"I": 1, "W": 1, "O": 1}
    by_size = prices_of(PARAMETERS, Cluster(tcdm=1 << 16))
    assert by_size.outer == {"dram": 160, "tcdm": 8.10 / 2}


def test_a_broadcast_costs_an_access_of_all_embedded_memory() -> None:
    """Four HWCs of 7 KiB at 228 KiB: 256 KiB. O is never read by several."""
    several = prices_of(PARAMETERS, Cluster(tcdm=228 << 10, multicast=True))
    assert several.at("tcdm", "I") == several.at("tcdm", "W") == pytest.approx(15.60 / 2)
    apart = prices_of(PARAMETERS, Cluster(tcdm=228 << 10))
    assert several.at("tcdm", "O") == apart.at("tcdm", "O") == apart.at("tcdm", "I") < several.at("tcdm", "I")
    assert prices_of(PARAMETERS, Cluster(hwcs=1, multicast=True)).broadcast is None
