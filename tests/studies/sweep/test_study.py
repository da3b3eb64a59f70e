"""``hwgen.sweep``: the call of the command: what it gives back, what it keeps, what it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hwgen
from hwgen.ir.schedule import load_schedule
from hwgen.model.nest.one_level import predict
from hwgen.studies.sweep.request import Outcome, set_name
from hwgen.studies.sweep.running import Running, local_place
from hwgen.studies.sweep.study import SweepRequest, Swept
from tests.cli.json_keys import undocumented

LAYERS = [
    hwgen.Layer(name="a", input_channels=3, output_channels=4, input_height=6, input_width=9, kernel=3, padding=1),
    hwgen.Layer(name="b", input_channels=4, output_channels=4, input_height=6, input_width=9, kernel=1),
]
ASKED: dict[str, Any] = {"buffer": ["512", 1024], "per_layer": True, "lanes": "x16", "objective": "traffic",
                         "simulate": False, "jobs": 1}  # fmt: skip
GIVEN: dict[str, Any] = {"lanes": None, "per_layer": False}

pytestmark = pytest.mark.usefixtures("kernels_of_plans")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Swept, list[str]]:
    """A sweep of the model alone, with a folder, and what it told."""
    told: list[str] = []
    with hwgen.progress(lambda one: told.append(f"{one.what} {one.done:g} of {one.total}")):
        found = hwgen.sweep(LAYERS, output=tmp_path_factory.mktemp("sweep") / "out", **ASKED)
    return found, told


def test_every_point_is_a_row(swept: tuple[Swept, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    found, told = swept
    rows = found.rows()
    assert [(row["layer"], row["buffer_bytes"], row["status"]) for row in rows] == [
        ("a", 512, "predicted"), ("b", 512, "predicted"), ("a", 1024, "predicted"), ("b", 1024, "predicted"),
    ]  # fmt: skip
    assert found.folder is not None
    for row, full in zip(rows, found.results, strict=True):
        prediction = predict(load_schedule(found.folder / str(row["schedule"])))
        assert row["bytes"] == row["predicted_bytes"] == full["total_bytes_predicted"] == prediction.total_bytes
        assert (row["lanes"], row["equal"]) == ("x16", None)
    assert (found.passed, found.difference, repr(found)) == (True, None, "<Sweep of 4 points: by the model alone>")
    assert (told[0], told[-1]) == ("sweeping 0 of 4", "sweeping 4 of 4")
    assert capsys.readouterr() == ("", "")
    document = found.to_dict()
    assert document["results"] == found.results
    assert undocumented("sweep", document) == []
    assert document["provenance"]["configurations"] == ["per-layer 512", "per-layer 1024"]


def test_it_shows_itself(swept: tuple[Swept, list[str]], tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    found, _ = swept
    assert list(found.to_frame()["cycles"]) == [row["cycles"] for row in found.rows()]
    shown = found._repr_html_()
    assert shown.count("<tr>") == 5
    assert "by the model alone" in shown
    assert "<th>equal</th>" not in shown  # nothing was measured
    drawn = found.plot().save(tmp_path / "points.svg").read_text(encoding="utf-8")
    assert "lower bound, proven" in drawn
    with pytest.raises(hwgen.InputError, match="plot: expected points"):
        replace(found, outcome=Outcome()).plot()


def test_the_same_call_goes_on_from_its_folder(swept: tuple[Swept, list[str]]) -> None:
    found, _ = swept
    again = hwgen.sweep(hwgen.Network(LAYERS), output=found.folder, **ASKED)
    assert dict(again.outcome.attempts) == {}
    assert [row["cycles"] for row in again.rows()] == [row["cycles"] for row in found.rows()]
    # Rows of the set of the same layers under another name are kept beside.
    assert (found.kept, again.kept) == (4, 4)


def test_without_a_folder_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = hwgen.sweep(LAYERS[1], **ASKED | {"buffer": 512})
    assert (found.folder, list(tmp_path.iterdir())) == (None, [])
    assert "schedule" not in found.rows()[0]


def test_a_point_that_is_not_as_predicted_is_named(swept: tuple[Swept, list[str]]) -> None:
    found, _ = swept
    wrong = found.results[1] | {"status": "differs", "reason": "I read at tcdm: 7 bytes, predicted 8"}
    broken = replace(found, outcome=Outcome([found.results[0], wrong]))
    line = "per-layer 512 b: differs: I read at tcdm: 7 bytes, predicted 8"
    assert (broken.passed, broken.difference) == (False, line)
    assert broken.summary() == f"Sweep of 2 points: NOT AS PREDICTED: {line}"
    with pytest.raises(hwgen.Difference, match="predicted 8"):
        broken.check()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"buffer": "1KB"}, r"--buffer: expected sizes such as 512 .*\(did you mean 1KiB\?\)"),
        ({"lanes": ["x16", "x15"]}, "--lanes: expected auto, or 4 to 256 lanes"),
        ({"buffer": 1.5}, r"--buffer: expected sizes such as 512 .* got '1.5'"),
        ({"jobs": 0}, "--jobs: expected 1 or more, got 0"),
        ({"objective": "least"}, "--objective: expected"),
        ({"tcdm": 65536}, "--tcdm: expected with --cluster"),
        (
            {"cluster": [2], "hardware": "hwc", "per_layer": False},
            "--hardware: hwc: expected hardware with a cluster",
        ),
        ({"cluster": [2]}, "--per-layer: expected without --cluster"),
        ({"hardware": "hwc"}, "--lanes: not with --hardware of an HWC, which has its own"),
        ({"hardware": "hwc", "lanes": None}, "--per-layer: not with --hardware of an HWC, which has its own"),
        ({**GIVEN, "hardware": "m4c4_1KiB"}, "--buffer: m4c4_1KiB has its own buffers: expected none"),
        ({**GIVEN, "hardware": "cluster"}, "--hardware: cluster: a cluster: expected an HWC, or --cluster"),
        ({**GIVEN, "hardware": ["hwc", "cluster"], "cluster": 2}, "--hardware: expected one with --cluster, got 2"),
        ({**GIVEN, "buffer": None}, "--buffer: expected sizes such as 512 or 1KiB,4KiB, or --hardware"),
        ({**GIVEN, "hardware": 3}, "hardware: expected a built-in name, a file, its keys, or several, got 3"),
        ({"network": "nonet"}, "nonet: expected a file or one of the built-in"),
        ({"network": [LAYERS[0], LAYERS[0]]}, "layers: a: the name is used twice"),
    ],
)
def test_what_cannot_be_swept_is_refused(wrong: dict[str, Any], message: str) -> None:
    asked = {"network": LAYERS, **ASKED, **wrong}
    with pytest.raises(hwgen.InputError, match=message):
        hwgen.sweep(**asked)


@pytest.mark.usefixtures("inline")
def test_hardware_that_is_given_runs_what_schedule_finds_for_it(tmp_path: Path) -> None:
    mine = {"name": "mine", "lanes": {"m": 2, "c": 2}, "budget": 600}
    given = ["m4c4_1KiB", hwgen.hardware(mine)]
    found = hwgen.sweep(LAYERS, given, simulate=False, jobs=1, output=tmp_path / "out")
    wanted = [hwgen.schedule(LAYERS, one) for one in given]
    assert [(row["layer"], row["bytes"], row["cycles"]) for row in found.rows()] == [
        (row["layer"], row["bytes"], row["cycles"]) for one in wanted for row in one.rows()
    ]
    _, one, other, _ = found.rows()
    assert (one["configuration"], one["buffer_bytes"], one["objective"]) == ("hardware m4c4_1KiB", 1024, "cycles")
    assert str(other["configuration"]).startswith("hardware mine-")  # another file may have this name
    assert (other["buffer_bytes"], other["lanes"]) == (600, "m2c2")
    document = found.to_dict()
    assert undocumented("sweep", document) == []
    assert [one["name"] for one in document["provenance"]["hardware"]] == ["m4c4_1KiB", "mine"]
    # The schedules run on the hardware beside them.
    for row in found.rows():
        file = tmp_path / "out" / str(row["schedule"])
        assert hwgen.predict(file).cycles == row["cycles"]
        beside = hwgen.hardware(next(file.parent.glob("*.hardware.yaml")))
        assert beside.lanes == hwgen.hardware(given[row["lanes"] == "m2c2"]).lanes
    again = hwgen.sweep(LAYERS, given, simulate=False, jobs=1, output=tmp_path / "out")
    assert (dict(again.outcome.attempts), again.kept) == ({}, 4)


@pytest.mark.usefixtures("inline")
def test_free_buffers_of_given_hardware_have_every_size() -> None:
    found = hwgen.sweep(LAYERS[0], "hwc", buffer=[256, 512], objective=["traffic", "cycles"], simulate=False, jobs=1)
    assert [(row["buffer_bytes"], row["objective"]) for row in found.rows()] == [
        (256, "traffic"), (256, "cycles"), (512, "traffic"), (512, "cycles"),
    ]  # fmt: skip
    (least,) = hwgen.schedule(LAYERS[0], "hwc", buffer=256, objective="traffic").rows()
    assert found.rows()[0]["bytes"] == least["bytes"]


@pytest.mark.usefixtures("inline")
def test_a_layer_that_given_hardware_does_not_run_is_left_out() -> None:
    order = ["m", "y", "x", {"buffer": "O"}, "c", {"buffer": ["I", "W"]}, "k", "l", "m", "y", "x"]
    small = {"name": "small", "lanes": {"m": 2, "c": 2}, "buffers": {"I": 32, "W": 16, "O": 32}, "budget": 80,
             "order": order}  # fmt: skip
    wide = hwgen.Layer(name="wide", input_channels=4, output_channels=4, input_height=40, input_width=40, kernel=9)
    found = hwgen.sweep([LAYERS[1], wide], small, simulate=False, jobs=1)
    assert [(row["layer"], row["status"]) for row in found.rows()] == [("b", "predicted"), ("wide", "left out")]
    assert found.passed
    reason = "wide: W: no schedule fits: the smallest tile needs 36 bytes with lanes m2c2, hardware small has 16"
    assert found.results[1]["reason"] == reason
    with pytest.raises(hwgen.InputError, match=rf"^no feasible point: .*{reason}$"):
        hwgen.sweep(wide, small, simulate=False, jobs=1)


def test_names_of_networks_in_tables(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.touch()
    assert set_name("lenet:C1") == ("lenet:C1", False)
    assert set_name(hwgen.load("lenet:C1")) == ("lenet:C1", False)
    assert set_name(file) == ("mine", True)
    assert set_name(f"{file}:conv") == ("mine:conv", True)
    assert set_name(hwgen.Network(LAYERS, name="lenet")) == ("lenet", True)
    assert set_name(LAYERS) == ("network", True)


def test_workers_fit_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hwgen.studies.sweep.running.processors", lambda: 8)
    for free, workers in ((None, 8), (3 << 30, 3), (1 << 20, 1)):
        monkeypatch.setattr("hwgen.studies.sweep.running.free_memory", lambda free=free: free)
        assert local_place(None).workers == workers
    assert local_place(5).workers == 5


@pytest.mark.usefixtures("inline")
def test_several_values_are_a_list_or_separated_by_commas() -> None:
    found = [
        hwgen.sweep(LAYERS[1], **ASKED | {"buffer": 512, "lanes": lanes}) for lanes in (["x16", "m4x4"], "x16,m4x4")
    ]
    assert [[row["lanes"] for row in one.rows()] for one in found] == [["x16", "m4x4"]] * 2


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [("balanced", 0.01)]),
        ({"cluster": 2}, [("cycles", None)]),
        ({"cluster": 2, "slack": 0.05}, [("balanced", 0.05)]),
        ({"cluster": 2, "objective": ["cycles", "traffic"]}, [("cycles", None), ("traffic", None)]),
        ({"per_layer": True, "objective": "cycles"}, [("cycles", None)]),
    ],
)
def test_the_fewest_cycles_are_searched_where_hardware_is_given(options: dict[str, Any], wanted: list[Any]) -> None:
    request = SweepRequest(network=LAYERS, buffer=512, running=Running(place=local_place(1)), **options)
    question, _ = request._asked()
    asked = [question.asked(one) for one in question.configurations]
    assert [(one["objective"], one["traffic_slack"]) for one in asked] == wanted
    names = [one.name for one in question.configurations]
    assert len(set(names)) == len(names)
    assert [name.endswith(" cycles") for name in names] == [one == ("cycles", None) for one in wanted]


@pytest.mark.usefixtures("inline")
def test_the_fewest_cycles_of_a_layer_on_a_cluster() -> None:
    wanted = {**ASKED, "buffer": 512, "per_layer": False, "cluster": 2, "tcdm": "16KiB", "lanes": "x4"}
    fewest, least = (hwgen.sweep(LAYERS[0], **wanted | {"objective": one}).rows() for one in ("cycles", "traffic"))
    assert [row["objective"] for row in (*fewest, *least)] == ["cycles", "traffic"]
    assert fewest[0]["cycles"] <= least[0]["cycles"]  # type: ignore[operator]
    assert fewest[0]["bytes"] >= least[0]["bytes"]  # type: ignore[operator]
