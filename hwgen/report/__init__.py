"""What was computed, as charts, tables and pages."""

from pathlib import Path

__all__ = ["STYLE"]

STYLE = Path(__file__).resolve().parent / "page_parts" / "page.css"
"""The style of pages: colours, text, tables."""
