"""Registers before the multipliers of an ECP5, which have registers of their own that Yosys leaves unused."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

__all__ = ["with_input_registers"]

OPERANDS, BITS = "AB", 18
MULTIPLIER, FLIP_FLOP, LUT_RAM = "MULT18X18D", "TRELLIS_FF", "TRELLIS_DPR16X4"
LOGIC = ("LUT4", "PFUMX", "L6MUX21")
PARAMETERS = {
    **{f"REG_INPUT{operand}_{pin}": f"{pin}0" for operand in OPERANDS for pin in ("CLK", "CE", "RST")},
    "CLK0_DIV": "ENABLED", "RESETMODE": "SYNC", "GSR": "DISABLED",
}  # fmt: skip


def with_input_registers(netlist: Mapping[str, Any], top: str) -> dict[str, Any]:
    """An ECP5 netlist of Yosys in which multipliers hold their operands, wherever registers do.

    Inside of a multiplier they have no way to it at all, and each multiplier has its own. They must have neither
    enable nor reset, and both operands must have them. What a memory in LUTs answers is held beside the memory, also
    where one of several answers is chosen: that has no time for the way to a multiplier. Registers that nothing else
    reads are taken away.
    """
    result = deepcopy(dict(netlist))
    cells: dict[str, Any] = result["modules"][top]["cells"]
    driver = {
        bit: cell
        for cell in cells.values()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
        for bit in bits
    }
    for cell in cells.values():
        if cell["type"] != MULTIPLIER:
            continue
        found = {f"{operand}{i}": driver.get(cell["connections"][f"{operand}{i}"][0]) for operand in OPERANDS
                 for i in range(BITS)}  # fmt: skip
        registers = [one for pin, one in found.items() if cell["connections"][pin] != ["0"]]
        if not registers or not all(_may_move(one, driver) for one in registers):
            continue
        clocks = {one["connections"]["CLK"][0] for one in registers if one is not None}
        if len(clocks) != 1:
            continue
        cell["connections"] |= {pin: one["connections"]["DI"] for pin, one in found.items() if one is not None}
        cell["connections"] |= {"CLK0": list(clocks), "CE0": ["1"], "RST0": ["0"]}
        cell["port_directions"] |= dict.fromkeys(("CLK0", "CE0", "RST0"), "input")
        cell["parameters"] = {**cell["parameters"], **PARAMETERS}
    _remove_unread(result["modules"][top])
    return result


def _may_move(cell: Mapping[str, Any] | None, driver: Mapping[Any, Mapping[str, Any]]) -> bool:
    """Whether a cell is a register without enable and reset, and not after a memory in LUTs."""
    if cell is None or cell["type"] != FLIP_FLOP or "DI" not in cell["connections"]:
        return False
    before = cell["connections"]["DI"][0]
    always = cell["parameters"]["CEMUX"].strip() == "1" and cell["connections"].get("LSR", ["0"]) == ["0"]
    return always and before in driver and not _after_memory(before, driver)


def _after_memory(bit: Any, driver: Mapping[Any, Mapping[str, Any]]) -> bool:
    """Whether a bit comes from a memory in LUTs, through LUTs alone."""
    bits, seen = [bit], {bit}
    while bits:
        cell = driver.get(bits.pop())
        if cell is None or cell["type"] not in (LUT_RAM, *LOGIC):
            continue
        if cell["type"] == LUT_RAM:
            return True
        inputs = {
            one
            for port, ones in cell["connections"].items()
            if cell["port_directions"][port] == "input"
            for one in ones
        }
        bits += inputs - seen
        seen |= inputs
    return False


def _remove_unread(module: Mapping[str, Any]) -> None:
    """Take away the registers that nothing reads."""
    cells = module["cells"]
    read = {bit for port in module["ports"].values() for bit in port["bits"]}
    for cell in cells.values():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "output":
                read.update(bits)
    for name in [name for name, cell in cells.items() if cell["type"] == FLIP_FLOP]:
        if cells[name]["connections"]["Q"][0] not in read:
            del cells[name]
