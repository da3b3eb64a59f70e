"""Requantisation: how the 32-bit sums of a layer become its outputs, as one value; and how a shift rounds."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import frexp, isfinite, log2, sqrt
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, StrictBool, model_serializer

from hwgen.ir.document import InputError, Value

__all__ = [
    "ACTIVATIONS",
    "HALF_UP",
    "HIGHEST",
    "LOWEST",
    "MOST_SHIFT",
    "MULTIPLIER_BITS",
    "ROUNDINGS",
    "TABLE_ENTRIES",
    "UNCHANGED",
    "GivenRequantisation",
    "Requantisation",
    "RequantisationForm",
    "Scale",
    "moved",
    "safe_product_shift",
    "usual_shift",
]


HALF_UP = "half_up"


class Rounding(ABC):
    """One way of rounding. Its hardware is the class of the same name in `hwgen.gateware.lib.rounding`."""

    @abstractmethod
    def shifted(self, values: Any, shift: Any) -> Any:
        """Whole numbers, or arrays of them, shifted right by 0 bits or more; nothing wraps."""


def moved(products: Any, further: Any) -> Any:
    """Products so much further away from zero (`hwgen.ir.requantisation.Scale.further`); 0 counts as positive."""
    return products + further - 2 * further * (products < 0)


class HalfUp(Rounding):
    """Rounding to the nearest whole number; halves go up."""

    def shifted(self, values: Any, shift: Any) -> Any:
        return (values + (1 << shift >> 1)) >> shift


ROUNDINGS: Mapping[str, Rounding] = {HALF_UP: HalfUp()}
"""The roundings by name."""


# --- requantisation: how the 32-bit sums of a layer become its outputs, as one value ---

RequantisationForm = Literal["shift", "scaled"]
"""What hardware does: one shift for all output channels, ReLU, a ceiling; or a `Scale` for each, and zero points."""
LOWEST, HIGHEST = -128, 127
"""Least and greatest value of a quantised element."""
MULTIPLIER_BITS = 16
"""Bits of a scale of one output channel. That of an average of one element is one more."""
MOST_MULTIPLIER = 1 << MULTIPLIER_BITS
MOST_SHIFT = 47
TABLE_ENTRIES = 256


def _in_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name}: expected {least} to {most}, got {value}")


@dataclass(frozen=True, slots=True)
class Scale:
    """A factor as an integer multiplication and a rounding right shift.

    Members
    -------
    multiplier : up to 2**16.
    shift : 0 to 47; half of the range that is shifted out is added first, nothing for shift 0.
    twice : rounds as TFLite does, first to a multiple of 2**16, then to one of 2**shift, halves away from zero. The
        product 2**15 further away from zero, rounded once, half up, is the same. The shift is above 16.
    """

    multiplier: int = 1
    shift: int = 0
    twice: bool = False

    def __post_init__(self) -> None:
        _in_range("multiplier", self.multiplier, 0, MOST_MULTIPLIER)
        _in_range("shift", self.shift, MULTIPLIER_BITS + 1 if self.twice else 0, MOST_SHIFT)

    @property
    def further(self) -> int:
        """What a product is moved away from zero before it is shifted."""
        return 1 << (MULTIPLIER_BITS - 1) if self.twice else 0

    def as_tflite(self) -> "Scale":
        """The scale that rounds as TFLite's factor of this size does: twice, unless that factor is 1 or more."""
        return replace(self, twice=True) if self.shift > MULTIPLIER_BITS else self

    @classmethod
    def nearest(cls, factor: float) -> "Scale":
        """The scale of a multiplier of 16 bits and a shift of 1 to 47 that is nearest to a factor.

        Its relative error is at most ``2 ** -16``, unless the factor is below ``2 ** -32``. Raises ValueError for a
        factor that is not above 0, or above what a multiplier and a shift of 1 give.
        """
        return cls.common([factor])[0]

    @classmethod
    def common(cls, factors: Sequence[float]) -> "tuple[Scale, ...]":
        """Scales with one shift for all, so that the greatest factor's multiplier uses all bits."""
        greatest = max(factors)
        if not isfinite(greatest) or min(factors) <= 0:
            raise ValueError(f"scale: expected factors above 0, got {min(factors):g} to {greatest:g}")
        shift = min(MULTIPLIER_BITS - frexp(greatest)[1], MOST_SHIFT)
        if round(greatest * 2.0**shift) >= 1 << MULTIPLIER_BITS:
            shift -= 1
        if shift < 1:
            raise ValueError(f"scale: expected a factor below {1 << (MULTIPLIER_BITS - 1)}, got {greatest:g}")
        return tuple(cls(round(factor * 2.0**shift), shift) for factor in factors)


