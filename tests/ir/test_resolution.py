"""Networks at other resolutions: the tables at two resolutions lead to each other."""

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.excerpt import at_resolution
from hwgen.ir.layer_set import Network
from hwgen.readers.layer_sets import load_layer_set


def shapes(network: Network) -> list[tuple[object, ...]]:
    keys = ("input_height", "input_width", "output_height", "output_width", "padding", "kernel")
    return [tuple(getattr(node, key) for key in keys) for node in network.layers]


@pytest.mark.parametrize("name", ["srgan", "dmcnn_vd"])
def test_there_and_back(name: str) -> None:
    small, large = load_layer_set(name), load_layer_set(f"{name}_3840x2160")
    assert shapes(at_resolution(small, 3840, 2160)) == shapes(large)
    assert shapes(at_resolution(large, 1280, 720)) == shapes(small)
    assert at_resolution(small, 1280, 720) is small


def test_unequal_padding_is_made_anew() -> None:
    """All but the last heads, whose kernels the tables cut to the small map of 1280x720."""
    small, large = load_layer_set("mobilenet_v2_ssdlite"), load_layer_set("mobilenet_v2_ssdlite_3840x2160")
    found, expected = shapes(at_resolution(large, 1280, 720)), shapes(small)
    different = [node.name for node, one, other in zip(small.layers, found, expected, strict=True) if one != other]
    assert different == ["head5_box_dw", "head5_class_dw"]


def test_windows_that_are_no_same_keep_their_padding() -> None:
    """Pools of 2x2 leave out the last row and column of an odd map."""
    vgg = at_resolution(load_layer_set("vgg_e_first5"), 101, 75)
    assert shapes(vgg)[2] == (75, 101, 37, 50, (0, 0, 0, 0), (2, 2))
    assert shapes(at_resolution(load_layer_set("resnet50"), 256, 192))[-2][:5] == (6, 8, 1, 1, (0, 0, 0, 0))


def test_refusals() -> None:
    with pytest.raises(InputError, match="fc6: expected an input of 1x1 pixels for fc, got 20x15"):
        at_resolution(load_layer_set("vgg16"), 640, 480)
    with pytest.raises(InputError, match="pool5: an input of 1 pixels is too small for its kernel of 2"):
        at_resolution(load_layer_set("vgg16"), 16, 16)
    with pytest.raises(InputError, match="expected a connected network with an input, got a layer list"):
        at_resolution(load_layer_set("yang_2016"), 16, 16)
