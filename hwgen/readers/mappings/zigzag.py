"""Mappings of ZigZag: ``OpN_complete.json``, and the mapping alone as printed, ``{O: [[(K, 2)], ...], ...}``."""

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from hwgen.ir.document import InputError, written
from hwgen.ir.layer import IMAGE
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits
from hwgen.readers.mappings.mapping import OUTERMOST, ForeignMapping, Memory, depth_of, extents_of, steps_of

__all__ = ["ZigZag"]

DIMS = {"B": IMAGE, "D": IMAGE, "K": "m", "G": "g", "C": "c", "OX": "x", "OY": "y", "FX": "l", "FY": "k"}
LOOP = re.compile(r"\(\s*([A-Z]{1,2})\s*,\s*([0-9]{1,9})\s*\)")
LEVEL = re.compile(r"MemoryLevel\(instance=([^,()]+),operands=\[([^\]]*)\], served_dimensions=(set\(\)|\{[^}]*\})\)")
RELATION = re.compile(r"I([XY]) = ([0-9]+)\*O\1 \+ ([0-9]+)\*F\1")
READS, WRITES = "rd_out_to_low", "wr_in_by_low"
Factors = list[tuple[str, int]]


class ZigZag:
    """The reader: loops by operand and memory, the innermost memory and the innermost loop first.

    Its registers are in each multiplier: their bytes are those of all of them together.
    """

    name = "zigzag"

    def read(self, text: str, data: Any, words: Mapping[str, int], where: str) -> ForeignMapping:
        """The mapping of a file; ``data`` : the file as JSON, None where it is none."""
        if isinstance(data, dict) and "inputs" in data:
            return self._complete(data, words, where)
        return self._printed(text, where)

    # --- the mapping alone ---

    def _printed(self, text: str, where: str) -> ForeignMapping:
        lists: dict[str, list[Factors]] = {}
        for operand in ARRAYS:
            found = re.search(rf"\b{operand}:\s*(\[\[.*?\]\])", text, re.DOTALL)
            if found is None:
                raise InputError(f"{where}: expected loops of {operand} such as {operand}: [[(K, 2)], [(C, 3)]]")
            lists[operand] = [_factors(part, f"{where}: {operand}") for part in found[1][1:-1].split("],")]
        depth = {len(one) for one in lists.values()}
        if len(depth) != 1 or depth == {1}:
            raise InputError(f"{where}: expected as many memories for each operand, two or more, got "
                             f"{', '.join(f'{len(one)} for {name}' for name, one in lists.items())}")  # fmt: skip
        inner = depth.pop() - 1
        names = [OUTERMOST, *(["buffer"] if inner == 1 else [f"buffer{at}" for at in range(inner, 0, -1)])]
        memories = tuple(Memory(name, None, frozenset(ARRAYS)) for name in names)
        return _mapping(self.name, "layer", lists, {operand: tuple(reversed(names)) for operand in ARRAYS}, memories,
                        {}, where)  # fmt: skip

    # --- all of it ---

    def _complete(self, data: dict[str, Any], words: Mapping[str, int], where: str) -> ForeignMapping:
        try:
            inputs, layer = data["inputs"], data["inputs"]["layer"]
            accelerator, links = inputs["accelerator"], layer["memory_operand_links"]
            array = accelerator["operational_array"]["dimensions"]
            lists = {
                operand: [_factors(" ".join(part), f"{where}: temporal_mapping: {operand}") for part in parts]
                for operand, parts in inputs["temporal_mapping"].items()
            }
            spatial = [pair for part in inputs["spatial_mapping"]["O"]
                       for pair in _factors(" ".join(part), f"{where}: spatial_mapping")]  # fmt: skip
            sizes: dict[str, Memory] = {}
            chains: dict[ArrayName, tuple[str, ...]] = {}
            for operand in ARRAYS:
                chain = accelerator["mem_hierarchy_dict"][links[operand]]
                bits = accelerator["mem_size_dict"][links[operand]]
                chains[operand] = tuple(
                    _memory(level, size, array, sizes, operand, where)
                    for level, size in zip(chain, bits, strict=True)
                )
            precision = layer["operand_precision"]
            bits_of = Bits(I=precision["I"], W=precision["W"], O=precision["O_final"], acc=precision["O"])
            counted = data["outputs"]["memory"]["word_accesses"]
            named = str(layer["name"])
            relations = [found for one in layer["equation_relations"] if (found := RELATION.fullmatch(one))]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{where}: expected what ZigZag writes as OpN_complete.json: {_said(error)}") from None
        if any(int(one[3]) != 1 for one in relations):
            raise InputError(f"{where}: equation_relations: expected kernels without dilation")
        stride = {one[1]: int(one[2]) for one in relations}
        memories = tuple(sorted(sizes.values(), key=lambda one: -(one.bytes or 0)))
        lanes = _lanes(spatial, where)
        made = _mapping(self.name, named, lists, chains, memories, lanes, where)
        claimed, notes = _claims(counted, chains, words)
        outermost = Memory(memories[0].name, None, memories[0].operands)
        return ForeignMapping(
            self.name, named, made.loops, (outermost, *memories[1:]), made.depths, made.extents, lanes,
            made.groups, (stride.get("Y", 1), stride.get("X", 1)), None, bits_of, claimed, None,
            {level: bits for level, bits in words.items() if level in claimed}, notes,
        )  # fmt: skip


