"""Operands of the layer that is run in place of another, against the convolution of the network's layer."""

from random import Random

import numpy as np

from hwgen.arch.layer_forms import network_inputs, network_weights, run_inputs, run_weights
from hwgen.golden.convolution import convolve
from hwgen.ir.layer import TAPS, Form, Layer
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


def test_taps_by_hand() -> None:
    """A row of four pixels, a kernel of three, a stride of two and padding in front."""
    layer = Layer(name="row", input_channels=1, output_channels=1, input_height=1, input_width=4, kernel=(1, 3),
                  stride=2, padding=(0, 1, 0, 0))  # fmt: skip
    run = layer.in_form(Form(taps_as_channels="columns"))
    found = run_inputs(run, np.array([[[1, 2, 3, 4]]], np.int8), zero=-7)
    assert found[:, 0].tolist() == [[-7, 2], [1, 3], [2, 4]]


def test_random_layers_with_taps_as_channels() -> None:
    rng, values = Random(12), np.random.default_rng(12)
    for number in range(60):
        layer = random_layer(rng, "random", 4000)
        run = layer.in_form(Form(taps_as_channels=TAPS[number % len(TAPS)]))
        shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
        weights = values.integers(-128, 128, shape, np.int8)
        inputs = values.integers(-128, 128, (layer.input_channels, layer.input_height, layer.input_width), np.int8)
        zero = int(values.integers(-128, 128))
        sums = convolve(run, run_inputs(run, inputs, zero), run_weights(run, weights), 0, zero)
        assert np.array_equal(sums, convolve(layer, inputs, weights, 0, zero))
        assert np.array_equal(network_weights(run, run_weights(run, weights)), weights)
        back = network_inputs(run, run_inputs(run, inputs, zero))
        assert np.array_equal(run_inputs(run, back, zero), run_inputs(run, inputs, zero))
        assert run.macs == layer.macs == run.loop_extents["m"] * np.prod([run.extents[dim] for dim in "cyxkl"])
