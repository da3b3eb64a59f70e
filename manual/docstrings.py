"""How the API pages show docstrings: the section *Members*, which numpydoc does not know, becomes a list."""

from typing import Any

import griffe

from manual.members import HEADING, members_of

__all__ = ["Members"]


class Members(griffe.Extension):
    """Rewrites the section before the parser of numpydoc sees the docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring and HEADING.search(obj.docstring.value):
            obj.docstring.value = with_list(obj.docstring.value)


def with_list(docstring: str) -> str:
    """The docstring with the section as a list in Markdown."""
    before = HEADING.split(docstring, maxsplit=1)[0]
    lines = ["**Members**", ""]
    for one in members_of(docstring):
        kind = f": `{one.kind}`" if one.kind.startswith(("In", "Out")) else f": {one.kind}" if one.kind else ""
        lines += [f"- `{one.names}`{kind}", *([f"  <br>{one.meaning}"] if one.meaning else [])]
    return "\n".join([before.rstrip("\n"), "", *lines])
