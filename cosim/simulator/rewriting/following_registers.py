"""Verilog for long simulations: what follows an address is decoded when the address changes.

A register bank decodes its address into a register for each address (``is_shift <= names_shift``) and into what it
answers to a wrong one, in every cycle, though there is an access in few. Such registers *follow*: their next value
depends on a few signals, and on no register of theirs. `gated` puts all of a module that follow one signal into one
clocked block, with the wires that nothing else reads, and has it run only if these signals are not what they were at
the edge before. If they are, the registers hold what they would be given again.

Only modules in which many registers follow one signal change; everything else stays as it is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["gated"]

MANY = 16
"""The least number of registers that follow one signal where a block of their own is made for them."""
FEW = 24
"""The largest number of signals that such a register follows."""

_NAME = r"(?:\\\S+ |[A-Za-z_$][\w$]*)"
_TOKEN = re.compile(r"\d*'s?[bhd][\da-fxz?]+|\$(?:un)?signed\b|(\\\S+ |[A-Za-z_$][\w$]*)")
_DECLARED = re.compile(rf"  (wire|reg|input|output) (\[(\d+):0\] )?({_NAME}) ?;")
_ASSIGN = re.compile(rf"  assign ({_NAME}) ?= (.+);")
_CLOCKED = "  always @(posedge clk) begin"
_GIVEN = re.compile(rf"    ({_NAME}) ?<= (.+);")
_RESET = re.compile(rf"    if \(({_NAME})\) begin\n      ({_NAME}) ?<= (\d+'[bhd][\da-f]+);\n    end")


@dataclass(frozen=True)
class _Register:
    """A register that is given a value in every cycle, and perhaps a constant by a reset."""

    name: str
    block: str
    reads: frozenset[str]


def gated(verilog: str) -> str:
    """The same design, its followers in blocks of their own; what is not in the form of `folded` stays as it is."""
    modules = re.split(r"(?m)^(?=module )", verilog)
    return "".join(_gated_module(module) for module in modules)


def _names(text: str) -> list[str]:
    return [match[1].strip() for match in _TOKEN.finditer(text) if match[1]]


def _gated_module(module: str) -> str:
    if module.count(_CLOCKED) < MANY:
        return module
    widths, wires = {}, set()
    for match in map(_DECLARED.fullmatch, module.split("\n")):
        if match:
            widths[match[4].strip()] = int(match[3] or 0) + 1
            wires |= {match[4].strip()} if match[1] == "wire" else set()
    values = {match[1].strip(): match[2] for match in map(_ASSIGN.fullmatch, module.split("\n")) if match}
    cones = _Cones({wire: _names(value) for wire, value in values.items() if wire in wires})
    found = [register for block in _blocks(module) if (register := _register(block, cones)) is not None]
    found = [register for register in found if register.reads <= widths.keys()]
    popular = Counter(name for register in found for name in register.reads if widths[name] > 1)
    if not popular or max(popular.values()) < MANY:
        return module
    address = max(popular, key=lambda name: (popular[name], name))
    followers = [register for register in found if address in register.reads and len(register.reads) <= FEW]
    followed = sorted({name for register in followers for name in register.reads})
    if len(followers) < MANY:
        return module
    return _with_block(module, followers, followed, cones, values, widths)


class _Cones:
    """The wires that assignments compute, and the signals that these come from."""

    def __init__(self, reads: Mapping[str, Sequence[str]]) -> None:
        self.reads = reads
        self._leaves: dict[str, frozenset[str]] = {}

    def leaves(self, name: str) -> frozenset[str]:
        """The signals that a wire depends on; of another signal, itself."""
        if name not in self.reads:
            return frozenset({name})
        if name not in self._leaves:
            self._leaves[name] = frozenset({name})  # a loop, if it is asked for again meanwhile
            self._leaves[name] = frozenset().union(*(self.leaves(read) for read in self.reads[name]))
        return self._leaves[name]

    def wires(self, names: Sequence[str]) -> list[str]:
        """The wires that these depend on, and themselves, each after those that it reads."""
        order: dict[str, None] = {}

        def visit(name: str) -> None:
            if name in self.reads and name not in order:
                for read in self.reads[name]:
                    visit(read)
                order[name] = None

        for name in names:
            visit(name)
        return list(order)


def _blocks(module: str) -> Iterator[str]:
    """The clocked blocks, without their first and last lines."""
    for match in re.finditer(rf"(?ms)^{re.escape(_CLOCKED)}\n(.*?)\n  end$", module):
        yield match[1]


def _register(block: str, cones: _Cones) -> _Register | None:
    """What a block gives a value to in every cycle, if it is one register that does not depend on itself."""
    first, _, rest = block.partition("\n")
    given = _GIVEN.fullmatch(first)
    reset = _RESET.fullmatch(rest) if rest else None
    if given is None or (rest and (reset is None or reset[2].strip() != given[1].strip())):
        return None
    reads = [*_names(given[2]), *([reset[1].strip()] if reset else [])]
    leaves = frozenset().union(*map(cones.leaves, reads))
    name = given[1].strip()
    return None if name in leaves else _Register(name, block, leaves)


def _with_block(
    module: str,
    followers: Sequence[_Register],
    followed: Sequence[str],
    cones: _Cones,
    values: Mapping[str, str],
    widths: Mapping[str, int],
) -> str:
    """The module with one block for all followers and the wires that only they need."""
    text = "\n".join(register.block for register in followers)
    uses, inside = Counter(_names(module)), Counter(_names(text))
    moved: list[str] = []
    for wire in reversed(cones.wires(_names(text))):  # what reads it comes first
        if uses[wire] == inside[wire] + 2:  # its declaration and its assignment
            moved.insert(0, wire)
            inside.update(_names(values[wire]))
    lines = [f"    {_spelt(wire)} = {values[wire]};" for wire in moved]
    for register in followers:
        module = module.replace(f"{_CLOCKED}\n{register.block}\n  end\n", "", 1)
    for wire in moved:
        module = module.replace(f"  assign {_spelt(wire)} = {values[wire]};\n", "", 1)
        module = re.sub(rf"(?m)^  wire ((?:\[\d+:0\] )?{re.escape(_spelt(wire))};)$", r"  reg \1", module, count=1)
    held = {name: f"\\$followed.{name.lstrip(chr(92))} " for name in followed}
    block = [
        *(f"  reg [{widths[name] - 1}:0] {register};" for name, register in held.items()),
        "  reg \\$follows  = 1'h0;",
        _CLOCKED,
        f"    if (! \\$follows  || {' || '.join(f'{_spelt(name)} != {held[name]}' for name in followed)}) begin",
        *(f"    {register} <= {_spelt(name)};" for name, register in held.items()),
        "    \\$follows  <= 1'h1;",
        *lines,
        text,
        "    end\n  end\nendmodule",
    ]
    return module.replace("endmodule", "\n".join(block))


def _spelt(name: str) -> str:
    """A name as Yosys writes it."""
    return f"\\{name[1:]} " if name.startswith("\\") else name
