"""Names of what is built in, for the shell's completion; where none begins so, the shell completes files."""

from hwgen.ir.builtin import builtin_names

__all__ = ["hardware_names", "hierarchy_names", "set_names"]


def set_names(incomplete: str) -> list[str]:
    """Built-in layer sets that begin so."""
    return [name for name in builtin_names("layersets") if name.startswith(incomplete)]


def hardware_names(incomplete: str) -> list[str]:
    """Built-in hardware that begins so."""
    return [name for name in builtin_names("hardware") if name.startswith(incomplete)]


def hierarchy_names(incomplete: str) -> list[str]:
    """Built-in hierarchies that begin so."""
    return [name for name in builtin_names("hierarchies") if name.startswith(incomplete)]
