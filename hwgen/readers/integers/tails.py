"""Element-wise nodes between an operator and the QuantizeLinear after it: factor and offset, clip, or tables."""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.fixed_point import Factor
from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.network.tensors import HIGHEST, LOWEST, Int8, Quantisation
from hwgen.readers.onnx.protos import AFFINE, evaluate

__all__ = ["Affine", "NotHardware", "Tail"]

SAME = "Identity"
RECTIFIERS = ("LeakyRelu", "PRelu")
Float64 = NDArray[np.float64]


class NotHardware(Exception):
    """Why a part of a model has no integer nodes."""


class Side(Enum):
    """A half of the numbers."""

    ABOVE = "what is above 0, and 0 for the rest"
    BELOW = "what is below 0, and 0 for the rest"


@dataclass(frozen=True, eq=False)
class Affine:
    """gain * x + offset, one of each for every channel."""

    gain: Float64
    offset: Float64


@dataclass(frozen=True, eq=False)
class Tail:
    """Nodes that work on single elements, first to last, then the quantiser of ``target``."""

    model: Model
    target: Quantisation
    nodes: tuple[Operation, ...] = ()
    side: Side | None = None
    """Which half of its LeakyRelu or PRelu is meant."""

    def before(self, *nodes: Operation) -> "Tail":
        """The tail with nodes before these."""
        return replace(self, nodes=(*nodes, *self.nodes))

    def across(self, given: str, made: str) -> "Tail":
        """The tail with a node before these that is not element-wise, but with which these commute."""
        return self.before(Operation(SAME, (given,), (made,)))

    @property
    def _working(self) -> list[Operation]:
        return [node for node in self.nodes if node.operator != SAME]

    @property
    def empty(self) -> bool:
        """Whether it changes nothing."""
        return not self._working

    @property
    def scalar(self) -> bool:
        """Whether it does the same to all channels."""
        return not any(node.operator == "BatchNormalization" for node in self.nodes) and all(
            self.model.constants[name].size == 1
            for node in self.nodes
            for name in node.inputs
            if name in self.model.constants
        )

    @property
    def affine(self) -> bool:
        """Whether it is factors and offsets, then clips."""
        operators = [node.operator for node in self._working]
        while operators and operators[0] in AFFINE:
            operators.pop(0)
        return all(operator in ("Relu", "Clip") for operator in operators)

    def split(self, channels: int, axis: int, rank: int) -> tuple[Affine, tuple[int, int]]:
        """Factor and offset for each channel, then the clip in integers of the output; raises `NotHardware`.

        A clip before factors and offsets is another one after them.
        """
        affine = Affine(np.ones(channels), np.zeros(channels))
        low, high = np.full(channels, -np.inf), np.full(channels, np.inf)
        for node in self._working:
            rectifies = node.operator in RECTIFIERS and self.side is not None
            factor, more = np.ones(channels), np.zeros(channels)
            if node.operator in (*AFFINE, "HardSigmoid"):
                factor, more = self._affine(node, channels, axis, rank)
            elif rectifies and self.side is Side.BELOW:
                factor = _by_channel(self.slope, channels, axis, rank)
            affine = Affine(affine.gain * factor, affine.offset * factor + more)
            ends = np.array([low, high]) * np.where(factor, factor, 1) + more
            low, high = np.where(factor, ends.min(axis=0), -np.inf), np.where(factor, ends.max(axis=0), np.inf)
            if rectifies:
                upper = (factor < 0) ^ (self.side is Side.ABOVE)
                low, high = np.where(upper, np.maximum(low, 0), low), np.where(upper, high, np.minimum(high, 0))
            elif node.operator not in AFFINE:
                least, most = self._bounds(node)
                low, high = np.clip(low, least, most), np.clip(high, least, most)
        return affine, self._in_integers(low, high)

    @property
    def clip(self) -> tuple[int, int]:
        """Lowest and highest integer of the output; raises `NotHardware` for what is no clip."""
        low, high = -np.inf, np.inf
        for node in self._working:
            least, most = self._bounds(node)
            low, high = np.clip(low, least, most), np.clip(high, least, most)
        return self._in_integers(np.array([low]), np.array([high]))

    def _bounds(self, node: Operation) -> tuple[float, float]:
        """What a clip keeps of all numbers; raises `NotHardware` for what is none."""
        constants, bounds = self.model.constants, [-np.inf, np.inf]
        match node.operator:
            case "Relu":
                return 0.0, np.inf
            case "HardSigmoid":
                return 0.0, 1.0
            case "Clip":
                for at, name in enumerate(node.inputs[1:3]):
                    if name:
                        bounds[at] = float(constants[name].reshape(-1)[0])
            case "Max" | "Min" if self.scalar:
                given = [float(constants[name].item()) for name in node.inputs if name in constants]
                bounds = [max(given), np.inf] if node.operator == "Max" else [-np.inf, min(given)]
            case _:
                raise NotHardware(f"sums through {node.operator} before they are quantised: a table needs 8 bits")
        if np.isnan(bounds).any():
            raise NotHardware(f"{node.operator} with a bound that is no number")
        return min(bounds), bounds[1]  # where min is above max, every element is max

    def _in_integers(self, low: Float64, high: Float64) -> tuple[int, int]:
        """Bounds, the same for all channels, as integers of the output."""
        lows, highs = (set(self.target.values(one.astype(np.float32)).tolist()) for one in (low, high))
        if len(lows) > 1 or len(highs) > 1:
            raise NotHardware("a clip with other bounds for each channel")
        return lows.pop(), highs.pop()

    @property
    def slope(self) -> NDArray:
        """The factor of what is below 0 in the first rectifier."""
        node = next(node for node in self.nodes if node.operator in RECTIFIERS)
        if node.operator == "LeakyRelu":
            return np.array(node.attributes.get("alpha", 0.01))
        return self.model.constants[node.inputs[1]]

    def halves(self) -> tuple["Tail", "Tail", int] | None:
        """What is above 0 and what is below it in a LeakyRelu or PRelu, with 0 for the rest, and the integer of 0.

        The output is the sum of both, less that integer: of each element one half has it. None without a rectifier.
        """
        at = [number for number, node in enumerate(self.nodes) if node.operator in RECTIFIERS]
        if len(at) != 1 or self.side is not None:
            return None
        if self.nodes[at[0]].operator == "PRelu" and self.nodes[at[0]].inputs[1] not in self.model.constants:
            return None
        rest = replace(self, nodes=self.nodes[at[0] + 1 :])
        if not rest.scalar:
            return None
        middle = int(rest.values(np.zeros(1, np.float32))[0])
        return replace(self, side=Side.ABOVE), replace(self, side=Side.BELOW), middle

    def tables(self, given: Quantisation, channels: int = 1) -> Int8:
        """[channels, 256] integers of the output for all integers of a source."""
        codes = np.arange(LOWEST, HIGHEST + 1).astype(np.int8)
        if self.model.fixed_point and {node.operator for node in self.nodes} <= {SAME, "Relu", "Clip"}:
            steps = Factor.of(given.scale / self.target.scale).times(codes.astype(np.int64) - given.zero)
            return np.clip(steps + self.target.zero, *self.clip).astype(np.int8)[None]
        return self.values(np.repeat(given.numbers(codes)[None], channels, axis=0))

    def values(self, numbers: NDArray[np.float32]) -> Int8:
        """Integers of the output for numbers [channels, ...]; one channel stands for all where it is `scalar`."""
        if not self.nodes:
            return self.target.values(numbers)
        made = {name for node in self.nodes for name in node.outputs}
        read = {name for node in self.nodes for name in node.inputs if name} - made
        constants = {name: self.model.constants[name] for name in read if name in self.model.constants}
        last = self.nodes[-1].outputs[0]
        rank = len(self.model.shape(self.nodes[0].outputs[0]))
        shaped = numbers
        if not self.scalar:
            if rank < 2:
                raise NotHardware("a constant for each element of a vector")
            for node in self._working:
                if node.operator != "BatchNormalization":
                    for name in constants.keys() & set(node.inputs):
                        _by_channel(constants[name], len(numbers), 1, rank)
            shaped = numbers.T if rank == 2 else numbers.reshape(1, *numbers.shape, *[1] * (rank - 3))
        given = dict.fromkeys(read - set(constants), shaped)
        (found,) = evaluate(self.nodes, {**constants, **given}, [last], self.model.opset)
        found = found.T if shaped is not numbers and rank == 2 else found
        return self.target.values(np.asarray(found, np.float32).reshape(numbers.shape))

    def _affine(self, node: Operation, channels: int, axis: int, rank: int) -> tuple[Float64, Float64]:
        """Factor and offset of one node; of a HardSigmoid before its clip."""
        if node.operator == "HardSigmoid":
            given = {"alpha": 0.2, "beta": 0.5} | dict(node.attributes)
            return np.full(channels, given["alpha"]), np.full(channels, given["beta"])
        if node.operator == "BatchNormalization":
            gamma, beta, mean, variance = (self.model.constants[name].astype(np.float64) for name in node.inputs[1:5])
            epsilon = node.attributes.get("epsilon", 1e-5)
            factor = gamma / np.sqrt(variance + epsilon)
            return factor, beta - mean * factor
        at = 0 if node.inputs[0] in self.model.constants else 1
        if node.inputs[at] not in self.model.constants or (node.operator == "Div" and at == 0):
            raise NotHardware(f"{node.operator} after it is of two maps")
        constant = _by_channel(self.model.constants[node.inputs[at]], channels, axis, rank)
        one, zero = np.ones(channels), np.zeros(channels)
        if node.operator == "Add":
            return one, constant
        if node.operator == "Sub":
            return (one, -constant) if at else (-one, constant)
        return (constant if node.operator == "Mul" else 1 / constant), zero


def _by_channel(value: NDArray, channels: int, axis: int, rank: int) -> Float64:
    """A constant as one number for each channel."""
    shape = [1] * (rank - value.ndim) + list(value.shape)
    if any(size != 1 for at, size in enumerate(shape) if at != axis % rank):
        raise NotHardware("a constant after it is not one for each channel")
    return np.broadcast_to(value.astype(np.float64).reshape(-1), (channels,)).copy()