def _said(error: Exception) -> str:
    return f"no key {error}" if isinstance(error, KeyError) else str(error)


def _factors(text: str, where: str) -> Factors:
    found = [(name, int(number)) for name, number in LOOP.findall(text)]
    if re.sub(r"[\s,\[\]]", "", LOOP.sub("", text)):
        raise InputError(f"{where}: expected loops such as (K, 2), got {written(text.strip())}")
    for name, _ in found:
        if name not in DIMS:
            raise InputError(f"{where}: {name}: expected one of {', '.join(DIMS)}")
    return [(DIMS[name], number) for name, number in found]


def _memory(
    text: str, bits: int, array: Mapping[str, int], known: dict[str, Memory], operand: ArrayName, where: str
) -> str:
    """Note a memory with the operand that it holds; its name. One that serves no dimension is in each multiplier."""
    found = LEVEL.fullmatch(text)
    if found is None:
        raise InputError(f"{where}: mem_hierarchy_dict: expected MemoryLevel(...), got {written(text)}")
    each = prod(size for name, size in array.items() if name not in re.findall(r"\w+", found[3]))
    before = known[found[1]].operands if found[1] in known else frozenset()
    known[found[1]] = Memory(found[1], int(bits) * each // 8, before | {operand})
    return found[1]


def _lanes(spatial: Factors, where: str) -> dict[str, int]:
    lanes: dict[str, int] = {}
    for dim, factor in spatial:
        if dim in ("g", IMAGE) and factor > 1:
            raise InputError(f"{where}: spatial_mapping: expected none over groups or images")
        lanes[dim] = lanes.get(dim, 1) * factor
    return {dim: lanes_of for dim, lanes_of in lanes.items() if lanes_of > 1}


def _mapping(
    tool: str,
    name: str,
    lists: Mapping[str, Sequence[Factors]],
    chains: Mapping[ArrayName, Sequence[str]],
    memories: tuple[Memory, ...],
    lanes: Mapping[str, int],
    where: str,
) -> ForeignMapping:
    """The mapping of loops by operand and memory, innermost first."""
    orders = {operand: [pair for part in lists[operand] for pair in part] for operand in ARRAYS}
    if any(order != orders["O"] for order in orders.values()):
        raise InputError(f"{where}: expected the same loops in the same order for I, W and O")
    outward = orders["O"]
    factors = list(reversed(outward))
    groups = prod(factor for dim, factor in factors if dim == "g")
    first_m = next((at for at, (dim, factor) in enumerate(factors) if dim == "m" and factor > 1), len(factors))
    last_g = max((at for at, (dim, factor) in enumerate(factors) if dim == "g" and factor > 1), default=-1)
    if last_g > first_m:
        raise InputError(f"{where}: expected loops over groups (G) outside of those over their channels (K)")
    merged = [("m" if dim == "g" else dim, factor) for dim, factor in factors]
    depths: dict[tuple[str, ArrayName], int] = {}
    for operand in ARRAYS:
        inside = 0
        for level, part in zip(chains[operand], lists[operand], strict=True):
            inside += len(part)
            if level != memories[0].name:
                depths[level, operand] = depth_of(merged, len(merged) - inside)
    return ForeignMapping(
        tool, name, steps_of(merged, lanes), memories, depths, extents_of(merged, lanes), lanes, groups
    )


def _claims(
    counted: Mapping[str, Sequence[Mapping[str, float]]],
    chains: Mapping[ArrayName, Sequence[str]],
    words: Mapping[str, int],
) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Bytes that each level serves, of those whose width is known; which are not."""
    claimed: dict[str, dict[str, float]] = {}
    unknown: dict[str, None] = {}
    for operand, chain in chains.items():
        for level, accesses in zip(chain, counted[operand], strict=True):
            if level not in words:
                unknown[level] = None
                continue
            number = float(accesses[READS]) + float(accesses[WRITES])
            claimed.setdefault(level, {})[operand] = number * words[level] / 8
    if not unknown:
        return claimed, ()
    named = ",".join(f"{level}=BITS" for level in unknown)
    return claimed, (f"claims are numbers of words, of unknown width at {', '.join(unknown)}: --word-bits {named}",)
