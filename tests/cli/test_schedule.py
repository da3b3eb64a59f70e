"""``hwgen schedule``: its document, the files it writes, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest

import hwgen
import hwgen.search.core.batch
from hwgen.api.schedule_files import RECORD
from hwgen.api.work import save_works, work_of
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, order_of, save_hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import load_schedule
from hwgen.model.nest.bounds import bounds
from hwgen.model.nest.one_level import allocation, predict
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core.optimal import Result, search
from tests.cli.command_line import Run, refused


def test_schedules_for_two_sizes(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "found"
    answer = run("schedule", "lenet:C", "--buffer", "256,1KiB", "-o", folder, "--json")
    assert (answer.status, answer.err) == (0, "")
    entries = answer.json["schedules"]
    layers = load_layer_set("lenet:C").convolutions()
    sizes = {256: "256B", 1024: "1KiB"}
    assert [(entry["layer"], entry["buffer_bytes"]) for entry in entries] == [
        (layer.name, size) for layer in layers for size in sizes
    ]
    for entry in entries:
        path = folder / sizes[entry["buffer_bytes"]] / f"{entry['layer']}.yaml"
        assert entry["file"] == str(path)
        schedule = load_schedule(path)
        prediction = predict(schedule)
        assert entry["counts"] == prediction.counts.as_json()
        assert entry["total_bytes"] == prediction.total_bytes
        assert sum(entry["need"].values()) == prediction.need_bytes.total <= entry["buffer_bytes"]
        marks = bounds(schedule.layer, entry["buffer_bytes"])
        assert entry["bound_ratio"] == pytest.approx(marks.ratio(prediction.total_bytes), abs=1e-6)
        assert entry["compulsory_ratio"] == pytest.approx(prediction.total_bytes / marks.compulsory, abs=1e-6)
        assert entry["candidates"]["covered"] > entry["candidates"]["pruned"] > 0
    totals = {(entry["layer"], entry["buffer_bytes"]): entry["total_bytes"] for entry in entries}
    assert totals["C3", 1024] < totals["C3", 256]


def test_the_same_files_again(run: Run, tmp_path: Path) -> None:
    command = ("schedule", "lenet:C3", "--buffer", "1KiB", "-o", tmp_path)
    assert "C3" in run(*command).out
    path = tmp_path / "C3.yaml"
    first, written = path.read_text(encoding="utf-8"), path.stat().st_mtime_ns
    assert run(*command).status == 0
    assert (path.read_text(encoding="utf-8"), path.stat().st_mtime_ns) == (first, written)


def test_least_with_biases(run: Run) -> None:
    def schedule(objective: str) -> dict[str, Any]:
        (found,) = run("schedule", "lenet:C3", "--buffer", "4KiB", "--objective", objective, "--json").json[
            "schedules"
        ]
        return dict(found)

    biased, plain = schedule("with-bias"), schedule("traffic")
    assert biased["total_with_bias"] < plain["total_with_bias"]
    assert biased["total_bytes"] >= plain["total_bytes"]
    assert "with bias" in run("schedule", "lenet:C3", "--buffer", "4KiB", "--objective", "with-bias").out
    kept = run("schedule", "lenet:C3", "--buffer", "4KiB", "--objective", "with-bias", "--hardware", "hwc")
    refused(kept, "objective: with-bias: expected without hardware, or with hardware that keeps no biases")


def test_an_interrupt_loses_no_finished_layer(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("schedule", "lenet:C", "--buffer", "512", "-o", tmp_path, "--json")
    plain = {entry["layer"]: entry["counts"] for entry in run(*command[:4], "--json").json["schedules"]}
    searched: list[str] = []

    def interrupted(layer: Layer, *_: Any, **__: Any) -> list[Result]:
        searched.append(layer.name)
        if len(searched) == 2:
            raise KeyboardInterrupt
        return search(layer, [512])

    monkeypatch.setattr(hwgen.search.core.batch, "search", interrupted)
    answer = run(*command)
    assert (answer.status, answer.out) == (130, "")
    at = "searching, 1 of 3; with -o layers that are finished are kept there; the same command goes on from there"
    assert answer.err == f"hwgen: interrupted: {at}\n"
    assert not list(tmp_path.glob("*.yaml"))
    answer = run(*command)
    assert {entry["layer"]: entry["counts"] for entry in answer.json["schedules"]} == plain
    assert searched == ["C1", "C3", "C3", "C5"]


def test_hardware_has_a_size_of_its_own(run: Run, tmp_path: Path) -> None:
    save_hardware(Hardware(name="h", lanes=Lanes(m=4), budget=512), tmp_path / "h.yaml")
    command = ("schedule", "lenet:C3", "--hardware", tmp_path / "h.yaml", "--json")
    (own,), (given,) = (run(*command, *size).json["schedules"] for size in ((), ("--buffer", "512")))
    assert own["buffer_bytes"] == given["buffer_bytes"] == 512
    assert own["counts"] == given["counts"]


def test_more_buffer_than_hardware_has(run: Run, tmp_path: Path) -> None:
    buffers = {"I": 128, "W": 128, "O": 256}
    save_hardware(Hardware(name="h", lanes=Lanes(m=4), buffers=buffers), tmp_path / "h.yaml")
    wrong = "--buffer: h has buffers of 512B in all: expected at most that, got 1KiB"
    given = ("--hardware", tmp_path / "h.yaml", "--buffer", "256,1KiB")
    refused(run("schedule", "lenet:C3", *given), wrong)
    for command in (("cosim", "lenet:C3"), ("generate", "lenet:C3", "-o", tmp_path), ("synth", "lenet:C3")):
        refused(run(*command, *given), wrong)
    with pytest.raises(InputError, match=wrong):
        hwgen.schedule("lenet:C3", tmp_path / "h.yaml", buffer=1024)
    (own,) = run("schedule", "lenet:C3", *given[:2], "--json").json["schedules"]
    (less,) = run("schedule", "lenet:C3", *given[:2], "--buffer", "256", "--json").json["schedules"]
    assert (own["buffer_bytes"], less["buffer_bytes"]) == (512, 256)


def test_what_hardware_can_run(run: Run, tmp_path: Path) -> None:
    hardware = Hardware(name="h", lanes=Lanes(x=16))
    save_hardware(hardware, tmp_path / "h.yaml")
    answer = run(
        "schedule", "lenet:C3", "--buffer", "1KiB", "--hardware", tmp_path / "h.yaml", "-o", tmp_path, "--json"
    )
    (entry,) = answer.json["schedules"]
    schedule = load_schedule(Path(entry["file"]))
    assert schedule.lanes == hardware.lanes
    assert sum(entry["need"].values()) == allocation(schedule).total <= 1024


def test_objectives_differ(run: Run) -> None:
    def words(objective: str) -> int:
        answer = run("schedule", "lenet:C3", "--buffer", "64", "--objective", objective, "--json")
        (entry,) = answer.json["schedules"]
        return sum(count["words"] for array in "IWO" for count in entry["counts"]["tcdm"][array].values())

    assert words("words") < words("traffic")


def test_refusals_leave_nothing_behind(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "found"
    command = ("schedule", "lenet", "-o", folder, "--buffer")
    refused(run(*command, "1"), "no schedule fits a buffer of 1 bytes; the smallest that would do has ")
    refused(run(*command, "0"), "--buffer: expected sizes such as 512 or 1KiB,4KiB, from 1 byte to 16MiB, got '0'")
    refused(run(*command, "-5"), "--buffer: expected sizes such as 512 or 1KiB,4KiB, from 1 byte to 16MiB, got '-5'")
    refused(run(*command, "1kb"), "--buffer: expected sizes")
    refused(run("schedule", "lenet"), "--buffer: expected sizes such as 512 or 1KiB,4KiB, or --hardware")
    refused(run(*command, "1KiB", "--objective", "beauty"), "--objective: expected one of balanced, traffic,")
    refused(run(*command, "1KiB", "--hardware", "none"), "none: expected a file or one of the built-in hardware")
    assert not folder.exists()
    folder.touch()
    refused(run(*command, "1KiB"), "-o: expected a folder, got the file")


def test_a_demand_on_utilisation(run: Run, tmp_path: Path) -> None:
    demand = ("--min-utilisation", "0.5", "--max-ratio", "5")
    command = ("schedule", "lenet:C3", "--buffer", "1KiB", *demand, "--lanes", "m8x2", "--json")
    answer = run(*command, "-o", tmp_path)
    assert (answer.status, answer.err) == (0, "")
    (entry,), (hardware,) = answer.json["schedules"], answer.json["hardware"]
    machine = load_hardware(tmp_path / "hwc_1" / "hwc_1.hardware.yaml")
    assert machine == Hardware.from_data(hardware)
    assert machine.lanes == Lanes(m=8, x=2)
    assert entry["file"] == str(tmp_path / "hwc_1" / "C3.yaml")
    schedule = load_schedule(Path(entry["file"]))
    assert schedule.lanes == machine.lanes
    assert order_of(schedule) == machine.order
    assert entry["counts"] == predict(schedule).counts.as_json()
    assert entry["total_bytes"] == answer.json["total_bytes"] == predict(schedule).total_bytes
    assert entry["utilisation"] == answer.json["utilisation"] >= 0.5
    assert run(*command, "-o", tmp_path).out == answer.out
    spelled = run(*command[:-2], "{m: 8, x: 2}", "--shared", "--json").json
    assert (spelled["utilisation"] >= 0.5, spelled["hardware"][0]["lanes"]) == (True, {"m": 8, "x": 2})
    table = run(*command[:-1], "--shared")
    assert "m8x2" in table.out


def test_demands_on_utilisation_that_make_no_sense(run: Run) -> None:
    command = ("schedule", "lenet:C3", "--buffer", "1KiB")
    refused(run(*command, "--min-utilisation", "1.2"), "--min-utilisation: expected 0 to 1, got 1.2")
    for lanes in ("m8x3", "m2", "m8q2", "m8m2", "square", "{m: 3}"):
        refused(run(*command, "--min-utilisation", "0.5", "--lanes", lanes), "--lanes: expected auto, or 4 to 256")
    refused(run(*command, "--lanes", "auto"), "--lanes: expected together with --min-utilisation")
    refused(run(*command, "--max-ratio", "2"), "--max-ratio: expected together with --min-utilisation")
    with_two = (*command[:-1], "1KiB,2KiB", "--min-utilisation", "0.5")
    refused(run(*with_two), "--min-utilisation: expected one buffer size")
    busy = (*command, "--min-utilisation", "0.5")
    refused(run(*busy, "--objective", "words"), "--min-utilisation: expected without --hardware, --objective")
    refused(run(*busy, "--hardware", "hwc"), "--min-utilisation: expected without --hardware, --objective")
    refused(run(*command, "--min-utilisation", "0.999", "--lanes", "x16"), "utilisation: no choice reaches 0.999")


def test_schedules_of_an_earlier_run_go(run: Run, tmp_path: Path) -> None:
    """Those of other layers and of other sizes; what was changed since, and what was never written, stays."""
    (tmp_path / "own.yaml").write_text("note: mine\n", encoding="utf-8")
    command = ("schedule", "lenet:F6", "-o", tmp_path, "--buffer")
    assert run(*command, "256,1KiB").status == 0
    changed = tmp_path / "1KiB" / "F6.yaml"
    changed.write_text(changed.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    answer = run("schedule", "lenet:output", "-o", tmp_path, "--buffer", "256")
    assert (answer.status, answer.err) == (0, f"{changed}: of an earlier run, and changed since: kept\n")
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.yaml")} == {
        "1KiB/F6.yaml", "output.yaml", "own.yaml"}  # fmt: skip
    assert not (tmp_path / "256B").exists()
    (tmp_path / RECORD).write_text('{"../elsewhere.yaml": ""}', encoding="utf-8")
    assert run(*command, "256").status == 0
    assert (tmp_path / "output.yaml").exists()  # a record that does not name it


def test_schedules_that_cosim_saves_take_the_place_of_earlier_ones(tmp_path: Path) -> None:
    for name in ("lenet:F6", "lenet:output"):
        save_works(work_of([name], buffer="1KiB", hardware="hwc", per_layer=True), tmp_path)
    assert {path.name for path in tmp_path.glob("*.yaml")} == {"output.yaml", "hwc.hardware.yaml"}
