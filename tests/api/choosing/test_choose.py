"""``hwgen choose``: on a small network and a small space, against the plans of all of it; files, refusals."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hwgen
from hwgen.api.choosing import clock as choosing_clock
from hwgen.api.choosing import request, selection, space, synthesis, workload
from hwgen.api.choosing.request import worked_out
from hwgen.api.choosing.selection import Planned
from hwgen.api.choosing.space import Candidate, Space
from hwgen.api.choosing.workload import ChosenFor
from hwgen.api.forecasts import MachineForecast
from hwgen.arch.boards import BOARDS
from hwgen.lower.network.bound import NetworkBound
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.estimate import EstimatedArea
from hwgen.readers.integers.reader import read_quantised
from hwgen.synthesis.cells import Area
from tests.cli.command_line import refused
from tests.conftest import Run
from tests.readers.integers.models import small

PLANNED: dict[tuple[str, str, bool], Planned | float | str] = {}
FORECAST: dict[bytes, dict[str, tuple[Candidate, MachineForecast]]] = {}


def once(work: ChosenFor, one: Candidate, draft: bool) -> Planned | float | str:
    """The draft, or the plan, of a network on a cluster, made once for all tests of this process."""
    key = work.key, str(one.hardware.as_data()), draft
    if key not in PLANNED:
        PLANNED[key] = worked_out(work, one, draft)
    made = PLANNED[key]
    return replace(made, candidate=one) if isinstance(made, Planned) else made


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight clusters, planned in this process."""
    for name, values in {"LANES": ((4, 4), (8, 4)), "HWCS": (1, 2), "TCDM": (1 << 15,), "BANKS": (8,),
                         "ELEMENTS": (1,), "AXI_BITS": (32, 64)}.items():  # fmt: skip
        monkeypatch.setattr(space, name, values)
    monkeypatch.setattr(space, "BUFFERS", space.BUFFERS[1:])
    monkeypatch.setattr(space, "PORTS", space.PORTS[1:])
    monkeypatch.setattr(space.Place, "steps", lambda place: iter(()))
    monkeypatch.setattr(request, "processors", lambda: 1)
    monkeypatch.setattr(request, "worked_out", once)
    monkeypatch.setattr(selection, "WAITS", 0.0)
    monkeypatch.setattr(selection, "WAITS_OF_A_BANK", 0.0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    small(tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def forecasts(model: Path) -> dict[str, tuple[Candidate, MachineForecast]]:
    """All clusters by name, with what is forecast on each: once for all tests of this process."""
    key = model.read_bytes()
    if key not in FORECAST:
        FORECAST[key] = {
            one.hardware.name: (one, hwgen.forecast(model, one.hardware, resident=True).machines[0])
            for one in Space(NetworkBound(read_quantised(model))).grid()
        }
    return FORECAST[key]


def test_the_best_of_all_is_chosen(model: Path) -> None:
    every = {name: (one, forecast.cycles) for name, (one, forecast) in forecasts(model).items()}
    assert len(every) == 8
    for one, cycles in every.values():
        assert one.bound <= cycles
    fastest = hwgen.choose(model, mhz=50, confirm=False)
    assert fastest.best is not None
    assert fastest.best.cycles <= 1.02 * min(cycles for _, cycles in every.values())
    assert fastest.best.cycles == every[fastest.hardware.name][1]
    middle = sorted(cycles for _, cycles in every.values())[4]
    enough = hwgen.choose(model, mhz=50, fps=50e6 / middle, confirm=False)
    smallest = min(one.area.lut4 for one, cycles in every.values() if cycles <= middle)
    assert enough.best is not None
    assert enough.best.luts == smallest
    assert enough.best.fps >= 50e6 / middle


def test_files_and_what_is_kept(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "chosen"
    first = run("choose", model, "--mhz", 50, "--no-confirm", "-o", folder, "--json")
    assert first.status == 0
    document = first.json
    assert hwgen.hardware(folder / "chosen.yaml").name == document["best"]["hardware"]
    assert {path.stem for path in (folder / "front").iterdir()} == {row["hardware"] for row in document["front"]}
    (found,) = run("predict", model, "--hardware", folder / "chosen.yaml", "--resident", "--json").json["networks"]
    (row,) = [row for row in document["front"] if row["hardware"] == document["best"]["hardware"]]
    assert row == document["best"]
    assert all(hwgen.hardware(row["file"]).name == row["hardware"] for row in document["front"])
    assert document["confirmed"] is document["limit"] is None
    assert (row["cycles"], row["bytes"]) == (found["cycles"], found["bytes"])
    assert row["energy"] == pytest.approx(found["energy"])

    page = (folder / "choice.html").read_text(encoding="utf-8")
    shown = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    assert len(shown["rows"]) == document["tried"]
    assert [row["hardware"] for row in shown["rows"] if row["chosen"]] == [document["best"]["hardware"]]
    assert {row["hardware"] for row in shown["rows"] if row["front"]} == {
        row["hardware"] for row in document["front"]
    }
    assert [node["layer"] for node in found["layers"]] == [node[0] for node in shown["rows"][0]["nodes"]]
    assert {path.suffix for path in folder.glob("choice.*")} == {".html", ".json", ".png", ".svg"}

    def unplanned(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(request, "worked_out", unplanned)
    again = run("choose", model, "--mhz", 50, "--no-confirm", "-o", folder)
    assert again.status == 0
    assert document["best"]["hardware"] in again.out
    assert f"The page of the choice: {folder / 'choice.html'}" in again.out
    assert (folder / "choice.html").read_text(encoding="utf-8") == page, "nodes are kept, too"
    model.write_bytes(model.read_bytes() + b"\x72\x00")  # the same network, another file: an empty text at its end
    with pytest.raises(AssertionError):
        run("choose", model, "--mhz", 50, "--no-confirm", "-o", folder)


def test_energy_and_the_dram(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    energies = sorted(forecast.energy for _, forecast in forecasts(model).values())
    limit = energies[3] / 1e6 + 1e-6
    found = hwgen.choose(model, mhz=50, energy=limit, confirm=False)
    assert found.best is not None
    assert found.best.energy <= 1e6 * limit
    assert found.to_dict()["asked"]["energy"] == limit
    assert " uJ each, at 50 MHz" in found.summary()

    answer = run("choose", model, "--energy", 1e-3, "--no-confirm", "--json")
    assert answer.status == 1
    assert answer.json["limit"].startswith("--energy: 0.001 uJ of an image; the least that was found is ")

    folder = tmp_path / "chosen"
    monkeypatch.setattr(space, "HWCS", (1,))
    monkeypatch.setattr(space, "AXI_BITS", (64,))
    slow = run("choose", model, "--dram", "cluster_64_ddr3", "--no-confirm", "-o", folder, "--json").json["best"]
    own, given = hwgen.hardware(folder / "chosen.yaml").cluster, hwgen.hardware("cluster_64_ddr3").cluster
    assert own is not None
    assert given is not None
    assert own.dram == given.dram
    (told,) = run("predict", model, "--hardware", folder / "chosen.yaml", "--resident", "--json").json["networks"]
    assert told["cycles"] == slow["cycles"]
    for name in ("hwc_16", "cluster_64"):
        expected = "expected the hardware of a cluster with a DRAM that takes its time"
        refused(run("choose", model, "--dram", name), f"--dram: {expected}, got {name}")
    refused(run("choose", model, "--energy", 0), "--energy: expected a number above 0, got 0")


def test_what_is_too_much_is_said(run: Run, model: Path, tmp_path: Path) -> None:
    answer = run("choose", model, "--mhz", 50, "--fps", 1e7, "--no-confirm", "-o", tmp_path / "chosen")
    assert answer.status == 1
    assert "nothing does what is asked; the nearest is" in answer.out
    document = json.loads((tmp_path / "chosen" / "choice.json").read_text(encoding="utf-8"))
    assert document["best"] is None
    assert document["limit"].startswith("--fps: 1e+07 images a second; the fastest that was found makes ")
    assert not (tmp_path / "chosen" / "chosen.yaml").exists()


def test_every_hwc_of_a_cluster_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"hwc": Area(luts=1000), "cluster": Area(luts=10)}
    monkeypatch.setattr(synthesis, "areas", lambda verilog, top, **_: {"": parts[top]})
    monkeypatch.setattr(synthesis, "clock", lambda verilog, top, **_: SimpleNamespace(clock_mhz=50.0))
    for name in ("generated", "generated_cluster"):
        monkeypatch.setattr(synthesis, name, lambda _: "")
    found = synthesis.synthesised(hwgen.hardware("cluster_64_vector"), EstimatedArea(2005, 0, 0, 0, 100.0))
    assert found.area.luts == 4010
    assert found.errors == {"lut4": -0.5, "mhz": 1.0}
    alone = synthesis.synthesised(hwgen.hardware("hwc_16"), EstimatedArea(1100, 0, 0, 0, 100.0))
    assert alone.area.luts == 1000


def test_what_is_chosen_is_synthesised(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Around the HWCs 10,000 LUT4 and 10 memories, each HWC 1,000, at 40 MHz: stubs generate and synthesise."""
    parts = {"hwc": Area(luts=1000, dsps=4), "cluster": Area(luts=10_000, lut_rams=10, ffs=7, block_rams=3)}
    asked: list[tuple[str, str, tuple[str, ...]]] = []

    def areas(verilog: str, top: str, *, blackboxes: tuple[str, ...] = (), **_: object) -> dict[str, Area]:
        asked.append((top, verilog, blackboxes))
        return {"one": parts[top], "none": Area()}

    monkeypatch.setattr(synthesis, "generated", repr)
    monkeypatch.setattr(synthesis, "generated_cluster", repr)
    monkeypatch.setattr(synthesis, "areas", areas)
    monkeypatch.setattr(synthesis, "clock", lambda verilog, top, **_: SimpleNamespace(clock_mhz=40.0))
    folder = tmp_path / "chosen"
    told = run("choose", model, "--mhz", 50, "--luts", 40_000, "--no-confirm", "--synth", "-o", folder)
    document = json.loads((folder / "choice.json").read_text(encoding="utf-8"))
    found = document["synthesised"]
    (row,) = [row for row in document["front"] if row["hardware"] == document["best"]["hardware"]]
    hwcs = int(row["hardware"][0])
    chosen = hwgen.hardware(folder / "chosen.yaml")
    hwc = hwc_of(chosen)
    assert asked == [("hwc", repr(hwc), ()), ("cluster", repr(cluster_of(chosen, hwc)), ("hwc",))]
    assert found["lut4"] == 1000 * hwcs + 10_060
    confirmed = {"cycles": None, "luts": found["lut4"], "clock_mhz": 40.0, "equal": None, "exact": None}
    assert document["confirmed"] == confirmed
    assert [found[name] for name in ("flip_flops", "dsps", "block_rams", "mhz")] == [7, 4 * hwcs, 3, 40.0]
    assert found["errors"]["lut4"] == pytest.approx(row["luts"] / found["lut4"] - 1)
    assert found["errors"]["mhz"] == pytest.approx(row["mhz"] / 40 - 1)
    assert document["shortfalls"] == ["--mhz: 50, synthesised 40.0"]
    assert told.status == 1
    assert "NOT as asked: --mhz: 50, synthesised 40.0" in told.out
    assert f"Synthesised: {found['lut4']:,} LUT4 (estimated" in told.out
    assert f"Synthesised: {found['lut4']:,} LUT4" in (tmp_path / "chosen" / "choice.html").read_text(encoding="utf-8")
    parts["hwc"] = Area(luts=40_000)
    fast = hwgen.choose(model, mhz=30, luts=40_000, confirm=False, synth=True)
    assert fast.shortfalls == [
        f"--luts: 40,000 at most, synthesised {40_000 * fast.hardware.cluster.hwcs + 10_060:,}"
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--luts", 100], "no cluster fits; --luts: the smallest takes"),
        (["--luts", 100], "; no HWC fits; --luts: the smallest takes"),
        (["--luts", 100, "--dram", "cluster_64_ddr3"], "no cluster fits; --luts: the smallest takes"),
        (["--alone", "--luts", 100], "onnx: no HWC fits; --luts: the smallest takes"),
        (["--alone", "--dram", "cluster_64_ddr3"], "--dram: expected without --alone"),
        (["--mhz", 5000], "--mhz: at most"),
        (["--fps", "nan"], "--fps: expected a number above 0, got nan"),
        (["--luts", 0], "--luts: expected a number above 0, got 0"),
        (["--minutes", -1], "--minutes: expected a number above 0, got -1"),
    ],
)
def test_what_cannot_be_chosen_is_said(run: Run, model: Path, options: list[object], why: str) -> None:
    answer = run("choose", model, *options)
    refused(answer)
    assert why in answer.err


def test_layers_are_scheduled_one_by_one(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "HWCS", (1,))  # one builds in half of the time
    monkeypatch.setattr(space, "LANES", ((4, 4),))
    table = tmp_path / "layers.yaml"
    rows = [
        {"name": "wide", "op": "conv", "input_channels": 8, "output_channels": 8, "input_height": 8,
         "input_width": 8, "kernel": [3, 3], "padding": [1, 1, 1, 1]},
        {"name": "deep", "op": "conv", "input_channels": 16, "output_channels": 12, "input_height": 4,
         "input_width": 4, "kernel": [1, 1]},
    ]  # fmt: skip
    document = {"format": 1, "kind": "layer_list", "network": "two", "layers": rows}
    table.write_text(json.dumps(document), encoding="utf-8")
    folder = tmp_path / "chosen"
    found = run("choose", table, "--mhz", 50, "-o", folder, "--json")
    assert found.status == 0, found.err
    best = found.json["best"]
    assert found.json["network"] == "two"
    assert best["bound"] <= best["cycles"]
    hardware = hwgen.hardware(folder / "chosen.yaml")
    assert (hardware.requantisation, hardware.cluster and hardware.cluster.vector) == ("shift", False)
    plan = hwgen.schedule(str(table), hardware)
    forecast = hwgen.predict(plan)
    assert (best["cycles"], best["bytes"]) == (
        forecast.cycles, sum(one.counts.total_with_bias("dram") for one in forecast.layers)
    )  # fmt: skip
    assert best["energy"] == pytest.approx(forecast.energy)
    assert found.json["confirmed"]["cycles"] == hwgen.cosim(plan, seed=1).cycles
    again = hwgen.choose([hwgen.Layer(**row) for row in rows], mhz=50, confirm=False)
    assert again.hardware == hardware
    assert [node.name for node in again.best.nodes] == ["wide", "deep"]
    refused(run("choose", "no_such_set"), "no_such_set: expected ")


def test_where_no_cluster_fits_it_is_an_hwc_alone(run: Run, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "chosen"
    found = run("choose", model, "--mhz", 50, "--luts", 15_000, "-o", folder, "--json")
    assert found.status == 0, found.err
    assert "no cluster fits; --luts: the smallest takes " in found.err
    assert "HWCs alone, whose host moves the data" in found.err
    hardware = hwgen.hardware(folder / "chosen.yaml")
    assert hardware.cluster is None
    best, forecast = found.json["best"], hwgen.forecast(model, hardware).machines[0]
    assert (best["cycles"], best["bytes"], best["on_the_host"]) == (
        forecast.cycles, forecast.bytes, len(forecast.host)
    )  # fmt: skip
    assert best["energy"] == pytest.approx(forecast.energy)
    macs = NetworkBound(read_quantised(model)).macs
    assert macs / hardware.shape.product <= best["bound"] <= best["cycles"]
    assert best["multipliers"] == hardware.shape.product
    assert found.json["confirmed"]["cycles"] == hwgen.run(model, None, hardware, seed=workload.SEED).cycles
    assert found.json["alone"]
    page = (folder / "choice.html").read_text(encoding="utf-8")
    assert '"family":"HWC alone"' in page
    again = hwgen.choose(model, mhz=50, luts=15_000, confirm=False, output=folder)
    assert again.next == f"hwgen run {model} --hardware {folder / 'chosen.yaml'} --input FILE -o out"
    told = run("choose", model, "--mhz", 50, "--luts", 60_000, "--alone", "--no-confirm", "-o", folder)
    assert "no cluster fits" not in told.err
    assert "Of 2 HWCs alone 2 planned, 0 refused" in told.out
    assert "; a host moves the data and runs the other " in told.out


def test_what_no_board_has_is_said(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: replace(board, fpga=replace(board.fpga, dsps=20)) for name, board in BOARDS.items()}
    monkeypatch.setattr(request, "BOARDS", few)
    told = "multipliers where the largest FPGA of the boards has 20 (--dsps N); --clock-of BOARD has both"
    assert told in run("choose", model, "--mhz", 50, "--no-confirm").out
    assert told not in run("choose", model, "--mhz", 50, "--no-confirm", "--dsps", 100).out


def test_layers_on_an_hwc_alone() -> None:
    layers = [hwgen.Layer(name="wide", input_channels=8, output_channels=8, input_height=8, input_width=8,
                          kernel=[3, 3], padding=[1, 1, 1, 1])]  # fmt: skip
    found = hwgen.choose(layers, mhz=50, alone=True, confirm=False)
    assert found.best is not None
    forecast = hwgen.predict(hwgen.schedule(layers, found.hardware, objective="cycles"))
    assert (found.best.cycles, found.best.bytes) == (
        forecast.cycles, sum(one.counts.total_with_bias() for one in forecast.layers)
    )  # fmt: skip
    assert found.best.planned.candidate.bound <= found.best.cycles
    assert found.best.measured is None


def test_partial_is_for_layers(run: Run, model: Path) -> None:
    refused(run("choose", model, "--partial"), "--partial: expected with layers, not with a quantised model")


def test_best_and_front_are_values(model: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    found = hwgen.choose(model, mhz=50, confirm=False, output=tmp_path / "choice")
    best, front = found.best, found.front
    assert best is not None
    assert (best.hardware, best.mhz, best.measured) == (found.hardware, 50, None)
    assert best.fps == max(one.fps for one in front)
    assert best.to_dict() == found.to_dict()["best"]
    assert hwgen.hardware(str(best.file)) == best.hardware
    assert len(front) >= 1
    assert [one.luts for one in front] == sorted({one.luts for one in front})
    assert [one.cycles for one in front] == sorted({one.cycles for one in front}, reverse=True)
    assert (front[0], front[-1:]) == (next(iter(front)), (front.points[-1],))
    assert front.to_dict()["front"] == [one.to_dict() for one in front]
    frame = front.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["luts"]) == [one.luts for one in front]
    assert front.plot().svg == found.plot().svg
    ends = f"{front[0].luts:,} to {front[-1].luts:,} LUT4, "
    assert repr(front).startswith(f"<Front of {found.network}: {len(front)} point")
    assert ends in front._repr_html_()
    assert best.nodes[0].macs > 0
    nothing = hwgen.choose(model, mhz=50, fps=1e9, confirm=False)
    assert (nothing.best, nothing.nearest in nothing.plans) == (None, True)


class Time:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now, self.plan, self.draft = 0.0, 10.0, 0.0
        self.drafts = 0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Time:
    """A clock that stands still; each plan takes ten seconds, and a draft none."""
    clock = Time()

    def slowly(work: ChosenFor, one: Candidate, draft: bool) -> Planned | float | str:
        clock.now += clock.draft if draft else clock.plan
        clock.drafts += draft
        return once(work, one, draft)

    monkeypatch.setattr(choosing_clock, "monotonic", clock)
    monkeypatch.setattr(request, "worked_out", slowly)
    return clock


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans may take much less than their drafts: several are made."""
    monkeypatch.setattr(selection, "SPREAD_OF_PLANS", 0.2)


@pytest.mark.usefixtures("unsure")
@pytest.mark.parametrize(("minutes", "plans"), [(0.01, 1), (0.3, 1), (0.4, 2)])
def test_no_plan_is_begun_that_would_end_too_late(model: Path, passing: Time, minutes: float, plans: int) -> None:
    found = hwgen.choose(model, mhz=50, confirm=False, minutes=minutes)
    assert found.planned == plans
    assert passing.now == 10 * plans
    assert found.best is not None
    assert found.stopped == f"--minutes {minutes:g} were over after {passing.drafts} drafts and {plans} plans"
    assert found.stopped in found.page()
    assert found.document()["stopped"] == found.stopped


@pytest.fixture
def ran(model: Path, passing: Time, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the hardware that the network ran on, as planned, in a hundred seconds."""
    names: list[str] = []

    class Stub:
        def __init__(self, **options: Any) -> None:
            self.hardware = options["hardware"]

        def answer(self) -> SimpleNamespace:
            passing.now += 100
            names.append(self.hardware.name)
            return SimpleNamespace(passed=True, cycles=hwgen.forecast(model, self.hardware).machines[0].cycles)

    monkeypatch.setattr(workload, "RunRequest", Stub)
    return names


@pytest.mark.usefixtures("unsure")
@pytest.mark.parametrize(("minutes", "plan"), [(1.0, 10.0), (2.2, 40.0), (60.0, 10.0)])
def test_a_run_that_would_end_too_late_is_not_begun(
    model: Path, passing: Time, ran: list[str], minutes: float, plan: float
) -> None:
    """A run is guessed to take a minute, which is kept for it if that is not more than half of the time."""
    passing.plan = plan
    found = hwgen.choose(model, mhz=50, minutes=minutes)
    assert found.best is not None
    if minutes == 1.0:  # plans have all of it, as a run takes more than half
        assert ran == []
        assert found.best.measured is None
        assert found.stopped is not None
        assert found.stopped.endswith(f"{found.hardware.name} was not run in the RTL")
        assert passing.now <= 60
    else:
        assert found.hardware.name in ran
        assert found.best.measured is not None
        over = f"--minutes 2.2 were over after {passing.drafts} drafts and 1 plans"
        assert found.stopped == (None if minutes == 60.0 else over)


@pytest.mark.usefixtures("unsure")
def test_plans_that_are_ended_for_a_run_leave_it_the_time(
    model: Path, passing: Time, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second plan is ended when what is kept for a run is left; that takes a moment, too."""

    def ended(
        function: Callable[..., Any], draw: Callable[[], Any], _: int, seconds: Callable[[], float | None]
    ) -> Iterator[Any]:
        while (drawn := draw()) is not None:
            left = seconds()
            if left is not None:
                passing.now += left + 0.1
                return
            yield drawn, function(*drawn)

    monkeypatch.setattr(request, "as_they_come", ended)
    found = hwgen.choose(model, mhz=50, minutes=5)
    assert found.planned == 1
    assert ran == [found.hardware.name]
    assert found.best is not None
    assert found.best.measured is not None


@pytest.mark.usefixtures("unsure")
def test_an_interrupted_choice_has_the_best_so_far(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = []

    def interrupted(work: ChosenFor, one: Candidate, draft: bool) -> Planned | float | str:
        if not draft and plans:
            raise KeyboardInterrupt
        plans.extend([] if draft else [one])
        return once(work, one, draft)

    monkeypatch.setattr(request, "worked_out", interrupted)
    answer = run("choose", model, "--mhz", 50, "--no-confirm", "-o", tmp_path / "chosen")
    assert answer.status == 130
    done = re.search(r"Of 8 clusters \d drafted, 1 planned", answer.out)
    assert done is not None
    kept = "with -o drafts and plans are kept there; the same command goes on from there"
    assert answer.err.splitlines()[-1] == f"hwgen: interrupted: {done[0]}; {kept}"
    assert "Left undone: interrupted" in answer.out
    assert (tmp_path / "chosen" / "chosen.yaml").exists()


@pytest.mark.parametrize(("minutes", "drafts"), [(0.01, 1), (15.1 / 60, 1), (16.2 / 60, 2), (60.0, 3)])
def test_drafts_leave_the_time_for_a_plan(model: Path, passing: Time, minutes: float, drafts: int) -> None:
    """A plan is guessed to take twelve drafts, before there is one; a tenth of the time is for the files."""
    passing.draft, passing.plan = 1.0, 12.0
    found = hwgen.choose(model, mhz=50, confirm=False, minutes=minutes)
    assert passing.drafts == drafts
    assert found.planned >= 1
    assert (found.stopped is None) == (minutes == 60.0)
    assert found.document()["drafted"] == drafts


def test_what_is_done_is_not_left_undone_for_want_of_time(model: Path, passing: Time) -> None:
    """Three drafts and a plan leave less than another plan would take, and nothing is hoped to be better."""
    passing.draft, passing.plan = 1.0, 30.0
    found = hwgen.choose(model, mhz=50, confirm=False, minutes=40 / 60)
    assert (passing.drafts, found.planned, found.stopped) == (3, 1, None)
    assert passing.now > 0.9 * 40 - 30


def test_where_no_bound_reaches_what_is_asked_the_fastest_is_the_nearest(model: Path) -> None:
    found = hwgen.choose(model, mhz=50, fps=1e7, confirm=False)
    assert found.best is None
    assert found.nearest.cycles == min(one.cycles for one in found.plans)
    fastest = hwgen.choose(model, mhz=50, confirm=False)
    assert fastest.best is not None
    assert found.nearest.cycles == fastest.best.cycles
    assert found.limit is not None
    assert found.limit.endswith("by their bounds no other one makes that many")
    assert found.stopped is None
