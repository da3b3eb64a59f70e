"""``python -m examples.digits.fixed_point``: the trained LeNet in 16-bit fixed point (Sousa et al. 2022, Table I).

The same network as in `examples.digits`. All held-out digits by the integer reference of an HWC with operands of 16
bits, one digit of each kind in the RTL.
"""

import numpy as np

from examples.accelerator import Record
from examples.digits.__main__ import CALIBRATING, SEED, known_digits, split, trained
from examples.digits.lenet import Convolution, Dense, Floats, LeNet, MaxPool, Relu
from hwgen.ir.layer import Layer
from hwgen.papers.kept import claims_bytes
from hwgen.papers.sousa.fixed_point import (
    READINGS,
    Accuracy,
    ChainLayer,
    FixedChain,
    accuracy_claims,
    recognised,
    run_in_rtl,
)

COMMAND = "python -m examples.digits.fixed_point"
IN_HARDWARE = 10


def main() -> int:
    """Train, count in fixed point, run in the RTL; exit status 1 if the RTL differs from the reference."""
    record = Record("digits_16bit")
    rng = np.random.default_rng(SEED)
    digits, labels = known_digits()
    held, learned = split(rng, labels)
    network = trained(rng, digits[learned], labels[learned])
    layers = as_chain(network)
    largest = ranges(network, digits[rng.choice(learned, CALIBRATING, replace=False)])
    in_floats = recognised(network.forward(digits[held]), labels[held])
    found = []
    for reading in READINGS:
        chain = FixedChain.of(layers, largest, reading)
        right = recognised(chain.answers(digits[held]), labels[held])
        found.append(Accuracy(reading, len(held), in_floats, right))
        results = run_in_rtl(chain, digits[held[:IN_HARDWARE]])
        exact = sum(one.passed for one in results)
        record.mark(
            f"{reading}: {exact} of {len(results)} layers of {IN_HARDWARE} digits as predicted in the RTL, "
            f"{sum(one.cycles for one in results):,} cycles",
            exact == len(results),
        )
    claims = accuracy_claims(found, len(learned))
    for claim in claims:
        record.say(f"  {claim.found}: {claim.verdict_text}")
    record.figures["accuracy"] = [{"reading": one.reading, "percent": one.percent} for one in found]
    (record.folder / "claims.json").write_bytes(claims_bytes(COMMAND, claims))
    return record.close()


def as_chain(network: LeNet) -> list[ChainLayer]:
    """The layers with weights; the first dense one is a convolution of all rows and columns."""
    chain: list[ChainLayer] = []
    channels, size = 1, 28
    for at, stage in enumerate(network.stages):
        if not isinstance(stage, Convolution | Dense):
            continue
        after = network.stages[at + 1 : at + 3]
        pad = stage.padding if isinstance(stage, Convolution) else 0
        kernel = 5 if isinstance(stage, Convolution) else size
        weights = stage.weights.reshape(-1, channels, kernel, kernel)
        layer = Layer(
            name=f"layer{len(chain) + 1}", op="conv", input_channels=channels, output_channels=len(weights),
            input_height=size, input_width=size, output_height=size + 2 * pad - kernel + 1,
            output_width=size + 2 * pad - kernel + 1, kernel=(kernel, kernel), padding=(pad,) * 4,
        )  # fmt: skip
        pooled = any(isinstance(one, MaxPool) for one in after)
        relu = any(isinstance(one, Relu) for one in after[:1])
        chain.append(ChainLayer(layer, weights, stage.bias, relu, pooled))
        channels, size = len(weights), layer.output_height // (2 if pooled else 1)
    return chain


def ranges(network: LeNet, digits: Floats) -> list[float]:
    """The largest absolute value of the digits and of each layer's output before its pool."""
    found, given = [float(np.abs(digits).max())], digits
    for stage in network.stages:
        given = stage.forward(given)
        if isinstance(stage, Convolution | Dense):
            found.append(float(np.abs(given).max()))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
