"""What the benchmark of the depth-first search compares with: figures worked out by hand, and printed ones."""

from dataclasses import replace

import pytest

from benchmarks.bench_depth_first import RECORDED, TABLES, least_traffic, memory_by_hand, printed
from hwgen.model.pipeline.graph import Graph
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.pipeline.front import POWERS_OF_TWO, Point, search_front

HD = 1280 * 720


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        # 3 maps in, 3 maps of 16 times the pixels out, 64 maps out to DRAM and back.
        ("srgan", (3 + 3 * 16 + 2 * 64) * HD),
        # 3 maps in, 3 out, the input once more for the last add.
        ("dmcnn_vd_3840x2160", (3 + 3 + 3) * 9 * HD),
    ],
)
def test_least_traffic_by_hand(name: str, elements: int) -> None:
    assert least_traffic(name) == elements


def test_least_traffic_of_a_network_with_many_outputs() -> None:
    """SSD: the input and what its twelve heads give."""
    heads = [layer for layer in load_layer_set("mobilenet_v2_ssdlite").layers if layer.part == "head"]
    last = [layer for layer in heads if not layer.name.endswith("_dw")]
    assert len(last) == 12
    assert least_traffic("mobilenet_v2_ssdlite") == 3 * HD + sum(
        layer.output_channels * layer.output_height * layer.output_width for layer in last
    )


@pytest.mark.nightly
def test_printed_figures_are_compared_to_their_digits() -> None:
    graph = Graph.of(load_layer_set("dmcnn_vd_3840x2160"))
    last: Point = search_front(graph, "published", POWERS_OF_TWO).points[-1]
    assert printed("dmcnn_vd_3840x2160", graph, last)
    assert not printed("dmcnn_vd_3840x2160", graph, replace(last, traffic=last.traffic * 269 // 268))
    srgan = Graph.of(load_layer_set("srgan"))
    found = replace(last, memory=6_357_144, traffic=164_966_400)
    assert printed("srgan", srgan, found)
    assert not printed("srgan", srgan, replace(found, memory=6_457_144))
    assert not printed("srgan", srgan, replace(found, traffic=165_600_000))


def test_every_memory_is_worked_out_or_recorded() -> None:
    assert {name for name in TABLES if memory_by_hand(name, 0) is None} == set(RECORDED)
    assert memory_by_hand("dmcnn_vd", 1000) == 1000 + (3 + 19 * 64) * 2 * 721
