"""Operands of the layer that is run in place of another, against the convolution of the network's layer."""

from random import Random

import numpy as np

from hwgen.arch.weights.forms import network_weights, run_weights
from hwgen.golden.convolution import convolve
from hwgen.ir.layer import Form, Layer
from tests.random.layers import random_layer


def test_groups_at_once_by_hand() -> None:
    """Four groups of one input and one output channel; each two of them are blocks of a diagonal."""
    layer = Layer(name="four", input_channels=4, output_channels=4, input_height=1, input_width=1, kernel=1, groups=4)
    weights = np.array([1, 2, 3, 4], np.int8).reshape(4, 1, 1, 1)
    found = run_weights(layer.in_form(Form(groups_at_once=2)), weights)
    assert found[:, :, 0, 0].tolist() == [[1, 0], [0, 2], [3, 0], [0, 4]]


def test_random_layers_compute_the_same_and_come_back() -> None:
    rng, values, seen = Random(11), np.random.default_rng(11), 0
    while seen < 40:
        layer = random_layer(rng, "random", 4000)
        for at_once in range(2, layer.groups + 1):
            if layer.groups % at_once:
                continue
            run = layer.in_form(Form(groups_at_once=at_once))
            inputs, weights = (
                values.integers(-128, 128, shape, np.int8)
                for shape in (
                    (layer.input_channels, layer.input_height, layer.input_width),
                    (layer.output_channels, layer.channels_per_group, *layer.kernel),
                )
            )
            expanded = run_weights(run, weights)
            assert expanded.size == run.weight_elements == at_once * layer.weight_elements
            assert np.array_equal(convolve(run, inputs, expanded), convolve(layer, inputs, weights))
            assert np.array_equal(network_weights(run, expanded), weights)
            seen += 1
