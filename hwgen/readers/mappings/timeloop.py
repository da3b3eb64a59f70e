"""Mappings of Timeloop: ``map.txt`` of its mapper, and the YAML list of factors and permutations."""

import re
from collections.abc import Mapping
from math import isqrt
from typing import Any

from hwgen.ir.document import InputError, parse_yaml, written
from hwgen.ir.layer import IMAGE
from hwgen.ir.schedule import ARRAYS, ArrayName
from hwgen.readers.mappings.mapping import ForeignMapping, Memory, depth_of, extents_of, steps_of

__all__ = ["Timeloop"]

DIMS = {"N": IMAGE, "M": "m", "K": "m", "C": "c", "P": "x", "Q": "y", "R": "l", "S": "k"}
"""Loops of Timeloop's convolution: P and Q are columns and rows of the output, R and S those of the kernel."""
BYTES_OF_A_SUM = "B"
"""A loop over the bytes of a sum, which only outputs have, in the innermost memory: a sum is one element here."""
OPERANDS: dict[str, ArrayName] = {"Weights": "W", "Inputs": "I", "Outputs": "O"}
BLOCK = re.compile(r"(\w+) \[ ((?:\w+:[0-9]+ \([0-9.]+\) ?)*)\]")
LOOP = re.compile(r"for (\w+) in \[0:([0-9]+)(,[0-9]+)?\)( \(Spatial-[XY]\))?")
MOST_STRIDE = 8


class Timeloop:
    """The reader. Padding is not in these files; the stride is found from the number of inputs, or by ``--layer``."""

    name = "timeloop"

    def read(self, text: str, data: Any, words: Mapping[str, int], where: str) -> ForeignMapping:
        """The mapping of a file; ``data`` : the file as JSON, None where it is none."""
        if BLOCK.search(text):
            return self._printed(text, where)
        return self._listed(parse_yaml(text, where), where)

    def _printed(self, text: str, where: str) -> ForeignMapping:
        memories: list[Memory] = []
        outside: dict[str, int] = {}
        factors: list[tuple[str, int]] = []
        lanes: dict[str, int] = {}
        elements: dict[str, int] = {}
        for token in re.finditer(rf"{BLOCK.pattern}|{LOOP.pattern}", text):
            if token[1]:
                held = dict(re.findall(r"(\w+):([0-9]+)", token[2]))
                unknown = next((name for name in held if name not in OPERANDS), None)
                if unknown:
                    raise InputError(f"{where}: {token[1]}: {unknown}: expected {', '.join(OPERANDS)}")
                if not memories:
                    elements = {name: int(number) for name, number in held.items()}
                memories.append(Memory(token[1], None, frozenset(OPERANDS[name] for name in held)))
                outside[token[1]] = len(factors)
                continue
            name, bound = token[3], int(token[4])
            if token[5]:
                raise InputError(f"{where}: {name}: expected loops that divide evenly, got [0:{bound}{token[5]})")
            _take(name, bound, factors, lanes if token[6] else None, where)
        found = _mapping(self.name, memories, outside, factors, lanes, where)
        stride = _stride(found.extents, elements.get("Inputs", 0))
        return ForeignMapping(
            self.name, found.name, found.loops, found.memories, found.depths, found.extents, lanes,
            stride=None if stride is None else (stride, stride),
        )  # fmt: skip

    def _listed(self, data: Any, where: str) -> ForeignMapping:
        entries = data.get("mapping") if isinstance(data, dict) else data
        if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
            raise InputError(f"{where}: expected map.txt, or mapping: a list of targets with factors and permutation")
        order: list[str] = []
        loops: dict[str, list[tuple[str, int]]] = {}
        lanes: dict[str, int] = {}
        left_out: dict[str, set[str]] = {}
        for one in entries:
            target, kind = one.get("target"), one.get("type")
            if not isinstance(target, str) or kind not in ("temporal", "spatial", "bypass", "datatype", "dataspace"):
                raise InputError(f"{where}: mapping: expected target, and type temporal, spatial or bypass, "
                                 f"got {written(one)}")  # fmt: skip
            if target not in order:
                order.append(target)
            if kind in ("bypass", "datatype", "dataspace"):
                left_out.setdefault(target, set()).update(one.get("bypass") or ())
                continue
            ordered = _ordered(one, f"{where}: {target}")
            into = loops.setdefault(target, [])
            for name, factor in ordered:
                _take(name, factor, into, lanes if kind == "spatial" else None, where)
        memories, outside, factors = [], {}, list[tuple[str, int]]()
        for target in order:
            held = [array for name, array in OPERANDS.items() if name not in left_out.get(target, set())]
            memories.append(Memory(target, None, frozenset(held)))
            outside[target] = len(factors)
            factors += loops.get(target, [])
        return _mapping(self.name, memories, outside, factors, lanes, where)


