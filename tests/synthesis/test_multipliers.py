"""Registers in front of multipliers that become the multipliers' own."""

from copy import deepcopy
from typing import Any

from hwgen.synthesis.multipliers import with_input_registers

CLOCK = 1


def register(value: int, held: int, **other: Any) -> dict[str, Any]:
    """A flip-flop that takes a value."""
    return {
        "type": "TRELLIS_FF",
        "parameters": {"CEMUX": "1 ", **other.pop("parameters", {})},
        "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "Q": "output"},
        "connections": {"CLK": [CLOCK], "DI": [value], "LSR": ["0"], "Q": [held], **other},
    }


def multiplier(a: int, b: int, product: int) -> dict[str, Any]:
    """Of two numbers of two bits, the upper one of which stands for the sign."""
    operands = {f"{name}{i}": [bit] for name, bit in (("A", a), ("B", b)) for i in range(18)} | {"A17": ["0"]}
    return {
        "type": "MULT18X18D",
        "parameters": {},
        "port_directions": {**dict.fromkeys(operands, "input"), "P0": "output"},
        "connections": {**operands, "P0": [product]},
    }


def netlist() -> dict[str, Any]:
    """Two multipliers of one pixel, each with a weight of its own; behind them a register."""
    cells = {
        **{f"from_{bit}": register(bit, bit + 10) for bit in (2, 3, 4)},
        **{f"operand_{bit}": register(bit + 10, bit + 20) for bit in (2, 3, 4)},
        "first": multiplier(22, 23, 31),
        "second": multiplier(22, 24, 32),
        "product_0": register(31, 41),
        "product_1": register(32, 42),
    }
    ports = {"in": {"bits": [2, 3, 4], "direction": "input"}, "out": {"bits": [41, 42], "direction": "output"}}
    return {"modules": {"top": {"ports": ports, "cells": cells}}}


def cells_with_registers(given: dict[str, Any]) -> dict[str, Any]:
    before = deepcopy(given)
    cells: dict[str, Any] = with_input_registers(given, "top")["modules"]["top"]["cells"]
    assert given == before
    return cells


def test_multipliers_hold_their_operands() -> None:
    cells = cells_with_registers(netlist())
    assert sorted(cells) == ["first", "from_2", "from_3", "from_4", "product_0", "product_1", "second"]
    for name, a, b in (("first", 12, 13), ("second", 12, 14)):
        one = cells[name]
        assert {tuple(one["connections"][f"A{i}"]) for i in range(17)} == {(a,)}
        assert one["connections"]["A17"] == ["0"]
        assert {tuple(one["connections"][f"B{i}"]) for i in range(18)} == {(b,)}
        assert one["connections"]["CLK0"] == [CLOCK]
        assert (one["connections"]["CE0"], one["connections"]["RST0"]) == (["1"], ["0"])
        assert one["port_directions"]["CLK0"] == "input"
        assert one["parameters"]["REG_INPUTA_CLK"] == one["parameters"]["REG_INPUTB_CLK"] == "CLK0"


def test_a_register_that_something_else_reads_stays() -> None:
    given = netlist()
    given["modules"]["top"]["ports"]["out"]["bits"].append(22)
    assert "operand_2" in cells_with_registers(given)


def test_registers_with_an_enable_or_a_reset_or_behind_a_memory_stay_outside() -> None:
    for change in ({"parameters": {"CEMUX": "CE"}}, {"LSR": [9]}, {"CLK": [8]}):
        given = netlist()
        given["modules"]["top"]["cells"]["operand_3"] = register(13, 23, **change)
        cells = cells_with_registers(given)
        assert cells["first"]["parameters"] == {}
        assert cells["second"]["parameters"]
        assert {"operand_2", "operand_3"} <= set(cells)
    given = netlist()
    given["modules"]["top"]["cells"]["from_2"]["type"] = "TRELLIS_DPR16X4"
    assert cells_with_registers(given) == given["modules"]["top"]["cells"]


def test_registers_behind_what_chooses_among_memories_stay_outside_too() -> None:
    for kind, moves in (("TRELLIS_DPR16X4", False), ("TRELLIS_FF", True)):
        given = netlist()
        cells = given["modules"]["top"]["cells"]
        cells["from_2"]["type"] = kind
        cells["from_2"]["connections"]["Q"] = [50]
        for name, source, found in (("chosen", 50, 51), ("chosen_of_two", 51, 12)):
            cells[name] = {
                "type": "LUT4",
                "parameters": {},
                "port_directions": {"A": "input", "B": "input", "Z": "output"},
                "connections": {"A": [source], "B": [9], "Z": [found]},
            }
        assert ("operand_2" not in cells_with_registers(given)) == moves
