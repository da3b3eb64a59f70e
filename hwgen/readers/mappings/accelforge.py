"""Mappings of AccelForge: its list of nodes in YAML, and the same in one line, ``m:4 p:4 [O in Buf] c:1 q:1``."""

import re
from collections.abc import Mapping
from typing import Any

from hwgen.ir.document import InputError, parse_yaml, written
from hwgen.ir.layer import IMAGE
from hwgen.ir.schedule import ARRAYS, ArrayName
from hwgen.readers.mappings.mapping import OUTERMOST, ForeignLoop, ForeignMapping, Memory

__all__ = ["AccelForge"]

DIMS = {"n": IMAGE, "b": IMAGE, "m": "m", "c": "c", "p": "y", "q": "x", "r": "k", "s": "l"}
"""Rank variables of a convolution: p and q are rows and columns of the output, r and s those of the kernel."""
NODE = re.compile(r"\[([A-Za-z, ]+) in (\w+)\]|([a-z]+):([0-9]+)|(\S+)")
TAG = re.compile(r"^(\s*- )!(\w+)[ ]*(\{)?", re.MULTILINE)


class AccelForge:
    """The reader: loops by the tile that one iteration covers. The layer is not in these files."""

    name = "accelforge"

    def read(self, text: str, data: Any, words: Mapping[str, int], where: str) -> ForeignMapping:
        """The mapping of a file; ``data`` : the file as JSON, None where it is none."""
        if "rank_variable" in text or "nodes:" in text:
            return self._made(_listed(text, where), where)
        return self._made(_line(text, where), where)

    def _made(self, nodes: list[tuple[str, Any, Any]], where: str) -> ForeignMapping:
        """The mapping of nodes: a loop with its dimension and step, or a memory with the operands that it holds."""
        loops: list[ForeignLoop] = []
        held: dict[str, dict[ArrayName, int]] = {}
        for kind, name, value in nodes:
            if kind == "loop":
                if name not in DIMS:
                    raise InputError(f"{where}: {name}: expected one of {', '.join(DIMS)}")
                loops.append(ForeignLoop(DIMS[name], value))
                continue
            for operand in value:
                if operand not in ARRAYS:
                    raise InputError(f"{where}: {name}: {operand}: expected tensors named I, W and O")
                held.setdefault(name, {})[operand] = len(loops)
        levels = list(held)
        outer = levels[0] if levels and set(held[levels[0]].values()) == {0} and len(held[levels[0]]) == 3 else None
        if outer is not None:
            levels.remove(outer)
        if not levels or not loops:
            raise InputError(f"{where}: expected loops such as m:4, and what a memory holds, such as [O in Buf]")
        memories = [Memory(outer or OUTERMOST, None, frozenset(ARRAYS))]
        memories += [Memory(name, None, frozenset(held[name])) for name in levels]
        depths = {(name, operand): depth for name in levels for operand, depth in held[name].items()}
        return ForeignMapping(self.name, "layer", tuple(loops), tuple(memories), depths)


def _line(text: str, where: str) -> list[tuple[str, Any, Any]]:
    nodes: list[tuple[str, Any, Any]] = []
    for found in NODE.finditer(text):
        if found[5]:
            raise InputError(f"{where}: expected m:4 or [O in Buf], got {written(found[5])}")
        if found[2]:
            nodes.append(("memory", found[2], [name.strip() for name in found[1].split(",")]))
        else:
            nodes.append(("loop", found[3], int(found[4])))
    return nodes


def _listed(text: str, where: str) -> list[tuple[str, Any, Any]]:
    plain = TAG.sub(
        lambda found: f"{found[1]}{'{' if found[3] else ''}type: {found[2]}{', ' if found[3] else ''}", text
    )
    data = parse_yaml(plain, where)
    data = data.get("mapping", data) if isinstance(data, dict) else data
    nodes = data.get("nodes") if isinstance(data, dict) else data
    if not isinstance(nodes, list):
        raise InputError(f"{where}: expected mapping: nodes: a list of !Temporal and !Storage")
    found: list[tuple[str, Any, Any]] = []
    for one in nodes:
        kind = one.get("type") if isinstance(one, dict) else None
        if kind == "Temporal":
            name, step = one.get("rank_variable"), one.get("tile_shape")
            if isinstance(step, bool) or not isinstance(step, int) or step < 1:
                raise InputError(f"{where}: {name}: tile_shape: expected a number of at least 1, got {written(step)}")
            found.append(("loop", name, step))
        elif kind in ("Storage", "TensorHolder", "Tensor"):
            tensors, component = one.get("tensors"), one.get("component")
            if not isinstance(tensors, list) or not isinstance(component, str):
                raise InputError(f"{where}: !{kind}: expected tensors and component, got {written(one)}")
            found.append(("memory", component, tensors))
        elif kind != "Compute":
            raise InputError(f"{where}: expected !Temporal, !Storage and !Compute, got {written(one)}")
    return found
