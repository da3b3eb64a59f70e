"""The bound of a network's cycles: no plan of a random network goes below it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import Layer
from hwgen.lower.hwc import compile_layer
from hwgen.lower.network.bound import NetworkBound
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.network.forecast import forecast_of, forecast_of_layers
from hwgen.lower.network.placement import possible_placement
from hwgen.readers.integers.reader import read_quantised
from hwgen.search.core.batch import search_layers
from hwgen.search.hwc.balanced import ANY_TRAFFIC, BalancedRequest
from tests.random.quantised import quantised_model, random_model


@pytest.mark.parametrize("elements", [1, 4])
@pytest.mark.parametrize("seed", [1, 4, 6, 7])
def test_no_plan_goes_below_it(tmp_path: Path, seed: int, elements: int) -> None:
    hardware = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(
        update={
            "requantisation": "scaled",
            "column_window": elements == 4,
            "cluster": Cluster(hwcs=2, tcdm=1 << 15, vector=True, vector_elements=elements),  # type: ignore[arg-type]
        }
    )
    rng = np.random.default_rng(seed)
    quantised_model(rng, random_model(rng), tmp_path / "x.onnx")
    graph = read_quantised(tmp_path / "x.onnx")
    plan = plan_cluster(graph, hardware, resident=True)
    assert plan.here == possible_placement(graph).here
    each = [forecast_of(plan, stretch) for stretch in plan.stretches]
    assert all(0 <= node.bound <= node.cycles for one in each for node in one.nodes)
    took = sum(one.cycles for one in each)
    assert 0 < NetworkBound(graph).cycles(hardware) < took


def test_no_layer_of_one_hwc_goes_below_its_own() -> None:
    """A depthwise one, whose columns pass through a window in fewer cycles than lanes would take without."""
    hardware = load_hardware(named_file("hardware", "hwc_16")).model_copy(update={"column_window": True})
    layer = Layer(
        name="dw", op="depthwise_conv", input_channels=16, output_channels=16, input_height=12, input_width=12,
        kernel=3, padding=1, groups=16,
    )  # fmt: skip
    ((found,),) = search_layers([layer], BalancedRequest((hardware.budget,), hardware, slack=ANY_TRAFFIC), jobs=1)
    planned: Any = SimpleNamespace(
        node=SimpleNamespace(name="dw", label="depthwise conv", macs=layer.macs),
        program=compile_layer(found.schedule, hardware),
    )
    (node,) = forecast_of_layers([planned], hardware).nodes
    assert 0 < node.bound <= node.cycles
