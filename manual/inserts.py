"""What a page of ``docs`` may insert by a line ``{{ name }}``: a table, a drawing or a timing diagram."""

import re
from collections.abc import Callable

from manual.axi import absent_table

__all__ = ["INSERTS", "with_inserts"]

INSERTS: dict[str, Callable[[], list[str]]] = {"axi-absent": absent_table}


def with_inserts(text: str) -> str:
    """The page with what its lines ``{{ name }}`` stand for; `KeyError` for a name that nothing is known by."""
    return re.sub(r"(?m)^\{\{ ([\w-]+) \}\}$", lambda found: "\n".join(INSERTS[found[1]]()), text)
