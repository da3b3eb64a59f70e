"""Liberty files of standard-cell libraries: cells with area, leakage and delays, and memory macros with their size.

What is read is what area, leakage and a delay of logic need; everything else of a file is passed over. Areas are in
um2, as libraries have them; delays are in nanoseconds, leakage in milliwatts.

A cell's delay is taken at one point of its tables: it drives `FAN_OUT` times the capacitance of its own input, and
the transition at its input is that of such an inverter. So the delay of a path is that of its logic, each cell as
strong as its load wants it, without wires.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hwgen.ir.document import InputError

__all__ = ["FAN_OUT", "Cell", "Library", "Macro", "read_library"]

FAN_OUT = 4
"""The load of a cell in inputs like its own."""
SETTLED = 8
"""Steps after which the transition at an inverter's input no longer changes."""
STATEMENT = re.compile(r'([\w\-]+)\s*(?:\(([^)]*)\)\s*(\{|;?)|:\s*("[^"]*"|[^;{}\n]+?)\s*(?:;|\n|(?=\})))|\}')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
UNITS = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0}
PASSED_OVER = frozenset({"internal_power", "operating_conditions", "wire_load", "pg_pin"})
"""Groups of many values that nothing here asks for."""


@dataclass
class Group:
    """A group of a Liberty file: ``name (given) { ... }``."""

    name: str
    given: str
    values: dict[str, str] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def all(self, *names: str) -> Iterator["Group"]:
        """Its groups with one of these names."""
        return (one for one in self.groups if one.name in names)

    def number(self, name: str) -> float | None:
        """A value as a number; None where it is none."""
        try:
            return float(self.values[name])
        except (KeyError, ValueError):
            return None


@dataclass(frozen=True)
class Table:
    """A table of values over up to two quantities, the first of which may be the transition, or the load."""

    first: tuple[float, ...]
    second: tuple[float, ...]
    values: tuple[float, ...]
    load_first: bool = False

    def at(self, transition: float, load: float) -> float:
        """The value there, between its neighbours; beyond the table that of its edge."""
        one, two = (load, transition) if self.load_first else (transition, load)
        below, above, part = _place(self.first, one)
        left, right, beside = _place(self.second, two)
        width = max(1, len(self.second))

        def row(number: int) -> float:
            begin = number * width
            return (1 - beside) * self.values[begin + left] + beside * self.values[begin + right]

        return (1 - part) * row(below) + part * row(above)


@dataclass(frozen=True)
class Arc:
    """A path through a cell: from a pin to one, and its tables."""

    start: str
    end: str
    delays: tuple[Table, ...]
    transitions: tuple[Table, ...]


@dataclass(frozen=True)
class Cell:
    """A standard cell.

    Members
    -------
    area : um2.
    leakage : mW.
    flip_flop : whether it is one.
    inputs : capacitance of each input pin.
    arcs : from an input to an output; of a flip-flop from its clock.
    setups : tables of the time that data has to be there before the clock, by pin.
    """

    name: str
    area: float
    leakage: float
    flip_flop: bool
    inputs: Mapping[str, float]
    arcs: tuple[Arc, ...]
    setups: Mapping[str, tuple[Table, ...]]


@dataclass(frozen=True)
class Macro:
    """A memory macro: its words and their bits; um2."""

    name: str
    words: int
    bits: int
    area: float


@dataclass(frozen=True)
class Library:
    """A library.

    Members
    -------
    name : as the file has it.
    text : of the file.
    voltage, temperature : of the corner, in V and degrees Celsius; None where the file does not say.
    cells, macros : by name.
    ns : nanoseconds of its unit of time.
    """

    name: str
    text: str
    voltage: float | None
    temperature: float | None
    cells: Mapping[str, Cell]
    macros: Mapping[str, Macro]
    ns: float

    @property
    def corner(self) -> str:
        """The corner in words."""
        given = [f"{value:g} {unit}" for value, unit in ((self.voltage, "V"), (self.temperature, "C"))
                 if value is not None]  # fmt: skip
        return ", ".join([self.name, *given])

    @cached_property
    def transition(self) -> float | None:
        """The transition at the output of an inverter that drives inverters; None where no inverter has tables."""
        logic = [one for one in self.cells.values() if not one.flip_flop and one.arcs]
        inverters = [one for one in logic if len(one.inputs) == 1 and one.arcs[0].transitions]
        if not inverters:
            return None
        arc, inputs = min(((one.arcs[0], one.inputs, one.area) for one in inverters), key=lambda one: one[2])[:2]
        found, load = 0.0, FAN_OUT * inputs[arc.start]
        for _ in range(SETTLED):
            found = max(table.at(found, load) for table in arc.transitions)
        return found

    @cached_property
    def delays(self) -> Mapping[str, Mapping[tuple[str, str], float]]:
        """Nanoseconds through each cell, by its two pins; of a flip-flop from its clock. None without inverters."""
        slope = self.transition
        if slope is None:
            return {}
        found: dict[str, dict[tuple[str, str], float]] = {}
        for cell in self.cells.values():
            data = [cell.inputs[pin] for pin in cell.setups if pin in cell.inputs]
            for arc in cell.arcs:
                own = max(data, default=0.0) if cell.flip_flop else cell.inputs.get(arc.start, 0.0)
                worst = max(table.at(slope, FAN_OUT * own) for table in arc.delays)
                paths = found.setdefault(cell.name, {})
                paths[arc.start, arc.end] = max(self.ns * worst, paths.get((arc.start, arc.end), 0.0))
        return found

    def setup(self, cell: Cell, pin: str) -> float:
        """Nanoseconds that data has to be at a pin before the clock."""
        slope = self.transition or 0.0
        return self.ns * max((table.at(slope, slope) for table in cell.setups.get(pin, ())), default=0.0)


