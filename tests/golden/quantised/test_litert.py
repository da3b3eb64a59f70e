"""Integer references of TFLite models beside LiteRT: random small ones, and those of MLPerf Tiny where they are."""

import os
from pathlib import Path

import numpy as np
import pytest

import hwgen.golden.quantised.litert as litert
from hwgen.golden.quantised.comparison import LITE_RT, Agreement, Beside, run_beside
from hwgen.ir.document import InputError
from hwgen.readers.integers.reader import read_quantised
from tests.random.tflite_models import Drawn, Writer

FOLDER = "HWGEN_MLPERF_TINY"
"""The environment variable with the folder of MLPerf Tiny's models: NAME.tflite, NAME.x.npy, NAME.y.npy."""
IMAGES = 4


def beside(path: Path, seed: int) -> Beside:
    graph = read_quantised(path)
    tensor = graph.tensors[graph.inputs[0]]
    values = np.random.default_rng(seed).integers(-128, 128, (IMAGES, *tensor.shape[1:])).astype(tensor.dtype)
    return run_beside(path, graph, {tensor.name: values}, "x")


def unequal(found: Agreement) -> int:
    return found.different + found.ties + found.apart


@pytest.mark.parametrize("seed", range(8))
def test_random_models(tmp_path: Path, seed: int) -> None:
    drawn = Drawn(seed)
    found = beside(drawn.write(tmp_path / "drawn.tflite", drawn.draw(3)), seed)
    assert found.holds
    assert found.runtime == LITE_RT
    whole = [*found.agreements, *found.others]
    assert sum(map(unequal, whole)) <= 0.001 * sum(one.elements for one in whole)
    assert max(one.largest for one in whole) <= 1


@pytest.mark.parametrize(
    "kinds",
    [["convolution", "average", "reshape", "product", "softmax", "dequantise"], ["pool", "mean"], ["pad", "reshape"],
     ["constant", "depthwise", "concatenation", "reshape", "product"]],
)  # fmt: skip
def test_ends_of_networks(tmp_path: Path, kinds: list[str]) -> None:
    found = beside(Drawn(17).write(tmp_path / "drawn.tflite", kinds), 3)
    assert found.holds
    assert sum(map(unequal, (*found.agreements, *found.others))) <= 1


def test_every_table_and_every_mean_is_the_kernel_s(tmp_path: Path) -> None:
    for seed in range(6):
        found = beside(Drawn(seed).write(tmp_path / "drawn.tflite", ["requantise", "rectify", "mean"]), seed)
        assert sum(map(unequal, found.agreements)) == 0


def test_another_rounding_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge takes nothing for a tie that double rounding does not explain."""
    true = litert.tflite_outputs

    def off(*given: object) -> dict[str, np.ndarray]:
        found = true(*given)  # type: ignore[arg-type]
        for array in found.values():
            array.reshape(-1)[0] += 1 if array.reshape(-1)[0] < 127 else -1
        return found

    path = Drawn(1).write(tmp_path / "drawn.tflite", ["convolution", "pool", "sum"])
    assert beside(path, 1).holds
    monkeypatch.setattr("hwgen.golden.quantised.comparison.tflite_outputs", off)
    assert not beside(path, 1).holds


def test_what_litert_refuses_is_one_line(tmp_path: Path) -> None:
    writer = Writer()
    x = writer.tensor((1, 4), "int8", [0.1], [0], name="x")
    made = writer.tensor((1, 4), "int8", [0.1], [0], name="y")
    writer.add("SOFTMAX", [x], made, "SoftmaxOptions", Beta=1.0)
    path = writer.write(tmp_path / "soft.tflite", [x], [made])  # the kernel's outputs have a scale of 1/256
    with pytest.raises(InputError, match=r"soft\.tflite: LiteRT does not run it: "):
        beside(path, 1)


NAMES = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(FOLDER not in os.environ, reason=f"{FOLDER} does not name the folder of MLPerf Tiny's models")
def test_mlperf_tiny(name: str) -> None:
    path = Path(os.environ[FOLDER]) / f"{name}.tflite"
    graph = read_quantised(path)
    (given,) = graph.inputs
    values, wanted = (np.load(path.with_suffix(f".{one}.npy"))[:, 0] for one in "xy")
    rng = np.random.default_rng(1)
    more = rng.integers(-128, 128, (max(IMAGES - len(values), 0), *values.shape[1:])).astype(np.int8)
    found = run_beside(path, graph, {given: np.concatenate([values, more])}, "x")
    assert found.holds
    for one in (*found.agreements, *found.others):
        assert unequal(one) <= 0.001 * one.elements, one
        assert one.largest <= 1
    answers = found.outputs[graph.outputs[0]][: len(wanted)]
    np.testing.assert_array_equal(answers.argmax(-1), wanted.argmax(-1))
