"""An example system as it is generated, under Verilator, reached as a processor would reach it."""

from pathlib import Path

import numpy as np

from cosim.device.device import HARNESS
from cosim.simulator.compiling import UNOPTIMISED, compile_library, verilate
from cosim.simulator.library import SimulatedLibrary
from cosim.simulator.verilator import QUICK

__all__ = ["ExampleSystem", "build"]

MOST_CYCLES = 20
"""That an access may take."""
HARNESS_TEXT = """\
module harness;
  reg clk = 1'b0, rst = 1'b1;
  reg awvalid = 1'b0, wvalid = 1'b0, bready = 1'b0, arvalid = 1'b0, rready = 1'b0;
  reg [31:0] address = 32'd0, data = 32'd0;
  wire awready, wready, bvalid, arready, rvalid, irq;
  wire [1:0] bresp, rresp;
  wire [31:0] rdata;
  wire finished = irq;
  {block}_system system (
      .clk(clk), .rst(rst), .irq(irq),
      .axi_lite__awvalid(awvalid), .axi_lite__awaddr(address), .axi_lite__awprot(3'd0), .axi_lite__awready(awready),
      .axi_lite__wvalid(wvalid), .axi_lite__wdata(data), .axi_lite__wstrb(4'hf), .axi_lite__wready(wready),
      .axi_lite__bvalid(bvalid), .axi_lite__bresp(bresp), .axi_lite__bready(bready),
      .axi_lite__arvalid(arvalid), .axi_lite__araddr(address), .axi_lite__arprot(3'd0), .axi_lite__arready(arready),
      .axi_lite__rvalid(rvalid), .axi_lite__rdata(rdata), .axi_lite__rresp(rresp), .axi_lite__rready(rready)
  );
endmodule
"""
CONTROL_TEXT = """\
`verilator_config
public_flat_rw -module "harness" -var "*"
public_flat_rw -module "*_memory" -var "words"
"""


def build(folder: Path, block: str) -> Path:
    """Verilate the example in a folder of generated files, quickly; the library."""
    harness, control = folder / "harness.v", folder / "harness.vlt"
    harness.write_text(HARNESS_TEXT.format(block=block), encoding="utf-8")
    control.write_text(CONTROL_TEXT, encoding="utf-8")
    sources = [harness, folder / f"{block}.v", folder / f"{block}_axi_lite.v", *sorted(folder.glob("example/*.v"))]
    options = [*QUICK, "-Wno-fatal", "--no-public-flat-rw", *map(str, (control, *sources))]
    verilate(folder / "sim", "harness", options, folder / "build.log")
    return compile_library(folder / "sim", UNOPTIMISED, [HARNESS / "library.cpp"], folder / "build.log")


class ExampleSystem:
    """The system, after a reset."""

    def __init__(self, library: Path) -> None:
        self._model = SimulatedLibrary(library)
        self._model.run(3)
        self._model.set(rst=0)
        self.refused: list[int] = []
        """Addresses whose access was answered with an error."""

    @property
    def memory(self) -> np.ndarray:
        """The bytes of the memory."""
        return self._model.bytes_of("harness.system.memory", "words")

    def read(self, address: int) -> int:
        """The register at a byte address."""
        self._model.set(arvalid=1, address=address)
        self._until("arready")
        self._model.set(arvalid=0, rready=1)
        return self._answer(address, "r", self._model.get("rdata") if self._until("rvalid", stay=True) else 0)

    def write(self, address: int, value: int) -> None:
        """Write the register at a byte address."""
        self._model.set(awvalid=1, wvalid=1, address=address, data=value)
        self._until("awready")
        self._model.set(awvalid=0, wvalid=0, bready=1)
        self._until("bvalid", stay=True)
        self._answer(address, "b", 0)

    def run_to_interrupt(self, cycles: int) -> bool:
        """Run until the interrupt, or so many cycles; whether it came."""
        self._model.run(cycles, until_finished=True)
        return bool(self._model.get("irq"))

    def _until(self, ready: str, *, stay: bool = False) -> bool:
        """Run the clock until the end of a cycle with a signal, or, with ``stay``, until its beginning."""
        for _ in range(MOST_CYCLES):
            there = bool(self._model.get(ready))
            if there and stay:
                return True
            self._model.run(1)
            if there:
                return True
        raise AssertionError(f"no {ready}")

    def _answer(self, address: int, channel: str, data: int) -> int:
        if self._model.get(f"{channel}resp"):
            self.refused.append(address)
        self._model.run(1)
        self._model.set(bready=0, rready=0)
        return data
