"""The draft of a network on a cluster, against its plan: the same nodes, about the same cycles."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.network.draft import draft_on
from hwgen.lower.network.forecast import forecast_of
from hwgen.lower.pipeline.quantised import beginnings_of, rest_of
from hwgen.readers.integers.reader import read_quantised
from tests.random.quantised import quantised_model, random_model

OFF = 0.25
"""The part by which the drafts of random networks may be off, whose nodes take a few hundred cycles each."""
REFUSED = 10
"""A network one of whose nodes no vector unit computes."""
CLUSTERS: tuple[dict[str, Any], ...] = (
    {"hwcs": 1, "tcdm": 1 << 14, "banks": 2, "vector": True, "vector_elements": 1},
    {"hwcs": 2, "tcdm": 1 << 15, "banks": 8, "vector": True, "vector_elements": 4},
    {"hwcs": 4, "tcdm": 1 << 16, "banks": 16, "axi_bits": 64, "vector": True, "vector_elements": 2},
)


def cluster(**keys: Any) -> Hardware:
    """HWCs of `m4c4_1KiB` in a cluster."""
    one = load_hardware(named_file("hardware", "m4c4_1KiB"))
    return one.model_copy(update={"requantisation": "scaled", "cluster": Cluster(**keys)})


def network(seed: int, folder: Path) -> Graph:
    rng = np.random.default_rng(seed)
    quantised_model(rng, random_model(rng), folder / "x.onnx")
    return read_quantised(folder / "x.onnx")


@pytest.mark.parametrize("keys", CLUSTERS, ids=lambda keys: f"{keys['hwcs']} HWCs")
@pytest.mark.parametrize("seed", [1, 4, 6, 7, REFUSED])
def test_about_the_cycles_of_the_plan(tmp_path: Path, seed: int, keys: dict[str, Any]) -> None:
    graph, hardware = network(seed, tmp_path), cluster(**keys)
    draft, plan = draft_on(graph, hardware), plan_cluster(graph, hardware, resident=True)
    assert (draft.here, draft.refused) == (plan.here, dict(plan.refused))
    took = sum(forecast_of(plan, stretch).cycles for stretch in plan.stretches)
    assert draft.cycles == pytest.approx(took, rel=OFF)


def test_of_a_layer_whose_best_estimate_does_not_run_another_schedule_is_taken(tmp_path: Path) -> None:
    graph, hardware = network(26, tmp_path), load_hardware(named_file("hardware", "cluster_64_vector"))
    rest = rest_of(graph, beginnings_of(graph)[-1])
    assert draft_on(rest, hardware).here == plan_cluster(rest, hardware, resident=True).here


def test_what_the_cluster_does_not_run_is_named(tmp_path: Path) -> None:
    draft = draft_on(network(REFUSED, tmp_path), cluster(**CLUSTERS[0]))
    (why,) = draft.refused.values()
    assert why == "expected 2 operands of the output's shape for the vector unit"
    assert not draft.here & set(draft.refused)
