"""The cocotb test that drives pipelines in their harnesses: the clock, until each has finished what its files say.

Runs inside the simulator, whose plusarg ``+folder=FOLDER`` names the files. The harness, `harness.sv`, counts and
answers.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

PERIOD = 10  # ns


@cocotb.test()
async def run_programs(dut: Any) -> None:
    """Every pipeline that has files in the folder."""
    Clock(dut.clk, PERIOD, unit="ns", impl="gpi").start()
    await FallingEdge(dut.clk)
    if dut.finished.value != 1:
        await RisingEdge(dut.finished)
