"""Random nodes for the vector unit: all kinds, odd sizes, any window, with what golden makes of them."""

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.quantised import maps
from hwgen.ir.network.kinds import Addition, AveragePool, Concatenation, Lookup, MaxPool, Node, Window
from hwgen.ir.requantisation import Scale

__all__ = ["KINDS", "VectorCase", "vector_case"]

Int8 = NDArray[np.int8]
KINDS = ("add", "max pool", "average pool", "global average", "table", "tables", "concat")


@dataclass(frozen=True)
class VectorCase:
    """A node, its operands [channels, rows, columns], and its output likewise."""

    node: Node
    operands: tuple[Int8, ...]
    expected: Int8


def vector_case(kind: str, rng: Random, most: int = 12) -> VectorCase:
    """A node of a kind with maps of up to ``most`` rows and columns."""
    numbers = np.random.default_rng(rng.randrange(1 << 32))
    shape = tuple(rng.randint(1, size) for size in (7, most, most))

    def operand(*sizes: int) -> Int8:
        return numbers.integers(-128, 128, sizes, np.int8)

    def names(count: int, result: tuple[int, ...]) -> dict[str, tuple]:
        inputs = tuple(f"i{n}" for n in range(count))
        return {"name": kind, "inputs": inputs, "outputs": ("o",), "covers": (), "shape": (1, *result)}

    zero = [rng.randint(-128, 127) for _ in range(3)]
    low, high = sorted((rng.randint(-128, 127), rng.randint(-128, 127)))
    match kind:
        case "add":
            shift = rng.randint(1, 20)
            scales = tuple(Scale(rng.randint(0, min(1 << 16, 4 << shift)), shift) for _ in range(2))
            given = (operand(1, *shape), operand(1, *shape))
            add = Addition(
                **names(2, shape), scales=scales, zeros=(zero[0], zero[1]), zero_out=zero[2], low=low, high=high
            )
            return _case(add, given, maps.addition(add, given))
        case "max pool":
            window, size = _window(rng, shape[1:])
            table = np.sort(operand(256)) if rng.random() < 0.3 else None
            given = (operand(1, *shape),)
            largest = MaxPool(**names(1, (shape[0], *size)), window=window, table=table)
            return _case(largest, given, maps.max_pool(largest, given[0]))
        case "average pool" | "global average":
            window, size = _window(rng, shape[1:])
            if kind == "global average":
                window, size = Window((shape[1], shape[2])), (1, 1)
            counted = tuple(rng.randint(0, pad) if rng.random() < 0.5 else 0 for pad in window.padding)
            taps = window.kernel[0] * window.kernel[1]
            average = AveragePool(
                **names(1, (shape[0], *size)), window=window, counted=counted,
                scales={n: Scale.nearest(rng.uniform(0.2, 3) / n) for n in range(1, taps + 1)},
                zero_in=zero[0], zero_out=zero[2], low=-128 if rng.random() < 0.5 else low, high=high,
            )  # fmt: skip
            given = (operand(1, *shape),)
            return _case(average, given, maps.average_pool(average, given[0]))
        case "table" | "tables":
            table = operand(1 if kind == "table" else shape[0], 256)
            given = (operand(1, *shape),)
            through = Lookup(**names(1, shape), tables=table)
            return _case(through, given, maps.lookup(through, given[0]))
        case _:
            axis = rng.randint(1, 3)
            parts = [
                tuple(rng.randint(1, 5) if n + 1 == axis else size for n, size in enumerate(shape)) for _ in range(3)
            ]
            whole = tuple(sum(part[n] for part in parts) if n + 1 == axis else shape[n] for n in range(3))
            tables = tuple(operand(256) if rng.random() < 0.6 else None for _ in parts)
            joined = Concatenation(**names(3, whole), axis=axis, tables=tables)
            given = tuple(operand(1, *part) for part in parts)
            return _case(joined, given, maps.concatenation(joined, given))


def _case(node: Node, operands: tuple[Int8, ...], expected: Int8) -> VectorCase:
    return VectorCase(node, tuple(one[0] for one in operands), expected[0])


def _window(rng: Random, shape: tuple[int, ...]) -> tuple[Window, tuple[int, int]]:
    """A window that fits, its stride maybe above its size, and the extents of the output."""
    kernel, stride, dilation, before, after, outputs = [], [], [], [], [], []
    for size in shape:
        taps, apart = rng.randint(1, 4), rng.randint(1, 2)
        span = (taps - 1) * apart + 1
        pads = [rng.randint(0, span - 1), rng.randint(0, span - 1)]
        while size + sum(pads) < span:
            pads[rng.randint(0, 1)] += 1
        step = rng.randint(1, 5)
        kernel.append(taps)
        stride.append(step)
        dilation.append(apart)
        before.append(pads[0])
        after.append(pads[1])
        outputs.append((size + sum(pads) - span) // step + 1)
    padding = (before[0], before[1], after[0], after[1])
    window = Window((kernel[0], kernel[1]), (stride[0], stride[1]), padding, (dilation[0], dilation[1]))
    return window, (outputs[0], outputs[1])
