"""What a paper's command prints: its text as it is kept, or tables on a terminal."""

import io
from pathlib import Path

import pytest

from hwgen.papers.answer import answer
from hwgen.papers.claims import Claim, between, claims_table

CLAIM = Claim(
    "IV", "up to `14` times", "15.3", "a reason", scope="all layers", parts=(between("most", 15.3, 13, 15),)
)
TEXT = "\n".join(
    ["# A paper", "", "Text with a **word**", "on two lines.", "", "- an item", "  of two lines", "- another", "",
     "## Claims", "", *claims_table([CLAIM]), "", "| layer | bytes |", "|---|---:|", "| one | 1,024 |", ""]
)  # fmt: skip


class Terminal(io.StringIO):
    """A standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(folder: Path) -> None:
    answer(folder, "hwgen paper some", [CLAIM], {"README.md": TEXT.encode()}, TEXT, {}, as_json=False)


def test_a_pipe_gets_the_text_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(tmp_path)
    assert capsys.readouterr().out == TEXT == (tmp_path / "README.md").read_text()


def test_a_terminal_gets_tables_and_no_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout", terminal := Terminal())
    printed(tmp_path)
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "Text with a word on two lines." in lines
    assert lines[lines.index("- an item of two lines") + 1] == "- another"
    assert not any(sign in line for line in lines for sign in ("#", "`", "**", "|--"))
    (claim,) = (line for line in lines if "15.3" in line)
    assert [cell.strip() for cell in claim.strip("│").split("│")] == [
        "IV",
        "up to 14 times",
        "15.3",
        "not reproduced",
    ]
    (row,) = (line for line in lines if "1,024" in line)
    assert "one" in row
    assert " ".join(lines[-2:]).endswith("tolerances, remarks and figures")
    assert (tmp_path / "README.md").read_text() == TEXT
