"""``python -m examples.notebooks.network``: the network and the picture of the notebooks, made anew."""

from pathlib import Path

import numpy as np
from PIL import Image

from examples.digits.__main__ import known_digits
from examples.digits.lenet import as_onnx
from examples.digits.training import train
from examples.quantising import quantise

FOLDER = Path(__file__).resolve().parent
HELD_OUT, CALIBRATING = 500, 100


def main() -> None:
    """Train a LeNet without hidden neurons and quantise it; take a seven that it never saw."""
    rng = np.random.default_rng(1)
    digits, labels = known_digits()
    order = rng.permutation(len(labels))
    held, learned = order[:HELD_OUT], order[HELD_OUT:]
    network = train(
        rng, digits[learned], labels[learned], lambda epoch, part: print(f"epoch {epoch}: {part:.2%} right"), ()
    )
    right = (network.forward(digits[held]).argmax(1) == labels[held]).mean()
    print(f"{right:.1%} right of {HELD_OUT} others")
    quantise(as_onnx(network), FOLDER / "digits.onnx", [{"digits": digits[learned[:CALIBRATING]]}])
    seven = digits[held[labels[held] == 7][0], 0]
    Image.fromarray((255 * seven).round().astype(np.uint8)).save(FOLDER / "seven.png")


if __name__ == "__main__":
    main()
