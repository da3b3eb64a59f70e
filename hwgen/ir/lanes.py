"""The shape of a datapath: iterations of each loop dimension in one cycle, and how wide its ports are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, PlainSerializer

from hwgen.ir.document import written
from hwgen.ir.layer import DIMS, IMAGE, Dim

__all__ = [
    "LANE_DIMS",
    "NARROW_PORTS",
    "ONE_LANE",
    "OUTPUT_LANE_DIMS",
    "PORT_WIDTHS",
    "WIDE",
    "Lanes",
    "LanesField",
    "OneAlongC",
    "Ports",
    "PortsField",
]

LANE_DIMS: tuple[Dim, ...] = ("m", "c", "y", "x")
"""Dimensions along which the lanes of the generated datapath may lie. A schedule for the model alone may have lanes
along any dimension."""
OUTPUT_LANE_DIMS: tuple[Dim, ...] = ("m", "y", "x")
"""Those of them along which each lane has a sum of its own; the products of lanes along c are added."""

WIDE = 16
"""Bits of the operands that take two lanes for 8 bits each."""

PORT_WIDTHS = (32, 64, 128, 256, 512)
"""Widths in bits that a port to the shared memory may have."""

_HALVED_FIRST: tuple[Dim, ...] = ("x", "m", "y")


@dataclass(frozen=True, slots=True)
class Lanes:
    """Lanes along each loop dimension; one iteration of the datapath covers their product.

    Members
    -------
    m, c, y, x, k, l : iterations of the dimension that are done in one cycle, at least 1.
    """

    m: int = 1
    c: int = 1
    y: int = 1
    x: int = 1
    k: int = 1
    l: int = 1  # noqa: E741 - the dimension's name

    one_along_c: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for dim in DIMS:
            number = self.along(dim)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"{dim}: expected at least 1, got {written(number)}")

    def along(self, dim: str) -> int:
        """Lanes along one dimension; images of a batch are done one after the other."""
        if dim == IMAGE:
            return 1
        number: int = getattr(self, dim)
        return number

    @property
    def product(self) -> int:
        """Multiply-accumulates in one cycle."""
        product = 1
        for dim in DIMS:
            product *= self.along(dim)
        return product

    @property
    def sums(self) -> int:
        """Outputs that are accumulated in one cycle."""
        return self.m * self.y * self.x

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Dimensions with more than one lane."""
        return tuple(dim for dim in DIMS if self.along(dim) > 1)

    @property
    def lie_along_c(self) -> bool:
        """Whether the datapath has lanes along c, so that weights are in lines: there may be one left of them."""
        return self.c > 1 or self.one_along_c

    def vectors(self, dim: Dim, extent: int) -> int:
        """Cycles for ``extent`` iterations of a dimension: lane vectors, the last one perhaps partly idle."""
        return -(-extent // self.along(dim))

    def halved(self) -> "Lanes":
        """Half as many lanes, as operands of twice the width have them: along c, else along x, else along m, else
        along y."""
        if self.c > 1:
            return replace(self, c=self.c // 2) if self.c > 2 else self.with_one_along_c()
        dim = next((dim for dim in _HALVED_FIRST if self.along(dim) > 1), _HALVED_FIRST[-1])
        if self.along(dim) == 1:
            raise ValueError(f"lanes: expected more than one lane along {' or '.join(_HALVED_FIRST)} to halve")
        return replace(self, **{dim: self.along(dim) // 2})

    def doubled(self) -> "Lanes":
        """Twice as many lanes, along c where lanes lie along it, else along x; `halved` gives these again."""
        if self.lie_along_c:
            return Lanes(m=self.m, c=2 * self.c, y=self.y, x=self.x, k=self.k, l=self.l)
        return replace(self, x=2 * self.x)

    def with_one_along_c(self) -> "Lanes":
        """These lanes, the one along c what is left of two."""
        return OneAlongC(m=self.m, y=self.y, x=self.x, k=self.k, l=self.l)

    def outside(self, dims: Sequence[Dim] = LANE_DIMS) -> tuple[Dim, ...]:
        """Dimensions with more than one lane that are not among ``dims``."""
        return tuple(dim for dim in self.dims if dim not in dims)

    @classmethod
    def shapes(cls, number: int, dims: Sequence[Dim] = OUTPUT_LANE_DIMS) -> list["Lanes"]:
        """Every way to spread ``number`` lanes over some dimensions; most lanes along the last dimension first."""
        *others, last = dims
        if not others:
            return [cls(**{last: number})]
        divisors = (along for along in range(number, 0, -1) if number % along == 0)
        return [
            replace(shape, **{last: along}) for along in divisors for shape in cls.shapes(number // along, others)
        ]

    @classmethod
    def parse(cls, text: str) -> "Lanes":
        """The lanes of a text such as ``m8x2``; raises ValueError."""
        parts = re.findall(r"([a-z])([0-9]{1,3})", text)
        if text != "".join(dim + number for dim, number in parts) or len({dim for dim, _ in parts}) < len(parts):
            raise ValueError(f"expected lanes such as m8x2, got {written(text)}")
        return cls.from_data({dim: int(number) for dim, number in parts})

    def __str__(self) -> str:
        return "".join(f"{dim}{number}" for dim, number in self.as_data().items()) or "1"

    def as_data(self) -> dict[str, int]:
        """Plain data in the file format: the dimensions with more than one lane, and c if one is left along it."""
        return {dim: self.along(dim) for dim in DIMS if self.along(dim) > 1 or (dim == "c" and self.one_along_c)}

    @classmethod
    def from_data(cls, data: object) -> "Lanes":
        """The lanes of a mapping from dimensions to numbers, or lanes themselves; raises ValueError."""
        if isinstance(data, Lanes):
            return data
        if not isinstance(data, Mapping):
            raise ValueError(f"expected a mapping of dimensions to lanes, got {written(data)}")
        unknown = [key for key in data if key not in DIMS]
        if unknown:
            raise ValueError(f"{unknown[0]}: expected one of {' '.join(DIMS)}")
        return cls(**data)


@dataclass(frozen=True, slots=True)
class OneAlongC(Lanes):
    """Lanes for operands of 16 bits on a datapath that has two along c for those of 8 bits: one is left, and weights
    are in lines all the same. No other lanes are equal to these."""

    one_along_c: ClassVar[bool] = True


ONE_LANE = Lanes()
"""One iteration in a cycle: no lanes."""

LanesField = Annotated[Lanes, BeforeValidator(Lanes.from_data), PlainSerializer(Lanes.as_data)]
"""The type of a field of a file-backed value: read from plain data and written as such."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Widths of an HWC's ports to the shared memory.

    Members
    -------
    I, W, O : bits that one access moves: 32 to 512, a power of two.
    """

    I: int = PORT_WIDTHS[0]  # noqa: E741 - the operand's name
    W: int = PORT_WIDTHS[0]
    O: int = PORT_WIDTHS[0]  # noqa: E741

    def __post_init__(self) -> None:
        for port in ("I", "W", "O"):
            width = getattr(self, port)
            if isinstance(width, bool) or width not in PORT_WIDTHS:
                raise ValueError(f"{port}: expected {', '.join(map(str, PORT_WIDTHS))} bits, got {written(width)}")

    @property
    def each(self) -> tuple[int, int, int]:
        """Bits of the ports of I, W and O."""
        return self.I, self.W, self.O

    @property
    def input_bytes(self) -> int:
        """Bytes that one access of the input's port moves."""
        return self.I // 8

    @property
    def weight_bytes(self) -> int:
        """Bytes that one access of the weights' port moves: tiles or lines of weights begin at multiples of it."""
        return self.W // 8

    @property
    def output_bytes(self) -> int:
        """Bytes that one access of the output's port moves."""
        return self.O // 8

    @property
    def map_bytes(self) -> int:
        """Rows of feature maps begin at multiples of it: a layer reads what the one before wrote."""
        return max(self.input_bytes, self.output_bytes)

    @property
    def widest(self) -> int:
        """Bits of the widest of them."""
        return max(self.I, self.W, self.O)

    @property
    def narrow(self) -> bool:
        """Whether all have the width of a word."""
        return self == Ports()

    def as_data(self) -> dict[str, int]:
        """Plain data in the file format."""
        return {"I": self.I, "W": self.W, "O": self.O}

    def __str__(self) -> str:
        return f"{{I: {self.I}, W: {self.W}, O: {self.O}}}"

    @classmethod
    def from_data(cls, data: object) -> "Ports":
        """The ports of a mapping from operands to bits, or ports themselves; raises ValueError."""
        if isinstance(data, Ports):
            return data
        if not isinstance(data, Mapping):
            raise ValueError(f"expected a mapping of I, W, O to bits, got {written(data)}")
        unknown = [key for key in data if key not in ("I", "W", "O")]
        if unknown:
            raise ValueError(f"{unknown[0]}: expected I, W or O")
        return cls(**data)


NARROW_PORTS = Ports()
"""A word in each access."""

PortsField = Annotated[Ports, BeforeValidator(Ports.from_data), PlainSerializer(Ports.as_data)]
"""The type of a field of a file-backed value, as `LanesField`."""
