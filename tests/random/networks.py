"""Random small networks for the tests of depth-first execution: windows, pools, shuffles, branches and joins."""

import random
from typing import Any

from hwgen.ir.layer_set import Network

__all__ = ["random_network", "random_skips"]

Made = tuple[str, int, int, int]
"""A map: name, channels, height, width."""


class _Table:
    """A network under construction."""

    def __init__(self, rng: random.Random, most: int) -> None:
        self.rng = rng
        self.rows: list[dict[str, Any]] = []
        self.maps: list[Made] = [("input", rng.randint(1, 3), rng.randint(3, most), rng.randint(3, most))]

    def add_row(self, op: str, inputs: list[Made], channels: int, size: tuple[int, int], **keys: Any) -> Made:
        """Append a row that reads ``inputs`` and makes ``size``."""
        name = f"{op}{len(self.rows)}"
        read = sum(one[1] for one in inputs) if op == "concat" else inputs[0][1]
        self.rows.append(
            {
                "name": name, "op": op, "inputs": [one[0] for one in inputs], "input_channels": read,
                "output_channels": channels, "input_height": inputs[0][2], "input_width": inputs[0][3],
                "output_height": size[0], "output_width": size[1], **keys,
            }
        )  # fmt: skip
        self.maps.append((name, channels, *size))
        return self.maps[-1]

    def window(self, source: Made, *, same: bool = False) -> Made:
        """A convolution or pool of any kernel, stride and padding; ``same``: of the source's size."""
        rng = self.rng
        kernel, stride, pad, size = [1, 1], [1, 1], [0, 0, 0, 0], [0, 0]
        for axis in (0, 1):
            extent = source[2 + axis]
            kernel[axis] = rng.choice([1, 2, 3, 3, 3, 4, 5])
            if same:
                before = rng.randint(0, kernel[axis] - 1)
                pads = (before, kernel[axis] - 1 - before)
            else:
                stride[axis] = rng.choice([1, 1, 2, 2, 3])
                pads = (rng.randint(0, kernel[axis] - 1), rng.randint(0, kernel[axis] - 1))
                if extent + sum(pads) < kernel[axis]:
                    kernel[axis], pads = 1, (0, 0)
            pad[axis], pad[2 + axis] = pads
            size[axis] = (extent + sum(pads) - kernel[axis]) // stride[axis] + 1
        op = rng.choice(["conv", "conv", "conv", "pool", "depthwise_conv"])
        channels = rng.randint(1, 4) if op == "conv" else source[1]
        keys = {"kernel": kernel, "stride": stride, "padding": pad}
        if op == "pool":
            keys["pool"] = rng.choice(["max", "avg"])
        if op == "depthwise_conv":
            keys["groups"] = source[1]
        return self.add_row(op, [source], channels, (size[0], size[1]), **keys)

    def shuffle(self, source: Made) -> Made:
        """A pixel shuffle, after a convolution that makes enough channels."""
        factor = self.rng.choice([2, 2, 3])
        wide = self.add_row("conv", [source], factor**2, source[2:], kernel=[1, 1])
        return self.add_row("pixel_shuffle", [wide], 1, (wide[2] * factor, wide[3] * factor), factor=factor)

    def deconv(self, source: Made) -> Made:
        """A transposed convolution."""
        up, kernel = self.rng.choice([1, 2, 3]), self.rng.choice([2, 3, 4, 5])
        before, after = self.rng.randint(0, kernel - 1), self.rng.randint(0, kernel - 1)
        extra = self.rng.randint(0, min(up - 1, after))
        sizes = [(extent - 1) * up - before - after + kernel + extra for extent in source[2:]]
        if min(sizes) < 1:
            return self.window(source)
        return self.add_row(
            "deconv", [source], 2, (sizes[0], sizes[1]), kernel=[kernel] * 2, stride=[up] * 2,
            padding=[before, before, after, after], output_padding=[extra] * 2,
        )  # fmt: skip

    def join(self) -> Made | None:
        """An add or a concat of two or three maps that go together."""
        rng = self.rng
        op = rng.choice(["add", "add", "concat"])
        one = rng.choice(self.maps)
        fit = [m for m in self.maps if m is not one and m[2:] == one[2:] and (op == "concat" or m[1] == one[1])]
        if not fit:
            return None
        inputs = [one, *rng.sample(fit, min(len(fit), rng.choice([1, 1, 2])))]
        channels = sum(m[1] for m in inputs) if op == "concat" else one[1]
        return self.add_row(op, inputs, channels, (one[2], one[3]))

    def network(self) -> Network:
        """The rows so far as a network."""
        _, channels, height, width = self.maps[0]
        source = {"name": "input", "channels": channels, "height": height, "width": width}
        return Network.from_data(
            {"format": 1, "kind": "network", "network": "random", "input": source, "layers": self.rows}
        )


def random_network(rng: random.Random, rows: int = 7, most: int = 9) -> Network:
    """A network of up to ``rows`` rows; the input's sides are at most ``most``."""
    table = _Table(rng, most)
    wanted = rng.randint(2, rows)
    while len(table.rows) < wanted:
        recent = table.maps[-1] if rng.random() < 0.75 else rng.choice(table.maps)
        what = rng.random()
        if what < 0.35:
            table.join()
        elif what < 0.42 and recent[2] * recent[3] < 40:
            table.shuffle(recent)
        elif what < 0.46 and recent[2] * recent[3] < 40:
            table.deconv(recent)
        elif what < 0.49:
            table.add_row("pool", [recent], recent[1], (1, 1), kernel=list(recent[2:]), pool="avg", global_pool=True)
        else:
            table.window(recent, same=rng.random() < 0.6)
    return table.network()


def random_skips(rng: random.Random, rows: int = 5, most: int = 9) -> Network:
    """A chain of windows of the same size with a skip or two over most of it."""
    table = _Table(rng, most)
    for _ in range(rng.randint(2, rows - 1)):
        table.window(table.maps[-1], same=True)
    while len(table.rows) < rows:
        skipped = rng.choice(table.maps[:2])
        if skipped[1] == table.maps[-1][1] and rng.random() < 0.5:
            table.add_row("add", [table.maps[-1], skipped], skipped[1], skipped[2:])
        else:
            table.add_row("concat", [table.maps[-1], skipped], table.maps[-1][1] + skipped[1], skipped[2:])
    return table.network()
