"""Tables on terminals: what fits, what is left out, what is never broken."""

import random
import re

import pytest

from hwgen.cli.console import print_table, show_wide

COLUMNS = ["layer", "operand", "direction", "bytes predicted", "bytes measured", "words predicted", "words measured"]


def rows(draws: random.Random) -> list[list[object]]:
    names = ["C1", "conv_stage_three_of_the_second_branch", "a/b"]
    return [
        [draws.choice(names), draws.choice("IWO"), "read_partial", *(draws.randrange(10**10) for _ in range(4))]
        for _ in range(4)
    ]


def printed(width: int, shown: list[list[object]], monkeypatch: pytest.MonkeyPatch,
            capsys: pytest.CaptureFixture[str], wide: list[str]) -> str:  # fmt: skip
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, for Rich
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("Traffic", COLUMNS, shown, wide=wide)
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_number_is_broken(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    draws = random.Random(width)
    for _ in range(10):
        shown = rows(draws)
        text = printed(width, shown, monkeypatch, capsys, [])
        assert max(map(len, text.splitlines())) <= width
        left_out = re.search(r"narrow: (.*?)\. --wide", " ".join(text.split()))
        for at, name in enumerate(COLUMNS):
            whole = all(f"{row[at]:,}" in text for row in shown if isinstance(row[at], int))
            assert whole != (left_out is not None and name in left_out[1].split(", ")) or at < 3, (name, text)


def test_what_is_left_out_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(80, rows(random.Random(1)), monkeypatch, capsys, ["operand", "words predicted"])
    assert "Left out, the terminal being narrow: operand, words predicted" in text
    show_wide(True)
    try:
        assert "Left out" not in printed(80, rows(random.Random(1)), monkeypatch, capsys, ["operand"])
    finally:
        show_wide(False)
