"""Schedules of a network's layers: in processes side by side the same as in this one; each is searched once."""

from pathlib import Path

import numpy as np
import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Dram, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.network.graph import Graph
from hwgen.lower.network import cluster_schedules as module
from hwgen.lower.network.cluster_schedules import cluster_schedules
from hwgen.lower.network.known_schedules import KNOWN, KnownSchedules
from hwgen.lower.network.layers import weighted
from hwgen.readers.integers.reader import read_quantised
from hwgen.search.core import shared_out
from tests.random.quantised import quantised_model, random_model


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    rng = np.random.default_rng(6)
    quantised_model(rng, random_model(rng), tmp_path / "x.onnx")
    return read_quantised(tmp_path / "x.onnx")


def machine(**cluster: object) -> Hardware:
    return load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(
        update={"requantisation": "scaled", "cluster": Cluster(**{"hwcs": 2, "tcdm": 1 << 13} | cluster)}
    )


def test_side_by_side_they_are_the_same(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    hardware = machine()
    found, told = {}, {}
    monkeypatch.setattr(shared_out, "ALONE_SECONDS", 0.0)
    for jobs in (1, 2):
        KNOWN.forget()
        ticks: list[None] = []
        found[jobs] = cluster_schedules(graph, hardware, lambda here=ticks: here.append(None), jobs)
        told[jobs] = len(ticks)
    assert found[1] == found[2]
    assert list(found[1][0]) == list(found[2][0])
    assert len({schedule.nest for schedule in found[1][0].values()}) > 1
    assert told[1] == told[2] == len(list(weighted(graph)))


def test_what_was_found_is_not_searched_again(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is what has no schedule; on hardware that differs in anything it is searched."""
    KNOWN.forget()
    ticks: list[None] = []
    found = cluster_schedules(graph, machine(), lambda: None, 1)
    assert found[0]

    def searched(*_: object) -> str:
        return "searched"

    monkeypatch.setattr(module, "_scheduled", searched)
    assert cluster_schedules(graph, machine(), lambda: ticks.append(None), 1) == found
    assert len(ticks) == len(list(weighted(graph)))
    slow = machine(dram=Dram(latency=70))
    for other in (slow, machine(tcdm=1 << 14), machine(banks=4), machine().model_copy(update={"budget": 1023})):
        schedules, refused = cluster_schedules(graph, other, lambda: None, 1)
        assert not schedules
        assert {*refused.values()} == {"searched"}
    assert cluster_schedules(graph, slow, lambda: None, 1) == (schedules, refused)


def test_what_was_asked_for_longest_ago_is_dropped() -> None:
    known = KnownSchedules(2)
    one = Layer(name="a", input_channels=1, output_channels=1, input_height=1, input_width=1, kernel=1)
    layers = [one.model_copy(update={"name": name, "input_channels": at}) for at, name in enumerate("abc", 1)]
    a, b, c = layers
    for layer in (a, b):
        known.keep(layer, False, machine(), layer.name)
    assert known.of(a.model_copy(update={"name": "d"}), False, machine()) == "a", "the name does not count"
    assert known.of(a, True, machine()) is None
    known.keep(c, False, machine(), c.name)
    assert [known.of(layer, False, machine()) for layer in layers] == ["a", None, "c"]
    known.forget()
    assert [known.of(layer, False, machine()) for layer in layers] == [None] * 3
