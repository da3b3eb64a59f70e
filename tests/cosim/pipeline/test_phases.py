"""FSRCNN, whose last row is a transposed convolution, in the simulator: the output is that of its definition."""

import numpy as np
import pytest

from cosim.pipeline.comparison import NetworkData, prepare, random_network_data, run_stacks
from hwgen.arch.pipeline import MoverParameters
from hwgen.golden.network import execute
from hwgen.golden.phases import data_in_phases, in_phases
from hwgen.ir.excerpt import at_resolution
from hwgen.ir.layer_set import Network
from hwgen.readers.layer_sets import load_layer_set
from hwgen.studies.regress.pipeline_cases import whole_stack


def fsrcnn(width: int, height: int) -> Network:
    """The published network on a smaller map, with ReLU in the place of PReLU, which the hardware does not have."""
    data = at_resolution(load_layer_set("fsrcnn"), width, height).as_data()
    relu = [{**row, **({"activation": "relu"} if row.get("activation") == "prelu" else {})} for row in data["layers"]]
    return Network.from_data({**data, "layers": relu})


@pytest.mark.nightly
def test_fsrcnn_is_exact() -> None:
    network = fsrcnn(16, 20)
    data = random_network_data(network, np.random.default_rng(1), draw_shifts=True)
    assert len(np.unique(data.maps["deconv"])) > 100
    phases, rows = in_phases(network), data_in_phases(network, data.rows)
    maps = execute(phases, data.maps["input"], rows)
    np.testing.assert_array_equal(maps["deconv"], data.maps["deconv"])
    runs = []
    for factor in (1, 3):
        solution = whole_stack(phases, factor)
        (stack,) = solution.stacks
        given = NetworkData(rows, maps)
        runs.append(prepare(f"x{factor}", solution, stack, given, macs=32, movers=MoverParameters()))
    for result in run_stacks(runs, fast=False):
        assert result.passed, result.failures
        assert result.cycles == result.run.predicted_cycles
