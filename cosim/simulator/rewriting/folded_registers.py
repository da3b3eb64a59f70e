"""Verilog for long simulations: registers are written where their next value is decided.

The Verilog that is exported has two blocks for a register: ``always @*`` computes its next value, which begins with
what it holds, and ``always @(posedge clk)`` stores that. A simulator then copies every register twice in every cycle,
whether it changes or not. `folded` makes one clocked block of the two, whose branches assign the register itself. The
values after every edge are the same: of several assignments to a bit the last one counts, blocking or not, and no
expression in the block reads the next value.

Registers of a bank are written if it accepts an access and the address is theirs: one wire for each that is the ``&``
of both. They get one block together, which asks once whether there is an access: mostly there is none.

A bit that is repeated (``Value.replicate``) has a wire for each copy, which a simulator makes one by one: here it is
``{18{wire}}`` instead.

Only pairs of exactly this form are folded, in the text as Yosys writes it; everything else stays as it is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

__all__ = ["folded"]

_NAME = r"(?:\\\S+ |[A-Za-z_$][\w$]*)"
_NAMES = re.compile(_NAME)
_STORE = re.compile(rf"    ({_NAME}) ?<= ({_NAME}) ?;")
_ASSIGNMENT = re.compile(rf"( +)({_NAME}) ?((?:\[[\d:]+\])?) ?= (.+;)")
_BRANCH = re.compile(
    r" +(if \(.*\) begin|end|end else if \(.*\) begin|end else begin|casez \(.*\)|endcase|begin|"
    r"\d+'[bh][\da-fxz?]+:|default:|/\* empty \*/;|)"
)
"""A line of a block that assigns nothing."""
_BOTH = re.compile(rf"(?m)^  assign ({_NAME}) ?= ({_NAME}) ?& ({_NAME}) ?;$")
_IF = re.compile(rf"    if \(({_NAME})\) begin")
_WIRE = re.compile(r"(?m)^  wire (_\d+_);$")
_COPY = re.compile(r"(?m)^  assign (_\d+_) = (~ [^ ;]+|[^ ;]+);$")
_JOINED = re.compile(r"\{ ([^{}]*) \}")
_TRIGGER = re.compile(r"    if \(\\\$auto\$verilog_backend\S+ \) begin end")
"""The line by which Yosys makes an ``always @*`` run when a simulation begins."""
_COMPUTE, _CLOCKED, _END = "  always @* begin", "  always @(posedge clk)", "  end"


def folded(verilog: str) -> str:
    """The same design, its registers written in place. Verilog in another form than Yosys' comes back as it is."""
    modules = re.split(r"(?m)^(?=module )", verilog)
    return "".join(_repeated(_folded_module(module)) for module in modules)


def _repeated(module: str) -> str:
    """The module with ``{ a, b, c }`` as ``{ {3{a}} }`` where its wires of one bit have the same value."""
    bits = set(_WIRE.findall(module))
    value = {wire: text for wire, text in _COPY.findall(module) if wire in bits}

    def joined(match: re.Match[str]) -> str:
        runs = [[*run] for _, run in groupby(match[1].split(", "), lambda part: value.get(part, part))]
        parts = (
            f"{{{len(run)}{{{run[0]}}}}}" if len(run) > 2 and run[0] in value else ", ".join(run) for run in runs
        )
        return f"{{ {', '.join(parts)} }}"

    return _JOINED.sub(joined, module)


def _folded_module(module: str) -> str:
    lines: list[str | None] = [*module.split("\n")]
    uses = Counter(name.strip() for name in _NAMES.findall(module))
    stores = _stores(lines)
    written: list[list[str]] = []
    at = 0
    while at < len(lines):
        if lines[at] != _COMPUTE:
            at += 1
            continue
        end = lines.index(_END, at)
        body = [line for line in lines[at + 1 : end] if line is not None]
        found = _next_value(body)
        if found is not None:
            name, assignments = found
            # Declared, assigned here, and read where it is stored: nothing else may know of it.
            if name in stores and uses[name] == assignments + 2:
                store, register = stores[name]
                written.append(_in_place(body, register))
                lines[at : end + 1] = [None] * (end + 1 - at)
                lines[store : store + 2] = [None, None]
        at = end + 1
    rest = "\n".join(line for line in lines if line is not None)
    return rest.replace("endmodule", "".join([*_blocks(written, _conjunctions(module)), "endmodule"]))


def _conjunctions(module: str) -> dict[str, tuple[str, str]]:
    """The two wires of each wire that is set if both are."""
    return {match[1].strip(): (match[2], match[3]) for match in _BOTH.finditer(module)}


def _blocks(written: Sequence[list[str]], both: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Clocked blocks of what is written to each register, those of a bank in one."""
    banks: dict[str, tuple[list[str], list[str]]] = {}
    for lines in written:
        match = _IF.fullmatch(lines[0]) if lines else None
        if match is None or match[1].strip() not in both or "    end" not in lines:
            yield _clocked(lines)
            continue
        accepted, addressed = both[match[1].strip()]
        end = lines.index("    end") + 1
        if any(line.startswith("    end else") for line in lines[:end]):
            yield _clocked(lines)
            continue
        writes, others = banks.setdefault(accepted, ([], []))
        writes += [f"    if ({addressed}) begin", *lines[1:end]]
        others += lines[end:]
    for accepted, (writes, others) in banks.items():
        yield _clocked([f"    if ({accepted}) begin", *writes, "    end", *others])


def _clocked(lines: Sequence[str]) -> str:
    return "\n".join(["  always @(posedge clk) begin", *lines, "  end\n"])


def _stores(lines: Sequence[str | None]) -> dict[str, tuple[int, str]]:
    """Stores by next value: the line from which on it is stored in a register, and the register."""
    stores: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines[:-1]):
        if line == _CLOCKED and (match := _STORE.fullmatch(lines[number + 1] or "")):
            stores[match[2].strip()] = number, match[1]
    return stores


def _next_value(body: Sequence[str]) -> tuple[str, int] | None:
    """What a block computes, and in how many assignments; None unless it is one, assigned whole at first."""
    assignments: list[re.Match[str]] = []
    for line in body:
        if match := _ASSIGNMENT.fullmatch(line):
            assignments.append(match)
        elif not _TRIGGER.fullmatch(line) and not _BRANCH.fullmatch(line):
            return None
    first = next((line for line in body if not _TRIGGER.fullmatch(line)), "")
    if not assignments or first != assignments[0].string or assignments[0][3]:
        return None
    name, *others = {match[2].strip() for match in assignments}
    return None if others else (name, len(assignments))


def _in_place(body: Sequence[str], register: str) -> list[str]:
    """The block's lines with the register assigned. That it first keeps what it holds goes without saying."""
    lines = []
    first = True
    for line in body:
        match = _ASSIGNMENT.fullmatch(line)
        if match is None:
            if not _TRIGGER.fullmatch(line):
                lines.append(line)
            continue
        if not first or match[4].rstrip(" ;") != register.strip():
            part = f" {match[3]}" if match[3] else ""
            lines.append(f"{match[1]}{register}{part} <= {match[4]}")
        first = False
    return lines
