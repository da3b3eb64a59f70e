"""The simulator that a set on a given HWC needs is built while its schedules are searched."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import current_thread, main_thread

import pytest

import hwgen
from cosim.device.device import Device
from cosim.device.job import Job
from cosim.hwc import ahead, runner
from cosim.hwc.ahead import HwcAhead
from cosim.simulator.verilator import ProfiledVerilator, Verilator
from hwgen.api.machines import read_hardware
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.tools.processes import started
from hwgen.tools.toolchain import ToolError

HWC = "m4c4_1KiB"
SMALL = {
    "input_channels": 4,
    "output_channels": 8,
    "input_height": 6,
    "input_width": 6,
    "output_height": 4,
    "output_width": 4,
    "kernel": [3, 3],
}
LONG = {
    "input_channels": 64,
    "output_channels": 64,
    "input_height": 202,
    "input_width": 202,
    "output_height": 200,
    "output_width": 200,
    "kernel": [3, 3],
}

Wanted = list[tuple[str, Device, bool]]


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> Wanted:
    """What is asked of simulators, by which thread, in order; none builds anything."""
    asked: Wanted = []

    def build(simulator: Verilator, device: Device, form: str, *, waves: bool = False) -> Path:
        asked.append((type(simulator).__name__, device, current_thread() is main_thread()))
        raise ToolError("not built")

    monkeypatch.setattr(Verilator, "build", build)
    monkeypatch.setattr(Verilator, "has", lambda simulator, device, form: False)
    return asked


@pytest.mark.parametrize(("shape", "simulator"), [(SMALL, "Verilator"), (LONG, "ProfiledVerilator")])
def test_the_same_build_is_wanted_ahead_and_then(shape: dict[str, object], simulator: str, wanted: Wanted) -> None:
    with pytest.raises(ToolError, match="not built"):
        hwgen.cosim([layer(shape)], HWC)
    (first, device, in_main), (then, again, in_main_then) = wanted
    assert (first, in_main) == (then, not in_main_then) == (simulator, False)
    assert device == again


@pytest.mark.parametrize("hardware", ["hwc_16", "cluster_16_vector"])
def test_what_the_schedule_has_a_part_in_is_not_built_ahead(hardware: str) -> None:
    with HwcAhead(1) as build:
        build.begin([layer(SMALL)], machine(hardware, buffers=None))
        assert build._thread is None


def test_a_profiled_build_waits_for_a_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsed: list[str] = []

    def build(simulator: ProfiledVerilator, device: Device, form: str) -> None:
        simulator._rehearse(Path())

    def run(folder: Path, simulator: object, device: Device, bench: str, jobs: list[Job], *more: object) -> None:
        rehearsed.extend(job.name for job in jobs)

    monkeypatch.setattr(ProfiledVerilator, "build", build)
    monkeypatch.setattr(Verilator, "has", lambda simulator, device, form: False)
    monkeypatch.setattr(runner, "_run_in", run)
    plan = hwgen.schedule([layer(LONG)], HWC)
    with HwcAhead(1) as build_ahead:
        build_ahead.begin([layer(LONG)], machine(HWC))
        assert not rehearsed
        build_ahead.rehearse([one.schedule for one in plan.layers], machine(HWC))
    assert rehearsed == ["rehearsal"]


@pytest.mark.parametrize("waits", [False, True], ids=["in a tool", "for a schedule"])
def test_an_error_ends_it(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def build(device: Device, rehearsal: Callable[[], Job]) -> None:
        begun.append("")
        if waits:
            rehearsal()
        started(["sleep", "600"], os.environ).wait()
        raise ToolError("sleep: stopped")

    monkeypatch.setattr(ahead, "build_profiled", build)
    monkeypatch.setattr(Verilator, "has", lambda simulator, device, form: False)
    before = time.monotonic()
    build_ahead = HwcAhead(1)

    def searched_in_vain() -> None:
        with build_ahead:
            build_ahead.begin([layer(LONG)], machine(HWC))
            while not begun:
                assert time.monotonic() - before < 60
                time.sleep(0.01)
            raise InputError("no schedule fits")

    with pytest.raises(InputError, match="no schedule fits"):
        searched_in_vain()
    assert build_ahead._thread is not None
    assert not build_ahead._thread.is_alive()
    assert time.monotonic() - before < 60


def layer(shape: dict[str, object]) -> Layer:
    return Layer.model_validate({"name": "conv", "op": "conv", **shape})


def machine(name: str, **more: object) -> Hardware:
    found = read_hardware(name)
    assert found is not None
    return found.model_copy(update=more)
