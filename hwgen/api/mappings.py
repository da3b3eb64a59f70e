"""``hwgen import-mapping``: another tool's mapping as a nest, its exact counts, where the tool's claims differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from hwgen.api.arguments import buffer_sizes
from hwgen.api.nests import Nest
from hwgen.api.networks import NetworkLike, load
from hwgen.api.progress import remark
from hwgen.api.results import Answer, Figure
from hwgen.api.session import call
from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy, save_hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule, save_schedule
from hwgen.model.nest.hierarchy_counts import HierarchyCounts, counts_of, require_fit
from hwgen.model.nest.premises import Premise, premises
from hwgen.readers.mappings.mapping import ForeignMapping, hierarchy_of, layer_from, schedule_of
from hwgen.readers.mappings.registry import TOOLS, read_mapping

__all__ = ["TOOLS", "Difference", "ImportRequest", "Imported", "import_mapping"]

ALL = "I+W+O"
"""The operand of a difference of claims that are for all operands together."""
BITS = "bits against bytes"
ELEMENTS = "elements against bytes"
ROUNDED = "rounded to whole words of {} bits"
UNKNOWN = "not known"
MOST_CAUSES = 4
"""Causes that are named together, at most: more would give almost any number."""
NO_PADDING = "the map has padding, which the file does not say: --layer SET:NAME"


@dataclass(frozen=True)
class Difference:
    """A claim that is not what moves.

    Members
    -------
    operand : I, W or O; `ALL` where the claim is for all of them.
    level : the memory that serves them.
    bytes : of the claim, less those that move.
    cause : what the tool counts otherwise, where that gives the claim; else `UNKNOWN`.
    """

    operand: str
    level: str
    bytes: int
    cause: str

    def to_dict(self) -> dict[str, Any]:
        """An entry of the document."""
        return {"operand": self.operand, "level": self.level, "bytes": self.bytes, "cause": self.cause}


@dataclass(frozen=True, repr=False, eq=False)
class Imported(Answer):
    """Another tool's mapping.

    Members
    -------
    tool : its name.
    schedule : the mapping as a nest whose markers name the levels of ``hierarchy``.
    hierarchy : the memories; sizes that the file does not say are very large.
    found : exact counts.
    claimed : bytes that the tool claims, by level and operand; `ALL` for a sum.
    differences : of the claims.
    file : where the nest was written; None: nowhere.
    """

    tool: str
    schedule: Schedule
    hierarchy: Hierarchy
    found: HierarchyCounts
    claimed: Mapping[str, Mapping[str, float]]
    differences: tuple[Difference, ...]
    file: Path | None = None

    @property
    def nest(self) -> Nest:
        """The nest, as every call takes it: of a single inner memory its markers name no level."""
        return Nest.of(self.schedule if len(self.hierarchy.inner) != 1 else _of_one_level(self.schedule))

    @property
    def bytes(self) -> int:
        """Bytes of I, W and O that the outermost memory serves."""
        return sum(self.moved(self.hierarchy.outermost.name, operand) for operand in ARRAYS)

    def moved(self, level: str, operand: ArrayName) -> int:
        """Bytes of an operand that a level serves."""
        return self.found.served.operand_bytes(operand, level)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen import-mapping --json`` prints."""
        return {
            "tool": self.tool,
            "layer": self.schedule.layer.name,
            "file": None if self.file is None else str(self.file),
            "nest": self.nest.to_dict(),
            "hierarchy": self.hierarchy.as_data(),
            **self.found.as_json(),
            "claimed": {level: dict(of) for level, of in self.claimed.items()} or None,
            "differences": [one.to_dict() for one in self.differences],
        }

    def rows(self) -> list[dict[str, object]]:
        """One row for each level and operand, and each sum that is claimed: bytes that move, claims, causes."""
        causes = {(one.level, one.operand): one.cause for one in self.differences}
        found: list[dict[str, object]] = []
        for level in self.hierarchy.levels:
            claims = self.claimed.get(level.name, {})
            for operand in (*ARRAYS, *([ALL] if ALL in claims else [])):
                moved = self.bytes if operand == ALL else self.moved(level.name, operand)  # type: ignore[arg-type]
                claim = claims.get(operand)
                if moved or claim is not None:
                    found.append({
                        "level": level.name, "operand": operand, "bytes": moved,
                        "claimed": None if claim is None else round(claim),
                        "difference": None if claim is None else round(claim) - moved,
                        "cause": causes.get((level.name, operand)),
                    })  # fmt: skip
        return found

    def summary(self) -> str:
        """What moves, and how many claims differ."""
        number = sum(len(of) for of in self.claimed.values())
        said = f"{len(self.differences)} of {number} claims differ" if number else "nothing is claimed"
        return f"Mapping of {self.schedule.layer.name} by {self.tool}: {self.bytes:,} bytes, {said}"

    def plot(self) -> Figure:
        """Bytes that each level serves, by operand: those that move, and those that are claimed."""
        from hwgen.report.charts import layer_bars  # its libraries take a second

        bars: list[tuple[str, dict[str, int]]] = []
        for level in self.hierarchy.levels:
            bars.append((level.name, {operand: self.moved(level.name, operand) for operand in ARRAYS}))
            claims = self.claimed.get(level.name, {})
            parts = {operand: round(claims[operand]) for operand in (*ARRAYS, ALL) if operand in claims}
            if parts:
                bars.append((f"{level.name}, claimed", parts))
        return Figure.of(layer_bars(bars, "bytes"))


