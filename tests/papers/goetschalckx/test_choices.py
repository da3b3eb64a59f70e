"""Pixels or lines, and the overlap of tiles kept or made again: small chains by hand."""

import pytest

from hwgen.ir.layer_set import Network
from hwgen.model.pipeline.graph import Graph, Span
from hwgen.papers.goetschalckx.choices import kept_overlap, line_by_line, made_again, work_made_again
from hwgen.readers.layer_sets import load_layer_set

WIDTH, HEIGHT = 12, 20


def chain(kernels: tuple[int, ...]) -> Graph:
    """Convolutions of one channel on maps of 12 x 20, whose lines are 12 pixels."""
    rows = []
    for number, kernel in enumerate(kernels):
        rows.append({
            "name": f"c{number + 1}", "op": "conv", "inputs": [f"c{number}" if number else "in"], "input_channels": 1,
            "output_channels": 1, "input_height": HEIGHT, "input_width": WIDTH, "kernel": kernel,
            "padding": kernel // 2,
        })  # fmt: skip
    data = {"format": 1, "kind": "network", "network": "chain", "source": "none",
            "input": {"name": "in", "channels": 1, "height": HEIGHT, "width": WIDTH}, "layers": rows}  # fmt: skip
    return Graph.of(Network.from_data(data))


def test_lines_in_place_of_pixels() -> None:
    """Two windows of 3 x 3: 2 lines and 2 pixels of 12, or 3 lines."""
    assert line_by_line(chain((3, 3))) == pytest.approx(3 * 12 / (2 * 12 + 2))
    assert line_by_line(chain((3, 1))) == pytest.approx(3 * 12 / (2 * 12 + 2))  # 1 x 1 needs no ring


def test_two_columns_for_each_layer_that_follows() -> None:
    """The second of two tiles makes outputs 6 to 11 of c3, so 5 on of c2 and 4 on of c1; the first one made 0 to 6 of
    c2 and 0 to 7 of c1."""
    graph = chain((3, 3, 3))
    assert made_again(graph, Span(1, 3), 2) == {3: 0, 2: 2, 1: 4}
    assert made_again(graph, Span(1, 3), 1) == {3: 0, 2: 0, 1: 0}
    assert made_again(graph, Span(1, 2), 2) == {2: 0, 1: 2}
    assert work_made_again(graph, 2) == pytest.approx((2 + 4) / (3 * 12))
    assert made_again(chain((1, 5)), Span(1, 2), 3) == {2: 0, 1: 8}  # four columns at each of two borders


def test_what_is_kept_is_as_long_as_the_map() -> None:
    """One window of 3 x 3 in two tiles of 6: the second one reads columns 5 to 11, of which 5 and 6 are there."""
    rings = 2 * 7 + 2  # the longer tile, with a column of the other
    assert kept_overlap(chain((3,)), 2) == pytest.approx((rings + 2 * HEIGHT) / (2 * 12 + 2))


def test_the_last_layers_of_dmcnn_vd_by_hand() -> None:
    """20 layers of 3 x 3: 2 (1 + 2 + ... + 19) columns at a border, of 720."""
    graph = Graph.of(load_layer_set("dmcnn_vd"))
    assert sum(made_again(graph, Span(1, graph.rows), 2).values()) == 380
