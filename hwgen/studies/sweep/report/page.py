"""A sweep's results as one self-contained HTML page: data, style and script are in it."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hwgen.ir.level import LOCAL
from hwgen.ir.schedule import Loop, Schedule
from hwgen.report import STYLE
from hwgen.report.charts import chart_script
from hwgen.studies.sweep.report.charts import Drawn
from hwgen.studies.sweep.report.derived import runs_of
from hwgen.studies.sweep.report.results import SweepResults

__all__ = ["nest_text", "page"]

PARTS = Path(__file__).resolve().parent / "page_parts"
SCRIPTS = (
    "charts.js", "rows.js", "filters.js", "design.js", "plots.js", "pipelines.js", "areas.js", "tables.js",
    "page.js",
)  # fmt: skip
"""One script, in this order."""


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
        "SCRIPT": "".join(map(_part, SCRIPTS)),
        # No string may end the HTML element that contains it.
        "DATA": json.dumps(document, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = _part("page.html")
    for name, content in filled.items():
        text = text.replace(f"@{name}@", content)
    return text


def nest_text(schedule: Schedule) -> str:
    """A schedule as pseudocode: loops, and above a loop a comment that names the operands buffered there."""
    lines, depth = [], 0
    covers = dict(schedule.layer.extents)
    inside: set[str] = set()
    for item in schedule.nest:
        indent = "  " * depth
        if isinstance(item, Loop):
            begin = item.dim if item.dim in inside else "0"
            end = f"{item.dim} + {covers[item.dim]}" if item.dim in inside else str(covers[item.dim])
            spread = f"  # over {item.over}s" if item.over else ""
            lines.append(f"{indent}for {item.dim} in range({begin}, {end}, {item.step}):{spread}")
            covers[item.dim] = min(item.step, covers[item.dim])
            inside.add(item.dim)
            depth += 1
        else:
            level = "" if item.level == LOCAL else f" in the {item.level}"
            lines.append(f"{indent}# buffered{level} at the loop below: {', '.join(item.arrays)}")
    lanes = " x ".join(f"{number} along {dim}" for dim, number in schedule.lanes.as_data().items()) or "one"
    lines.append(f"{'  ' * depth}multiply and accumulate  # lanes: {lanes}")
    return "\n".join(lines)


def _with_nest(row: Mapping[str, Any], schedules: Mapping[str, Schedule]) -> dict[str, Any]:
    schedule = schedules.get(row["schedule"])
    return _filled(row) | {"nest": "" if schedule is None else nest_text(schedule)}


def _filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """The cells that are not empty: most are."""
    return {name: cell for name, cell in row.items() if cell is not None}


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")
