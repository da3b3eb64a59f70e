"""The error of parameters that no hardware is built for."""

__all__ = ["ParameterError"]


class ParameterError(ValueError):
    """A combination of parameters that cannot be built; the text says which and why."""
