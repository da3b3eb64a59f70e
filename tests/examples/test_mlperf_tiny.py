"""The networks of MLPerf Tiny with random weights have the work of the published ones."""

from pathlib import Path

import onnx
import pytest

from examples.mlperf_tiny.__main__ import FILES, PUBLISHED
from examples.mlperf_tiny.networks import NETWORKS, network
from hwgen.readers.layer_sets import load_network

MACS = {"ResNet-8": 12_501_632, "DS-CNN": 2_656_768, "MobileNetV1 0.25": 7_489_664, "autoencoder": 264_192}
"""Multiply-accumulates of the reference models' `.tflite` files."""


@pytest.mark.parametrize("name", NETWORKS)
def test_multiply_accumulates_are_the_published_models(name: str, tmp_path: Path) -> None:
    onnx.save(network(name, 1), tmp_path / "network.onnx")
    found = load_network(tmp_path / "network.onnx")
    assert sum(layer.macs for layer in found.layers) == MACS[name]


def test_every_network_has_a_file_and_published_results() -> None:
    assert FILES.keys() == NETWORKS.keys() == PUBLISHED[0].rates.keys()
    assert all(one.rates.keys() <= NETWORKS.keys() for one in PUBLISHED)
