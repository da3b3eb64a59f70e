"""TFLite files as values; what is no file of that kind is refused in one line."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hwgen.ir.document import InputError
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.layer_sets import load_network
from hwgen.readers.tflite.file import read_file
from tests.random.tflite_models import Drawn, Writer

KINDS = ["convolution", "depthwise", "pool", "sum", "pad", "mean", "product", "softmax"]


def test_tensors_and_settings(tmp_path: Path) -> None:
    writer = Writer()
    given = writer.tensor((1, 5, 4, 2), "int8", [0.5], [-3], name="x")
    kernel = writer.constant(np.arange(48, dtype=np.int8).reshape(3, 2, 4, 2), [0.1, 0.2, 0.3])
    bias = writer.constant(np.array([1, -2, 3], np.int32), [0.05, 0.1, 0.15])
    made = writer.tensor((1, 3, 2, 3), "int8", [0.25], [7], name="y;z")
    settings = {"Padding": 0, "StrideH": 2, "StrideW": 3, "DilationHFactor": 1, "DilationWFactor": 1}
    writer.add("CONV_2D", [given, kernel, bias], made, "Conv2DOptions", FusedActivationFunction=3, **settings)
    graph = read_file(writer.write(tmp_path / "one.tflite", [given], [made]))
    (operator,) = graph.operators
    assert (operator.kind, operator.inputs, operator.outputs) == ("CONV_2D", (0, 1, 2), (3,))
    assert (operator.activation, operator.same, operator.stride) == ("RELU6", True, (2, 3))
    assert [tensor.name for tensor in graph.tensors] == ["x", "t1", "t2", "y"]
    x, weights = graph.tensors[0].quantisation, graph.tensors[1].quantisation
    assert x is not None
    assert x.of_one == (0.5, -3)
    assert weights is not None
    np.testing.assert_array_equal(weights.scales, np.array([0.1, 0.2, 0.3], np.float32))
    assert graph.tensors[1].data is not None
    assert graph.tensors[1].data.shape == (3, 2, 4, 2)


def test_names_that_the_file_repeats_become_names_of_their_own(tmp_path: Path) -> None:
    writer = Writer()
    given = writer.tensor((1, 4), "int8", [0.5], [0], name="a;b")
    made = [writer.tensor((1, 4), "int8", [0.5], [0], name="a;b") for _ in range(2)]
    for before, after in zip([given, made[0]], made, strict=True):
        writer.add("QUANTIZE", [before], after)
    graph = read_file(writer.write(tmp_path / "one.tflite", [given], made[1:]))
    assert [tensor.name for tensor in graph.tensors] == ["a", "a;b", "a;b_2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected a TFLite model: bytes 4 to 7 are not TFL3"),
        (b"\x1c\0\0\0TFL2" + bytes(64), "expected a TFLite model: bytes 4 to 7 are not TFL3"),
        (b"\x1c\0\0\0TFL3\xff\xfe", "is the file whole?"),
        (b"\xff\xff\xff\xffTFL3" + bytes(64), "is the file whole?"),
    ],
)
def test_what_is_no_tflite_model(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.tflite"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_file(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.tflite: cannot be read: No such file"):
        read_file(tmp_path / "none.tflite")


def test_bytes_that_are_wrong_or_missing_never_end_in_a_traceback(tmp_path: Path) -> None:
    whole = Drawn(4).write(tmp_path / "whole.tflite", KINDS).read_bytes()
    rng, path, refusals = np.random.default_rng(5), tmp_path / "x.tflite", 0
    for turn in range(80):
        changed = bytearray(whole[: rng.integers(len(whole))] if turn % 10 == 0 else whole)
        for _ in range(int(rng.integers(1, 4))):
            changed[rng.integers(len(changed))] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(256)]))
        path.write_bytes(bytes(changed))
        for read in (read_quantised, load_network):
            line = refusal(read, path)
            refusals += bool(line)
            assert "\n" not in line
    assert refusals > 50


def refusal(read: Callable[[Path], object], path: Path) -> str:
    """What is said of a file; nothing if it is read."""
    try:
        read(path)
    except InputError as error:
        return str(error)
    return ""
