"""Schedules of a network's layers: in processes side by side the same as in this one."""

from pathlib import Path

import numpy as np
import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster
from hwgen.lower.network.cluster_schedules import cluster_schedules
from hwgen.lower.network.layers import weighted
from hwgen.readers.integers.reader import read_quantised
from hwgen.search.core import shared_out
from tests.random.quantised import quantised_model, random_model


def test_side_by_side_they_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hardware = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(
        update={"requantisation": "scaled", "cluster": Cluster(hwcs=2, tcdm=1 << 13)}
    )
    rng = np.random.default_rng(6)
    quantised_model(rng, random_model(rng), tmp_path / "x.onnx")
    graph = read_quantised(tmp_path / "x.onnx")
    found, told = {}, {}
    monkeypatch.setattr(shared_out, "ALONE_SECONDS", 0.0)
    for jobs in (1, 2):
        ticks: list[None] = []
        found[jobs] = cluster_schedules(graph, hardware, lambda here=ticks: here.append(None), jobs)
        told[jobs] = len(ticks)
    assert found[1] == found[2]
    assert list(found[1][0]) == list(found[2][0])
    assert len({schedule.nest for schedule in found[1][0].values()}) > 1
    assert told[1] == told[2] == len(list(weighted(graph)))
