"""How a shift to the right rounds: a class for each way, found by its name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

__all__ = ["HALF_UP", "ROUNDINGS", "Rounding", "moved"]

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
