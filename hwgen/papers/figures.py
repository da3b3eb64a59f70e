"""Plots as files: the same bytes for the same plot."""

from io import BytesIO

import matplotlib
from matplotlib.figure import Figure

__all__ = ["rendered"]


def rendered(figure: Figure) -> dict[str, bytes]:
    """The PNG and the SVG file of a figure, by suffix; nothing in them depends on the time."""
    files = {}
    with matplotlib.rc_context({"svg.hashsalt": "hwgen"}):
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = BytesIO()
            figure.savefig(buffer, format=suffix, dpi=120, metadata=metadata)
            files[suffix] = buffer.getvalue()
    return files
