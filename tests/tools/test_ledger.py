"""The file of results: whole lines, whatever was left of the last one."""

import json
from multiprocessing import get_context
from pathlib import Path

import pytest

from hwgen.tools.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "folder" / "results.jsonl")


def test_what_was_added_is_loaded_and_the_last_of_a_key_counts(ledger: Ledger) -> None:
    assert ledger.load() == {}
    ledger.add("a", {"x": 1})
    ledger.add("b", {"x": "é\n"})
    ledger.add("a", {"x": 2})
    assert ledger.load() == {"a": {"key": "a", "x": 2}, "b": {"key": "b", "x": "é\n"}}
    assert ledger.path.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize("cut", range(1, 15))
def test_a_torn_last_line_counts_as_nothing_and_is_in_nobodys_way(ledger: Ledger, cut: int) -> None:
    ledger.add("a", {"x": 1})
    ledger.add("b", {"x": 2})
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole[:-cut])
    assert set(ledger.load()) == {"a"}
    ledger.add("c", {"x": 3})
    assert {"a", "c"} <= set(ledger.load())
    ledger.add("b", {"x": 4})
    assert {key: entry["x"] for key, entry in ledger.load().items()} == {"a": 1, "c": 3, "b": 4}


def test_lines_that_are_no_results_are_passed_over(ledger: Ledger) -> None:
    ledger.add("a", {})
    with ledger.path.open("ab") as file:
        file.write(b'nonsense\n[]\n{"key": 3}\n\xff\xfe\n\n{"x": 1}\n')
    ledger.add("b", {})
    assert set(ledger.load()) == {"a", "b"}


def add_many(path: Path, name: str) -> None:
    for number in range(50):
        Ledger(path).add(f"{name}{number}", {"text": name * 5000})


def test_processes_that_add_at_the_same_time_lose_nothing(ledger: Ledger) -> None:
    context = get_context("spawn")
    processes = [context.Process(target=add_many, args=(ledger.path, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(ledger.load()) == 100
    assert all(json.loads(line) for line in ledger.path.read_text(encoding="utf-8").splitlines())


def test_a_line_that_was_changed_since_is_not_believed(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.add("a", {"equal": True, "predicted": {"I": 8}, "measured": {"I": 8}})
    ledger.add("b", {"x": 1})
    written = ledger.path.read_bytes()
    ledger.path.write_bytes(written.replace(b'"measured": {"I": 8}', b'"measured": {"I": 4}'))
    assert set(ledger.load()) == {"b"}
    assert "line 1: changed since it was written: not believed, made anew" in capsys.readouterr().err
    # Nor is a line without a digest, or one whose flag says what its counts do not.
    ledger.path.write_bytes(b'{"key": "a", "layer": "conv1", "equal": true}\n')
    assert ledger.load() == {}
    assert "line 1 (conv1): without a digest: not believed" in capsys.readouterr().err
    ledger.add("b", {"equal": True, "predicted": {"I": 8}, "measured": {"I": 4}})
    assert ledger.load() == {}
    assert "line 2: equal, and its counts differ: not believed" in capsys.readouterr().err
    # What has been made anew is not spoken of again.
    ledger.add("a", {"equal": True})
    ledger.add("b", {"equal": True})
    assert set(ledger.load()) == {"a", "b"}
    assert capsys.readouterr().err == ""
