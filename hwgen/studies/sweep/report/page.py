"""A sweep's results as one self-contained HTML page: data, style and script are in it."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hwgen.ir.schedule import Schedule
from hwgen.report import SCRIPTS, STYLE
from hwgen.report.charts import chart_script
from hwgen.report.nest import nest_text
from hwgen.studies.sweep.report.charts import Drawn
from hwgen.studies.sweep.report.derived import runs_of
from hwgen.studies.sweep.report.results import SweepResults

__all__ = ["page"]

PARTS = Path(__file__).resolve().parent / "page_parts"
OWN = ("rows.js", "filters.js", "design.js", "plots.js", "pipelines.js", "areas.js", "tables.js", "page.js")
"""One script with `SCRIPTS`, in this order."""


def page(results: SweepResults, charts: Mapping[str, Drawn], title: str) -> str:
    """The page of derived results."""
    document = {
        "charts": {
            name: {"chart": one.chart, "kinds": one.kinds}
            for name, one in charts.items()
            if name == "bars" or one.chart is not charts["bars"].chart
        },
        "rows": [_with_nest(row, results.schedules) for row in results.rows],
        "curves": list(results.curves),
        "columns": list(results.columns),
        "curve_columns": list(results.curve_columns),
        "provenance": dict(results.provenance),
        "pipelines": [_filled(row) for row in results.pipelines],
        "fronts": list(results.fronts),
        "runs": runs_of(results),
        "pipeline_columns": list(results.pipeline_columns),
        "areas": list(results.areas),
        "area_columns": list(results.area_columns),
    }
    filled = {
        "TITLE": html.escape(title),
        "STYLE": STYLE.read_text(encoding="utf-8"),
        "VEGA": chart_script(),
        "SCRIPT": "".join([*(one.read_text(encoding="utf-8") for one in SCRIPTS), *map(_part, OWN)]),
        # No string may end the HTML element that contains it.
        "DATA": json.dumps(document, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = _part("page.html")
    for name, content in filled.items():
        text = text.replace(f"@{name}@", content)
    return text


def _with_nest(row: Mapping[str, Any], schedules: Mapping[str, Schedule]) -> dict[str, Any]:
    schedule = schedules.get(row["schedule"])
    return _filled(row) | {"nest": "" if schedule is None else nest_text(schedule)}


def _filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """The cells that are not empty: most are."""
    return {name: cell for name, cell in row.items() if cell is not None}


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")
