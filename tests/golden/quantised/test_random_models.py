"""The integer reference against ONNX Runtime on random models, each node fed what ONNX Runtime has there."""

from pathlib import Path

import numpy as np
import pytest
from onnxruntime.quantization import QuantType

from hwgen.golden.quantised.comparison import Agreement, run_beside, total
from hwgen.readers.integers.reader import read_quantised
from tests.random.quantised import quantised_model, random_model

MODELS = 50
EVERY_RUN = 12
UNSIGNED = 8


def agreements(seed: int, folder: Path, weights: QuantType = QuantType.QInt8) -> list[Agreement]:
    """Node by node, on one model."""
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    path = folder / f"{seed}.onnx"
    image = quantised_model(rng, model, path, weights=weights)
    graph = read_quantised(path)
    found = run_beside(path, graph, image, "image")
    for name, difference in found.differences.items():
        print(f"model {seed}: {name}: {difference.equal:.2%} equal end to end, largest {difference.largest:g}")
    assert any(node.integer and node.macs for node in graph.nodes)
    return list(found.agreements)


def check(seeds: range, folder: Path) -> list[Agreement]:
    found = [one for seed in seeds for one in agreements(seed, folder)]
    whole = total(found)
    print(f"{len(seeds)} models: {whole.different} of {whole.elements} elements differ, and {whole.ties} ties")
    assert whole.holds, whole
    return found


def test_a_few_models(tmp_path: Path) -> None:
    check(range(EVERY_RUN), tmp_path)


def test_unsigned_weights(tmp_path: Path) -> None:
    found = [one for seed in range(UNSIGNED) for one in agreements(seed, tmp_path, QuantType.QUInt8)]
    assert total(found).holds
    assert {one.kind for one in found} >= {"conv", "depthwise conv", "product"}


@pytest.mark.nightly
def test_models_of_all_kinds(tmp_path: Path) -> None:
    found = check(range(EVERY_RUN, EVERY_RUN + MODELS), tmp_path)
    assert {one.kind for one in found} >= {
        "conv", "dilated conv", "depthwise conv", "product", "add", "concat", "max pool",
        "average pool", "table", "view", "move (Pad)", "move (Resize)", "move (Transpose)", "move (DepthToSpace)",
        "move (ConvTranspose)",
    }  # fmt: skip