def read_library(path: Path) -> Library:
    """The library in a Liberty file; raises `InputError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: expected a Liberty file: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected a Liberty file (text), got other bytes") from None
    top = _parsed(COMMENT.sub(" ", text).replace("\\\n", " "))
    if top is None:
        raise InputError(f"{path}: expected a Liberty file, which begins with library (NAME) {{")
    templates = {one.given: one for one in top.all("lu_table_template")}
    leak = _unit(top.values.get("leakage_power_unit", "1nW"), "W") * 1e3
    cells: dict[str, Cell] = {}
    macros: dict[str, Macro] = {}
    for one in top.all("cell"):
        area = one.number("area")
        if area is None:
            raise InputError(f"{path}: cell {one.given}: expected an area")
        memory = next(one.all("memory"), None)
        if memory is not None:
            words, bits = memory.number("address_width"), memory.number("word_width")
            if words is None or bits is None:
                raise InputError(f"{path}: cell {one.given}: memory: expected address_width and word_width")
            macros[one.given] = Macro(one.given, 1 << int(words), int(bits), area)
            continue
        cells[one.given] = _cell(one, area, leak, templates)
    if not cells and not macros:
        raise InputError(f"{path}: expected a library with cells")
    ns = _unit(top.values.get("time_unit", "1ns"), "s") * 1e9
    return Library(top.given, text, top.number("nom_voltage"), top.number("nom_temperature"), cells, macros, ns)


def _cell(one: Group, area: float, leak: float, templates: Mapping[str, Group]) -> Cell:
    inputs: dict[str, float] = {}
    arcs: list[Arc] = []
    setups: dict[str, tuple[Table, ...]] = {}
    for pin in one.all("pin"):
        name = pin.given
        if pin.values.get("direction") == "input":
            inputs[name] = pin.number("capacitance") or 0.0
        for timing in pin.all("timing"):
            kind, start = timing.values.get("timing_type", "combinational"), timing.values.get("related_pin", "")
            if kind in ("setup_rising", "setup_falling"):
                setups[name] = setups.get(name, ()) + _tables(timing, templates, "rise_constraint", "fall_constraint")
            elif kind in ("combinational", "rising_edge", "falling_edge"):
                delays = _tables(timing, templates, "cell_rise", "cell_fall")
                if delays:
                    slopes = _tables(timing, templates, "rise_transition", "fall_transition")
                    arcs += [Arc(each, name, delays, slopes) for each in start.split()]
    flip_flop = any(one.all("ff", "ff_bank", "statetable", "latch"))
    leakage = leak * (one.number("cell_leakage_power") or 0.0)
    return Cell(one.given, area, leakage, flip_flop, inputs, tuple(arcs), setups)


def _tables(timing: Group, templates: Mapping[str, Group], *names: str) -> tuple[Table, ...]:
    found = []
    for one in timing.all(*names):
        template = templates.get(one.given)
        axes = [one.values.get(name) or (template.values.get(name, "") if template else "")
                for name in ("index_1", "index_2")]  # fmt: skip
        values = _numbers(one.values.get("values", ""))
        first, second = map(_numbers, axes)
        if len(values) == max(1, len(first)) * max(1, len(second)):
            load_first = template is not None and "capacitance" in template.values.get("variable_1", "")
            found.append(Table(first, second, values, load_first))
    return tuple(found)


def _parsed(text: str) -> Group | None:
    """The group ``library``; None where there is none."""
    inside = [Group("", "")]
    skipped = 0
    for match in STATEMENT.finditer(text):
        name, given, opens, value = match.groups()
        if name is None:
            if skipped:
                skipped -= 1
            elif len(inside) > 1:
                inside.pop()
        elif opens == "{":
            if skipped or name in PASSED_OVER:
                skipped += 1
                continue
            one = Group(name, given.strip().strip('"'))
            inside[-1].groups.append(one)
            inside.append(one)
        elif not skipped:
            inside[-1].values[name] = (given if value is None else value).strip().strip('"')
    return next(inside[0].all("library"), None) if len(inside) == 1 else None


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in re.split(r'[\s,"]+', text) if part)
    except ValueError:
        return ()


def _unit(text: str, base: str) -> float:
    match = re.fullmatch(rf"([0-9.]+)\s*([fpnum]?){base}", text.strip())
    return float(match[1]) * UNITS[match[2]] if match else 1e-9


def _place(axis: Sequence[float], value: float) -> tuple[int, int, float]:
    """Two neighbours on an axis, and the part of the way from the first to the second."""
    if len(axis) < 2 or value <= axis[0]:
        return 0, 0, 0.0
    for number in range(1, len(axis)):
        if value <= axis[number]:
            low, high = axis[number - 1], axis[number]
            return number - 1, number, (value - low) / (high - low)
    return len(axis) - 1, len(axis) - 1, 0.0
