"""The page on Python: its blocks run from first to last in one namespace, and print what the page says."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import hwgen
from tests.readers.integers.models import small
from tests.studies.engine.inline import open_inline

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
SIMULATING = ("hwgen.build(", "hwgen.cosim(", "hwgen.run(", "hwgen.synth(")
"""What takes the time of a build, or of a synthesis: `make nightly` runs it."""
LINES = 10
"""Lines of the first example, at most: as many as ZigZag's."""


class Block(NamedTuple):
    """A block of the page, and what it prints; None where the page does not say."""

    code: str
    prints: str

    @property
    def simulates(self) -> bool:
        return any(call in self.code for call in SIMULATING)


def blocks() -> Iterator[Block]:
    text = PAGE.read_text(encoding="utf-8")
    for code, _, prints in re.findall(
        r"^```python\n(.*?)^```\n(\n```text\n(.*?)^```)?", text, re.DOTALL | re.MULTILINE
    ):
        yield Block(code, prints)


def run(wanted: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    for block in wanted:
        exec(compile(block.code, str(PAGE), "exec"), namespace)
        assert capsys.readouterr() == (block.prints, ""), block.code


def without_simulation(block: Block) -> Block:
    """The first block without its simulation: what is predicted, and what the others need."""
    kept = [line for line in block.code.splitlines() if not ("cosim" in line or "result" in line)]
    return Block("\n".join(kept), "".join(block.prints.splitlines(keepends=True)[:1]))


def test_every_name_has_an_example() -> None:
    code = "\n".join(block.code for block in blocks())
    assert [name for name in hwgen.__all__ if not re.search(rf"\bhwgen\.{name}\b", code)] == []


def test_the_first_example_is_short() -> None:
    first = next(blocks())
    assert first.simulates
    assert len([line for line in first.code.splitlines() if line.strip()]) <= LINES


def test_the_page_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    small(tmp_path / "model.onnx")
    first, *others = blocks()
    run([without_simulation(first), *(one for one in others if not one.simulates)], capsys)
    assert {"own.yaml", "traffic.svg"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.nightly
def test_the_whole_page_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    small(tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(1, 2, 5, 6)).astype(np.float32))
    run(list(blocks()), capsys)
    assert len(list((tmp_path / "rtl").rglob("hwc.v"))) == 2


def test_a_script_that_uses_it_is_checked_by_mypy(tmp_path: Path) -> None:
    """The page as a user's script: strictly, with no settings but mypy's own. What is no name of a plan is found."""
    code = "\n".join(block.code for block in blocks())
    (tmp_path / "script.py").write_text(code, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(f"{code}\nplan.bites", encoding="utf-8")
    for name, status in (("script.py", 0), ("wrong.py", 1)):
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), name]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert answer.returncode == status, answer.stdout
    assert '"Plan" has no attribute "bites"' in answer.stdout
