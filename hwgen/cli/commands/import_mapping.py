"""``hwgen import-mapping``: another tool's mapping as a nest, counted exactly, beside what the tool claims."""

import re
from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.mappings import TOOLS, ImportRequest
from hwgen.api.names import InputError
from hwgen.cli.console import Json, print_json, print_table, printable
from hwgen.cli.jobs import set_names

__all__ = ["import_mapping"]

File = Annotated[Path, typer.Argument(metavar="FILE", help="What the tool wrote; FILE.jsonl:3 is one of its lines.")]
Tool = Annotated[
    str,
    typer.Option("--from", metavar="TOOL", help=f"Which tool: {', '.join(TOOLS)}.",
                 autocompletion=lambda incomplete: [name for name in TOOLS if name.startswith(incomplete)]),
]  # fmt: skip
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the nest here, and NAME.hierarchy.yaml beside it."),
]
OfLayer = Annotated[
    str | None,
    typer.Option("--layer", metavar="SET:NAME", help="The layer, where the file does not have all of it.",
                 autocompletion=set_names),
]  # fmt: skip
Buffer = Annotated[
    str | None,
    typer.Option("--buffer", metavar="SIZE", help="Bytes of the one inner memory, where the file does not say them."),
]
WordBits = Annotated[
    str | None,
    typer.Option("--word-bits", metavar="LEVEL=BITS[,...]", help="Widths of accesses, where claims are words."),
]


def import_mapping(
    file: File,
    *,
    tool: Tool,
    layer: OfLayer = None,
    buffer: Buffer = None,
    word_bits: WordBits = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Read a mapping of ZigZag, Timeloop or AccelForge as a nest, count it exactly, and compare the tool's claims.

    Of each claim that is not what moves the cause is named, where counting otherwise gives it: padding as data, halos
    that are fetched again, zeros that are read, partial sums that are counted in another way, bits, whole words.
    """
    found = ImportRequest(
        file=file, tool=tool, layer=layer, buffer=buffer, words=_words(word_bits), output=output
    ).answer()
    if as_json:
        print_json(found.document())
        return
    columns = ["level", "operand", "bytes", "claimed", "difference"]
    print_table(found.summary(), columns, [[row[name] for name in columns] for row in found.rows()])
    for one in found.differences:
        more = f"{abs(one.bytes):,} bytes {'more' if one.bytes > 0 else 'less'} are claimed"
        typer.echo(printable(f"{one.level} {one.operand}: {more}: {one.cause}"))
    typer.echo(found.nest.text)
    if found.file is not None:
        more = "" if len(found.hierarchy.inner) == 1 else f", {found.file.with_suffix('.hierarchy.yaml')}"
        typer.echo(printable(f"{found.file}{more}"))


def _words(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    found = {}
    for part in text.split(","):
        pair = re.fullmatch(r"\s*([\w.+-]+)=([0-9]{1,7})\s*", part)
        if pair is None:
            raise InputError(f"--word-bits: expected LEVEL=BITS such as dram=64,sram=2048, got {part.strip()[:40]!r}")
        found[pair[1]] = int(pair[2])
    return found
