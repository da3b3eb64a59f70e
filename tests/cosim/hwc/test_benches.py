"""The test benches themselves: what they count, catch and answer, with a design that misbehaves to order."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from cosim.device.job import Outcome
from cosim.hwc.jobs import Job, Trace
from cosim.hwc.runner import Bench, build_profiled, hwc_device, run_jobs
from cosim.simulator.registry import SIMULATORS
from hwgen.tools.toolchain import Simulator
from tests.cosim.benches import BUS

PROBE = Path(__file__).with_name("probe.v").read_text(encoding="utf-8")
BENCHES: list[tuple[Simulator, Bench]] = [
    ("verilator", "native"),
    ("verilator", "gpi"),
    ("verilator", BUS),
    ("icarus", "gpi"),
    ("icarus", BUS),
]
REGIONS = {"input": (0, 64), "weights": (64, 64), "bias": (128, 64), "output": (192, 64), "partial": (256, 64)}
IMAGE = np.random.default_rng(7).integers(0, 1 << 32, 128, dtype=np.uint32)  # regions and as much behind them
FAILED = 0xDEAD


@dataclass(frozen=True)
class Step:
    """One access of the probe."""

    port: str
    address: int
    write: bool = False
    be: int = 15
    data: int = 0
    withdraw: bool = False
    change: bool = False

    def words(self) -> tuple[int, int, int]:
        what = "iwo".index(self.port) | self.write << 2 | self.be << 3 | self.withdraw << 7 | self.change << 8
        return what, self.address, self.data


def job(name: str, *steps: Step, silent: bool = False) -> Job:
    registers = [("length", 12, len(steps)), ("silent", 16, int(silent))]
    for number, step in enumerate(steps):
        registers += [("step", 0x1000 + 16 * number + 4 * i, word) for i, word in enumerate(step.words())]
    return Job(
        name=name,
        registers=tuple(registers),
        start=(4, 1),
        status=8,
        acknowledge=(4, 2),
        regions=REGIONS,
        image=IMAGE,
        cycle_limit=2000,
        reads={f"step{number}": 0x1000 + 16 * number + 12 for number in range(len(steps))},
    )


def jobs() -> list[Job]:
    """Every behaviour that a bench has to deal with, one job each."""
    often = (230, 230, 230)
    read, write = Step("o", 256), Step("o", 192, write=True, be=6, data=0x11223344)
    everywhere = [
        Step(port, base, write=write, be=[1, 3, 7, 15, 5, 9][place])
        for port in "iwo"
        for write in (False, True)
        for place, base in enumerate((4, 68, 132, 260, 196, 400))
    ]
    accesses = [read, write, Step("i", 8, be=9), read]
    return [
        job("everywhere", *everywhere),
        job("behaves", *accesses),
        replace(job("behaves though stalled", *accesses), stall_rates=often, delay_rates=often),
        replace(job("withdraws", *[Step("o", 256 + 4 * i, withdraw=True) for i in range(12)]), stall_rates=often),
        replace(job("changes", *[Step("o", 256 + 4 * i, change=True) for i in range(12)]), stall_rates=often),
        job("unaligned", Step("w", 66)),
        replace(job("bus error", Step("o", 256), Step("o", 260), Step("w", 260)), error=("o", 260)),
        job("no memory", Step("i", 1 << 30), Step("o", 1 << 30, write=True), Step("i", 0)),
        job("silent", read, silent=True),
        job("after a silent one", read),
        replace(job("unknown register", read), meanwhile=((0, "write", 0x8000, 1),)),
    ]


_RUNS: dict[tuple[Simulator, Bench], dict[str, Outcome]] = {}


@pytest.fixture(params=BENCHES, ids="-".join)
def results(request: pytest.FixtureRequest) -> dict[str, Outcome]:
    simulator, bench = request.param
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    if request.param not in _RUNS:
        found = run_jobs(PROBE, jobs(), simulator=simulator, bench=bench, fast=False)
        _RUNS[request.param] = {result.name: result for result in found}
    return _RUNS[request.param]


def test_a_bench_does_what_it_is_for(results: dict[str, Outcome]) -> None:
    """One test for each simulator and bench: building is what takes the time."""
    for check in (counts, memory, stalls, breaches, errors, watchdog):
        check(results)


def counts(results: dict[str, Outcome]) -> None:
    """Every port, region and direction apart, words and marked bytes."""
    regions = ("input", "weights", "bias", "partial", "output", "elsewhere")
    marked = dict(zip(regions, (1, 2, 3, 4, 2, 2), strict=True))
    expected = {
        (port, region, written): (1, marked[region])
        for port in "iwo"
        for region in regions
        for written in (False, True)
    }
    assert results["everywhere"].only.tcdm == expected
    assert results["behaves"].only.tcdm == {
        ("o", "partial", False): (2, 8),
        ("o", "output", True): (1, 2),
        ("i", "input", False): (1, 2),
    }
    assert results["behaves"].cycles == 4 * 2


def memory(results: dict[str, Outcome]) -> None:
    """O's writes happen, marked bytes only; unmarked bytes that are read hold anything."""
    result = results["behaves"]
    after = IMAGE.copy()
    after[192 // 4] = IMAGE[192 // 4] & 0xFF0000FF | 0x00223300
    assert np.array_equal(result.memory, after)
    _, first, _, seen, last = result.only.registers.values()
    assert first == IMAGE[256 // 4] == last
    expected = int(IMAGE[8 // 4])
    assert seen & 0xFF0000FF == expected & 0xFF0000FF
    assert seen & 0x00FFFF00 != expected & 0x00FFFF00
    assert not result.unknown_words
    touched = np.flatnonzero(results["everywhere"].memory != IMAGE)
    assert set(touched.tolist()) == {address // 4 for address in (4, 68, 132, 260, 196, 400)}  # port O's only


def stalls(results: dict[str, Outcome]) -> None:
    """They take time and change nothing else."""
    calm, stalled = results["behaves"], results["behaves though stalled"]
    assert stalled.only.tcdm == calm.only.tcdm
    assert np.array_equal(stalled.memory, calm.memory)
    assert stalled.cycles > 3 * calm.cycles
    for result in (calm, stalled, results["everywhere"]):
        assert set(result.violations) == {"i", "w", "o", "cfg"}
        assert not any(result.violations.values())


def breaches(results: dict[str, Outcome]) -> None:
    """Requests that do not stay as they are until they are granted, and addresses within a word."""
    for name in ("withdraws", "changes"):
        assert results[name].violations["o"] > 0, name
        assert results[name].violations["i"] == results[name].violations["w"] == 0, name
    assert results["unaligned"].violations == {"i": 0, "w": 1, "o": 0, "cfg": 0}


def failed(outcome: Outcome) -> list[bool]:
    """Which of the steps had an error."""
    return [value == FAILED for name, value in outcome.only.registers.items() if name != "status"]


def errors(results: dict[str, Outcome]) -> None:
    """Injected ones on the port and address they are for, and where there is no memory."""
    assert failed(results["bus error"]) == [False, True, False]
    assert failed(results["no memory"]) == [True, True, False]
    assert results["no memory"].only.at("i", "elsewhere") == (1, 4)
    assert results["no memory"].only.at("o", "elsewhere", written=True) == (1, 4)
    assert np.array_equal(results["no memory"].memory, IMAGE)
    assert results["unknown register"].only.refused == ("0x8000",)
    assert results["behaves"].only.refused == ()


def watchdog(results: dict[str, Outcome]) -> None:
    """A design that never ends is given up, and the next job begins with a reset."""
    assert results["silent"].timed_out
    assert not results["after a silent one"].timed_out
    assert results["after a silent one"].only.status == 2
    assert results["after a silent one"].cycles == 2


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_trace_is_a_part_of_what_one_port_did(simulator: Simulator) -> None:
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    steps = [Step("oi"[i % 2], 192 + 4 * i, write=i % 4 == 0, be=1 + i) for i in range(10)]
    traces = [Trace("o", 1, 4), Trace("i", 0, 100), Trace("w", 0, 100)]
    wanted = [replace(job(f"trace {i}", *steps), trace=trace) for i, trace in enumerate(traces)]
    of_o, of_i, of_w = (result.trace for result in run_jobs(PROBE, wanted, simulator=simulator, fast=False))
    assert of_o is not None
    assert of_i is not None
    assert of_w is not None
    assert of_o.tolist() == [[192 + 4 * i, i % 4 == 0, 1 + i] for i in (2, 4, 6)]
    assert of_i.tolist() == [[192 + 4 * i, 0, 1 + i] for i in (1, 3, 5, 7, 9)]
    assert of_w.tolist() == []


def test_jobs_are_checked_before_anything_runs() -> None:
    good = job("good", Step("o", 256))
    with pytest.raises(ValueError, match="a name of its own"):
        run_jobs(PROBE, [good, good])
    with pytest.raises(ValueError, match="expected Verilator without waves"):
        run_jobs(PROBE, [good], simulator="icarus", bench="native")
    with pytest.raises(ValueError, match="stall_rates, delay_rates: expected 0 to 240 cycles in 256, got 250"):
        replace(good, stall_rates=(0, 250, 0))
    with pytest.raises(ValueError, match=r"random: expected 1 to 2\*\*32 - 1, got 0"):
        replace(good, random=0)
    with pytest.raises(ValueError, match="regions: expected input, weights, bias, partial, output, got scratch"):
        replace(good, regions={"scratch": (0, 4)})
    with pytest.raises(ValueError, match="image: expected a vector of 32-bit words, got 1-D int64"):
        replace(good, image=np.zeros(4, np.int64))
    assert run_jobs(PROBE, []) == []


def test_a_profiled_build_answers_like_the_others() -> None:
    behaves = jobs()[:3]
    device = hwc_device(PROBE, 23)
    build_profiled(device, lambda: behaves[0])
    folder = SIMULATORS["verilator_profiled"].folder(device, "bench")
    assert list(folder.glob("sim/*.gcda"))  # the rehearsal was watched
    # Verilator's C++ has the form that is rearranged; in another one runs would be right, and slower.
    assert "-DHWGEN_EDGE=" in (folder / "build.log").read_text(encoding="utf-8")
    watched = run_jobs(PROBE, behaves, fast=True)
    assert not SIMULATORS["verilator_fast"].has(device, "bench")  # else that one may have run
    for one, other in zip(watched, run_jobs(PROBE, behaves, fast=False), strict=True):
        assert one.units == other.units
        assert np.array_equal(one.memory, other.memory)
