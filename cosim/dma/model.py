"""The DMA between a DRAM and a TCDM as a shared library that is simulated in this process, built once and cached."""

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import cosim.sim.compiling
import hwgen.arch
import hwgen.gateware.bus
import hwgen.gateware.dma
import hwgen.gateware.lib
from cosim.dma.dram import DRAM
from cosim.dma.simulated import SimulatedDma
from cosim.sim.build import HARNESS
from cosim.sim.compiling import CommandFailed, compile_library, verilate
from cosim.sim.library import SimulatedLibrary
from hwgen.arch.dma import DmaParameters
from hwgen.export.conversion import converted
from hwgen.gateware.dma.dma import Dma
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_folder
from hwgen.tools.toolchain import ToolError, cache_room, fingerprint, require_tools

__all__ = ["DRAM_LOG2", "SOURCES", "TCDM_LOG2", "Model", "built_dma", "designs", "harness_sizes", "load_model"]

DRAM_LOG2, TCDM_LOG2 = 18, 16
"""Sizes of the memories in 32-bit words, as powers of two."""

SOURCES = ("dma.sv", *DRAM, "tcdm_port.sv")
OTHERS = ("dma.vlt", "library.cpp")
FLAGS = ["-Og"]


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
    bits, strobes = parameters.axi_bits - 1, parameters.beat_bytes - 1
    for channel in ("aw", "ar"):
        out = {"id": 1, "addr": 31, "len": 7, "size": 2, "burst": 1, "user": 7, "valid": 0}
        declared += [f"output wire [{high}:0] {channel}{name}" for name, high in out.items()]
        declared.append(f"input wire {channel}ready")
    outputs = {"wdata": bits, "wstrb": strobes, "wlast": 0, "wvalid": 0, "bready": 0, "rready": 0}
    inputs = {"wready": 0, "bid": 1, "bresp": 1, "bvalid": 0, "rid": 1, "rdata": bits, "rresp": 1, "rlast": 0}
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


class Model(SimulatedLibrary, SimulatedDma):
    """A simulated DMA in its harness, whose memory is the DRAM, followed by the TCDM."""

    def __init__(self, library: Path, parameters: DmaParameters) -> None:
        super().__init__(library)
        self.parameters = parameters


@cache
def load_model(parameters: DmaParameters) -> Model:
    """The simulated DMA of these parameters, built unless it is there."""
    return Model(built_dma(parameters) / "sim" / "model.so", parameters)


def designs(parameters: DmaParameters) -> dict[str, str]:
    """The Verilog of a DMA and of its wrapper, by name of the file."""
    return {"dma.v": converted(Dma(parameters), "dma"), "dma_flat.v": wrapper(parameters)}


def harness_sizes(parameters: DmaParameters) -> dict[str, int]:
    """Parameters of the harness."""
    return {"DataBits": parameters.axi_bits, "DramLog2": DRAM_LOG2, "TcdmLog2": TCDM_LOG2}


def built_dma(parameters: DmaParameters) -> Path:
    """The folder of a simulated DMA, made unless it is there."""
    require_tools("verilator", waves=False)
    files = [HARNESS / name for name in (*SOURCES, *OTHERS)]
    state = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    rooms = [
        Path(room.__path__[0]) for room in (hwgen.arch, hwgen.gateware.bus, hwgen.gateware.dma, hwgen.gateware.lib)
    ]
    sources = [*rooms, Path(__file__), Path(cosim.sim.compiling.__file__)]
    key = digest_of([asdict(parameters), state, sources_digest(sources), fingerprint("verilator")])
    folder = cache_room("builds") / key
    return kept_folder(folder, lambda fresh: _make(fresh, parameters))


def _make(folder: Path, parameters: DmaParameters) -> None:
    log = folder / "build.log"
    texts = designs(parameters)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [*(HARNESS / name for name in SOURCES), *(folder / name for name in texts)]
    sizes = harness_sizes(parameters)
    options: list[Any] = ["-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal"]
    options += [
        "--no-public-flat-rw",
        HARNESS / "dma.vlt",
        *(f"-G{name}={value}" for name, value in sizes.items()),
    ]
    try:
        verilate(folder / "sim", "harness", [str(option) for option in (*options, *sources)], log)
        compile_library(folder / "sim", FLAGS, [HARNESS / "library.cpp"], log)
    except CommandFailed:
        raise ToolError(f"verilator: build failed: {json.dumps(log.read_text(encoding='utf-8')[-3000:])}") from None