def _of_one_level(schedule: Schedule) -> Schedule:
    """The same nest, its markers without a name: the buffers of an HWC."""
    data = schedule.as_data()
    data["nest"] = [
        {"buffer": next(iter(item["buffer"].values()))} if isinstance(item.get("buffer"), Mapping) else item
        for item in data["nest"]
    ]
    return Schedule.from_data(data)


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """A file of a mapping, the tool that made it, and what the file does not say; see `import_mapping`."""

    file: Path
    tool: str
    output: Path | None = None
    layer: NetworkLike | None = None
    buffer: str | int | None = None
    words: Mapping[str, int] | None = None

    @call
    def answer(self) -> Imported:
        """Read, count and compare; write the nest, and the hierarchy beside it where it has one."""
        where = str(self.file)
        mapping = self._with_buffer(read_mapping(self.file, self.tool, _checked(self.words or {})), where)
        for note in mapping.notes:
            remark(f"{where}: {note}")
        given = self._layer()
        schedule = schedule_of(mapping, layer_from(mapping, given, where), where)
        hierarchy = hierarchy_of(mapping, where)
        hierarchy.check_markers(schedule, where)
        found = counts_of(schedule, hierarchy)
        try:
            require_fit(found, hierarchy, where)
        except InputError as error:
            remark(str(error))
        claimed: dict[str, dict[str, float]] = {level: dict(of) for level, of in mapping.claimed.items()}
        if mapping.claimed_total is not None:
            claimed.setdefault(hierarchy.outermost.name, {})[ALL] = mapping.claimed_total
        guess = None if given is not None or mapping.layer is not None else _padded(schedule)
        differences = tuple(_differences(mapping, schedule, hierarchy, found, claimed, guess))
        imported = Imported(mapping.tool, schedule, hierarchy, found, claimed, differences, self.output)
        if self.output is not None:
            save_schedule(imported.nest.schedule, self.output)
            if len(hierarchy.inner) != 1:
                save_hierarchy(hierarchy, self.output.with_suffix(".hierarchy.yaml"))
        return imported

    def _with_buffer(self, mapping: ForeignMapping, where: str) -> ForeignMapping:
        if self.buffer is None:
            return mapping
        inner = mapping.memories[1:]
        sizes = buffer_sizes(str(self.buffer))
        if len(sizes) != 1 or len(inner) != 1 or inner[0].bytes is not None:
            raise InputError(f"--buffer: expected one size, for a file with one memory whose size it does not say, "
                             f"got {where}")  # fmt: skip
        return replace(mapping, memories=(mapping.memories[0], replace(inner[0], bytes=sizes[0])))

    def _layer(self) -> Layer | None:
        if self.layer is None:
            return None
        network = load(self.layer)
        if len(network.layers) != 1:
            raise InputError(f"--layer: {network.given}: expected one, as SET:NAME, got {len(network.layers)}")
        return network.layers[0]


def _checked(words: Mapping[str, int]) -> Mapping[str, int]:
    for level, bits in words.items():
        if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= 1 << 20:
            raise InputError(f"--word-bits: {level}: expected bits of an access, 1 to {1 << 20}, got {bits}")
    return words


# --- causes ---


