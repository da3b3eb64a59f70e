"""Parts of networks and narrower ones: what they read, sizes, refusals."""

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.excerpt import excerpt, narrowed
from hwgen.readers.layer_sets import load_layer_set


def test_the_rows_and_the_map_that_they_read() -> None:
    part = excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add")
    assert [node.name for node in part.layers] == ["rb02_conv1", "rb02_conv2", "rb02_add"]
    assert part.input is not None
    assert (part.input.name, part.input.channels, part.input.height, part.input.width) == ("rb01_add", 64, 720, 1280)


def test_fewer_channels() -> None:
    thin = narrowed(load_layer_set("vgg_e_first5"), 4)
    assert [(node.input_channels, node.output_channels) for node in thin.layers[:3]] == [(3, 16), (16, 16), (16, 16)]
    depthwise = narrowed(excerpt(load_layer_set("mobilenet_v2"), "block02_expand", "block02_add"), 8).layers[1]
    assert (depthwise.groups, depthwise.input_channels, depthwise.output_channels) == (18, 18, 18)


def test_refusals() -> None:
    with pytest.raises(InputError, match="no row of the name nothing"):
        excerpt(load_layer_set("srgan"), "nothing", "rb01_add")
    with pytest.raises(InputError, match="rb02_conv2 to rb02_add: expected one map that is read from before them"):
        excerpt(load_layer_set("srgan"), "rb02_conv2", "rb02_add")
    with pytest.raises(InputError, match="conv1_1: output_channels: expected a multiple of 5"):
        narrowed(load_layer_set("vgg_e_first5"), 5)
    with pytest.raises(InputError, match="got a layer list"):
        narrowed(load_layer_set("yang_2016"), 2)