def _ordered(one: Mapping[str, Any], where: str) -> list[tuple[str, int]]:
    """Loops of one target, outermost first: a permutation names the innermost first."""
    given = one.get("factors")
    texts = given.split() if isinstance(given, str) else given if isinstance(given, list) else None
    pairs = [] if texts is None else [re.fullmatch(r"([A-Z])=?([0-9]{1,9})", str(text)) for text in texts]
    if texts is None or None in pairs:
        raise InputError(f"{where}: factors: expected such as C=16 K=2, got {written(given)}")
    factors = {pair[1]: int(pair[2]) for pair in pairs if pair is not None}
    order = one.get("permutation", "")
    names = list(order) if isinstance(order, str) else [str(name) for name in order]
    names = [name for name in names if name.isalpha()]
    missing = [name for name, factor in factors.items() if factor > 1 and name not in names]
    if len(missing) > 1 or (missing and names):
        raise InputError(f"{where}: permutation: expected {', '.join(missing)}, too, the innermost first")
    return [(name, factors.get(name, 1)) for name in reversed(names or missing)]


def _take(name: str, factor: int, into: list[tuple[str, int]], lanes: dict[str, int] | None, where: str) -> None:
    if name == BYTES_OF_A_SUM:
        return
    if name not in DIMS:
        raise InputError(f"{where}: {name}: expected one of {', '.join(DIMS)}")
    if factor < 1:
        raise InputError(f"{where}: {name}: expected at least 1 iteration, got {factor}")
    if lanes is not None:
        lanes[DIMS[name]] = lanes.get(DIMS[name], 1) * factor
    else:
        into.append((DIMS[name], factor))


def _mapping(
    tool: str,
    memories: list[Memory],
    outside: Mapping[str, int],
    factors: list[tuple[str, int]],
    lanes: Mapping[str, int],
    where: str,
) -> ForeignMapping:
    if len(memories) < 2:
        raise InputError(f"{where}: expected two memories or more, the outermost first, got {len(memories)}")
    depths = {
        (one.name, operand): depth_of(factors, outside[one.name])
        for one in memories[1:] for operand in ARRAYS if operand in one.operands
    }  # fmt: skip
    return ForeignMapping(
        tool, "layer", steps_of(factors, lanes), tuple(memories), depths, extents_of(factors, lanes), lanes
    )


def _stride(extents: Mapping[str, int], inputs: int) -> int | None:
    """The stride, along both axes, with which a layer has this number of inputs; None where none or several do."""
    of_a_map, rest = divmod(inputs, extents["c"] * extents[IMAGE])
    if rest or not of_a_map or isqrt(of_a_map) < 1:
        return None
    fitting = [
        stride
        for stride in range(1, MOST_STRIDE + 1)
        if ((extents["y"] - 1) * stride + extents["k"]) * ((extents["x"] - 1) * stride + extents["l"]) == of_a_map
    ]
    return fitting[0] if len(fitting) == 1 else None
