"""Tables and the summary of a report as text, and files that are written whole or not at all."""

import csv
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

from hwgen.report.stoutchinin.claims import Claim
from hwgen.report.stoutchinin.rows import Engines, OrderQuality, Traffic, exceptions, median_ratios

__all__ = ["Found", "csv_text", "readme", "tables", "write_bytes"]


def csv_text(rows: Sequence[Any], derived: Sequence[str] = ()) -> str:
    """Dataclass values of one type as CSV: their fields, then the named properties; floats with six digits."""
    names = [*(field.name for field in fields(rows[0])), *derived]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(getattr(row, name)) for name in names] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
    return value


@dataclass(frozen=True)
class Found:
    """Everything that was computed: rows, their sums by network, engines, loop orders (may be none), claims."""

    rows: Sequence[Traffic]
    sums: Sequence[Traffic]
    pairs: Sequence[Engines]
    quality: Sequence[OrderQuality]
    stated: Sequence[Claim]


READINGS_TEXT = """\
Two readings, each with the same widths for all models. *bytes*: 8-bit data, 32-bit sums, halos as the paper's
Appendix A prints them. *elements*: a partial sum counts one like any other element, as that appendix writes it, and
halos are clipped to the image, which is kinder to the published models."""

BOUND_TEXT = """\
Median over the layers; S of the bound counted in sums of four bytes. The bound's constant is that of one family of
schedules, not a proof: a ratio below 1 means that another family does better there."""

FILES_TEXT = """\
- `fig4.csv` (each layer), `fig4_networks.csv`, `fig4.png`, `fig4.svg`: traffic against buffer size
- `fig5.png`, `fig5.svg`: PEEMEN's overhead; its figures are in `fig4_networks.csv`
- `fig10.csv`, `fig10.png`, `fig10.svg`: HWCE over HWC at 1 KiB, by the model"""


def tables(found: Found) -> dict[str, str]:
    """The CSV files by name."""
    derived = ("peemen_overhead", "saving", "cache_factor")
    files = {
        "fig4.csv": csv_text(found.rows, (*derived, "ratio")),
        "fig4_networks.csv": csv_text(found.sums, derived),
        "fig10.csv": csv_text(found.pairs, ("fits", "over_fig8", "over_best")),
    }
    return files | ({"fig7.csv": csv_text(found.quality)} if found.quality else {})


def readme(found: Found) -> str:
    """The summary as Markdown: claims beside findings, ratios to the bound, exceptions, and what is in which file."""
    layers = len({row.layer for row in found.rows})
    sizes = sorted({row.buffer_bytes for row in found.rows})
    absent = [pair for pair in found.pairs if not pair.fits]
    sections = {
        "# Stoutchinin, Conti, Benini 2019, computed anew": [
            f"{layers} layers, buffers of {', '.join(_size(size) for size in sizes)}. Every figure here was",
            "computed; the published ones are quoted in the second column of the first table only.",
            "",
            READINGS_TEXT,
        ],
        "## Claims": [
            "| where | published | found | remark |",
            "|---|---|---|---|",
            *(f"| {claim.where} | {claim.published} | {claim.found} | {claim.remark} |" for claim in found.stated),
        ],
        "## Distance to max(communication bound, compulsory)": [
            BOUND_TEXT,
            "",
            "| buffer | median ratio |",
            "|---|---|",
            *(f"| {_size(size)} | {ratio:.3f} |" for size, ratio in median_ratios(found.rows).items()),
        ],
        "## PEEMEN's overhead over ours, percent (Fig. 5), and CACHE over ours": [
            "| reading | network | " + " | ".join(_size(size) for size in sizes) + " |",
            "|---|---|" + "---|" * len(sizes),
            *_by_network(found.sums, sizes),
        ],
        "## Exceptions to ours <= PEEMEN <= CACHE": _exceptions(found.rows) or ["None."],
        "## Rows without a fitting line buffer (Fig. 10)": [
            f"- {pair.layer}: HWCE needs {pair.hwce_need} bytes; {_striped(pair)}" for pair in absent
        ]
        or ["None."],
        "## Files": [FILES_TEXT]
        + (["- `fig7.csv`, `fig7.png`, `fig7.svg`: quality of the 180 loop orders"] if found.quality else []),
    }
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _by_network(sums: Sequence[Traffic], sizes: Sequence[int]) -> list[str]:
    cells = {(row.reading, row.network, row.buffer_bytes): row for row in sums}
    lines = []
    for reading, network in dict.fromkeys((row.reading, row.network) for row in sums):
        row = [cells[reading, network, size] for size in sizes]
        found = [
            "none fits" if one.peemen_overhead is None or one.cache_factor is None
            else f"{one.peemen_overhead:.1f} %, {one.cache_factor:.2f}x"
            for one in row
        ]  # fmt: skip
        lines.append(f"| {reading} | {network} | " + " | ".join(found) + " |")
    return lines


def _exceptions(rows: Sequence[Traffic]) -> list[str]:
    return [
        f"- {row.layer}, {_size(row.buffer_bytes)}, {row.reading}: {row.ours}, {row.peemen}, {row.cache}"
        for row in exceptions(rows)
    ]


def _striped(pair: Engines) -> str:
    if pair.stripe is None or pair.hwce_striped is None:
        return "no stripe fits either"
    return f"in stripes of {pair.stripe} columns it moves {pair.hwce_striped} bytes, {pair.hwce} with whole rows"


def _size(size: int) -> str:
    return f"{size >> 10} KiB" if size % 1024 == 0 else f"{size} B"


def write_bytes(path: Path, data: bytes) -> bool:
    """Write so that a reader sees the old file or the new one, never half; False if it already was equal."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return True
