"""One run of a layer on an HWC, as it is judged against model and reference."""

from cosim.device.job import Outcome
from cosim.device.judge import AT_HWC, Expected
from cosim.device.judge import judge as judge_outcome
from cosim.device.result import LayerResult
from cosim.hwc.preparation import Run
from hwgen.lower.network.parts import PartCounts
from hwgen.model.energy import prices_of
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.tools.toolchain import Simulator

__all__ = ["judge"]

INTERRUPT_CYCLES = 2
"""Cycles from the start write's grant to the interrupt that the register ``cycles`` does not count."""


def judge(run: Run, outcome: Outcome, simulator: Simulator) -> LayerResult:
    """The result of one run: counts and output against model and reference."""
    schedule = run.program.schedule
    timed = predicted_cycles(schedule, run.program.parameters)
    expected = Expected(
        schedule=schedule,
        units=[PartCounts(run.prediction.counts)],
        output=run.program.output,
        reference=run.expected.result(),
        cycles=timed.total,
        late=INTERRUPT_CYCLES,
        ports=AT_HWC,
        computing=run.prediction.iterations,
        stalls=timed.stalls_by_name(),
        prices=prices_of(run.program.parameters, None),
    )
    return judge_outcome(expected, outcome, simulator)
