"""The simulators by name, and what takes their place."""

from collections.abc import Mapping

from cosim.device.device import Device
from cosim.simulator.icarus import Icarus
from cosim.simulator.library import SimulatedLibrary
from cosim.simulator.simulator import Simulator
from cosim.simulator.verilator import FastVerilator, ProfiledVerilator, Verilator

__all__ = ["SIMULATORS", "loaded", "simulator_for"]

SIMULATORS: Mapping[str, Simulator] = {
    "verilator": Verilator(),
    "verilator_fast": FastVerilator(),
    "verilator_profiled": ProfiledVerilator(),
    "icarus": Icarus(),
}
"""Those that users choose from (`hwgen.tools.toolchain`), and what takes Verilator's place in long runs."""


def simulator_for(name: str, *, fast: bool) -> Simulator:
    """The simulator of a name; ``fast``: what takes its place in long runs, if there is such."""
    return SIMULATORS.get(f"{name}_fast", SIMULATORS[name]) if fast else SIMULATORS[name]


def loaded(device: Device, *, fast: bool = False) -> SimulatedLibrary:
    """A device in this process, under Verilator, built unless it is there."""
    return SimulatedLibrary(simulator_for("verilator", fast=fast).build(device, "library") / "sim" / "model.so")
