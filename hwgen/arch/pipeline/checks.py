"""Checks of parameters that the maps and stages of a pipeline share."""

from hwgen.arch.parameter_error import ParameterError

__all__ = ["check_divides", "check_equal", "check_range"]


def check_range(name: str, value: int, least: int, most: int) -> None:
    """Raise `ParameterError` unless ``value`` is from ``least`` to ``most``."""
    if not least <= value <= most:
        raise ParameterError(f"{name}: expected {least} to {most}, got {value}")


def check_divides(name: str, value: int, of: int) -> None:
    """Raise `ParameterError` unless ``value`` divides ``of``."""
    if value < 1 or of % value:
        raise ParameterError(f"{name}: expected a divisor of {of}, got {value}")


def check_equal(name: str, got: int, expected: int) -> None:
    """Raise `ParameterError` unless both are equal."""
    if got != expected:
        raise ParameterError(f"{name}: expected {expected}, got {got}")
