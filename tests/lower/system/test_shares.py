"""A layer shared out to clusters: by hand, and every output exactly once."""

from random import Random

import numpy as np
import pytest

from hwgen.golden.convolution import convolve
from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.lower.system.shares import PARTITIONS, Partition, Share, shares_of
from tests.random.layers import random_layer

STRIDED = Layer(
    name="strided", input_channels=3, output_channels=7, input_height=11, input_width=5, kernel=3, stride=2, padding=1
)


def test_filters_share_the_input_and_rows_a_halo() -> None:
    filters = shares_of(STRIDED, 2, "KS")
    assert [(one.outputs, one.layer.output_channels, one.layer.input_height) for one in filters] == [
        (0, 3, 11), (3, 4, 11),
    ]  # fmt: skip
    assert all(one.layer.padding == STRIDED.padding for one in filters)
    first, second = shares_of(STRIDED, 2, "OFM")
    # Output rows 0 to 2 need rows -1 to 5, rows 3 to 5 need 5 to 11: row 5 is read by both.
    assert (first.input_rows, first.layer.input_height, first.layer.padding) == (0, 6, (1, 1, 0, 1))
    assert (second.input_rows, second.layer.input_height, second.layer.padding) == (5, 6, (0, 1, 1, 1))
    both = shares_of(STRIDED, 4, "KS&OFM")
    assert [(one.outputs, one.rows) for one in both] == [(0, 0), (0, 3), (3, 0), (3, 3)]


def test_groups_stay_whole_or_are_cut_alike() -> None:
    layer = STRIDED.model_copy(update={"input_channels": 6, "output_channels": 8, "groups": 2})
    by_group = shares_of(layer, 2, "KS")
    assert [(one.inputs, one.layer.input_channels, one.layer.groups) for one in by_group] == [(0, 3, 1), (3, 3, 1)]
    cut = shares_of(layer, 4, "KS")
    assert [(one.outputs, one.inputs, one.layer.output_channels) for one in cut] == [
        (0, 0, 2), (2, 0, 2), (4, 3, 2), (6, 3, 2),
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"^strided: partition: expected a number of parts that 2 groups divide"):
        shares_of(layer, 3, "KS")


@pytest.mark.parametrize("clusters", [1, 2, 3])
def test_numbers_that_cannot_be_cut_both_ways(clusters: int) -> None:
    with pytest.raises(InputError, match=rf"such as 4, got {clusters}$"):
        shares_of(STRIDED, clusters, "KS&OFM")


def computed(layer: Layer, share: Share, inputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    part = share.layer
    window = inputs[share.inputs :, share.input_rows :][: part.input_channels, : part.input_height]
    filters = weights[share.outputs :][: part.output_channels]
    return convolve(part, window, filters)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_shares_compute_every_output_once(partition: Partition) -> None:
    rng, numbers = Random(partition), np.random.default_rng(1)
    seen = 0
    for _ in range(60):
        layer, clusters = random_layer(rng, "random", 4000), rng.choice((1, 2, 3, 4, 6))
        try:
            shares = shares_of(layer, clusters, partition)
        except InputError:
            continue
        inputs = numbers.integers(-9, 9, (layer.input_channels, layer.input_height, layer.input_width), np.int8)
        weights = numbers.integers(-9, 9, (layer.output_channels, layer.channels_per_group, *layer.kernel), np.int8)
        whole = convolve(layer, inputs, weights)
        times = np.zeros(whole.shape, np.int64)
        for share in shares:
            rows = slice(share.rows, share.rows + share.layer.output_height)
            place = slice(share.outputs, share.outputs + share.layer.output_channels), rows
            times[place] += 1
            assert np.array_equal(whole[place], computed(layer, share, inputs, weights))
        assert (times == 1).all()
        sizes = [share.layer.output_channels // max(1, share.layer.groups) for share in shares]
        assert max(sizes) - min(sizes) <= 1 or layer.groups > 1
        seen += len(shares) > 1
    assert seen > 15