@dataclass(frozen=True, slots=True)
class Requantisation:
    """The way from sums to outputs: ``v = sum + bias``, exact; ``v = v * multiplier``, shifted right with rounding;
    ``clip(v + zero_out, low, high)``; then the table, if there is one.

    Members
    -------
    scales : one for all output channels, or one for each.
    zero_in : what padding of the input reads as; the biases have it folded in.
    zero_out : zero point of the output.
    low, high : bounds of the output; None: the end of its range.
    table : 256 outputs, for -128 to 127, of an activation that is no clip.
    product_shift : right shift of each product of 16-bit operands before it is added; it rounds down.
    rounding : how the shift rounds, a name in `hwgen.ir.requantisation.ROUNDINGS`.
    """

    scales: tuple[Scale, ...] = (Scale(),)
    zero_in: int = 0
    zero_out: int = 0
    low: int | None = None
    high: int | None = None
    table: tuple[int, ...] | None = None
    product_shift: int = 0
    rounding: str = HALF_UP

    def __post_init__(self) -> None:
        if not self.scales:
            raise ValueError("scales: expected one for all output channels, or one for each, got none")
        if self.table is not None and len(self.table) != TABLE_ENTRIES:
            raise ValueError(f"table: expected {TABLE_ENTRIES} entries, got {len(self.table)}")
        _in_range("product_shift", self.product_shift, 0, 31)
        if self.rounding not in ROUNDINGS:
            raise ValueError(f"rounding: expected one of {', '.join(ROUNDINGS)}, got {self.rounding}")

    @classmethod
    def shifted(
        cls, shift: int = 0, *, relu: bool = False, ceiling: int | None = None, product_shift: int = 0
    ) -> "Requantisation":
        """The form of layers without quantisation: a shift of 0 to 31, ReLU when set, a ceiling."""
        _in_range("shift", shift, 0, 31)
        scales = (Scale(shift=shift),)
        return cls(scales, low=0 if relu else None, high=ceiling, product_shift=product_shift)

    @property
    def relu(self) -> bool:
        """Whether what is below zero becomes zero."""
        return self.low is not None and self.low == self.zero_out

    def bounds(self, bits: int) -> tuple[int, int]:
        """Lowest and highest output of ``bits`` bits; raises ValueError if the clip lies outside their range."""
        least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        low, high = least if self.low is None else self.low, most if self.high is None else self.high
        _in_range("low", low, least, most)
        _in_range("high", high, low, most)
        return low, high

    def activated(self, name: str | None, where: str) -> "Requantisation":
        """This requantisation with an activation that follows; raises `InputError` for one that is not in
        `ACTIVATIONS`."""
        if name is None:
            return self
        if name not in ACTIVATIONS:
            raise InputError(f"{where}: activation: expected one of {', '.join(ACTIVATIONS)}, got {name}")
        return ACTIVATIONS[name](self)

    def as_data(self, bits: int, form: RequantisationForm = "shift") -> dict[str, Any]:
        """Plain data: of the form that `shifted` takes, or with multiplier and shift of each scale.

        Raises ValueError for what the form does not have.
        """
        if form == "scaled":
            low, high = self.bounds(bits)
            return {
                "multiplier": [scale.multiplier for scale in self.scales],
                "shift": [scale.shift for scale in self.scales],
                "zero_in": self.zero_in,
                "zero_out": self.zero_out,
                "low": low,
                "high": high,
            }
        (scale,) = self.scales
        plain = Requantisation.shifted(
            scale.shift, relu=self.relu, ceiling=self.high, product_shift=self.product_shift
        )
        if plain != self:
            raise ValueError("requantisation: expected a shift, ReLU and a ceiling only")
        return {
            "shift": scale.shift,
            "relu": self.relu,
            "ceiling": self.bounds(bits)[1],
            "product_shift": self.product_shift,
        }


