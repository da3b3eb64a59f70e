"""``python -m examples.squeezenet``: SqueezeNet, all layers at 224 x 224, weights at random, on 64 multipliers."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from examples.accelerator import Record, chosen_hardware, hwgen, judge, on_a_cluster
from examples.light import MODELS, folded, with_weights
from examples.quantising import quantise
from examples.wheels import picture

SEED = 1
SIZE = 224
MEAN, DEVIATION = 127.5, 64
"""Pixels of 0 to 255 as the network takes them: -2 to 2."""
SCENES = ("astronaut.png", "coffee.png", "color.png", "motorcycle_left.png")
SEEN = "chelsea.png"
ENOUGH = 0.8
"""The least utilisation on four HWCs of 16 multipliers, with a DRAM that answers at once."""


def main() -> int:
    """Quantise, run; exit status 1 if a mark is missed."""
    hardware = chosen_hardware("cluster_64_vector.yaml")
    record = Record("squeezenet")
    model = with_weights(MODELS / "light_squeezenet.onnx", np.random.default_rng(SEED))
    (value,) = model.graph.input
    floats = folded(model, record.folder / "squeezenet_float.onnx")
    inputs = [{value.name: _pixels(name)} for name in SCENES]
    quantised = quantise(floats, record.folder / "squeezenet.onnx", inputs)
    command = ["run", quantised, "--input", picture(SEEN), "--mean", MEAN, "--std", DEVIATION]
    run = hwgen(*command, "--hardware", hardware, "-o", record.folder / "run")
    part = run["utilisation"]
    record.mark(f"utilisation of the multipliers {part:.3f} (from {ENOUGH:.2f} on)", part >= ENOUGH)
    judge(record, run)
    made = {name: np.load(record.folder / "run" / file) for name, file in run["outputs"].items()}
    on_a_cluster(record, "like_ddr3", "cluster_64_ddr3.yaml", command, made)
    return record.close()


def _pixels(name: str) -> NDArray[np.float32]:
    """A picture as the network's input."""
    image = Image.open(picture(name)).convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    return ((np.asarray(image, np.float32) - MEAN) / DEVIATION).transpose(2, 0, 1)[None].astype(np.float32)


if __name__ == "__main__":
    raise SystemExit(main())
