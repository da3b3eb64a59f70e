"""What a page of ``docs`` may insert by a line ``{{ name }}``: a table, a drawing or a timing diagram."""

import json
import re
from collections.abc import Callable
from functools import partial

from examples.notebooks.cells import SHOWN, cells
from hwgen.arch.hardware_file import hardware_keys
from hwgen.ir.operators import OPERATORS
from hwgen.readers.layers.operators import IGNORED, REFUSED, TAKEN
from hwgen.readers.onnx.lifting import EQUIVALENTS
from manual.axi import absent_table, id_table
from manual.figures.cluster import cluster_drawing
from manual.figures.dma import dma_drawing
from manual.figures.flow import flow
from manual.figures.hwc import hwc_drawing
from manual.figures.overview import overview
from manual.figures.pipeline import pipeline_drawing
from manual.markdown import table
from manual.timing.diagrams import stored_diagrams
from manual.timing.svg import timing_svg

__all__ = ["DRAWINGS", "INSERTS", "with_inserts"]

_TITLES = {
    "tcdm-read": "Reads on a TCDM port, one of which waits",
    "tcdm-write": "Writes on a TCDM port, and the read that follows",
    "apb": "A write, a read and a refused read on the APB port",
    "axi-read": "A burst of reads on the AXI port",
    "axi-write": "A burst of writes on the AXI port",
    "stream": "Three pixels of six bytes on an input stream of four bytes",
    "start": "From the start to the acknowledged interrupt of an HWC",
}


def _timing(name: str) -> list[str]:
    title = _TITLES[name]
    svg = timing_svg(stored_diagrams()[name], title)
    return [f'<figure class="scrolls" data-search-exclude>{svg}<figcaption>{title}</figcaption></figure>']


DRAWINGS = {
    "flow": flow,
    "hwc": hwc_drawing,
    "dma": dma_drawing,
    "cluster": cluster_drawing,
    "overview": overview,
    "pipeline": pipeline_drawing,
}


def _drawing(name: str) -> list[str]:
    drawing = DRAWINGS[name]()
    return [f"<figure data-search-exclude>{drawing.svg()}<figcaption>{drawing.title}</figcaption></figure>"]


def notebooks() -> list[str]:
    """The notebooks: text, code, and what their cells showed when they were kept."""
    lines: list[str] = []
    for name, kept in json.loads(SHOWN.read_text(encoding="utf-8")).items():
        results = iter(kept)
        for cell in cells(name):
            if not cell.is_code:
                lines += ["", re.sub("^#", "##", cell.text), ""]
                continue
            shown = next(results).replace("\n", " ")
            lines += ["```python", cell.text, "```", ""]
            lines += [f'<figure class="scrolls" data-search-exclude>{shown}</figure>', ""]
    return lines


def operations_table() -> list[str]:
    """The operations that a row of a layer set may have."""
    rows = [f"| `{operator.name}` | {operator.meaning} |" for operator in OPERATORS.values()]
    return ["| operation | meaning |", "|---|---|", *rows]


def onnx_table() -> list[str]:
    """What becomes of each ONNX operator."""
    rows = [f"| taken | `{name}` | {row} |" for name, row in TAKEN.items()]
    rows += [f"| taken | `{name}` | as `{one}` |" for name, one in EQUIVALENTS.items() if one in TAKEN]
    for group in IGNORED:
        quantised = [name for name, one in EQUIVALENTS.items() if one in group.names]
        names = ", ".join(f"`{name}`" for name in (*group.names, *quantised))
        rows.append(f"| ignored | {names} | {group.why}. {group.passing.value} |")
    rows += [f"| refused | `{name}` | {why} |" for name, why in REFUSED.items()]
    rows.append("| refused | every other operator | whether it carries work is not known |")
    return ["| what | operator | as what, or why |", "|---|---|---|", *rows]


def hardware_table(*, cluster: bool) -> list[str]:
    """The keys of a hardware file, or of its cluster."""
    inside = "cluster."
    keys = [key for key in hardware_keys() if key.name.startswith(inside) == cluster]
    rows = [
        [f"`{key.name.removeprefix(inside)}`", str(key.domain), key.otherwise, "; ".join(key.rules), key.meaning]
        for key in keys
    ]
    return list(table(["key", "values", "without it", "rules", "meaning"], rows))


INSERTS: dict[str, Callable[[], list[str]]] = {
    "notebooks": notebooks,
    "axi-absent": absent_table,
    "axi-ids": id_table,
    "hardware-keys": partial(hardware_table, cluster=False),
    "cluster-keys": partial(hardware_table, cluster=True),
    "onnx": onnx_table,
    "operations": operations_table,
    **{f"timing-{name}": partial(_timing, name) for name in _TITLES},
    **{f"drawing-{name}": partial(_drawing, name) for name in DRAWINGS},
}


def with_inserts(text: str) -> str:
    """The page with what its lines ``{{ name }}`` stand for; `KeyError` for a name that nothing is known by."""
    return re.sub(r"(?m)^\{\{ ([\w-]+) \}\}$", lambda found: "\n".join(INSERTS[found[1]]()), text)
