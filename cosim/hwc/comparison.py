"""One run of a layer against model and reference: what was counted, what is in memory, and what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cosim.hwc.jobs import Direction, JobResult, Port, Region
from cosim.hwc.preparation import Run
from hwgen.arch.registers.control import Status
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.counts import Access, Counts, Key
from hwgen.ir.schedule import Schedule
from hwgen.model.energy import DevicePrices, device_energy, prices_of
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.tools.toolchain import Simulator

__all__ = ["EXPECTED", "LayerResult", "judge"]

EXPECTED: Mapping[tuple[Port, Region, Direction], Key] = {
    ("i", "input", "read"): ("tcdm", "I", "read"),
    ("w", "weights", "read"): ("tcdm", "W", "read"),
    ("o", "bias", "read"): ("tcdm", "B", "read"),
    ("o", "partial", "read"): ("tcdm", "O", "read_partial"),
    ("o", "partial", "write"): ("tcdm", "O", "write_partial"),
    ("o", "output", "write"): ("tcdm", "O", "write"),
}
"""Which accesses there may be, and what they count as; any other is a failure."""


INTERRUPT_CYCLES = 2
"""Cycles from the start write's grant to the interrupt that the register ``cycles`` does not count."""


@dataclass(frozen=True)
class LayerResult:
    """What came of one schedule.

    Members
    -------
    equal : every predicted count is the measured one, and nothing else was accessed.
    output_exact : the output in memory is the reference's, bit for bit.
    failures : everything that is wrong, a line each; empty if all is well.
    predicted_cycles : from the start write to the interrupt, with a memory that grants every request at once; of a
        cluster, with its DRAM's timing.
    cycles : the same, measured.
    seconds, cpu_seconds : wall clock and processor time of the run itself.
    stalls : cycles in which the datapath waited, by what it waited for, as the HWC's registers count them.
    predicted_stalls : the same, predicted.
    hwcs : HWCs that worked on it together.
    shared_out : to how many clusters, and how; empty if one did all.
    prices : what its accesses cost; None: not known.
    """

    schedule: Schedule
    simulator: Simulator
    predicted: Counts
    measured: Counts
    equal: bool
    output_exact: bool
    predicted_cycles: int
    cycles: int
    seconds: float
    failures: tuple[str, ...] = field(default=())
    cpu_seconds: float = 0.0
    stalls: Mapping[str, int] = field(default_factory=dict)
    predicted_stalls: Mapping[str, int] = field(default_factory=dict)
    hwcs: int = 1
    shared_out: Mapping[str, int | str] = field(default_factory=dict)
    prices: DevicePrices | None = None

    @property
    def layer(self) -> str:
        """The layer's name."""
        return self.schedule.layer.name

    @property
    def label(self) -> str:
        """The layer's name, and how it was shared out."""
        return ", ".join([self.layer, *(str(self.shared_out[key]) for key in ("partition",) if self.shared_out)])

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return self.equal and self.output_exact and not self.failures

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates by what the lanes could have done in the measured time."""
        lanes = self.hwcs * self.schedule.lanes.product
        return self.schedule.layer.macs / (self.cycles * lanes) if self.cycles else 0.0

    def as_json(self) -> dict[str, Any]:
        """One entry of ``results``; totals are measured, at the outermost level that is counted."""
        outermost = self.predicted.levels()[0]
        return {
            "layer": self.layer,
            "simulator": self.simulator,
            "schedule": self.schedule.as_data(),
            "predicted": self.predicted.as_json(),
            "measured": self.measured.as_json(),
            "total_bytes": self.measured.total_bytes(outermost),
            "total_with_bias": self.measured.total_with_bias(outermost),
            "equal": self.equal,
            "output_exact": self.output_exact,
            "macs": self.schedule.layer.macs,
            "cycles": {"predicted": self.predicted_cycles, "measured": self.cycles},
            "utilisation": round(self.utilisation, 4),
            "energy": self._energy(),
            **({"shared_out": dict(self.shared_out)} if self.shared_out else {}),
            "stalls": {"predicted": dict(self.predicted_stalls), "measured": dict(self.stalls)},
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "failures": list(self.failures),
        }

    def _energy(self) -> dict[str, Any] | None:
        """Energy of what was predicted and measured; the datapath's own accesses are predicted in both."""
        if self.prices is None:
            return None
        return {
            source: device_energy(self.schedule, counts, self.prices).as_json()
            for source, counts in (("predicted", self.predicted), ("measured", self.measured))
        } | {"datapath": "predicted"}


