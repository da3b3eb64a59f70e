"""``hwgen report``: a sweep's results as one page, and its plots as images."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.arguments import claim_folder
from hwgen.cli.console import Json, print_json, printable
from hwgen.ir.document import InputError
from hwgen.studies.sweep.report.derived import derived
from hwgen.studies.sweep.report.kept import contradictions
from hwgen.studies.sweep.report.results import load_results
from hwgen.studies.sweep.tables.merge import known_tables
from hwgen.tools.output import write_together
from hwgen.tools.toolchain import ToolError

__all__ = ["report"]

Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="The folder of a sweep, or its results.csv.")]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the page and the images.")]
Title = Annotated[str, typer.Option("--title", help="Title of the page.")]


def report(
    results: Results, *, output: Output, title: Title = "Buffers, traffic, area", as_json: Json = False
) -> int:
    """Write one self-contained HTML page with the plots and tables of a sweep, and the plots as PNG and SVG.

    Rows are compared anew with themselves, their digests, their schedules and the model; those that contradict them
    are named.
    """
    claim_folder(output)
    read = load_results(results)
    wrong = contradictions(read)
    try:
        known_tables(results.parent if results.is_file() else results, wrong.append)
    except InputError as error:
        wrong.append(str(error).removeprefix("-o: "))
    except ToolError:  # Parquet, which is not read here either
        pass
    from hwgen.report.charts import images  # its libraries take a second
    from hwgen.studies.sweep.report.charts import drawn_charts
    from hwgen.studies.sweep.report.page import page

    found = derived(read)
    charts = drawn_charts(found)
    pictures = {
        f"{name}.{suffix}": content
        for name, drawn in charts.items()
        if drawn.tables
        for suffix, content in images(drawn.chart, drawn.tables, drawn.settings).items()
    }
    write_together(output, {"index.html": page(found, charts, title), **pictures})
    files = ["index.html", *pictures]
    if as_json:
        print_json(
            {
                "folder": str(output),
                "files": files,
                "rows": len(found.rows) + len(found.pipelines),
                "contradictions": wrong,
            }
        )
    else:
        rows = len(found.rows) + len(found.pipelines)
        typer.echo(f"{output / 'index.html'}: {rows} rows; {', '.join(pictures) or 'no images'}")
        for line in wrong:
            typer.echo(printable(line))
    return 1 if wrong else 0
