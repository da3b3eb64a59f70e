"""What the nightly tests add is named on the page about the tests, module by module."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
MARK = "pytest.mark." + "nightly"


def with_nightly_tests() -> set[str]:
    """Modules with tests that are left out of other runs, as the page names them."""
    modules = [path for path in (ROOT / "tests").rglob("test_*.py") if MARK in path.read_text(encoding="utf-8")]
    return {path.relative_to(ROOT).as_posix() for path in modules}


def on_the_page(page: str) -> set[str]:
    """Modules that have a row in the table of nightly tests."""
    return set(re.findall(r"^\| `(tests/\S+)` \|", page, re.MULTILINE))


def test_every_module_with_nightly_tests_is_on_the_page_and_no_other() -> None:
    assert on_the_page(PAGE) == with_nightly_tests()


def test_a_module_that_is_left_out_is_missed() -> None:
    (row,) = re.findall(r"^\| `tests/cosim/hwc/test_cycles.py` .*\n", PAGE, re.MULTILINE)
    assert with_nightly_tests() - on_the_page(PAGE.replace(row, "")) == {"tests/cosim/hwc/test_cycles.py"}
