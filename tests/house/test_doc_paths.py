"""The documents name files, modules and pages that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hwgen

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOPS = ("hwgen", "cosim", "tests", "schedules", "docs", "benchmarks", "examples")


def spans(text: str) -> Iterator[str]:
    """What stands between single backticks outside fenced code."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`([^`\n]+)`", plain)


def missing_paths(text: str) -> list[str]:
    """Paths and modules of this project that the text names and that are not there."""
    missing = []
    for span in spans(text):
        if re.fullmatch(rf"(?:{'|'.join(TOPS)})(?:/[\w.-]+)+/?", span):
            if not (ROOT / span).exists():
                missing.append(span)
        elif re.fullmatch(r"(?:hwgen|cosim)(?:\.\w+)+", span):
            path = ROOT.joinpath(*span.split("."))
            module = path.parent.with_suffix(".py")
            defined = module.exists() and re.search(rf"\b{path.name}\b", module.read_text(encoding="utf-8"))
            exported = span.removeprefix("hwgen.") in hwgen.__all__
            if not (path.is_dir() or path.with_suffix(".py").exists() or defined or exported):
                missing.append(span)
    return missing


def dead_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead nowhere."""
    dead = []
    for target in re.findall(r"]\((?!https?:|#|mailto:)([^)\s]+)\)", text):
        if not (page.parent / target.partition("#")[0]).exists():
            dead.append(target)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert missing_paths(text) == []
    if page.parent == ROOT:  # links within the site are checked by `make docs`
        assert dead_links(page, text) == []


def test_every_term_of_the_glossary_has_a_place_in_the_code() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if row.startswith("| ") and row.count(" | ") == 2]
    terms = [row for row in rows if not row.startswith("| term")]
    assert len(terms) > 60
    assert [row for row in terms if "`" not in row.rsplit(" | ", 1)[1]] == []


def test_the_checks_can_fail() -> None:
    named = "`hwgen/ir/no_such.py` `hwgen.ir.layer.Nothing` `hwgen.ir.layer.Layer` `hwgen/ir/layer.py`"
    text = f"{named} [here](no_such.md) [site](https://x.org)"
    assert missing_paths(text) == ["hwgen/ir/no_such.py", "hwgen.ir.layer.Nothing"]
    assert dead_links(ROOT / "README.md", text) == ["no_such.md"]
