"""The text of a design as long simulations have it: equivalent to the Verilog that is exported, and faster."""

from cosim.simulator.rewriting.folded_registers import folded
from cosim.simulator.rewriting.following_registers import gated

__all__ = ["for_long_runs"]


def for_long_runs(verilog: str) -> str:
    """The text for a simulator that is optimised."""
    return gated(folded(verilog))
