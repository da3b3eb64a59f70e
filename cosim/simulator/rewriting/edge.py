"""Simulators for long runs: what happens at a clock edge as one function, values first.

Verilator's C++ for an edge first gives the registers their next values, and then computes, for the next edge, every
signal that depends on them. It stores each of these signals in the model and loads it again at the next edge, and it
computes all of them, those included that only a branch reads that is not taken. `rearrange` turns the order round:
the function begins with computing the signals, from registers that have not changed since the last edge, and then
gives the registers their next values. The signals are then local variables, which the compiler may keep in registers
of the processor, and what only a branch reads is computed there (see `branches`).

A signal moves if nothing outside the function knows of it (the test bench, another function), if what it depends on
is all there when the function begins, and if all that reads it comes after it then. Whatever is in another form than
Verilator's for a design with one clock stays as it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosim.simulator.rewriting.branches import Value, in_branches
from cosim.simulator.rewriting.statements import Statement, statements

__all__ = ["rearrange"]

_KIND = r"(?:[CSIQ]Data|VlWide<\d+>)/\*[^*\n]*\*/"
_FUNCTION = re.compile(r"(?m)^void (Vtop___024root___nba_\w+)\(Vtop___024root\* vlSelf\) \{\n")
_BODY = "    // Body\n"
_LOCAL = re.compile(rf"(?m)^    ({_KIND}) (\w+);\n(?:    \2 = 0;\n|    VL_ZERO_W\(\d+, \2\);\n)?")
_MEMBER = re.compile(rf"(?m)^ +({_KIND}) (\w+);$")
_EVALUATION = re.compile(r"(?ms)^void Vtop___024root___eval_nba\(.*?^    // Body\n(.*?)^\}")
_AT_THE_EDGE = re.compile(
    r"\s*if \(\(1ULL & vlSelfRef\.__VnbaTriggered\[0U\]\)\) \{\s*((?:Vtop___024root___nba_\w+\(vlSelf\);\s*)+)\}\s*"
)
_TRIGGER = re.compile(
    r"__VactTriggered\[0U\] = \(QData\)\(\(IData\)\(\s*\(\(IData\)\(vlSelfRef\.harness__DOT__clk\)\s*"
    r"& \(~ \(IData\)\(vlSelfRef\.__Vtrigprevexpr___TOP__harness__DOT__clk__0\){5};"
)
_CONSTANT = re.compile(r"(?m)^extern const .+ \w+;$")
_PUBLIC = re.compile(r"&\(TOP\.(\w+)\), \w+, \w+, (?:VLVD_NODIR\|)?(\w+)")


@dataclass
class _Function:
    """A function that runs at an edge: where its text is, its variables, what it consists of."""

    name: str
    start: int
    end: int
    head: str
    body: str


def rearrange(folder: Path) -> str | None:
    """Rewrite the model that Verilator wrote into a folder.

    The name of the function that does all that happens at a rising edge of the harness' clock; None if the model has
    another form, and stays as it is.
    """
    files = [file for file in sorted(folder.glob("Vtop___024root__*.cpp")) if "__Slow" not in file.name]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    functions = _functions(text)
    if functions is None:
        return None
    header = (folder / "Vtop___024root.h").read_text(encoding="utf-8")
    symbols = (folder / "Vtop__Syms__Slow.cpp").read_text(encoding="utf-8")
    public = dict(_PUBLIC.findall(symbols))
    if len(public) != symbols.count("varInsert("):
        return None
    rest = text
    for function in sorted(functions, key=lambda function: -function.start):
        rest = rest[: function.start] + rest[function.end :]
    elsewhere = set(re.findall(r"vlSelfRef\.(\w+)", rest)) | public.keys()
    driven = {name for name, access in public.items() if access == "VLVF_PUB_RW"}
    locals_, body = _one_body(functions)
    order = _Order(body, {name: kind for kind, name in _MEMBER.findall(header)}, locals_, elsewhere, driven)
    constants = "".join(f"    {line}\n" for line in sorted(set(_CONSTANT.findall(text))))
    for function in sorted(functions, key=lambda function: -function.start):
        fresh = constants + order.text(function.head) if function is functions[0] else ""
        text = f"{text[: function.start]}{fresh}{text[function.end :]}"
    for file in files:
        file.write_text(text if file == files[0] else "", encoding="utf-8")
    return functions[0].name


def _functions(text: str) -> list[_Function] | None:
    """The functions that run at an edge, in their order; None if there is more than one clock, or another form."""
    evaluation = _EVALUATION.search(text)
    called = _AT_THE_EDGE.fullmatch(evaluation[1]) if evaluation else None
    if called is None or len(_TRIGGER.findall(text)) != 1 or text.count("__VactTriggered[0U] = ") != 1:
        return None
    names = re.findall(r"(\w+)\(vlSelf\)", called[1])
    found = {}
    for match in _FUNCTION.finditer(text):
        end = text.find("\n}\n", match.end()) + 1
        body = text.find(_BODY, match.end(), end)
        if body < 0:
            return None
        body += len(_BODY)
        found[match[1]] = _Function(match[1], match.end(), end, text[match.end() : body], text[body:end])
    if set(found) != set(names) or len(names) != len(found):
        return None
    if any("(vlSelf)" in function.body or "\n#" in function.body for function in found.values()):
        return None
    return [found[name] for name in names]


def _one_body(functions: Sequence[_Function]) -> tuple[dict[str, str], list[Statement]]:
    """The local variables of all functions, with names that differ, and the statements one after the other."""
    found: dict[str, str] = {}
    body: list[Statement] = []
    for number, function in enumerate(functions):
        own = {name: kind for kind, name in _LOCAL.findall(function.head)}
        again = {name: f"{name}__{number}" for name in own if name in found}
        text = function.body
        if again:
            words = "|".join(map(re.escape, again))
            text = re.sub(rf"(?<![\w.])({words})(?!\w)", rf"\1__{number}", text)
        found |= {again.get(name, name): kind for name, kind in own.items()}
        body += statements(text)
    return found, body


class _Order:
    """Which statements compute signals that may be computed first, and the function with them in front.

    Parameters
    ----------
    body : the statements of all functions.
    members, locals_ : the kinds of variables.
    elsewhere : variables that something outside the functions knows.
    driven : variables that the test bench writes.
    """

    def __init__(
        self,
        body: Sequence[Statement],
        members: Mapping[str, str],
        locals_: Mapping[str, str],
        elsewhere: set[str],
        driven: set[str],
    ) -> None:
        self._body, self._members, self._locals = body, members, locals_
        self._kinds = {**members, **locals_}
        self._writers: dict[str, list[int]] = defaultdict(list)
        self._readers: dict[str, list[int]] = defaultdict(list)
        for number, statement in enumerate(body):
            for name in statement.writes:
                self._writers[name].append(number)
            for name in statement.reads:
                self._readers[name].append(number)
        units = _sharing_writes(body)
        self._unit = {number: place for place, numbers in enumerate(units) for number in numbers}
        self._units = units
        known = {place for place, numbers in enumerate(units) if self._computes(numbers, elsewhere, driven)}
        self._early: set[int] = set()
        for place in sorted(known, key=lambda place: units[place][0]):
            if self._reads_old(units[place]):
                self._early.add(place)
        self._late = known - self._early
        self._settle()

    def text(self, head: str) -> str:
        """The function."""
        moved = [
            *sorted((self._units[place] for place in self._late), key=lambda numbers: numbers[-1]),
            *sorted((self._units[place] for place in self._early), key=lambda numbers: numbers[-1]),
        ]
        first = {number for numbers in moved for number in numbers}
        values = [Value([self._body[number] for number in numbers]) for numbers in moved]
        rest = [statement for number, statement in enumerate(self._body) if number not in first]
        computed = {name for value in values for name in value.writes}
        body = in_branches(values, rest)
        outside = computed & self._members.keys()
        if outside:
            body = re.sub(rf"vlSelfRef\.({'|'.join(map(re.escape, sorted(outside)))})(?!\w)", r"\1", body)
        declared = [f"    {self._kinds[name]} {name};\n" for name in sorted(computed)]
        head = _LOCAL.sub("", head)
        for name, kind in self._locals.items():
            if name not in computed:
                declared.append(f"    {kind} {name}{{}};\n")
        return head.replace(_BODY, "".join(declared) + _BODY) + body

    def _computes(self, numbers: Sequence[int], elsewhere: set[str], driven: set[str]) -> bool:
        """Whether these statements, all that write some variables, compute these anew from others."""
        parts = [self._body[number] for number in numbers]
        writes = set().union(*(part.writes for part in parts))
        reads = set().union(*(part.reads for part in parts))
        if not all(part.node for part in parts) or writes & elsewhere or reads & driven:
            return False
        if not writes <= self._kinds.keys() or not all(self._is_fresh(name, numbers) for name in writes):
            return False
        last = numbers[-1]
        between = [r for name in writes for r in self._readers[name] if numbers[0] < r < last and r not in numbers]
        changed = [
            w
            for number in numbers
            for name in self._body[number].reads
            for w in self._writers[name]
            if number < w < last and w not in numbers
        ]
        return not between and not changed

    def _is_fresh(self, name: str, numbers: Sequence[int]) -> bool:
        """Whether these statements begin with giving the variable a value, as a whole or word by word."""
        wide = re.match(r"VlWide<(\d+)>", self._kinds[name])
        words: set[str] = set()
        for number in numbers:
            statement = self._body[number]
            if name in statement.fresh:
                return True
            if name in statement.reads:
                return False
            if name in statement.writes:
                word = re.fullmatch(rf"\s*(?:vlSelfRef\.)?{name}\[(\d+)U\]\s*=(?!=)[^;]*;", statement.text)
                if wide is None or word is None:
                    return False
                words.add(word[1])
                if len(words) == int(wide[1]):
                    return True
        return False

    def _reads_old(self, numbers: Sequence[int]) -> bool:
        """Whether all that these statements read is as it was when the function began, and is read afterwards."""
        readers = (r for n in numbers for name in self._body[n].writes for r in self._readers[name])
        return all(reader > numbers[-1] or reader in numbers for reader in readers) and all(
            writer > numbers[-1] or self._unit[writer] in self._early
            for number in numbers
            for name in self._body[number].reads
            for writer in self._writers[name]
            if writer not in numbers
        )

    def _settle(self) -> None:
        """Keep what may be computed first, and let what depends on something else stay."""
        settled = False
        while not settled:
            stays = {place for place in self._late if not self._may_be_late(self._units[place])}
            stays |= {place for place in self._early if not self._may_be_early(self._units[place])}
            self._late -= stays
            self._early -= stays
            settled = not stays

    def _neighbours(self, numbers: Sequence[int]) -> Iterator[tuple[str, int, bool]]:
        """Other statements that write what these read (True) or read what these write."""
        for number in numbers:
            for name in self._body[number].reads:
                yield from ((name, writer, True) for writer in self._writers[name] if writer not in numbers)
            for name in self._body[number].writes:
                yield from ((name, reader, False) for reader in self._readers[name] if reader not in numbers)

    def _may_be_late(self, numbers: Sequence[int]) -> bool:
        """Whether what these compute at the end of the function, for the next edge, may be computed at that edge."""
        for name, other, writes in self._neighbours(numbers):
            moved = self._unit[other] in self._late
            if writes and (other > numbers[0] or (name in self._locals and not moved)):
                return False
            if not writes and not (other > numbers[-1] if moved else other < numbers[0]):
                return False
        return True

    def _may_be_early(self, numbers: Sequence[int]) -> bool:
        """Whether what these compute within the function, from what was there, may be computed at its beginning."""
        for name, other, writes in self._neighbours(numbers):
            place = self._unit[other]
            if writes and not (other < numbers[0] if place in self._early else other > numbers[-1]):
                return False
            if writes and name in self._locals and place not in self._early | self._late:
                return False
            if not writes and (other < numbers[-1] or place in self._late):
                return False
        return True


def _sharing_writes(body: Sequence[Statement]) -> list[list[int]]:
    """The statements, those together that write the same variable; in the order of the first ones."""
    parent = list(range(len(body)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    first: dict[str, int] = {}
    for number, statement in enumerate(body):
        for name in statement.writes:
            one, other = sorted((root(first.setdefault(name, number)), root(number)))
            parent[other] = one
    together: dict[int, list[int]] = defaultdict(list)
    for number in range(len(body)):
        together[root(number)].append(number)
    return list(together.values())
