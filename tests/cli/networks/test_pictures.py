"""Pictures as inputs of a network."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hwgen.api.pictures import Pixels, read_picture
from hwgen.ir.document import InputError
from hwgen.ir.network.tensors import Tensor
from tests.cli.command_line import Run, refused
from tests.readers.integers.models import Draft

LEFT, RIGHT = (250, 20, 30), (0, 120, 40)
"""Colours of the two halves."""


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """6 x 4 pixels, two colours."""
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, :3], pixels[:, 3:] = LEFT, RIGHT
    path = tmp_path / "halves.png"
    Image.fromarray(pixels).save(path)
    return path


def model(path: Path) -> Path:
    """A product of the columns of 1 x 3 x 4 x 2 pixels with themselves."""
    draft = Draft([1, 3, 4, 2])
    weights = draft.weights(np.ones((3, 3, 1, 1)), 0.01)
    made = draft.node("Conv", draft.both("x", 0.01, 128), weights, kernel_shape=[1, 1])
    return draft.write(path, draft.both(made, 0.1, 128), [1, 3, 4, 2])


def test_numbers_in_planes(picture: Path) -> None:
    pixels = Pixels((10, 20, 30), (2.0,))
    values, line = read_picture(picture, Tensor("x", (1, 3, 4, 6)), pixels)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values[0, :, 1, [0, 5]], [(120, 0, 0), (-5, 50, 5)])
    assert line == f"{picture}: 6 x 4 pixels scaled to 6 x 4, RGB, (pixel - 10, 20, 30) / 2"
    usual, _ = read_picture(picture, Tensor("x", (1, 3, 4, 6)), None)
    np.testing.assert_allclose(usual[0, :, 0, 0] * 255, LEFT, rtol=1e-6)


def test_integers_grey_and_other_sizes(picture: Path) -> None:
    pixels, _ = read_picture(picture, Tensor("x", (1, 4, 6, 3), dtype="uint8"), None)
    np.testing.assert_array_equal(pixels[0, 3, [0, 5]], [LEFT, RIGHT])
    less, _ = read_picture(picture, Tensor("x", (1, 4, 6, 3), dtype="int8"), None)
    np.testing.assert_array_equal(less.astype(int) + 128, pixels)
    grey, line = read_picture(picture, Tensor("x", (1, 1, 2, 8), dtype="uint8"), None)
    assert "scaled to 8 x 2, L, pixel" in line
    assert (grey[0, 0, 0, 0], grey[0, 0, 1, 7]) == (90, 75)  # 0.299 red, 0.587 green, 0.114 blue


def test_by_the_command(run: Run, tmp_path: Path, picture: Path) -> None:
    path = model(tmp_path / "model.onnx")
    command = ("network", path, "--input", picture, "--mean", "128", "--std", "100", "-o", tmp_path / "out")
    document = run(*command, "--json").json
    (file,) = document["outputs"].values()
    made = np.load(tmp_path / "out" / file)
    expected = [sum((one - 128) / 100 for one in colour) * 0.01 for colour in (LEFT, RIGHT)]
    np.testing.assert_allclose(made[0, 0, 0], np.round(np.array(expected) / 0.1) * 0.1, atol=1e-6)


@pytest.mark.parametrize(
    ("tensor", "pixels", "message"),
    [
        (Tensor("x", (1, 2, 4, 5)), None, "a picture needs an input of images of 1 or 3 channels, x is 1x2x4x5"),
        (Tensor("x", (1, 30)), None, "1 or 3 channels, x is 1x30"),
        (Tensor("x", (1, 3, 4, 5), dtype="int32"), None, "needs an input of numbers, uint8 or int8, x is int32"),
        (Tensor("x", (1, 3, 4, 5), dtype="int8"), Pixels(), "--mean, --std: x takes integers"),
        (Tensor("x", (1, 1, 4, 5)), Pixels((1, 2, 3)), "expected one number each for a grey picture, got three"),
    ],
)
def test_inputs_that_are_no_pictures(picture: Path, tensor: Tensor, pixels: Pixels | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_picture(picture, tensor, pixels)


def test_bad_input(run: Run, tmp_path: Path, picture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model(tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 4, 2), np.float32))
    refused(run("network", path, "--input", tmp_path / "none.png"), "none.png: cannot be read: No such file")
    whole = picture.read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])
    refused(run("network", path, "--input", tmp_path / "half.png"), "half.png: cannot be read: ")
    (tmp_path / "text.jpg").write_text("no picture")
    refused(run("network", path, "--input", tmp_path / "text.jpg"), "text.jpg: expected a picture, PNG or JPEG")
    refused(run("network", path, "--input", picture, "--std", "0"), "--std: expected numbers other than 0, got 0")
    refused(run("network", path, "--input", picture, "--mean", "1,2"), "--mean: expected a number, or one for each")
    rest = ("--mean", "1")
    refused(run("network", path, "--input", tmp_path / "x.npy", *rest), "expected with a picture as --input")
    refused(run("network", path, "--seed", "1", *rest), "expected with a picture as --input")
    monkeypatch.setitem(sys.modules, "PIL", None)
    refused(run("network", path, "--input", picture), "halves.png: pictures need the package pillow")
