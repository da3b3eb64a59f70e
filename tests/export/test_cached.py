"""Verilog that is kept: what was damaged, or is another HWC's, is not taken for it."""

from dataclasses import replace
from pathlib import Path

import pytest

import hwgen.export.cached
from hwgen.arch.hwc import HwcParameters
from hwgen.export.cached import generated
from tests.arch.test_hwc import SOUND


def test_it_is_that_of_its_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def verilog(parameters: HwcParameters) -> str:
        return f"module hwc; // {parameters}\nendmodule\n"

    def kept() -> set[Path]:
        return set((tmp_path / "verilog").glob("*.v"))

    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(hwgen.export.cached, "verilog", verilog)
    other = replace(SOUND, read_back=not SOUND.read_back)
    generated(other)
    (file_of_other,) = kept()
    wanted = generated(SOUND)
    (file,) = kept() - {file_of_other}
    for damaged in (file_of_other.read_bytes(), file.read_bytes()[:-12]):
        file.write_bytes(damaged)
        assert generated(SOUND) == wanted == verilog(SOUND)
        assert capsys.readouterr().err.startswith(f"hwgen: {file}: damaged (")