class GivenRequantisation(Value):
    """What a file says of a layer's requantisation; what it does not say (None) follows from the layer's shape.

    Members
    -------
    shift : bits that a sum is shifted right, with rounding; else `usual_shift`.
    relu : whether what is below zero becomes zero; else it does not, unless the row's activation says so.
    ceiling : the largest output; else the largest of its width.
    product_shift : see `Requantisation`; else `safe_product_shift` for 16-bit operands, 0 for others.
    """

    called = "requantisation"

    shift: Annotated[int, Field(strict=True, ge=0, le=31)] | None = None
    relu: StrictBool | None = None
    ceiling: Annotated[int, Field(strict=True, ge=0, lt=1 << 15)] | None = None
    product_shift: Annotated[int, Field(strict=True, ge=0, le=31)] | None = None

    @model_serializer(mode="wrap")
    def _said(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}

    @classmethod
    def of(cls, requantisation: "Requantisation", bits: int) -> Self:
        """All of a requantisation of outputs of ``bits`` bits; raises ValueError where files cannot say it."""
        return cls(**requantisation.as_data(bits))

    def activated(self, name: str | None) -> "GivenRequantisation":
        """This requantisation with an activation of `ACTIVATIONS` for what is not said; any other is left to what
        reads the outputs."""
        if name not in ACTIVATIONS:
            return self
        made = ACTIVATIONS[name](UNCHANGED)
        return self.model_copy(
            update={
                "relu": made.relu or None if self.relu is None else self.relu,
                "ceiling": made.high if self.ceiling is None else self.ceiling,
            }
        )

    def check(self, bits: int) -> None:
        """Raise ValueError unless outputs of ``bits`` bits reach the ceiling."""
        most = (1 << (bits - 1)) - 1
        if self.ceiling is not None and self.ceiling > most:
            raise ValueError(f"requantisation: ceiling: expected 0 to {most}, got {self.ceiling}")

    def complete(self, products: int, bits: int) -> Requantisation:
        """All of it, for outputs of ``bits`` bits that are sums of ``products`` products of operands as wide."""
        product_shift = self.product_shift
        if product_shift is None:
            product_shift = safe_product_shift(products, bits) if bits == 16 else 0
        shift = usual_shift(products, bits, product_shift) if self.shift is None else self.shift
        return Requantisation.shifted(shift, relu=bool(self.relu), ceiling=self.ceiling, product_shift=product_shift)


def usual_shift(products: int, bits: int, product_shift: int = 0) -> int:
    """The shift with which outputs spread as much as operands do, if operands are uniform over their range.

    Such an operand of ``bits`` bits has a standard deviation of ``d = 2 ** (bits - 1) / sqrt(3)``, the sum of n
    products one of ``d * d * sqrt(n)``: the shift is the logarithm of ``d * sqrt(n)``, rounded. Outputs then have
    about ``d``, too: some 92 % of them are not clipped, and a chain of layers neither saturates nor fades.
    """
    deviation = (1 << (bits - 1)) / sqrt(3) * sqrt(products) / (1 << product_shift)
    return max(0, min(round(log2(deviation)), 31))


def safe_product_shift(products: int, bits: int) -> int:
    """The least shift of single products with which no sum of ``products`` overflows; operands have ``bits`` bits."""
    shift = 0
    while products * (1 << (2 * bits - 2) >> shift) > (1 << 31) - 1:
        shift += 1
    return shift


UNCHANGED = Requantisation()
"""Sums become outputs as they are, clipped to the range of the output."""


def _rectified(requantisation: Requantisation) -> Requantisation:
    return replace(requantisation, low=requantisation.zero_out)


ACTIVATIONS: dict[str, Callable[[Requantisation], Requantisation]] = {
    "relu": _rectified,
    "relu6": _rectified,
    "leaky_relu": _rectified,
    "prelu": _rectified,
    "selu": _rectified,
}
"""What each activation of a network makes of its layer's requantisation. Every rectifier runs as ReLU."""
