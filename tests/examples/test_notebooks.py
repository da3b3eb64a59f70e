"""The notebooks run, and show what the documentation has; no line of them is more than the page says."""

import json
import re
from pathlib import Path
from shutil import copytree

import pytest

from examples.notebooks.cells import FOLDER, NOTEBOOKS, SHOWN, as_ipynb, cells, html_of, lines_of_code, shown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "notebooks.md"
DIFFERS = "choose_hardware"
"""What is planned there depends on the number of processors."""


def texts(html: str) -> list[str]:
    """What a reader reads, without the look of it."""
    return re.findall(r">([^<]+)<", html)


def head(html: str) -> str:
    return html.partition("<tbody>")[0].partition("<thead>")[2]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_shows_what_the_page_has(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copytree(FOLDER, tmp_path / "notebooks")
    monkeypatch.chdir(tmp_path / "notebooks")
    kept = json.loads(SHOWN.read_text(encoding="utf-8"))[name]
    values = list(shown(name))
    assert len(values) == len(kept) == sum(one.is_code for one in cells(name))
    for value, before in zip(values, kept, strict=True):
        html = html_of(value)
        if name == DIFFERS:
            assert head(html) == head(before) != ""
        else:
            assert texts(html) == texts(before) != []


def test_the_page_counts_their_lines() -> None:
    counted = {
        name: int(lines) for name, lines in re.findall(r"\| `(\w+)\.py`[^|]*\| (\d+) \|", PAGE.read_text("utf-8"))
    }
    assert counted == {name: lines_of_code(name) for name in NOTEBOOKS}
    assert max(counted.values()) <= 10


def test_jupyter_has_every_cell() -> None:
    for name in NOTEBOOKS:
        made = as_ipynb(name)
        assert (made["nbformat"], made["metadata"]["kernelspec"]["name"]) == (4, "python3")
        kinds = {True: "code", False: "markdown"}
        assert [(one["cell_type"], one["source"]) for one in made["cells"]] == [
            (kinds[one.is_code], one.text) for one in cells(name)
        ]
        assert made["cells"][0]["source"].startswith("# ")
        assert not any("# %%" in one["source"] for one in made["cells"])
