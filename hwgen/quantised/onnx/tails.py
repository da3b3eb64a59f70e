"""Element-wise nodes between an operator and the QuantizeLinear after it: factor and offset, clip, or tables."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.quantised.onnx.constants import evaluate
from hwgen.quantised.onnx.model import QuantisedModel
from hwgen.quantised.onnx.operators import AFFINE
from hwgen.quantised.tensors import HIGHEST, LOWEST, Int8, Quantisation

__all__ = ["Affine", "NotHardware", "Tail"]

SAME = "Identity"
Float64 = NDArray[np.float64]


class NotHardware(Exception):
    """Why a part of a model has no integer nodes."""


@dataclass(frozen=True, eq=False)
class Affine:
    """gain * x + offset, one of each for every channel."""

    gain: Float64
    offset: Float64


@dataclass(frozen=True, eq=False)
class Tail:
    """Nodes that work on single elements, first to last, then the quantiser of ``target``."""

    model: QuantisedModel
    target: Quantisation
    nodes: tuple[Any, ...] = ()

    def before(self, *nodes: Any) -> "Tail":
        """With nodes before these."""
        return replace(self, nodes=(*nodes, *self.nodes))

    def across(self, given: str, made: str) -> "Tail":
        """With a node before these that is not element-wise, but with which these commute."""
        import onnx

        return self.before(onnx.helper.make_node(SAME, [given], [made]))

    @property
    def _working(self) -> list[Any]:
        return [node for node in self.nodes if node.op_type != SAME]

    @property
    def empty(self) -> bool:
        """Whether it changes nothing."""
        return not self._working

    @property
    def scalar(self) -> bool:
        """Whether it does the same to all channels."""
        return not any(node.op_type == "BatchNormalization" for node in self.nodes) and all(
            self.model.constants.value(name).size == 1
            for node in self.nodes
            for name in node.input
            if name in self.model.constants
        )

    @property
    def affine(self) -> bool:
        """Whether it is factors and offsets, then clips."""
        operators = [node.op_type for node in self._working]
        while operators and operators[0] in AFFINE:
            operators.pop(0)
        return all(operator in ("Relu", "Clip") for operator in operators)

    def split(self, channels: int, axis: int, rank: int) -> tuple[Affine, tuple[int, int]]:
        """Factor and offset for each channel, then the clip in integers of the output; raises `NotHardware`."""
        gain, offset = np.ones(channels), np.zeros(channels)
        nodes = self._working
        while nodes and nodes[0].op_type in AFFINE:
            factor, more = self._affine(nodes.pop(0), channels, axis, rank)
            gain, offset = gain * factor, offset * factor + more
        return Affine(gain, offset), replace(self, nodes=tuple(nodes)).clip

    @property
    def clip(self) -> tuple[int, int]:
        """Lowest and highest integer of the output; raises `NotHardware` for what is no clip."""
        low, high = LOWEST, HIGHEST
        for node in self._working:
            if node.op_type == "Relu":
                bounds = [0.0, np.inf]
            elif node.op_type == "Clip":
                bounds = [-np.inf, np.inf]
                for at, name in enumerate(node.input[1:3]):
                    if name:
                        bounds[at] = float(self.model.constants.value(name).reshape(-1)[0])
            else:
                raise NotHardware(f"{node.op_type} after it, before a quantiser: no clip")
            bounds[0] = min(bounds)  # where min is above max, every element is max
            least, most = (int(one) for one in self.target.values(np.array(bounds, np.float32)))
            low, high = min(max(low, least), most), min(max(high, least), most)
        return low, high

    def tables(self, given: Quantisation, channels: int = 1) -> Int8:
        """[channels, 256] integers of the output for all integers of a source."""
        codes = np.arange(LOWEST, HIGHEST + 1).astype(np.int8)
        return self.values(np.repeat(given.numbers(codes)[None], channels, axis=0))

    def values(self, numbers: NDArray[np.float32]) -> Int8:
        """Integers of the output for numbers [channels, ...]; one channel stands for all where it is `scalar`."""
        if not self.nodes:
            return self.target.values(numbers)
        made = {name for node in self.nodes for name in node.output}
        read = {name for node in self.nodes for name in node.input if name} - made
        constants = {name: self.model.constants.value(name) for name in read if name in self.model.constants}
        last = self.nodes[-1].output[0]
        rank = len(self.model.shapes[self.nodes[0].output[0]])
        shaped = numbers
        if not self.scalar:
            if rank < 2:
                raise NotHardware("a constant for each element of a vector")
            shaped = numbers.T if rank == 2 else numbers.reshape(1, *numbers.shape, *[1] * (rank - 3))
        given = dict.fromkeys(read - set(constants), shaped)
        (found,) = evaluate(self.nodes, {**constants, **given}, [last], self.model.opset)
        found = found.T if shaped is not numbers and rank == 2 else found
        return self.target.values(np.asarray(found, np.float32).reshape(numbers.shape))

    def _affine(self, node: Any, channels: int, axis: int, rank: int) -> tuple[Float64, Float64]:
        """Factor and offset of one node."""
        if node.op_type == "BatchNormalization":
            gamma, beta, mean, variance = (
                self.model.constants.value(name).astype(np.float64) for name in node.input[1:5]
            )
            epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
            factor = gamma / np.sqrt(variance + epsilon)
            return factor, beta - mean * factor
        at = 0 if node.input[0] in self.model.constants else 1
        if node.input[at] not in self.model.constants or (node.op_type == "Div" and at == 0):
            raise NotHardware(f"{node.op_type} after it is of two maps")
        constant = _by_channel(self.model.constants.value(node.input[at]), channels, axis, rank)
        one, zero = np.ones(channels), np.zeros(channels)
        if node.op_type == "Add":
            return one, constant
        if node.op_type == "Sub":
            return (one, -constant) if at else (-one, constant)
        return (constant if node.op_type == "Mul" else 1 / constant), zero


def _by_channel(value: NDArray, channels: int, axis: int, rank: int) -> Float64:
    """A constant as one number for each channel."""
    shape = [1] * (rank - value.ndim) + list(value.shape)
    if any(size != 1 for at, size in enumerate(shape) if at != axis % rank):
        raise NotHardware("a constant after it is not one for each channel")
    return np.broadcast_to(value.astype(np.float64).reshape(-1), (channels,)).copy()
