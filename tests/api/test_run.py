"""Quantised networks in the simulated hardware, from Python."""

from pathlib import Path

import numpy as np
import pytest

import hwgen
from tests.cli.command_line import Run, refused
from tests.readers.integers.models import small


@pytest.fixture
def hardware() -> hwgen.Hardware:
    return hwgen.hardware("m4c4_1KiB").model_copy(update={"requantisation": "scaled"})


@pytest.mark.icarus
@pytest.mark.usefixtures("icarus")
def test_a_network_runs_on_an_array(tmp_path: Path, hardware: hwgen.Hardware) -> None:
    model = small(tmp_path / "small.onnx")
    picture = np.random.default_rng(1).normal(size=(1, 2, 5, 6)).astype(np.float32)
    answer = hwgen.run(hwgen.load(model), picture, hardware, simulator="icarus")
    assert (answer.exact, answer.equal, answer.passed, answer.difference) == (True, True, True, None)
    document = answer.to_dict()
    assert (document["exact"], document["outputs"]) == (True, {})
    assert answer.cycles == document["cycles"]["measured"] == sum(row["cycles"] for row in answer.rows())  # type: ignore[misc]
    assert answer.energy == document["energy"]["measured"]
    (made,) = answer.outputs.values()
    assert len(np.unique(made)) > 1
    assert [path.name for path in tmp_path.iterdir()] == ["small.onnx"]


def test_what_is_wrong_is_said_in_one_line(run: Run, tmp_path: Path, hardware: hwgen.Hardware) -> None:
    model = small(tmp_path / "small.onnx")
    with pytest.raises(hwgen.InputError) as raised:
        hwgen.run(model, None, hardware)
    refused(run("run", model, "--hardware", "cluster_64_vector", "-o", tmp_path / "out"), str(raised.value))
    wrong = np.zeros((1, 2, 5, 7), np.float32)
    with pytest.raises(hwgen.InputError, match="input x: expected float32 of 1x2x5x6, got float32 of 1x2x5x7"):
        hwgen.run(model, wrong, hardware)
    for given, got in (
        (5, "int64 of no dimensions"),
        ([1, 2, 3], "int64 of 3"),
        (wrong.tolist(), "float64 of 1x2x5x7"),
    ):
        with pytest.raises(hwgen.InputError, match=f"input x: expected float32 of 1x2x5x6, got {got}$"):
            hwgen.run(model, given, hardware)  # type: ignore[call-overload]
    with pytest.raises(hwgen.InputError, match="inputs: expected x, got y"):
        hwgen.run(model, {"y": wrong}, hardware)
