"""Lower bounds of the traffic of a layer: what no schedule goes below, whatever its loops and markers.

Two figures, both proven, in bytes at the level that feeds the buffers, for every width of the operands.

*Compulsory*: every input element that an output needs, every weight and every output, once. No schedule fetches
less: each of them is touched, and what is touched was fetched or is written.

*Communication*: what S bytes of buffers force to be fetched again. ``docs/semantics/bounds.md`` has the same proof
with its background: Hong and Kung 1981 for the phases, Loomis and Whitney 1949 and Irony, Toledo, Tiskin 2004 for
the inequality, Smith et al. 2019 for the length of a phase, Demmel and Dinh 2018 and Chen et al. 2020 for
convolutions.

*Machine.* The multiply-accumulates (MACs) are done in any order. A MAC needs its input, its weight and its sum in
the buffers, which hold at most S bytes: ``b`` an input, ``b'`` a weight, ``a`` a sum. An element *arrives* when it
is fetched, or, a sum, when its first MAC begins it. Every nest with markers is such a machine: the need counts what
an iteration touches of all three operands, those without a marker too (one lane vector), and S is at least the
need. MACs on padding need no input and are left out; what their weights and sums cost is only left out, too.

*Prices.* Let I, W, O have ``n_X`` elements, and arrive ``A_X`` times: ``A_X >= n_X``. An output costs ``e`` bytes
when it is final, and ``2 a`` for each arrival after its first one. For any prices ``0 < p_I <= b``, ``0 < p_W <=
b'``, ``0 < p_O <= a``, with ``e_I = b``, ``e_W = b'`` and ``e_O = e``,

    traffic = b A_I + b' A_W + 2 a (A_O - n_O) + e n_O >= sum over X of p_X A_X + (e_X - p_X) n_X.

*Phases.* Weigh a MAC of kernel tap (k, l) with ``1 / sqrt(r)``, where r counts the taps that differ from (k, l) by
multiples of the strides: they are the taps that meet the same inputs. Cut the sequence of all MACs into N phases of
equal weight F; a cut may go through a MAC, whose operands both sides then touch. What a phase touches of X, ``x_X``
elements, was in the buffers when it began or arrives in it. What was there has at most S bytes, and is worth at
most ``v S`` in prices, ``v = max p_X / bytes of X``. In the first phase nothing was there. So the arrivals in all
phases are worth at least ``t + (N - 1) (t - v S)``, where t is the least of ``sum of p_X x_X`` that a phase can
touch.

*Inequality.* ``F^2 <= x_I x_W x_O``. Take first the MACs of one group of channels and one tap q. Each is known by
its (output channel m, input channel c, pixel p); (m, p) names its sum, (m, c) its weight, and (c, p) its input, so
there are at most ``sqrt(o w_q i)`` of them (Loomis and Whitney), where o, w_q, i count what is touched in that
group, with that tap; the pixels of a batch are those of all its images. Let q run through the r taps of a class.
They touch different weights and, at most, the same i inputs and o sums: ``sum of sqrt(o w_q i) <= sqrt(r o w i)``
(Cauchy and Schwarz), of weight ``1 / sqrt(r)``. Different classes touch different inputs and different weights,
different groups different elements of all three; Cauchy and Schwarz again: ``sum of sqrt(o w i) <= sqrt(sum of o w *
sum of i) <= sqrt(sum of o * sum of w * sum of i)``, and for one o, the same without its sum.

*Limits.* One element takes part in MACs of at most a weight ``u_X`` in all, so ``x_X >= F / u_X``; and ``x_X <=
n_X``. With these, t is the least of a linear function where a product has at least a given size: the ``p_X x_X`` of
all X that are at no limit are equal. Any prices and any N give a bound, so the best of a few is taken without
further proof. With prices ``b``, ``b'``, ``a`` and many phases it tends to ``2 sqrt(a b b' / (R S)) MACs``, R being
the kernel's area by the strides' where a stride divides the kernel: ``4 MACs / sqrt(R S)`` for 8-bit operands and
32-bit sums.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.counts import Counts
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.nest.one_level import predict

__all__ = ["Bounds", "Work", "bounds", "communication_bound", "compulsory", "work_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Both figures for one layer and one buffer size, in bytes."""

    compulsory: int
    communication: int

    @property
    def largest(self) -> int:
        """The larger of the two: what every schedule moves at least."""
        return max(self.compulsory, self.communication)

    def ratio(self, total_bytes: float) -> float:
        """Traffic of ``total_bytes`` over the bound: at least 1 for what a schedule moves."""
        return total_bytes / self.largest


@dataclass(frozen=True, slots=True)
class Work:
    """What the inequality needs of a layer, in the order I, W, O where there are three.

    Members
    -------
    weight : of all MACs that are not on padding together.
    most : the most weight of the MACs of one element.
    elements : how many there are; of the inputs those that are used.
    """

    weight: float
    most: tuple[float, float, float]
    elements: tuple[int, int, int]


def bounds(layer: Layer, buffer_bytes: int, bits: Bits = Bits()) -> Bounds:  # noqa: B008 - a frozen value
    """Both bounds of a layer with ``buffer_bytes`` of local buffers."""
    return Bounds(compulsory(layer, bits).total_bytes(), communication_bound(layer, buffer_bytes, bits))


