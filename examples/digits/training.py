"""The training of a LeNet: Adam (Kingma and Ba 2015) on digits that are shifted, turned and stretched at random."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from examples.digits.lenet import Floats, LeNet

__all__ = ["train"]

EPOCHS, BATCH, RATE = 12, 50, 3e-3
SHIFT, TURN, STRETCH = 1.0, 0.13, 0.08
"""Standard deviations of a pixel, a radian and a factor."""


def train(
    rng: np.random.Generator,
    digits: Floats,
    labels: NDArray[np.int64],
    progress: Callable[[int, float], None],
    neurons: Sequence[int] = (120, 84),
) -> LeNet:
    """A trained network with layers of these ``neurons``.

    Parameters
    ----------
    digits : [images, 1, 28, 28], 0 to 1. ``labels``: what each of them is, 0 to 9.
    progress : called after each epoch with its number and the part of its digits that were recognised.
    """
    network = LeNet(rng, neurons)
    weights = [array for stage in network.trained for array in (stage.weights, stage.bias)]
    means, squares = ([np.zeros_like(array) for array in weights] for _ in range(2))
    steps = EPOCHS * (len(digits) // BATCH)
    step = 0
    for epoch in range(1, EPOCHS + 1):
        order, right = rng.permutation(len(digits)), 0
        for first in range(0, len(digits) - BATCH + 1, BATCH):
            chosen = order[first : first + BATCH]
            found = network.forward(_moved(rng, digits[chosen]))
            chances = np.exp(found - found.max(1, keepdims=True))
            chances /= chances.sum(1, keepdims=True)
            right += int((found.argmax(1) == labels[chosen]).sum())
            chances[np.arange(BATCH), labels[chosen]] -= 1  # now the gradient of the cross entropy
            network.backward(chances / BATCH)
            gradients = [array for stage in network.trained for array in stage.gradients]
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            rate *= np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for array, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient**2 - square)
                array -= np.float32(rate) * mean / (np.sqrt(square) + 1e-8)
        progress(epoch, right / (len(digits) // BATCH * BATCH))
    return network


def _moved(rng: np.random.Generator, digits: Floats) -> Floats:
    """Each digit shifted, turned and stretched at random, between pixels bilinearly; 0 outside."""
    count, _, rows, columns = digits.shape
    turn = rng.normal(size=count) * TURN
    down, across = rng.normal(size=(2, count)) * SHIFT
    stretch = 1 + rng.normal(size=count) * STRETCH
    y, x = np.meshgrid(np.arange(rows) - (rows - 1) / 2, np.arange(columns) - (columns - 1) / 2, indexing="ij")
    cosine, sine, down, across = (
        one.reshape(-1, 1, 1) for one in (stretch * np.cos(turn), stretch * np.sin(turn), down, across)
    )
    # With an empty border of two pixels, where all that lies outside is read.
    high = np.clip(cosine * y - sine * x + down + (rows + 3) / 2, 0, rows + 2.999)
    wide = np.clip(sine * y + cosine * x + across + (columns + 3) / 2, 0, columns + 2.999)
    row, column = high.astype(np.int64), wide.astype(np.int64)
    beside, below = (wide - column).astype(np.float32), (high - row).astype(np.float32)
    padded = np.pad(digits[:, 0], [(0, 0), (2, 2), (2, 2)])
    image = np.arange(count)[:, None, None]
    upper = padded[image, row, column] * (1 - beside) + padded[image, row, column + 1] * beside
    lower = padded[image, row + 1, column] * (1 - beside) + padded[image, row + 1, column + 1] * beside
    moved: Floats = (upper * (1 - below) + lower * below)[:, None]
    return moved
