"""One cluster for several layers: what the search of its order and memories promises, on small random layers."""

from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.lower.cluster.cost import judge_of, predicted_on_cluster
from hwgen.lower.cluster.program import compile_cluster
from hwgen.search.cluster.fewest_cycles import SLACK, search_fewest_cycles
from hwgen.search.cluster.optimal import ClusterResult, search_cluster
from hwgen.search.cluster.shared import SharedCluster, cost, search_shared
from tests.random.layers import random_layer

TWO = Hardware(name="two", budget=1536, cluster=Cluster(hwcs=2, tcdm=1 << 14, banks=4))
TIGHT = TWO.model_copy(update={"budget": 512})


def layers(name: str, count: int = 3) -> list[Layer]:
    rng = Random(f"shared {name}")
    return [random_layer(rng, f"random_{number}", 4_000) for number in range(count)]


def fewest_cycles(layer: Layer, hardware: Hardware) -> ClusterResult:
    timed, runs = (judge_of(hardware, timed=timed) for timed in (True, False))
    return search_fewest_cycles(layer, hardware, timed=timed, runs=runs, ends=True)


def fewest_bytes(layer: Layer, hardware: Hardware) -> ClusterResult:
    return search_cluster(layer, hardware, judge=judge_of(hardware, timed=False))


def check(found: SharedCluster, given: Hardware) -> None:
    order, buffers = found.hardware.order, found.hardware.buffers
    assert order is not None
    assert buffers is not None
    assert sum(buffers.values()) <= given.budget
    programs = [compile_cluster(one.schedule, found.hardware) for one in found.results]
    assert len({program.hardware for program in programs}) == 1
    assert cost(found.results) == min(price for _, price in found.tried)
    assert len(found.tried) >= 1


@pytest.mark.parametrize("hardware", [pytest.param(TWO, marks=pytest.mark.nightly), TIGHT], ids=["roomy", "tight"])
def test_one_cluster_runs_all_layers(hardware: Hardware) -> None:
    given = layers("cycles")
    found = search_shared(given, hardware, fewest_cycles)
    check(found, hardware)
    for order, price in found.tried:  # each of them was really searched to the end, with all layers
        if order == found.hardware.order:
            assert cost([fewest_cycles(layer, found.hardware) for layer in given]) == price
    assert [one.dram_bytes for one in found.alone] <= [round(one.dram_bytes * (1 + SLACK)) for one in found.results]


def test_with_an_objective_the_sum_of_bytes_decides() -> None:
    given = layers("bytes")
    found = search_shared(given, TWO, fewest_bytes)
    check(found, TWO)
    assert cost(found.results)[0] == sum(one.dram_bytes for one in found.results)
    assert cost(found.results) >= cost(found.alone)


def test_a_given_order_stays() -> None:
    given = layers("given", 2)
    order = search_shared(given, TWO, fewest_bytes).hardware.order
    machine = TWO.model_copy(update={"order": order, "buffers": {"I": 512, "W": 512, "O": 512}})
    found = search_shared(given, machine, fewest_bytes)
    assert found.hardware == machine
    assert found.results == found.alone
    only_order = TWO.model_copy(update={"order": order})
    found = search_shared(given, only_order, fewest_bytes)
    assert found.hardware.order == order
    check(found, only_order)


def test_no_cluster_runs_them() -> None:
    one, other = layers("none", 2)
    wide = other.model_copy(update={"output_channels": 300 * other.groups})  # its biases fill the TCDM
    small = TWO.model_copy(update={"cluster": Cluster(hwcs=2, tcdm=1 << 10, banks=4)})
    with pytest.raises(InputError, match=r"random_1: no schedule fits a TCDM of 1024 bytes"):
        search_shared([wide, one], small, fewest_bytes)


@pytest.mark.parametrize("number", range(4))
def test_fewest_cycles_near_the_fewest_bytes(number: int) -> None:
    layer = layers("near", 4)[number]
    found, least = fewest_cycles(layer, TWO), fewest_bytes(layer, TWO)
    assert found.least is not None
    assert found.least[0] == least.dram_bytes
    assert found.dram_bytes <= (1 + SLACK) * least.dram_bytes
    times = [predicted_on_cluster(one.schedule, TWO).times for one in (found, least)]
    assert times[0] is not None
    assert times[1] is not None
    assert times[0].total <= times[1].total
    assert found.judged == pytest.approx(layer.macs / (found.lanes * times[0].total))
    assert found.least[1] == pytest.approx(layer.macs / (found.lanes * times[1].total))


@pytest.mark.nightly
def test_cycles_are_saved_where_the_ports_were_the_limit() -> None:
    """With fewest bytes at the TCDM first, a layer of single pixels waits for its inputs most of the time."""
    layer = Layer(name="pixels", input_channels=7, output_channels=19, input_height=26, input_width=26, kernel=1)
    found = fewest_cycles(layer, Hardware(name="four", cluster=Cluster()))
    assert found.least is not None
    assert found.judged is not None
    assert found.least[1] is not None
    assert found.judged > 1.7 * found.least[1]
    assert found.dram_bytes <= 1.01 * found.least[0]
