"""Tables on terminals: what fits, what is left out, what is never broken."""

import random
import re

import pytest

from hwgen.cli.console import CYCLE_MODEL, CYCLES_NOTE, print_cycles_note, print_table, printable, show_wide
from tests.cli.command_line import Run

COLUMNS = ["layer", "operand", "direction", "bytes predicted", "bytes measured", "words predicted", "words measured"]


def rows(draws: random.Random) -> list[list[object]]:
    names = ["C1", "conv_stage_three_of_the_second_branch", "a/b"]
    return [
        [draws.choice(names), draws.choice("IWO"), "read_partial", *(draws.randrange(10**10) for _ in range(4))]
        for _ in range(4)
    ]


def printed(width: int, shown: list[list[object]], monkeypatch: pytest.MonkeyPatch,
            capsys: pytest.CaptureFixture[str], wide: list[str | tuple[str, ...]]) -> str:  # fmt: skip
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
        assert all(line.rstrip()[-1] in "┓┃┩│┘" for line in text.splitlines() if line[0] in "┏┃┡│└"), text
        left_out = re.search(r"narrow: (.*?)\. --wide", " ".join(text.split()))
        for at, name in enumerate(COLUMNS):
            whole = all(f"{row[at]:,}" in text for row in shown if isinstance(row[at], int))
            assert whole != (left_out is not None and name in left_out[1].split(", ")) or at < 3, (name, text)


def test_what_is_left_out_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(80, rows(random.Random(1)), monkeypatch, capsys, ["operand", "words predicted"])
    assert "Left out, the terminal being narrow: operand, words predicted" in text
    text = printed(80, rows(random.Random(1)), monkeypatch, capsys, [("words predicted", "words measured")])
    assert "narrow: words predicted, words measured. --wide" in " ".join(text.split())
    show_wide(True)
    try:
        assert "Left out" not in printed(80, rows(random.Random(1)), monkeypatch, capsys, ["operand"])
    finally:
        show_wide(False)


def test_names_that_would_be_wrapped_are_listed_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "4x_m16c16_i1024_o2048_w128_tcdm64_banks8_axi64_vector16_window *"
    for width, names in ((80, ["1 *", "2"]), (140, [long, "1x_m4c4"])):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))
        table = [[long, 81234, 46840, 1024], ["1x_m4c4", 24234, 1346840, 16]]
        print_table("Front", ["hardware", "LUT4, estimated", "cycles", "multipliers"], table, short=["1 *", "2"])
        text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        assert re.findall(r"(?m)^│ (\S+(?: \*)?) +│ ", text) == names
        assert (f"\n1: {long}\n2: 1x_m4c4\n" in text) == (width == 80)


NARROW = {
    ("layers", "mobilenet_v2"): ["layer", "op", "input", "output", "MACs"],
    ("layers", "alexnet"): ["layer", "op", "input", "output", "kernel", "MACs"],
    ("sets",): ["name", "MACs", "weights"],
    ("hardware",): ["name", "lanes", "order", "HWCs", "TCDM", "DRAM"],
    ("schedule", "lenet:F6", "--buffer", "1KiB"): ["layer", "buffer", "needs", "bytes", "/ bound"],
}


@pytest.mark.parametrize("command", NARROW, ids=" ".join)
def test_what_stays_at_80_columns(command: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    text = re.sub(r"\x1b\[[0-9;]*m", "", run(*command).out)
    left_out = re.search(r"narrow: (.*?)\. --wide", " ".join(text.split()))
    assert left_out is not None
    header = text.partition("┡")[0]
    for name in NARROW[command]:
        assert name not in left_out[1].split(", ")
        assert name.split()[-1] in header


def test_a_name_without_end_is_cut() -> None:
    assert printable("a " + "n" * 10_000) == "a " + "n" * 200 + "..."
    assert printable("n" * 400) == "n" * 400


def test_how_far_predicted_cycles_are_off_is_said_where_it_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    print_cycles_note([(1000, 1000), (0, 0)], clustered=True, stalls=True)
    assert capsys.readouterr().out == f"{CYCLES_NOTE}\n"
    begins = f"{CYCLE_MODEL}. Here they differ from the measured ones by "
    print_cycles_note([(1004, 1000), (932, 1000)], clustered=True)
    banks = "what ports wait at the banks of a shared memory is estimated"
    assert capsys.readouterr().out == f"{begins}up to 6.8%: {banks}.\n"
    print_cycles_note([(700, 1000)], stalls=True)
    assert capsys.readouterr().out == f"{begins}up to 30.0%: they are without the random stalls of --stalls.\n"
    print_cycles_note([(99_999, 100_000)], stalls=True, clustered=True)
    assert f"less than 0.1%: they are without the random stalls of --stalls, and {banks}." in capsys.readouterr().out
