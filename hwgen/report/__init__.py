"""What was computed, as charts, tables and pages."""

from pathlib import Path

__all__ = ["SCRIPTS", "STYLE"]

PARTS = Path(__file__).resolve().parent / "page_parts"
STYLE = PARTS / "page.css"
"""The style of pages: colours, text, tables."""
SCRIPTS = tuple(PARTS / name for name in ("charts.js", "panel.js", "sorted_table.js"))
"""What pages with charts have before their own script, which has `data`, `kept` and `keep`."""
