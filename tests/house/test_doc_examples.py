"""The documents' examples: their files are written to an empty folder, their commands run, what they print compared.

In a page a block with ``title="NAME"`` is a file. A block of ``console`` is a command after ``$`` and parts of what
it prints, where a line of ``...`` stands for any number of lines. Commands that simulate or generate take minutes:
`tests.house.test_doc_commands` runs them in `make nightly`.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hwgen.cli import heartbeat, main

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["semantics/nest.md", "semantics/counts.md", "semantics/memory-levels.md", "tutorial.md", "comparison.md"]
STARTS = ["explore.md", "run-network.md", "soc.md", "reproduce.md"]
"""The ways in, which are followed whole in `make nightly`; of the first two what is quick in every run."""
QUICK = ("layers", "network", "schedule", "predict", "depth-first")
EVERY = (*QUICK, "build", "cosim", "generate", "run", "paper")
TIMES = ("seconds", "Mcycles/s")
"""Columns of the tables that differ from run to run."""


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """(language, title, text) of each fenced block of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for info, body in re.findall(r"^```(\S[^\n]*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        title = re.search(r'title="(.*?)"', info)
        yield info.split()[0], title[1] if title else "", body


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split("[│┃]", line.strip("│┃ "))]


def rows(text: str) -> list[str]:
    """Lines without what varies: rules of tables, widths of columns, times."""
    found: list[str] = []
    timed: set[int] = set()
    for line in text.splitlines():
        if re.match("[┏┡└]", line):
            continue
        if line.startswith("┃"):
            timed = {index for index, name in enumerate(cells(line)) if name in TIMES}
        if line.startswith(("┃", "│")):
            found.append(" | ".join("*" if index in timed else cell for index, cell in enumerate(cells(line))))
        else:
            found.append(line.rstrip())
    return found


def missing(expected: str, printed: str) -> list[str]:
    """The first of the expected parts, in order, that was not printed; times are no part of them."""
    left = rows(printed)
    for part in "\n".join([*rows(expected), ""]).split("...\n"):
        wanted = part.splitlines()
        places = range(len(left) - len(wanted) + 1)
        at = next((i for i in places if left[i : i + len(wanted)] == wanted), None)
        if at is None:
            return wanted
        left = left[at + len(wanted) :]
    return []


def run_page(
    page: str,
    verbs: tuple[str, ...],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> int:
    """Write the page's files, run those of its commands that have one of the verbs; the number of commands run."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(heartbeat, "SECONDS", 3600.0)  # no line of progress, however slow the machine
    number = 0
    for language, title, text in blocks(page):
        if title:
            Path(title).write_text(text, encoding="utf-8")
        if language != "console":
            continue
        command, _, expected = text.partition("\n")
        prompt, program, *arguments = shlex.split(command)
        assert prompt == "$", command
        if program == "python":
            subprocess.run([sys.executable, *arguments], check=True)
            continue
        assert program == "hwgen", command
        if arguments[0] not in verbs:
            continue
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        refused = expected.startswith("hwgen: ")
        noted = (
            printed.err if expected.startswith(printed.err) else ""
        )  # a line before the tables, as the page has it
        assert (ended.value.code, printed.err) == ((2, expected) if refused else (0, noted)), command
        assert missing("" if refused else expected.removeprefix(noted), printed.out) == [], command
        number += 1
    return number


@pytest.mark.parametrize("page", [*PAGES, *STARTS[:2]])
def test_the_examples_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_page(page, QUICK, tmp_path, monkeypatch, capsys) >= 1


@pytest.mark.nightly
def test_the_example_of_memory_levels_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_page("semantics/memory-levels.md", ("cosim",), tmp_path, monkeypatch, capsys) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("page", STARTS)
def test_a_way_in_leads_to_its_success(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_page(page, EVERY, tmp_path, monkeypatch, capsys) >= 2
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.count("**You have succeeded**") == 1


def test_the_comparison_can_fail() -> None:
    printed = "┏━┓\n┃ operand ┃ bytes ┃ seconds ┃\n┡━┩\n│ I │ 96 │ 0.1 │\n│ W │ 72 │ 0.2 │\n└─┘\n"
    head = "┃ operand ┃ bytes ┃ seconds ┃\n"
    assert missing("...\n│ I       │    96 │ 0.4 │\n...\n", printed) == ["I | 96 | 0.4"]
    assert missing(f"{head}│ I       │    96 │ 0.4 │\n...\n", printed) == []
    assert missing(f"{head}...\n│ W       │    72 │ 0.4 │\n...\n", printed) == []
    assert missing(f"{head}...\n│ W       │    73 │ 0.4 │\n...\n", printed) == ["W | 73 | *"]
    assert missing(f"{head}...\n│ W │ 72 │ 0 │\n...\n│ I │ 96 │ 0 │\n", printed) == ["I | 96 | *"]
