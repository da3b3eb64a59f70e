"""What is written beside a pipeline's Verilog agrees with it: rings as modelled; lint is clean."""

from pathlib import Path

import pytest

from hwgen.arch.pipeline import PipelineParameters
from hwgen.export.pipeline import pipeline_files_of, pipeline_storage, pipeline_verilog
from hwgen.model.pipeline.cost import Stack, stack_cost
from hwgen.model.pipeline.graph import Graph, Span
from tests.export.generated_files import lint, written
from tests.gateware.pipeline.test_stages import lowered, network


def every_kind() -> tuple[PipelineParameters, Graph]:
    """A stack with every kind of stage and tiles."""
    conv = {"op": "conv", "kernel": [3, 3], "padding": [1, 1, 1, 1]}
    table = network(
        (2, 8, 8),
        {**conv, "name": "wide", "output_channels": 8},
        {"op": "pixel_shuffle", "name": "large", "factor": 2},
        {"op": "pool", "name": "small", "pool": "max", "kernel": [2, 2], "stride": [2, 2]},
        {"op": "pool", "name": "even", "pool": "avg", "kernel": [1, 2], "padding": [0, 1, 0, 0]},
        {"op": "concat", "name": "both", "inputs": ["even", "input"]},
        {**conv, "name": "narrow", "output_channels": 2},
        {"op": "add", "name": "sum", "inputs": ["narrow", "input"]},
    )
    return lowered(table, factor=2)[0].parameters, Graph.of(table)


def every_scaled_kind() -> PipelineParameters:
    """A stack with every kind of stage that scales sums, and with tables of both kinds."""
    conv = {"op": "conv", "output_channels": 4, "kernel": [3, 3], "padding": [1, 1, 1, 1]}
    table = network(
        (3, 5, 6),
        {**conv, "name": "first"},
        {"op": "lookup", "name": "each", "groups": 4},
        {**conv, "name": "second"},
        {"op": "lookup", "name": "one"},
        {"op": "add", "name": "sum", "inputs": ["each", "one"]},
        {"op": "pool", "name": "even", "pool": "avg", "kernel": [3, 3], "padding": [1, 1, 1, 1]},
        {"op": "pool", "name": "all", "pool": "avg", "kernel": [5, 6], "global_pool": True},
    )
    return lowered(table, form="scaled")[0].parameters


@pytest.fixture(scope="module", params=["shift", "scaled"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    parameters = every_scaled_kind() if request.param == "scaled" else every_kind()[0]
    return written(tmp_path_factory.mktemp("pipeline"), pipeline_files_of(parameters))


def test_line_memories_hold_exactly_the_modelled_elements() -> None:
    parameters, graph = every_kind()
    cost = stack_cost(graph, Stack(Span(1, graph.rows), 2))
    stored = pipeline_storage(parameters)
    assert list(stored["rings"].values()) == [ring.elements for ring in cost.rings]
    assert any(ring.pixels == 1 for ring in cost.rings)
    assert any(ring.pixels > 16 for ring in cost.rings)
    assert any(ring.pixels == 0 for ring in cost.rings)
    assert sum(stored["weights"].values()) == cost.weights
    assert sum(stored["biases"].values()) == 4 * (8 + 2)
    channels = sum(one.channels for one in parameters.maps)
    assert sum(stored["shuffles"].values()) + channels == cost.in_flight
    assert sum(stored["in_flight"].values()) == channels
    assert list(stored["windows"].values()) == [2 + 2, 0 + 4, 2 + 1, 2 + 1, 2, 4 + 4, 2]
    assert stored["streams"] == {"map0": 2, "overlap": 4, "weights": 16 + 4}
    assert set(stored["queues"]) >= {"stage0", "map0_overlap_in_queue", "map7_output_queue"}


def test_records_and_tables_are_stored() -> None:
    stored = pipeline_storage(every_scaled_kind())
    assert stored["biases"] == {"stage0": 8 * 4, "stage2": 8 * 4}
    assert stored["tables"] == {"stage1": 256 * 4, "stage3": 256}


def test_verilog_is_the_same_run_after_run() -> None:
    parameters, _ = every_kind()
    text = pipeline_verilog(parameters)
    pipeline_verilog.cache_clear()
    assert pipeline_verilog(parameters) == text


@pytest.mark.parametrize(("top", "files"), [("pipeline", ()), ("pipeline_axi_lite", ("pipeline_axi_lite.v",))])
def test_lints_clean(folder: Path, top: str, files: tuple[str, ...]) -> None:
    assert lint(folder, "pipeline.vlt", "pipeline.v", *files, top=top) == ""
