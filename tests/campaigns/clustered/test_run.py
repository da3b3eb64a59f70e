"""Random quantised networks on a cluster, as programs of several layers: outputs, counts and cycles in the RTL."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hwgen.campaigns.clustered.plan import plan_cluster
from hwgen.campaigns.clustered.run import RanProgram, run_clustered
from hwgen.golden.quantised.execution import checked_inputs, execute, images
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware, load_hardware
from hwgen.quantised.onnx.reader import read_quantised
from tests.random.quantised import quantised_model, random_model

KINDS = ("conv", "depthwise conv", "product", "add", "average pool", "max pool", "concat", "table", "several")
MOST_ERROR, MEAN_ERROR, SHORT = 0.15, 0.04, 80
"""By which the cycles of such small programs may be predicted wrong: of any of them, in the mean of all;
or by so many cycles, of one that only copies."""


@pytest.fixture
def hardware() -> Hardware:
    machine = load_hardware(named_file("hardware", "m4c4_1KiB"))
    return machine.model_copy(
        update={"requantisation": "scaled", "cluster": Cluster(hwcs=2, tcdm=1 << 14, vector=True)}
    )


def ran(seed: int, folder: Path, hardware: Hardware, *, stalls: bool = False) -> list[RanProgram]:
    """The programs of a random network; its outputs are the integer reference's."""
    rng = np.random.default_rng(seed)
    path = folder / f"{seed}.onnx"
    given = quantised_model(rng, random_model(rng), path)
    graph = read_quantised(path)
    plan = plan_cluster(graph, hardware)
    if not plan.layers:
        return []
    tensors = [execute(graph, one) for one in images(graph, given, checked_inputs(graph, given, "x"))]
    programs, values = run_clustered(graph, plan, tensors, stalls=stalls)
    for made, reference in zip(values, tensors, strict=True):
        for name in graph.outputs:
            np.testing.assert_array_equal(made[name], reference[name])
    for program in programs:
        found = [layer.result.failures for layer in program.layers]
        assert program.passed, (seed, program.failures, found)
        if not stalls:
            assert abs(program.cycles - program.predicted_cycles) <= max(MOST_ERROR * program.cycles, SHORT), seed
    return programs


def test_layers_and_nodes_are_chained_through_the_dram(tmp_path: Path, hardware: Hardware) -> None:
    (program,) = ran(11, tmp_path, hardware)
    assert [layer.node.label for layer in program.layers] == ["average pool", "add", "conv", "product"]


@pytest.mark.nightly
def test_networks_of_all_kinds(tmp_path: Path, hardware: Hardware) -> None:
    found: Counter[str] = Counter()
    wrong: list[float] = []
    for seed in range(60):
        programs = ran(seed, tmp_path, hardware, stalls=seed % 4 == 3)
        if seed % 4 != 3:
            wrong += [abs(one.cycles / one.predicted_cycles - 1) for one in programs]
        found.update(layer.node.label for program in programs for layer in program.layers)
        found["several"] += any(len(program.layers) > 1 for program in programs)
    assert all(found[kind] >= 8 for kind in KINDS), found
    assert sum(wrong) / len(wrong) <= MEAN_ERROR


@pytest.mark.parametrize("key", ["lanes", "order", "buffers"])
def test_what_all_layers_share_is_given(tmp_path: Path, hardware: Hardware, key: str) -> None:
    rng = np.random.default_rng(11)
    quantised_model(rng, random_model(rng), tmp_path / "x.onnx")
    graph = read_quantised(tmp_path / "x.onnx")
    with pytest.raises(InputError, match=f"^hardware m4c4_1KiB: {key}: expected them given"):
        plan_cluster(graph, hardware.model_copy(update={key: None}))
