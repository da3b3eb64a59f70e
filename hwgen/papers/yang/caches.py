"""Fig. 3 and 4: accesses of a processor's caches as they were counted, and what Section 5.1 states of them.

Counting is no part of ``hwgen paper``: ``make cpu`` runs the programs under cachegrind and leaves a CSV file, a row
for each layer and program.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from hwgen.ir.document import InputError
from hwgen.papers.claims import Claim, between, cases

__all__ = ["BLOCKED", "CACHE_FIGURES", "CacheRow", "Measured", "cache_claims", "cache_rows", "measured_layers"]

BLOCKED = "blocked"
"""The program made from our schedule, to which all others are compared."""
Level = Literal["l2", "l3"]
CACHE_FIGURES: tuple[tuple[str, Level], ...] = (("Fig. 3", "l2"), ("Fig. 4", "l3"))
STATED: tuple[tuple[str, str, Level, int, int], ...] = (
    ("Fig. 3", "ATLAS", "l2", 2, 5),
    ("Fig. 3", "MKL", "l2", 4, 8),
    ("Fig. 3", "MKL, AVX2", "l2", 4, 8),
    ("Fig. 4", "ATLAS", "l3", 5, 11),
    ("Fig. 4", "MKL", "l3", 2, 7),
    ("Fig. 4", "MKL, AVX2", "l3", 2, 7),
)
"""Figure, library, level, and how many times the accesses of the blocked kernel at least and at most."""


@dataclass(frozen=True)
class CacheRow:
    """What one program accessed for one convolution.

    Members
    -------
    layer, program : names; `BLOCKED` is ours.
    share : part of the layer's multiply-accumulates that was run.
    l2, l3 : accesses, in lines of 64 bytes, reads and writes.
    """

    layer: str
    program: str
    share: float
    l2: int
    l3: int


@dataclass(frozen=True)
class Measured:
    """A layer, the share of its multiply-accumulates that was run, and the row of each program by its name."""

    layer: str
    share: float
    counts: Mapping[str, CacheRow]

    def ratio(self, name: str, level: Level) -> float | None:
        """Accesses of a program over those of the blocked kernel; None if its library is not installed."""
        if name not in self.counts:
            return None
        return float(getattr(self.counts[name], level) / getattr(self.counts[BLOCKED], level))


def cache_rows(path: Path) -> list[CacheRow]:
    """The rows of a file; raises `InputError` with one line."""
    names = ("layer", "program", "share", "l2", "l3")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: expected accesses of caches as `make cpu` writes them: {error}") from None
    if not found or tuple(found[0]) != names:
        raise InputError(f"{path}: line 1: expected the columns {','.join(names)}")
    rows = []
    for number, cells in enumerate(found[1:], 2):
        try:
            layer, program, share, l2, l3 = cells
            row = CacheRow(layer, program, float(share), int(l2), int(l3))
        except ValueError:
            raise InputError(f"{path}: line {number}: expected {','.join(names)}, got {','.join(cells)}") from None
        if not (0 < row.share <= 1 and row.l2 > 0 and row.l3 > 0):
            raise InputError(f"{path}: line {number}: expected a share of at most 1 and accesses above 0")
        rows.append(row)
    return rows


def measured_layers(rows: Sequence[CacheRow], where: str) -> list[Measured]:
    """The rows by layer, in their order; `InputError` where a layer has none of our program."""
    layers = list(dict.fromkeys(row.layer for row in rows))
    if not layers:
        raise InputError(f"{where}: expected a row for each layer and program, got none")
    found = []
    for layer in layers:
        counts = {row.program: row for row in rows if row.layer == layer}
        if BLOCKED not in counts:
            raise InputError(f"{where}: {layer}: expected a row of the program {BLOCKED}")
        found.append(Measured(layer, counts[BLOCKED].share, counts))
    return found


FEWER, FEWER_OFF = 90, 5
"""Percent of the memory accesses that the abstract says are saved, at most; points that it may be off."""


def cache_claims(rows: Sequence[Measured]) -> list[Claim]:
    """The paper's statements; not judged where a library is missing."""
    return [_fewest(rows), *(_range(rows, *stated) for stated in STATED), _falling(rows), _at_most(rows)]


def _scope(rows: Sequence[Measured]) -> str:
    slices = [row.layer for row in rows if row.share < 1]
    part = f", of {' and '.join(slices)} a part" if slices else ""
    return f"{len(rows)} of the 5 convolutions{part}; simulated caches, libraries ten years younger"


def _fewest(rows: Sequence[Measured]) -> Claim:
    ratios = {
        row.layer: min(
            (ratio for name in row.counts if name != BLOCKED and (ratio := row.ratio(name, "l2"))), default=0
        )
        for row in rows
    }
    return Claim(
        "5.1, Fig. 3",
        "its blocking has the fewest L2 accesses on each of the five layers",
        f"the best library takes, in parts of ours: {_listed(ratios)}",
        "Of all libraries that were run: layers where ours has the fewest.",
        scope=_scope(rows),
        parts=cases("layers", (ratio > 1 for ratio in ratios.values() if ratio)),
    )


def _range(rows: Sequence[Measured], where: str, library: str, level: Level, least: int, most: int) -> Claim:
    ratios = {row.layer: ratio for row in rows if (ratio := row.ratio(library, level)) is not None}
    name, _, wider = library.partition(", ")
    return Claim(
        f"5.1, {where}",
        f"{level.upper()}: {least} to {most} times fewer accesses than {name}",
        _listed(ratios),
        "Each layer." if ratios else "Not installed.",
        scope=_scope(rows),
        parts=tuple(between(layer, ratio, least, most, "times", "more") for layer, ratio in ratios.items()),
        reading=f"{name} with {wider}, which came later" if wider else "",
    )


def _falling(rows: Sequence[Measured]) -> Claim:
    steps: list[bool] = []
    for _, library, level, *_ in STATED:
        ratios = {row.layer: ratio for row in rows if (ratio := row.ratio(library, level)) is not None}
        steps += [later < earlier for earlier, later in pairwise(ratios.values())]
    return Claim(
        "5.1",
        "the advantage falls from Conv1 to Conv5, as the windows become smaller",
        f"{sum(steps)} of {len(steps)} steps from a layer to the next fall",
        "The ratios are those above, for each library and level." if steps else "One layer alone.",
        scope=_scope(rows),
        parts=cases("steps", steps),
    )


def _at_most(rows: Sequence[Measured]) -> Claim:
    most = {
        level: max(
            (100 * (1 - 1 / ratio) for row in rows for name in ("ATLAS", "MKL") if (ratio := row.ratio(name, level))),
            default=None,
        )
        for _, level in CACHE_FIGURES
    }
    return Claim(
        "abstract",
        f"up to {FEWER} % fewer memory accesses than hand-optimized BLAS libraries",
        ", ".join(f"{level.upper()}: {found:.0f} %" for level, found in most.items() if found is not None) or "-",
        "Accesses of L2 and of L3, of ATLAS and MKL." if any(most.values()) else "Not installed.",
        scope=_scope(rows),
        parts=tuple(
            between(level.upper(), found, FEWER - FEWER_OFF, FEWER + FEWER_OFF, "%", "more")
            for level, found in most.items()
            if found is not None
        ),
    )


def _listed(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{layer} {ratio:.1f}" for layer, ratio in ratios.items()) or "-"