def judge(run: Run, outcome: JobResult, simulator: Simulator) -> LayerResult:
    """The result of one run: counts and output against model and reference."""
    schedule, predicted = run.program.schedule, run.prediction.counts
    measured = Counts(
        {
            key: Access(
                elements=access.bytes // _element_bytes(schedule, key), bytes=access.bytes, words=access.words
            )
            for kind, key in EXPECTED.items()
            for access in [outcome.at(*kind)]
        }
    )
    failures = [
        f"{operand} {direction} at {level}: {theirs} {quantity}, predicted {mine}"
        for (level, operand, direction), quantity, mine, theirs in predicted.differences(measured)
    ]
    equal = not failures
    stray = {kind: access for kind, access in outcome.accesses.items() if kind not in EXPECTED}
    equal = equal and not stray
    failures += [
        f"port {port}: {access.words} {direction}s {_place(region)}, expected none"
        for (port, region, direction), access in stray.items()
    ]
    failures += [f"port {port}: {n} breaches of the bus protocol" for port, n in outcome.violations.items() if n]
    if outcome.timed_out:
        failures.append(f"no interrupt within {outcome.cycles} cycles")
    if outcome.status != Status.DONE:
        failures.append(f"status {outcome.status:#x} at the end, expected {int(Status.DONE):#x}")
    if outcome.unknown_words:
        failures.append(f"{outcome.unknown_words} words of the memory have unknown bits")
    failures += _miscounted(run, outcome)
    exact = not outcome.unknown_words and not outcome.timed_out
    wrong = np.argwhere(run.program.output(outcome.memory) != run.expected.result())
    if len(wrong):
        exact = False
        failures.append(f"output: {len(wrong)} elements are wrong, the first at [m, y, x] = {wrong[0].tolist()}")
    timed = predicted_cycles(schedule, run.program.parameters)
    return LayerResult(
        schedule=schedule,
        simulator=simulator,
        predicted=predicted,
        measured=measured,
        equal=equal,
        output_exact=exact,
        predicted_cycles=timed.total,
        cycles=outcome.cycles,
        seconds=outcome.seconds,
        failures=tuple(failures),
        cpu_seconds=outcome.cpu_seconds,
        stalls=dict(zip(run.stalls, outcome.values[1:], strict=True)),
        predicted_stalls=timed.stalls_by_name(),
        prices=prices_of(run.program.parameters, None),
    )


def _miscounted(run: Run, outcome: JobResult) -> list[str]:
    """Counters of the HWC that are at odds with the cycles that the harness counts from start to interrupt.

    In every cycle the datapath computes, waits, or is not busy yet or any more. Outside only the first is known, as
    the schedule says how often it computes; so the stalls are at most the other cycles.
    """
    if outcome.status != Status.DONE or outcome.timed_out or not run.stalls:
        return []
    counted, *stalls = outcome.values
    cycles = outcome.cycles - INTERRUPT_CYCLES
    lines = [f"register cycles: {counted}, outside {cycles}"] if counted != cycles else []
    others = cycles - run.prediction.iterations
    if sum(stalls) > others:
        lines.append(f"registers of stalls: {sum(stalls)} cycles together, outside at most {others}")
    return lines


def _place(region: Region) -> str:
    return "outside all regions" if region == "elsewhere" else f"in the {region} region"


def _element_bytes(schedule: Schedule, key: Key) -> int:
    _, operand, direction = key
    bits = schedule.bits
    record = 8 * record_bytes(schedule.requantisation)
    width = {"I": bits.I, "W": bits.W, "B": record, "O": bits.O if direction == "write" else bits.acc}
    return width[operand] // 8
