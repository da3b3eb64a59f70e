"""Registers around a design, so that paths from and to its ports end somewhere and can be timed."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

__all__ = ["INPUTS", "OUTPUTS", "surrounded"]

INPUTS, OUTPUTS = "clk_of_inputs", "clk_of_outputs"
"""Clocks of the registers before the inputs and after the outputs. They are clocks of their own, so that these
paths are told apart, and do not count for the clock of the design."""
PARAMETERS = {
    "CEMUX": "1 ", "CLKMUX": "CLK", "GSR": "DISABLED", "LSRMUX": "LSR", "REGSET": "RESET", "SRMODE": "LSR_OVER_CE",
}  # fmt: skip


def surrounded(netlist: Mapping[str, Any], top: str) -> dict[str, Any]:
    """An ECP5 netlist of Yosys with a register at every bit of a port but ``clk`` and ``rst``.

    The registers take the place of the ports; they are named ``outside.`` and the port.
    """
    result = deepcopy(dict(netlist))
    module = result["modules"][top]
    used = (bit for net in module["netnames"].values() for bit in net["bits"])
    fresh = max((bit for bit in used if isinstance(bit, int)), default=1) + 1
    clocks = {"input": (INPUTS, fresh), "output": (OUTPUTS, fresh + 1)}
    fresh += 2
    for name in [name for name in module["ports"] if name not in ("clk", "rst")]:
        port = module["ports"].pop(name)
        for i, bit in enumerate(port["bits"]):
            if isinstance(bit, str):  # a constant
                continue
            ends = {"DI": ["0"], "Q": [bit]} if port["direction"] == "input" else {"DI": [bit], "Q": [fresh]}
            fresh += port["direction"] != "input"
            module["cells"][f"outside.{name}_TRELLIS_FF_Q_{i}"] = {
                "hide_name": 0,
                "type": "TRELLIS_FF",
                "parameters": PARAMETERS,
                "attributes": {},
                "port_directions": {"CLK": "input", "DI": "input", "Q": "output"},
                "connections": {"CLK": [clocks[port["direction"]][1]], **ends},
            }
    for name, bit in clocks.values():
        module["ports"][name] = {"direction": "input", "bits": [bit]}
        module["netnames"][name] = {"hide_name": 0, "bits": [bit], "attributes": {}}
    return result
