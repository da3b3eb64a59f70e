"""Cosimulation from Python: the same answers as the command's."""

from dataclasses import replace

import pytest

import hwgen
import hwgen.api.cosimulation
from cosim.device.result import LayerResult
from hwgen.ir.counts import Counts
from hwgen.ir.schedule import Schedule
from tests.api.test_schedule import STEM
from tests.cli.command_line import Run, refused


def of(schedule: Schedule, **changes: object) -> LayerResult:
    """A result as the simulator would give it."""
    counts: Counts = hwgen.predict(schedule).layers[0].counts
    result = LayerResult(
        predicted=counts, measured=counts, equal=True, output_exact=True, predicted_cycles=100, cycles=100,
        schedule=schedule, simulator="icarus", seconds=1.0,
    )  # fmt: skip
    return replace(result, **changes)  # type: ignore[arg-type]


@pytest.mark.icarus
@pytest.mark.usefixtures("icarus")
def test_a_plan_runs_in_the_rtl_with_the_traffic_that_it_says() -> None:
    plan = hwgen.schedule(STEM, "hwc", buffer="512")
    result = hwgen.cosim(plan, simulator="icarus")
    assert (result.equal, result.exact, result.difference, result.passed) == (True, True, None, True)
    assert (result.bytes, result.cycles) == (plan.bytes, plan.cycles)
    assert result.utilisation == pytest.approx(plan.utilisation)
    (entry,) = result.to_dict()["results"]
    assert (entry["layer"], entry["equal"], entry["output_exact"]) == ("stem", True, True)
    assert result["stem"].bytes == sum(result["stem"].by_operand.values())
    result.check()


def test_a_difference_is_no_exception_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = hwgen.schedule(STEM, "hwc", buffer="512")
    wrong = of(plan.schedules[0], equal=False, failures=("I read: predicted 1, measured 2",))
    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", lambda *_, **__: [wrong])
    result = hwgen.cosim(plan)
    assert (result.equal, result.exact, result.passed) == (False, True, False)
    assert result.difference == "stem: I read: predicted 1, measured 2"
    assert "NOT EQUAL: stem: I read" in repr(result)
    with pytest.raises(hwgen.Difference, match="stem: I read: predicted 1, measured 2"):
        result.check()
    assert "<b>NO</b>" in result._repr_html_()


def test_what_is_simulated_may_be_a_plan_nests_or_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[list[str], str | None]] = []

    def record(schedules: list[Schedule], hardware: hwgen.Hardware | None, **_: object) -> list[LayerResult]:
        ran.append(([one.layer.name for one in schedules], None if hardware is None else hardware.name))
        return [of(one) for one in schedules]

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", record)
    plan = hwgen.schedule(STEM, "hwc", buffer=["256", "512"])
    assert [one.folder.name for one in hwgen.cosim(plan).layers] == ["256B", "512B"]
    hwgen.cosim(plan["stem"])
    hwgen.cosim([plan["stem"]], "hwc")
    hwgen.cosim([STEM], buffer=512)
    named = [(["stem"], name) for name in ("hwc", "hwc", None, "hwc", "shared")]
    assert ran == named


def test_what_is_wrong_is_said_as_the_command_says_it(run: Run) -> None:
    for wrong, command in (
        (lambda: hwgen.cosim(), ("cosim",)),
        (lambda: hwgen.cosim("lenet", partition="KS"), ("cosim", "lenet", "--partition", "KS")),
        (lambda: hwgen.cosim("alexnet_1KiB", buffer=512), ("cosim", "alexnet_1KiB", "--buffer", "512")),
    ):
        with pytest.raises(hwgen.InputError) as raised:
            wrong()
        refused(run(*command), str(raised.value))
    with pytest.raises(hwgen.InputError, match="stem: a schedule of the pure model, without lanes, runs on no HWC"):
        hwgen.cosim(hwgen.schedule(STEM, buffer=512))
    with pytest.raises(hwgen.InputError, match="schedules: expected nests, a plan or files, got 3"):
        hwgen.cosim(3)  # type: ignore[arg-type]
