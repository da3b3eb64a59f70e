"""What a page of ``docs`` may insert by a line ``{{ name }}``: a table, a drawing or a timing diagram."""

import re
from collections.abc import Callable
from functools import partial

from manual.axi import absent_table
from manual.timing import timing_svg
from manual.waves import stored_diagrams

__all__ = ["INSERTS", "with_inserts"]

_TITLES = {
    "tcdm-read": "Reads on a TCDM port, one of which waits",
    "tcdm-write": "Writes on a TCDM port, and the read that follows",
    "apb": "A write, a read and a refused read on the APB port",
    "axi-read": "A burst of reads on the AXI port",
    "axi-write": "A burst of writes on the AXI port",
    "start": "From the start to the acknowledged interrupt of an HWC",
}


def _timing(name: str) -> list[str]:
    title = _TITLES[name]
    svg = timing_svg(stored_diagrams()[name], title)
    return [f'<figure class="scrolls" data-search-exclude>{svg}<figcaption>{title}</figcaption></figure>']


INSERTS: dict[str, Callable[[], list[str]]] = {
    "axi-absent": absent_table,
    **{f"timing-{name}": partial(_timing, name) for name in _TITLES},
}


def with_inserts(text: str) -> str:
    """The page with what its lines ``{{ name }}`` stand for; `KeyError` for a name that nothing is known by."""
    return re.sub(r"(?m)^\{\{ ([\w-]+) \}\}$", lambda found: "\n".join(INSERTS[found[1]]()), text)
