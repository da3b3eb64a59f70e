"""The DMA between a DRAM and a TCDM as a device."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache

from cosim.device.device import DRAM, DRAM_SIZES, Device
from cosim.simulator.harness import SimulatedHarness
from cosim.simulator.registry import loaded
from hwgen.arch.bus import ID_BITS
from hwgen.arch.dma import DmaParameters
from hwgen.export.conversion import converted, kept
from hwgen.gateware.dma.dma import Dma

__all__ = ["DRAM_LOG2", "TCDM_LOG2", "SimulatedDma", "designs", "dma_device", "load_model"]

DRAM_LOG2, TCDM_LOG2 = 18, 16
"""Sizes of the memories in 32-bit words, as powers of two."""


def wrapper(parameters: DmaParameters) -> str:
    """A Verilog wrapper that joins the DMA's port arrays to the vectors of the harness."""
    ports = range(parameters.ports)
    declared, connected = [], []
    for channel in ("load", "store"):
        widths = {
            "req": 1,
            "add": 32,
            "wen": 1,
            "be": 4,
            "wdata": 32,
            "gnt": 1,
            "r_valid": 1,
            "r_opc": 1,
            "r_rdata": 32,
        }
        for name, width in widths.items():
            direction = "input" if name in ("gnt", "r_valid", "r_opc", "r_rdata") else "output"
            declared.append(f"{direction} wire [{width * parameters.ports - 1}:0] {channel}_{name}")
            connected += [f".{channel}__{i}__{name}({channel}_{name}[{width * i} +: {width}])" for i in ports]
    before_axi = len(declared)
    ids, bits, strobes = ID_BITS - 1, parameters.axi_bits - 1, parameters.beat_bytes - 1
    for channel in ("aw", "ar"):
        out = {"id": ids, "addr": 31, "len": 7, "size": 2, "burst": 1, "user": 7, "valid": 0}
        declared += [f"output wire [{high}:0] {channel}{name}" for name, high in out.items()]
        declared.append(f"input wire {channel}ready")
    outputs = {"wdata": bits, "wstrb": strobes, "wlast": 0, "wvalid": 0, "bready": 0, "rready": 0}
    inputs = {"wready": 0, "bid": ids, "bresp": 1, "bvalid": 0, "rid": ids, "rdata": bits, "rresp": 1, "rlast": 0}
    inputs["rvalid"] = 0
    declared += [f"output wire [{high}:0] {name}" for name, high in outputs.items()]
    declared += [f"input wire [{high}:0] {name}" for name, high in inputs.items()]
    connected += [f".axi__{name}({name})" for name in (line.split()[-1] for line in declared[before_axi:])]
    bound = parameters.tcdm_address_bits
    connected += [f".settings__{name}(windows[{48 * i} +: 32])" for i, name in enumerate(("dram_base", "dram_end"))]
    connected += [
        f".settings__{name}(windows[{48 * i} +: {bound + 1}])" for i, name in enumerate(("tcdm_base", "tcdm_end"), 2)
    ]
    names = [f"ring_{ring}_{what}" for what in ("end", "size") for ring in "iwo"]
    connected += [f".settings__{name}(rings[{32 * i} +: {bound + 1}])" for i, name in enumerate(names)]
    for i, channel in enumerate(("load", "store", "program")):
        connected += [
            f".{channel}_idle(idle[{i}])",
            f".{channel}_error(error[{8 * i} +: 8])",
            f".{channel}_error_address(error_at[{32 * i} +: 32])",
        ]
    return _WRAPPER.format(declared=",\n    ".join(declared), connected=",\n    ".join(connected))


_WRAPPER = """\
module dma_flat (
    input wire clk,
    input wire rst,
    input wire [31:0] load_word,
    input wire load_valid,
    output wire load_ready,
    input wire [31:0] store_word,
    input wire store_valid,
    output wire store_ready,
    output wire load_done,
    output wire store_done,
    input wire program_start,
    input wire [31:0] program_address,
    input wire [31:0] program_words,
    output wire [31:0] program_word,
    output wire program_valid,
    input wire program_ready,
    output wire [2:0] idle,
    output wire [23:0] error,
    output wire [95:0] error_at,
    input wire [191:0] windows,
    input wire [191:0] rings,
    {declared}
);
  dma dma (
    .clk(clk), .rst(rst), .halt(1'b0), .clear(1'b0),
    .i_load__payload(load_word), .i_load__valid(load_valid), .i_load__ready(load_ready),
    .i_store__payload(store_word), .i_store__valid(store_valid), .i_store__ready(store_ready),
    .load_done(load_done), .store_done(store_done),
    .program_start(program_start), .program_address(program_address), .program_words(program_words),
    .o_program__payload(program_word), .o_program__valid(program_valid), .o_program__ready(program_ready),
    {connected}
  );
endmodule
"""


@dataclass(frozen=True)
class SimulatedDma:
    """A DMA in its harness, `cosim/harness/dma.sv`, whose memory is the DRAM, followed by the TCDM."""

    harness: SimulatedHarness
    parameters: DmaParameters
    dram_log2: int = DRAM_LOG2


def designs(parameters: DmaParameters) -> dict[str, str]:
    """The Verilog of a DMA and of its wrapper, by name of the file."""
    text = kept(["dma", asdict(parameters)], lambda: converted(Dma(parameters), "dma"))
    return {"dma.v": text, "dma_flat.v": wrapper(parameters)}


def dma_device(
    parameters: DmaParameters, made: Mapping[str, str] | None = None, dram_log2: int = DRAM_LOG2
) -> Device:
    """A DMA; ``made``: what `designs` gives, if it is another one; ``dram_log2``: see `DRAM_LOG2`."""
    return Device(
        designs=made or designs(parameters),
        sources=("dma.sv", *DRAM, "tcdm_port.sv"),
        public="dma.vlt",
        sizes={**DRAM_SIZES, "DataBits": parameters.axi_bits, "DramLog2": dram_log2, "TcdmLog2": TCDM_LOG2},
        loaded=True,
        quick=("-Og",),
    )


@cache
def load_model(parameters: DmaParameters, dram_log2: int = DRAM_LOG2) -> SimulatedDma:
    """The simulated DMA of these parameters in this process, built unless it is there."""
    return SimulatedDma(loaded(dma_device(parameters, dram_log2=dram_log2)), parameters, dram_log2)
