"""Chains in 16-bit fixed point: near the floats, exact in the RTL; the accuracy beside Table I."""

import numpy as np
import pytest

from hwgen.ir.layer import Layer
from hwgen.papers.sousa.fixed_point import (
    ONE_POINT,
    POINT_EACH,
    READINGS,
    Accuracy,
    ChainLayer,
    FixedChain,
    accuracy_claims,
    recognised,
    run_in_rtl,
)

RNG = np.random.default_rng(1)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def chain() -> list[ChainLayer]:
    conv = Layer(name="a", op="conv", input_channels=2, output_channels=5, input_height=6, input_width=6,
                 output_height=6, output_width=6, kernel=(3, 3), padding=(1, 1, 1, 1))  # fmt: skip
    dense = Layer(name="b", op="conv", input_channels=5, output_channels=4, input_height=3, input_width=3,
                  output_height=1, output_width=1, kernel=(3, 3))  # fmt: skip
    return [
        ChainLayer(conv, floats(5, 2, 3, 3), floats(5), relu=True, pooled=True),
        ChainLayer(dense, 0.1 * floats(4, 5, 3, 3), floats(4), relu=False, pooled=False),
    ]


def in_floats(layers: list[ChainLayer], image: np.ndarray) -> list[np.ndarray]:
    """The input, and the output of each layer, by a literal walk."""
    found = [image.astype(np.float64)]
    given = found[0]
    for one in layers:
        top, left, bottom, right = one.layer.padding
        padded = np.pad(given, ((0, 0), (top, bottom), (left, right)))
        output = np.zeros((one.layer.output_channels, one.layer.output_height, one.layer.output_width))
        for m, y, x in np.ndindex(output.shape):
            window = padded[:, y : y + one.layer.kernel[0], x : x + one.layer.kernel[1]]
            output[m, y, x] = (window * one.weights[m]).sum() + one.bias[m]
        if one.relu:
            output = output.clip(0)
        found.append(output)
        given = output.reshape(len(output), 3, 2, 3, 2).max((2, 4)) if one.pooled else output
    return found


@pytest.mark.parametrize("reading", READINGS)
def test_fixed_point_is_near_the_floats(reading: str) -> None:
    layers, image = chain(), floats(2, 6, 6)
    exact = in_floats(layers, image)
    fixed = FixedChain.of(layers, [float(np.abs(one).max()) for one in exact], reading)
    (answers,) = fixed.answers(image[None])
    greatest = float(np.abs(exact[-1]).max())
    unit = 2.0 ** np.round(np.log2(greatest / np.abs(answers).max()))
    assert answers * unit == pytest.approx(exact[-1].reshape(-1), abs=2**-9 * greatest)
    assert np.abs(answers).max() > (1 << 13 if reading == POINT_EACH else 1 << 8)


def test_one_point_for_all_is_the_least_of_all() -> None:
    layers = chain()
    assert FixedChain.of(layers, [1.0, 300.0, 0.1], ONE_POINT).point == 6  # 32767 / 300 is above 2 ** 6
    assert FixedChain.of(layers, [1.0, 300.0, 0.1], POINT_EACH).point == 14


@pytest.mark.usefixtures("icarus")
def test_layers_are_exact_in_the_rtl() -> None:
    layers, image = chain(), floats(2, 6, 6)
    largest = [float(np.abs(one).max()) for one in in_floats(layers, image)]
    results = run_in_rtl(FixedChain.of(layers, largest, POINT_EACH), image[None])
    assert [one.passed for one in results] == [True, True]


def test_the_first_and_the_first_five() -> None:
    answers = np.array([[9, 1, 2, 3, 4, 5], [1, 9, 2, 3, 4, 5], [0, 9, 2, 3, 4, 5]])
    assert recognised(answers, np.array([0, 0, 2])) == (1, 2)
    assert recognised(np.array([[7, 7]]), np.array([0])) == (1, 1)
    assert recognised(np.array([[7, 7]]), np.array([1])) == (0, 1)


def test_table_1_is_judged_both_ways() -> None:
    same, better, worse = (
        accuracy_claims([Accuracy(POINT_EACH, 500, (490, 500), (right, 500))], 4500)[0] for right in (490, 491, 489)
    )
    assert same.verdict == "reproduced in another reading"
    assert (better.verdict, worse.verdict) == ("not reproduced", "not reproduced")
    assert better.found == "98.0 and 100.0 % in floats, 98.2 and 100.0 % in fixed point"
    fewer = Accuracy(ONE_POINT, 500, (490, 500), (490, 499))
    assert accuracy_claims([fewer], 4500)[0].verdict == "not reproduced"
