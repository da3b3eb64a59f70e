"""The benchmarks of ``hwgen choose``: what its marks refuse, and which of the clusters that are drawn are planned."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import bench_choose, bench_choose_random
from hwgen.api.choosing.selection import Budget

CLUSTER = {"hwcs": 2, "tcdm": 65_536, "banks": 8}
HARDWARE = {"name": "one", "lanes": {"m": 16, "c": 8}, "cluster": CLUSTER}
ROW = {
    "why": None, "stopped": None, "seconds": 299.0, "hardware": HARDWARE, "cycles": 10_000, "measured": 10_090,
    "luts": 21_900, "synthesised": 20_000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "met"),
    [
        ({}, True),
        ({"measured": 9_910, "luts": 18_100}, True),
        ({"measured": 10_110}, False),
        ({"measured": 9_890}, False),
        ({"luts": 22_100}, False),
        ({"luts": 17_900}, False),
        ({"seconds": 301.0}, False),
    ],
)
def test_marks_of_an_answer(change: dict[str, Any], met: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_choose._told("net", ROW | change, Budget(luts=40_000)) == met
    cells = capsys.readouterr().out.split(" | ")
    assert len(cells) == len(bench_choose.COLUMNS)
    assert cells[:3] == ["| net", "`--luts 40000`", "2 HWCs, `m16 c8`, 64 KiB in 8 banks"]


def test_one_hwc_alone_is_named_as_that() -> None:
    assert bench_choose._described({"lanes": {"m": 16, "c": 16}}) == "one HWC alone, `m16 c16`"


def test_that_nothing_does_what_is_asked_is_an_answer_in_time() -> None:
    nothing = {"why": "--fps: 30 images a second; the fastest makes 3", "stopped": None}
    assert bench_choose._told("net", nothing | {"seconds": 3.0}, Budget(fps=30))
    assert not bench_choose._told("net", nothing | {"seconds": 301.0}, Budget(fps=30))


MORE = {"cycles": 100}


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Names and bounds of what is planned; each plan takes `MORE` cycles than its bound."""
    planned: list[tuple[str, int]] = []

    def plan(work: object, one: Any) -> Any:
        planned.append((one.hardware.name, one.bound))
        return SimpleNamespace(cycles=one.bound + MORE["cycles"])

    bound = SimpleNamespace(cycles=lambda hardware: 1_000 * hardware.shape.product)
    monkeypatch.setattr(bench_choose_random, "FOLDER", tmp_path)
    monkeypatch.setattr(bench_choose_random, "planned_on", plan)
    monkeypatch.setattr(bench_choose_random, "processors", lambda: 1)
    monkeypatch.setattr(bench_choose_random, "QuantisedModel", lambda _: SimpleNamespace(bound=lambda: bound))
    return planned


def test_only_what_may_be_better_is_planned(drawn: list[tuple[str, int]], tmp_path: Path) -> None:
    every = list(bench_choose_random._draws("ResNet-8", 30))
    points = [{"luts": 60_000, "cycles": 100_000}, {"luts": 30_000, "cycles": 20_000}]
    expected = {
        one.hardware.name
        for one in every
        if any(
            one.area.lut4 < point["luts"] and 1_000 * one.hardware.shape.product < point["cycles"] for point in points
        )
    }
    possible, rows = bench_choose_random._drawn("ResNet-8", Path("model.tflite"), 30, points)
    assert {name for name, _ in drawn} == expected
    assert possible == len(rows) == len(expected)
    assert 0 < len(expected) < 30
    assert sorted(row["cycles"] for row in rows) == sorted(bound + 100 for _, bound in drawn)
    again = bench_choose_random._drawn("ResNet-8", Path("model.tflite"), 30, points)
    assert again == (possible, rows)
    assert len(drawn) == len(expected)  # what is kept is not planned again
    assert json.loads(next(tmp_path.iterdir()).read_text(encoding="utf-8")).keys() == {"luts", "cycles", "keys"}


def test_a_plan_below_its_bound_is_an_error(drawn: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MORE, "cycles", -1)
    with pytest.raises(ValueError, match="cycles planned, below the bound of"):
        bench_choose_random._drawn("ResNet-8", Path("model.tflite"), 30, [{"luts": 90_000, "cycles": 10**9}])
    assert len(drawn) == 1