def _padded(schedule: Schedule) -> Schedule | None:
    """The nest on a map of as many pixels as outputs times the stride, with padding around it; None: it is that."""
    layer = schedule.layer
    sizes = [layer.output_height * layer.stride[0], layer.output_width * layer.stride[1]]
    missing = [have - size for have, size in zip((layer.input_height, layer.input_width), sizes, strict=True)]
    if min(missing) < 0 or not any(missing):
        return None
    top, left = (size // 2 for size in missing)
    data = layer.model_dump(mode="json") | {
        "input_height": sizes[0], "input_width": sizes[1],
        "padding": [top, left, missing[0] - top, missing[1] - left],
    }  # fmt: skip
    return schedule.model_copy(update={"layer": Layer(**data)})


def _served(hierarchy: Hierarchy, schedule: Schedule, operand: ArrayName) -> dict[str, int | None]:
    """The loop of the marker into which each level that serves an operand does so; None: the datapath."""
    held = [(level.name, place) for level, place in hierarchy.held(schedule, operand)]
    outward = [hierarchy.outermost.name, *(name for name, _ in held)]
    return dict(zip(outward, [*(place for _, place in held), None], strict=True))


def _differences(
    mapping: ForeignMapping,
    schedule: Schedule,
    hierarchy: Hierarchy,
    found: HierarchyCounts,
    claimed: Mapping[str, Mapping[str, float]],
    guess: Schedule | None,
) -> Iterator[Difference]:
    """Claims that are not what moves; ``guess`` : the nest with padding that a file without its layer may mean."""
    served = {operand: _served(hierarchy, schedule, operand) for operand in ARRAYS}
    for level, claims in claimed.items():
        for operand in ARRAYS:
            if operand not in claims:
                continue
            moved = found.served.operand_bytes(operand, level)
            claim = round(claims[operand])
            if claim == moved:
                continue
            if level not in served[operand]:
                cause = UNKNOWN
            else:
                known = premises(schedule, operand, served[operand][level])
                if guess is not None and operand == "I":
                    padded = premises(guess, operand, served[operand][level])
                    known += [replace(one, causes=(NO_PADDING, *one.causes)) for one in padded]
                cause = _cause([known], claims[operand], mapping.words.get(level))
            yield Difference(operand, level, claim - moved, cause)
        if ALL in claims:
            moved = sum(found.served.operand_bytes(operand, level) for operand in ARRAYS)
            if round(claims[ALL]) != moved:
                each = [premises(schedule, operand, served[operand][level]) for operand in ARRAYS]
                yield Difference(ALL, level, round(claims[ALL]) - moved, _cause(each, claims[ALL], None))


def _cause(known: Sequence[Sequence[Premise]], claim: float, word: int | None) -> str:
    """The premises of fewest causes, one for each operand, that give the claim; several that do are all named."""
    fewest, found = MOST_CAUSES, dict[str, None]()
    for way in product(*known):
        causes = list(dict.fromkeys(cause for one in way for cause in one.causes))
        amount, elements = sum(one.bytes for one in way), sum(one.elements for one in way)
        near = word is not None and abs(amount - claim) < max(2 * word / 8, 1)
        for gives, more in (
            (amount == claim, []),
            (near, [ROUNDED.format(word)]),
            (8 * amount == claim, [BITS]),
            (elements == claim, [ELEMENTS]),
        ):
            said = [*causes, *more]
            if not gives or len(said) > fewest:
                continue
            if len(said) < fewest:
                fewest, found = len(said), {}
            found["; ".join(said)] = None
    return ", or ".join(found) or UNKNOWN


def import_mapping(
    file: str | PathLike[str],
    tool: str,
    *,
    layer: NetworkLike | None = None,
    buffer: str | int | None = None,
    words: Mapping[str, int] | None = None,
    output: str | PathLike[str] | None = None,
) -> Imported:
    """Read another tool's mapping, count it exactly, and say where the tool's claims differ, and why.

    Parameters
    ----------
    file : what the tool wrote, or a record of it with layer and claims; one of several lines as ``FILE.jsonl:3``.
    tool : ``"zigzag"``, ``"timeloop"`` or ``"accelforge"``.
    layer : the layer, where the file does not have all of it, padding for instance.
    buffer : bytes of the one memory inside of the outermost, where the file does not say them.
    words : bits of an access of each level, where claims are numbers of words: ``{"dram": 64}``.
    output : file for the nest; where it has several levels, ``NAME.hierarchy.yaml`` has them.
    """
    return ImportRequest(
        file=Path(file), tool=tool, layer=layer, buffer=buffer, words=words,
        output=None if output is None else Path(output),
    ).answer()  # fmt: skip
