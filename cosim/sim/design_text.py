"""The text of a design as long simulations have it: equivalent to the Verilog that is exported, and faster."""

from pathlib import Path

import cosim.sim.folded_registers
import cosim.sim.following_registers
from cosim.sim.folded_registers import folded
from cosim.sim.following_registers import gated

__all__ = ["MODULES", "for_long_runs"]

MODULES = [
    Path(__file__),
    *(Path(str(part.__file__)) for part in (cosim.sim.folded_registers, cosim.sim.following_registers)),
]
"""Files that this text depends on."""


def for_long_runs(verilog: str) -> str:
    """The text for a simulator that is optimised."""
    return gated(folded(verilog))
