"""``hwgen report``: a sweep's results as one page, and its plots as images."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.cli.console import Json, print_json, require_folder
from hwgen.ir.document import write_atomically
from hwgen.report.figures import rendered
from hwgen.report.sweep.figures import figures_of
from hwgen.report.sweep.page import page
from hwgen.report.sweep.results import load_results

__all__ = ["report"]

Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="The folder of a sweep, or its results.csv.")]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the page and the images.")]
Title = Annotated[str, typer.Option("--title", help="Title of the page.")]


def report(
    results: Results, *, output: Output, title: Title = "Buffers, traffic, area", as_json: Json = False
) -> None:
    """Write one self-contained HTML page with the plots and tables of a sweep, and the plots as PNG and SVG."""
    require_folder(output)
    found = load_results(results)
    text = page(found, title)
    images = {
        f"{name}.{suffix}": content
        for name, figure in figures_of(found).items()
        for suffix, content in rendered(figure).items()
    }
    write_atomically(output / "index.html", text)
    for name, content in images.items():
        (output / name).write_bytes(content)
    files = ["index.html", *images]
    if as_json:
        print_json({"folder": str(output), "files": files, "rows": len(found.rows) + len(found.pipelines)})
    else:
        rows = len(found.rows) + len(found.pipelines)
        typer.echo(f"{output / 'index.html'}: {rows} rows; {', '.join(images) or 'no images'}")
