"""``hwgen fuzz``: random hardware, layers and networks through the commands, which have to agree."""

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import require_folder
from hwgen.cli.console import Json, chosen_names, print_json, print_wrapped, printable, progress
from hwgen.cli.jobs import jobs_option
from hwgen.ir.document import InputError
from hwgen.studies.fuzz.study import KINDS, Fuzz, Outcome, repeated

__all__ = ["fuzz"]

Cases = Annotated[int, typer.Option("--cases", min=1, max=1_000_000, metavar="N", help="How many cases.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="S", help="The cases are the same for the same seed.")]
What = Annotated[
    str | None,
    typer.Option("--what", metavar="KIND[,KIND...]", help=f"Of these kinds: {', '.join(KINDS)}; all by default."),
]
Folder = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Where differences go; what was run is not run again."),
]
Kept = Annotated[
    Path | None, typer.Option("--case", metavar="FILE", help="Only the case in this file, which an earlier run kept.")
]
Jobs = Annotated[int, jobs_option("Cases at a time.")]


def fuzz(
    *,
    cases: Cases = 100,
    seed: Seed = 0,
    what: What = None,
    output: Folder = None,
    case: Kept = None,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> int:
    """Run random hardware, layers, networks and options through the commands, and find where these disagree.

    A difference is a traceback, an exit status that is not documented, a refusal that is not one clear line, a file
    outside -o; counts, outputs or cycles that are not as predicted; two commands that do not say the same of a thing.
    Each is made as simple as it can be and kept in DIR with its files and the command that repeats it. The cases have
    as many pairs of values together as they can. The exit status is 1 where something differs.
    """
    began = time.perf_counter()
    if case is not None:
        if output is not None:
            raise InputError("--case: expected without -o")
        found = repeated(case)
        differs = {"what": found, "files": [str(case)], "command": f"hwgen fuzz --case {shlex.quote(str(case))}"}
        document = Outcome(1, () if found is None else (differs,), {}, 0, 0).as_json()
    elif output is None:
        raise InputError("-o: expected a folder for what is found")
    else:
        require_folder(output)
        kinds = chosen_names("--what", what, list(KINDS))
        with progress(cases, "cases") as step:

            def arrived(value: dict[str, Any]) -> None:
                step()
                if value["difference"]:
                    sys.stderr.write(printable(f"DIFFERS: {value['difference']['what']}") + "\n")

            document = Fuzz(kinds, cases, seed, output, jobs).run(arrived).as_json()
    document["seconds"] = round(time.perf_counter() - began, 1)
    if as_json:
        print_json(document)
    else:
        _print(document)
    return 1 if document["differences"] else 0


def _print(document: dict[str, Any]) -> None:
    for one in document["differences"]:
        print_wrapped(one["what"], "differs: ")
        typer.echo(printable(f"  {one['command']}"))
    number, pairs = document["cases"], document["pairs"]
    typer.echo(
        f"{number} cases, {len(document['differences'])} differences; {pairs['covered']:,} of {pairs['of']:,} pairs "
        f"of values; {document['seconds']:.0f} s"
    )
