"""Networks of ordinary size in the RTL, weights at random: outputs, counts and cycles of every layer at 224 x 224."""

from pathlib import Path

import numpy as np
import pytest

import hwgen
from examples.light import MODELS, folded, with_weights
from examples.quantising import quantise

HARDWARE = "cluster_64_vector"
ERROR = 0.005
"""By which the cycles of all programs together may be predicted wrong."""


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_every_layer(name: str, tmp_path: Path) -> None:
    """Such a network runs on the built-in cluster for networks, no map of it but the output through the host."""
    rng = np.random.default_rng(1)
    model = with_weights(MODELS / f"light_{name}.onnx", rng)
    (value,) = model.graph.input
    image = {value.name: rng.normal(size=(1, 3, 224, 224)).astype(np.float32)}
    file = quantise(folded(model, tmp_path / "folded.onnx"), tmp_path / f"{name}.onnx", [image])
    run = hwgen.run(file, image, HARDWARE)
    predicted, measured = run.both_cycles
    assert run.exact
    assert run.equal
    assert not run.strayed
    assert measured == pytest.approx(predicted, rel=ERROR)
