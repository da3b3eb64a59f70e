"""``hwgen fuzz``: random hardware, layers and networks through the commands, which have to agree."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.cli.console import Json, print_json, print_wrapped, printable
from hwgen.cli.jobs import jobs_option
from hwgen.studies.fuzz.request import MOST_CASES, FuzzRequest
from hwgen.studies.fuzz.study import KINDS

__all__ = ["fuzz"]

Cases = Annotated[int, typer.Option("--cases", min=1, max=MOST_CASES, metavar="N", help="How many cases.")]
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
    found = FuzzRequest(cases=cases, seed=seed, what=what, output=output, case=case, jobs=jobs).answer()
    if as_json:
        print_json(found.document())
    else:
        for one in found.differences:
            print_wrapped(one.what, "differs: ")
            typer.echo(printable(f"  {one.command}"))
        typer.echo(found.summary())
    return 1 if found.differences else 0
