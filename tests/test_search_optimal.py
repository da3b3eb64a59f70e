from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.model.access import predict
from hwgen.search.optimal import Objective, Result, search
from tests.brute_force import Best, best_schedules

LAYERS, HARDWARE_LAYERS = 540, 300
PARTS = 12
"""The random layers come in so many tests each, so that they can run side by side."""


def random_layer(rng: Random, *, most_x: int = 7) -> Layer:
    """At most three loops of more than one iteration, at most two of them with tile loops: m, c, y or x."""
    while True:
        dims = rng.sample(["m", "c", "y", "x", "k", "l"], 3)
        if sum(dim in "mcyx" for dim in dims) > 2:
            continue
        kernel = [rng.randint(2, 4) if dim in dims else 1 for dim in "kl"]
        stride = [rng.choice((1, 1, 2, 3)) for _ in range(2)]
        outputs = [rng.randint(2, 7) if "y" in dims else 1, rng.randint(2, most_x) if "x" in dims else 1]
        groups = rng.choice((1, 1, 2, 3)) if "m" in dims else 1
        per_group = rng.randint(1, 3) if groups > 1 else rng.randint(2, 7) if "m" in dims else 1
        padding = [rng.randint(0, kernel[side % 2]) for side in range(4)]
        inputs = [
            (outputs[i] - 1) * stride[i] + kernel[i] - padding[i] - padding[i + 2] + rng.randint(0, stride[i] - 1)
            for i in range(2)
        ]
        if min(inputs) >= 1:
            return Layer(
                name="random",
                input_channels=groups * (rng.randint(2, 6) if "c" in dims else 1),
                output_channels=groups * per_group,
                input_height=inputs[0],
                input_width=inputs[1],
                output_height=outputs[0],
                output_width=outputs[1],
                kernel=(kernel[0], kernel[1]),
                stride=(stride[0], stride[1]),
                padding=(padding[0], padding[1], padding[2], padding[3]),
                groups=groups,
            )


def random_sizes(rng: Random, layer: Layer, hardware: Hardware | None) -> list[int]:
    """Buffer sizes from hopeless to everything, most of them tight."""
    least = 6 if hardware is None else 2 * hardware.lanes["x"] * 5 + 8
    most = layer.input_elements + layer.weight_elements + 4 * layer.output_elements
    return [least - 1, *(least + int(rng.random() ** 3 * most) for _ in range(4)), least + 64 * most]


def criteria(result: Result, hardware: Hardware | None, objective: Objective) -> Best:
    prediction = predict(result.schedule)
    words = prediction.counts.total_words()
    need = prediction.need_bytes.total
    if hardware is not None:
        lanes, stored = hardware.lanes["x"], prediction.allocation
        need = max(stored.I, 2 * lanes) + max(stored.W, 8) + max(stored.O, 8 * lanes)
    match objective:
        case "traffic":
            return Best(prediction.total_bytes, words, 0, need)
        case "words":
            return Best(words, prediction.total_bytes, 0, need)
    ports = [
        sum(prediction.counts["tcdm", operand, way].words for way in ways)
        for operand, ways in (("I", ("read",)), ("W", ("read",)), ("O", ("read_partial", "write_partial", "write")))
    ]
    return Best(max(*ports, prediction.iterations), prediction.total_bytes, words, need)


def check(layer: Layer, sizes: list[int], hardware: Hardware | None, objective: Objective, bits: Bits) -> None:
    """The search finds what brute force finds, for every size, and refuses exactly what nothing fits."""
    lanes = 1 if hardware is None else hardware.lanes["x"]
    best = best_schedules(layer, sizes, bits=bits, lanes=lanes, hardware=hardware is not None, goal=objective)
    fitting = [size for size, found in zip(sizes, best, strict=True) if found.goal >= 0]
    for size in set(sizes) - set(fitting):
        with pytest.raises(InputError, match=f"no schedule fits a buffer of {size} bytes"):
            search(layer, [size], hardware, objective, bits=bits)
    if not fitting:
        return
    results = search(layer, fitting, hardware, objective, bits=bits)
    expected = [found for found in best if found.goal >= 0]
    for size, result, wanted in zip(fitting, results, expected, strict=True):
        assert criteria(result, hardware, objective) == wanted, (layer, size, result.schedule.as_data()["nest"])
        assert wanted.need <= size == result.buffer_bytes
        assert result.total_bytes == predict(result.schedule).total_bytes
        assert result.covered > result.pruned > 0 or result.covered == result.pruned + 1


@pytest.mark.parametrize("part", range(PARTS))
def test_optimum_is_that_of_brute_force(part: int) -> None:
    rng = Random(1000 + part)
    for number in range(LAYERS // PARTS):
        bits = Bits() if number % 4 else Bits(I=16, W=8, O=24, acc=40)
        objective: Objective = ("traffic", "traffic", "words", "cycles")[number % 4]  # type: ignore[assignment]
        layer = random_layer(rng)
        check(layer, random_sizes(rng, layer, None), None, objective, bits)


@pytest.mark.parametrize("part", range(PARTS))
def test_optimum_for_hardware_is_that_of_brute_force(part: int) -> None:
    rng = Random(2000 + part)
    for number in range(HARDWARE_LAYERS // PARTS):
        hardware = Hardware(name="small", lanes={"x": rng.choice((2, 4))})
        objective: Objective = ("traffic", "traffic", "words", "cycles")[number % 4]  # type: ignore[assignment]
        layer = random_layer(rng, most_x=13)
        check(layer, random_sizes(rng, layer, hardware), hardware, objective, Bits())
