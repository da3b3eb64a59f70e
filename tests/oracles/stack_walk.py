"""The literal walk of depth-first execution: a stack run tile by tile, pixel by pixel.

It is slow and obvious, and the reference for `hwgen.model.pipeline.cost`, with which it shares no code. The pixels
that a row reads are listed from the definition of its operation. Columns are sets. The time of a pixel is followed
back through the windows that it waits for. A ring is measured whenever a row fires: the distance from the newest
pixel of the map that it reads to the oldest that it still needs.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from hwgen.ir.layer_set import Feature, Network, Node
from hwgen.ir.operators import Reading

__all__ = ["StackWalk", "walk_stack"]

Time = tuple[Fraction, Fraction]
Pixel = tuple[int, int]
"""Line and column. Pixels arrive line by line."""


@dataclass
class StackWalk:
    """What the walk measured: pixels of each ring, the longest line of each map, elements by kind of traffic."""

    rings: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    traffic: dict[str, int] = field(default_factory=dict)


def walk_stack(
    network: Network, first: int, last: int, factor: int, through_dram: Collection[tuple[str, str]] = ()
) -> StackWalk | None:
    """Run rows ``first`` to ``last`` (from 1) in ``factor`` tiles; None if operands of a join have different rates.

    ``through_dram`` names edges into joins (producer, consumer) whose map is fetched again instead of held on chip.
    """
    walker = _Walker(network, first, last, factor, set(through_dram))
    return walker.run() if walker.clocks_agree() else None


class _Walker:
    def __init__(
        self, network: Network, first: int, last: int, factor: int, through_dram: set[tuple[str, str]]
    ) -> None:
        assert network.input is not None
        self.nodes = {node.name: node for node in network.layers[first - 1 : last]}
        self.later = network.layers[last:]
        self.factor, self.through_dram = factor, through_dram
        every: dict[str, Node | Feature] = {network.input.name: network.input}
        every |= {node.name: node for node in network.layers}
        used = {name for node in self.nodes.values() for name in node.inputs}
        self.sources = [name for name in every if name in used and name not in self.nodes]
        self.maps = {name: every[name] for name in [*self.sources, *self.nodes]}
        height, width = _size(self.maps[network.layers[first - 1].inputs[0]])
        self.axis = 1 if width <= height else 0
        read = {name for node in network.layers for name in node.inputs}
        after = {name for node in self.later for name in node.inputs}
        self.outputs = [name for name in self.nodes if name in after or name not in read]
        self.clock = {name: ((Fraction(1), Fraction(0)), (Fraction(1), Fraction(0))) for name in self.sources}

    # --- geometry ---

    def columns(self, name: str) -> int:
        return _size(self.maps[name])[self.axis]

    def lines(self, name: str) -> int:
        return _size(self.maps[name])[1 - self.axis]

    def window(self, node: Node, producer: str, output: int, axis: int) -> list[int]:
        """The indices of the producer that one index of the output needs."""
        size = _size(self.maps[producer])[axis]
        kernel, stride, pad = node.kernel[axis], node.stride[axis], node.padding[axis]
        match node.operator.reading(node):
            case Reading.WINDOW | Reading.ACCUMULATED:
                inputs = [output * stride - pad + k for k in range(kernel)]
            case Reading.TRANSPOSED:
                inputs = [i for i in range(size) if 0 <= output + pad - i * stride < kernel]
            case Reading.SQUARE:
                inputs = [output // (node.factor or 1)]
            case Reading.FLATTENED:
                inputs = list(range(size))
            case _:
                inputs = [output]
        return [i for i in inputs if 0 <= i < size]

    def readers(self, name: str) -> list[Node]:
        return [node for node in self.nodes.values() if name in node.inputs]

    def kept_for(self, name: str) -> list[Node]:
        """The readers that read the map on chip."""
        return [node for node in self.readers(name) if (name, node.name) not in self.through_dram]

    # --- time ---

    def time(self, name: str, line: Fraction, column: Fraction) -> Time:
        """The time at which a pixel is made. Padding has a time, too: it takes time as pixels do."""
        if name in self.sources:
            (line_rate, line_start), (column_rate, column_start) = self.clock[name]
            return line_rate * line + line_start, column_rate * column + column_start
        node = self.nodes[name]
        at = [line, column] if self.axis == 1 else [column, line]  # height, width
        last = [_last_needed(node, self.maps[node.inputs[0]], at[axis], axis) for axis in (0, 1)]
        if self.axis == 0:
            last.reverse()
        return max(self.time(producer, last[0], last[1]) for producer in node.inputs)

    def feeds(self, name: str) -> set[str]:
        """The inputs of the stack that a map is made from."""
        if name in self.sources:
            return {name}
        return {source for producer in self.nodes[name].inputs for source in self.feeds(producer)}

    def both(self, producers: list[str]) -> tuple[Time, Time]:
        """The times at which the last of the producers makes pixel (0, 0) and pixel (1, 1)."""
        zero, one = Fraction(0), Fraction(1)
        return max(self.time(p, zero, zero) for p in producers), max(self.time(p, one, one) for p in producers)

    def clocks_agree(self) -> bool:
        """Align groups of maps without a common input at their first join; False if rates differ at a join."""
        groups = {source: {source} for source in self.sources}
        for node in self.nodes.values():
            for producer in node.inputs:
                group = groups[min(self.feeds(node.inputs[0]))]
                other = groups[min(self.feeds(producer))]
                if other is group:
                    continue
                target = self.both([p for p in node.inputs if self.feeds(p) <= group])
                own = self.both([p for p in node.inputs if self.feeds(p) <= other])
                for source in other:
                    old = self.clock[source]
                    self.clock[source] = (
                        _aligned(old[0], (target[0][0], target[1][0]), (own[0][0], own[1][0])),
                        _aligned(old[1], (target[0][1], target[1][1]), (own[0][1], own[1][1])),
                    )
                group |= other
                for source in other:
                    groups[source] = group
            times = [self.both([producer]) for producer in node.inputs]
            if len({(unit[0] - zero[0], unit[1] - zero[1]) for zero, unit in times}) > 1:
                return False
        return True

    # --- the run ---

    def run(self) -> StackWalk:
        measured = StackWalk(dict.fromkeys(self.maps, 0), dict.fromkeys(self.maps, 0))
        made: dict[str, set[int]] = {name: set() for name in self.maps}
        fetched_again: dict[str, set[int]] = {name: set() for name in self.maps}
        read_again = dict.fromkeys(self.maps, 0)
        for tile in range(1, self.factor + 1):
            new = self.new_columns(tile, made)
            for name in self.maps:
                present = self.present(name, new, made[name])
                again = present - new[name]
                assert again <= made[name]
                fetched_again[name] |= again
                read_again[name] += len(again)
                measured.lines[name] = max(measured.lines[name], len(present))
                measured.rings[name] = max(measured.rings[name], self.ring(name, present, new))
            for name in self.maps:
                made[name] |= new[name]
        self.count(measured, fetched_again, read_again)
        return measured

    def new_columns(self, tile: int, made: dict[str, set[int]]) -> dict[str, set[int]]:
        """The new columns of each map in a tile: as far as its readers need, and its share if it is an output."""
        until: dict[str, int] = {}
        for name in reversed(list(self.maps)):
            size = self.columns(name)
            needed = {tile * size // self.factor - 1} if name in self.outputs else set()
            for node in self.readers(name):
                for column in range(until[node.name]):
                    needed |= set(self.window(node, name, column, self.axis))
            needed |= made[name]
            until[name] = size if tile == self.factor else max(needed, default=-1) + 1
        return {name: set(range(until[name])) - made[name] for name in self.maps}

    def present(self, name: str, new: dict[str, set[int]], made: set[int]) -> set[int]:
        """The columns of a line in a tile: from the first that is used to the last that is made."""
        used = set(new[name])
        for node in self.kept_for(name):
            for column in new[node.name]:
                used |= set(self.window(node, name, column, self.axis))
        return set(range(min(used), max(new[name] | made) + 1)) if used else set()

    def pixels(self, name: str, columns: set[int]) -> Iterator[Pixel]:
        for line in range(self.lines(name)):
            for column in sorted(columns):
                yield line, column

    def ring(self, name: str, present: set[int], new: dict[str, set[int]]) -> int:
        """The most pixels from the newest to the oldest that is needed, over all firings of all readers."""
        order = list(self.pixels(name, present))
        place = {pixel: index for index, pixel in enumerate(order)}
        times = [self.time(name, Fraction(line), Fraction(column)) for line, column in order]
        assert times == sorted(times)
        most = 0
        for node in self.kept_for(name):
            if node.operator.reading(node) in (Reading.SQUARE, Reading.ACCUMULATED, Reading.FLATTENED):
                continue  # in an accumulator, or in the memory of the shuffle
            for line, column in self.pixels(node.name, new[node.name]):
                window = [
                    place[i, j]
                    for i in self.window(node, name, line, 1 - self.axis)
                    for j in self.window(node, name, column, self.axis)
                ]
                newest = bisect_right(times, self.time(node.name, Fraction(line), Fraction(column))) - 1
                most = max([most, *(newest - oldest for oldest in window)])
        return most

    def count(self, measured: StackWalk, fetched_again: dict[str, set[int]], read_again: dict[str, int]) -> None:
        kinds = ("input", "output", "skip_out", "skip_in", "overlap_out", "overlap_in")
        measured.traffic = dict.fromkeys(kinds, 0)
        for name, one in self.maps.items():
            channels = one.channels if isinstance(one, Feature) else one.output_channels
            column = channels * self.lines(name)
            whole = column * self.columns(name)
            skips = len(self.readers(name)) - len(self.kept_for(name))
            in_dram = name in self.sources or name in self.outputs
            if name in self.sources and self.kept_for(name):
                measured.traffic["input"] += whole
            if name in self.outputs:
                measured.traffic["output"] += whole
            if skips and not in_dram:
                measured.traffic["skip_out"] += whole
            measured.traffic["skip_in"] += skips * whole
            measured.traffic["overlap_in"] += column * read_again[name]
            if not in_dram and not skips:
                measured.traffic["overlap_out"] += column * len(fetched_again[name])


def _size(one: Node | Feature) -> Sequence[int]:
    return (one.height, one.width) if isinstance(one, Feature) else (one.output_height, one.output_width)


def _last_needed(node: Node, producer: Node | Feature, output: Fraction, axis: int) -> Fraction:
    """The position in the producer's scan, padding included, that completes the window of an output."""
    kernel, stride, pad = node.kernel[axis], node.stride[axis], node.padding[axis]
    match node.operator.reading(node):
        case Reading.WINDOW | Reading.ACCUMULATED:
            return output * stride - pad + kernel - 1
        case Reading.TRANSPOSED:
            return (output + pad) / stride
        case Reading.SQUARE:
            return output / (node.factor or 1)
        case Reading.FLATTENED:
            return output + _size(producer)[axis] - 1
        case _:
            return output


def _aligned(
    clock: tuple[Fraction, Fraction], target: tuple[Fraction, Fraction], own: tuple[Fraction, Fraction]
) -> tuple[Fraction, Fraction]:
    """A clock (rate, start), changed so that the times ``own`` become ``target``."""
    rate = (target[1] - target[0]) / (own[1] - own[0])
    return clock[0] * rate, target[0] + (clock[1] - own[0]) * rate
