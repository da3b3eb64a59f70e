"""The shape of the lanes of a cluster that leaves them free: which shapes are searched, and which one is taken."""

from dataclasses import replace

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.search.cluster.lane_shapes import SEARCHED, estimated_cycles, search_lanes, shapes_to_search
from hwgen.search.cluster.optimal import ClusterResult, search_cluster
from hwgen.search.cluster.shared import SharedCluster

FREE = Hardware(name="free", budget=2048, cluster=Cluster(hwcs=2, tcdm=1 << 14, banks=4))
DEEP = Layer(name="deep", input_channels=2, output_channels=32, input_height=3, input_width=3, kernel=1)


def test_the_estimate_of_a_layer_by_hand() -> None:
    # Over filters: 16 of them on each HWC, 3 rows of one vector each; over rows: 2 of 3 rows on the busier HWC.
    assert estimated_cycles(DEEP, Lanes(x=16), 2) == 2 * min(16 * 3, 32 * 2)
    assert estimated_cycles(DEEP, Lanes(m=16), 2) == 2 * min(1 * 3 * 3, 2 * 2 * 3)
    assert estimated_cycles(DEEP, Lanes(m=4, x=4), 2) == 2 * min(4 * 3, 8 * 2)


def test_shapes_of_the_least_estimates_are_searched_and_lanes_along_x() -> None:
    shapes = shapes_to_search([DEEP], FREE)
    assert len(set(shapes)) == len(shapes) == SEARCHED
    assert shapes[0] == Lanes(x=16)
    cycles = [estimated_cycles(DEEP, lanes, 2) for lanes in shapes[1:]]
    assert cycles == sorted(estimated_cycles(DEEP, lanes, 2) for lanes in Lanes.shapes(16))[: SEARCHED - 1]
    fixed = FREE.model_copy(update={"lanes": Lanes(y=16)})
    assert shapes_to_search([DEEP], fixed) == [Lanes(y=16)]


def test_the_best_shape_is_taken_and_one_that_runs_nothing_is_left_out() -> None:
    known = search_cluster(DEEP, FREE)
    values = {Lanes(x=16): 900.0, Lanes(m=16): 300.0, Lanes(m=8, x=2): 300.0}

    def find(hardware: Hardware) -> SharedCluster:
        if hardware.shape not in values:
            raise InputError("does not fit")
        one: ClusterResult = replace(known, value=values[hardware.shape])
        return SharedCluster(hardware, (one,), (one,), ())

    found = search_lanes([Lanes(y=16), *values], FREE, find)
    assert found.hardware.lanes == Lanes(m=16)
    assert [lanes for lanes, _ in found.shapes] == list(values)
    with pytest.raises(InputError, match="does not fit"):
        search_lanes([Lanes(y=16)], FREE, find)
