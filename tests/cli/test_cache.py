"""``hwgen cache``."""

from pathlib import Path

import pytest

from hwgen.tools.kept import kept_text
from tests.cli.command_line import Run, refused


def test_shows_and_empties(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path))
    kept_text(tmp_path / "verilog" / "one.v", lambda: "12345")
    shown = run("cache", "--json").json
    assert (shown["folder"], shown["rooms"]["verilog"]["entries"]) == (str(tmp_path), 1)
    size = (tmp_path / "verilog" / "one.v").stat().st_size
    assert shown["bytes"] == size
    assert f"removed 1 entries, {size} bytes" in run("cache", "--clear").out
    assert "0 bytes of 1GiB" in run("cache").out


def test_limit_is_checked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path))
    monkeypatch.setenv("HWGEN_CACHE_LIMIT", "lots")
    refused(run("cache"), "HWGEN_CACHE_LIMIT: expected a size", "lots")