def compulsory(layer: Layer, bits: Bits = Bits()) -> Counts:  # noqa: B008 - a frozen value
    """Counts of a schedule that moves everything once: the whole layer held across a loop of one iteration.

    Input that no output needs (rows left over by the stride, gaps where the stride exceeds the kernel) is not part of
    it, nor are partial sums.
    """
    steps = (Loop("m", layer.extents["m"]), *(Loop(dim, 1) for dim in layer.loop_extents))
    return predict(Schedule(layer=layer, bits=bits, nest=(Marker(("I", "W", "O")), *steps))).counts


def communication_bound(layer: Layer, buffer_bytes: int, bits: Bits = Bits()) -> int:  # noqa: B008 - a frozen value
    """The communication bound in whole bytes; see the module's text. It may be less than the compulsory traffic."""
    if buffer_bytes < 1:
        raise ValueError(f"buffer_bytes: expected at least 1, got {buffer_bytes}")
    work = work_of(layer)
    if not work.weight:
        return 0
    held = np.array([bits.I, bits.W, bits.acc]) / 8
    moved = np.array([bits.I, bits.W, bits.O]) / 8
    prices = held * PRICES
    worth = buffer_bytes * (prices / held).max(axis=-1)
    ideal = np.sqrt(prices.prod(axis=-1)) * work.weight / worth**1.5
    phases = np.maximum(1, np.floor(ideal[:, None] * LENGTHS))
    phases[:, 0] = 1
    touched = _least_touched(work, prices, work.weight / phases)
    again = (phases - 1) * np.maximum(0, touched - worth[:, None])
    once = (moved - prices) @ np.array(work.elements, dtype=np.float64)
    return max(0, int((touched + again + once[:, None]).max() * (1 - ROUNDING)))


ROUNDING = 1e-9
"""More than all rounding of the floating-point numbers here, relative to the bound."""
_SHARES = (1.0, 0.5, 0.25, 0.125, 0.03125)
PRICES = np.array([(i, w, o) for i in _SHARES for w in _SHARES for o in (*_SHARES, 0.7, 0.35)])
"""The prices that are tried, by the bytes that an element of I, W, O takes in the buffers."""
LENGTHS = 1 / np.array([1e9, 16.0, 8.0, 5.0, 3.0, 2.0, 1.5, 1.2, 1.0, 0.85, 0.7, 0.5, 0.3, 0.1])
"""The lengths of phases that are tried, by that which is best without limits, as factors of their number."""


@lru_cache(maxsize=256)
def work_of(layer: Layer) -> Work:
    """The weight of a layer's MACs."""
    rows = _axis(layer.output_height, layer.kernel[0], layer.stride[0], layer.padding[0], layer.input_height)
    columns = _axis(layer.output_width, layer.kernel[1], layer.stride[1], layer.padding[1], layer.input_width)
    once = compulsory(layer)
    return Work(
        weight=rows.weight * columns.weight * layer.channels_per_group * layer.output_channels * layer.batch,
        most=(
            rows.of_input * columns.of_input * layer.outputs_per_group,
            rows.of_tap * columns.of_tap * layer.batch,
            rows.of_output * columns.of_output * layer.channels_per_group,
        ),
        elements=(once["tcdm", "I", "read"].elements, layer.weight_elements, layer.output_elements),
    )


class _Axis(NamedTuple):
    """Weights of the pairs of an output and a tap that meet no padding: of all, the most of an input, tap, output."""

    weight: float
    of_input: float
    of_tap: float
    of_output: float


def _axis(outputs: int, kernel: int, stride: int, padding: int, size: int) -> _Axis:
    taps = np.arange(kernel)
    first = np.maximum(0, -((taps - padding) // stride))
    last = np.minimum(outputs - 1, (size - 1 + padding - taps) // stride)
    in_class = (kernel - 1 - taps % stride) // stride + 1
    of_tap = np.maximum(0, last - first + 1) / np.sqrt(in_class)
    of_output = float((1 / np.sqrt(in_class)).sum())
    return _Axis(float(of_tap.sum()), sqrt(float(in_class[0])), float(of_tap.max()), of_output)


def _least_touched(work: Work, prices: Floats, phase: Floats) -> Floats:
    """The least price of what phases of this weight touch, [prices, phase].

    Logarithms of ``p_X x_X``: each is the same level, or the limit that is nearest to it, and their sum is given.
    Between the levels at which one of them meets a limit that sum is linear.
    """
    cost = np.log(prices)[:, None, :]
    most = cost + np.log(np.array(work.elements, dtype=np.float64))
    least = np.minimum(cost + np.log(phase)[:, :, None] - np.log(np.array(work.most)), most)
    total = 2 * np.log(phase) + cost.sum(axis=-1)
    levels = np.sort(np.concatenate([least, np.broadcast_to(most, least.shape)], axis=-1), axis=-1)
    sums = np.clip(levels[..., :, None], least[..., None, :], most[..., None, :]).sum(axis=-1)
    above = np.clip((sums < total[..., None]).sum(axis=-1), 1, sums.shape[-1] - 1)[..., None]
    low, high = (np.take_along_axis(levels, above - n, axis=-1)[..., 0] for n in (1, 0))
    sum_low, sum_high = (np.take_along_axis(sums, above - n, axis=-1)[..., 0] for n in (1, 0))
    share = np.clip((total - sum_low) / np.maximum(sum_high - sum_low, 1e-30), 0, 1)
    level = low + share * (high - low)
    touched: Floats = np.exp(np.clip(level[..., None], least, most)).sum(axis=-1)
    return touched
