"""The text of a design as long simulations have it: equivalent to the Verilog that is exported, and faster."""

from pathlib import Path

from cosim.simulator.rewriting.folded_registers import folded
from cosim.simulator.rewriting.following_registers import gated

__all__ = ["MODULES", "for_long_runs"]

MODULES = sorted(Path(__file__).parent.glob("*.py"))
"""Files that what is rewritten depends on."""


def for_long_runs(verilog: str) -> str:
    """The text for a simulator that is optimised."""
    return gated(folded(verilog))
