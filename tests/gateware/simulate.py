"""A simulation with a clock."""

from typing import Any

from amaranth.sim import Simulator

__all__ = ["simulate"]


def simulate(top: Any, *benches: Any) -> None:
    """Run benches on a design until all have ended."""
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()
