"""Generated pipelines in their harnesses, and the Verilog around them: a top with any number of pipelines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cosim.device.device import DRAM, Device
from cosim.simulator.registry import simulator_for
from hwgen.arch.latency import DRAM_QUEUE
from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.pipeline.maps import StreamPort, stream_ports
from hwgen.arch.pipeline.movers import id_bits
from hwgen.export.conversion import converted, kept
from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.pipeline.pipeline import Pipeline
from hwgen.tools.toolchain import Simulator

__all__ = ["PipelineBuild", "Sizes"]


CLOCK = "pipeline_clock"
TOP = "pipeline_top"


@dataclass(frozen=True)
class Sizes:
    """Sizes of a harness as powers of two: bytes of memory, segments (with movers: runs), lines of script."""

    memory: int
    segments: int
    script: int


def wrapper(pipelines: Sequence[tuple[PipelineParameters, Sizes]]) -> str:
    """The top module around ``pipeline_0``, ``pipeline_1``..., and a module that drives its clock (for Icarus)."""
    text = [_pipeline(index, *pipeline) for index, pipeline in enumerate(pipelines)]
    each = "\n".join(
        f"  bench_pipeline_{index} pipeline_{index} (.clk(clk), .finished(ended[{index}]));"
        for index in range(len(pipelines))
    )
    text.append(
        f"module {TOP} (input wire clk, output wire finished);\n  wire [{len(pipelines) - 1}:0] ended;\n"
        f"  assign finished = &ended;\n{each}\nendmodule\n"
    )
    text.append(
        f"module {CLOCK};\n  reg clk = 1'b0;\n  wire finished;\n  {TOP} top (.clk(clk), .finished(finished));\n"
        "  always #5 clk = ~clk;\n  always @(posedge clk) if (finished === 1'b1) $finish;\nendmodule\n"
    )
    return "\n".join(text)


def _pipeline(index: int, parameters: PipelineParameters, sizes: Sizes) -> str:
    return _at_streams(index, parameters, sizes) if parameters.movers is None else _at_dram(index, parameters, sizes)


CONFIGURATION = (
    "    .clk(clk), .rst(rst), .irq(irq), .cfg__req(cfg_req), .cfg__gnt(cfg_gnt), .cfg__add(cfg_add),\n"
    "    .cfg__wen(cfg_wen), .cfg__be(4'b1111), .cfg__wdata(cfg_wdata), .cfg__r_valid(cfg_r_valid),\n"
    "    .cfg__r_opc(cfg_r_opc), .cfg__r_rdata(cfg_r_rdata),"
)
WIRES = (
    "  wire rst, cfg_req, cfg_gnt, cfg_wen, cfg_r_valid, cfg_r_opc, irq;\n"
    "  wire [31:0] cfg_add, cfg_wdata, cfg_r_rdata;"
)


def _at_dram(index: int, parameters: PipelineParameters, sizes: Sizes) -> str:
    """A pipeline with movers in its harness."""
    assert parameters.movers is not None
    port = AxiSignature(parameters.movers.axi_bits, id_bits(parameters)).create()
    signals = {name: len(getattr(port, name)) for name in port.signature.members}
    lines = [
        f"module bench_pipeline_{index} (input wire clk, output wire finished);",
        WIRES,
        *(f"  wire [{width - 1}:0] {name};" for name, width in signals.items()),
        f"  pipeline_dram_harness #(.Index({index}), .DataBits({parameters.movers.axi_bits}),",
        f"    .IdBits({id_bits(parameters)}), .DramQueue({DRAM_QUEUE}), .MemoryLog2({sizes.memory}),",
        f"    .ScriptLog2({sizes.script}), .RunLog2({sizes.segments})) harness (.*);",
        f"  pipeline_{index} dut (",
        CONFIGURATION,
        ",\n".join(f"    .axi__{name}({name})" for name in signals),
        "  );",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _at_streams(index: int, parameters: PipelineParameters, sizes: Sizes) -> str:
    """A pipeline without movers in its harness, which plays the memory at every stream."""
    ports = stream_ports(parameters)
    reads, writes = [port for port in ports if port.reads], [port for port in ports if not port.reads]
    beat = max(port.bytes for port in ports)
    beats = ", ".join(f"8'd{port.bytes}" for port in reversed(ports))
    connections = [_connections(port, number, beat) for group in (reads, writes) for number, port in enumerate(group)]
    unused = [assign for group, kind in ((reads, "read"), (writes, "write")) for number, port in enumerate(group)
              for assign in _unused(port, number, beat, kind)]  # fmt: skip
    lines = [
        f"module bench_pipeline_{index} (input wire clk, output wire finished);",
        f"  wire [{len(reads) * beat * 8 - 1}:0] read_payload;",
        f"  wire [{len(reads) - 1}:0] read_valid, read_ready, read_apart;",
        f"  wire [{len(reads) * beat - 1}:0] read_keep;",
        f"  wire [{len(writes) * beat * 8 - 1}:0] write_payload;",
        f"  wire [{len(writes) - 1}:0] write_valid, write_ready;",
        f"  wire [{len(writes) * beat - 1}:0] write_keep;",
        WIRES,
        f"  pipeline_harness #(.Index({index}), .Reads({len(reads)}), .Writes({len(writes)}), .Beat({beat}),",
        f"    .Beats({{{beats}}}), .MemoryLog2({sizes.memory}), .SegmentLog2({sizes.segments}),",
        f"    .ScriptLog2({sizes.script})) harness (.*);",
        *unused,
        f"  pipeline_{index} dut (",
        CONFIGURATION,
        ",\n".join(f"    {connection}" for connection in connections),
        "  );",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _connections(port: StreamPort, number: int, beat: int) -> str:
    kind = "read" if port.reads else "write"
    found = [
        f".{port.name}__payload({kind}_payload[{number * beat * 8}+:{port.bytes * 8}])",
        f".{port.name}__valid({kind}_valid[{number}])",
        f".{port.name}__ready({kind}_ready[{number}])",
    ]
    if port.keep:
        found.append(f".{port.name}_keep({kind}_keep[{number * beat}+:{port.bytes}])")
    if port.apart is not None:
        found.append(f".{port.apart}({kind}_apart[{number}])")
    return ", ".join(found)


def _unused(port: StreamPort, number: int, beat: int, kind: str) -> list[str]:
    """Constants for the harness' wires that the port does not use."""
    rest, first = beat - port.bytes, number * beat + port.bytes
    found = []
    if rest:
        found.append(f"  assign {kind}_keep[{first}+:{rest}] = {rest}'d0;")
        if kind == "write":
            found.append(f"  assign write_payload[{first * 8}+:{rest * 8}] = {rest * 8}'d0;")
    if not port.keep:
        found.append(f"  assign {kind}_keep[{number * beat}+:{port.bytes}] = {{{port.bytes}{{1'b1}}}};")
    if kind == "read" and port.apart is None:
        found.append(f"  assign read_apart[{number}] = 1'b0;")
    return found


# --- pipelines in their harnesses ---


@dataclass(frozen=True)
class PipelineBuild:
    """Pipelines built into one simulator, each in a harness with room for the largest of its programs.

    Members
    -------
    fast : optimised for long runs; else built in less time, with the design's assertions on.
    """

    pipelines: tuple[tuple[PipelineParameters, Sizes], ...]
    simulator: Simulator = "verilator"
    fast: bool = True

    @cached_property
    def text(self) -> str:
        """Verilog of the pipelines and of the wrappers around them, without the harness."""
        designs = [_design(parameters, f"pipeline_{index}") for index, (parameters, _) in enumerate(self.pipelines)]
        return "".join(designs) + wrapper(self.pipelines)

    @property
    def device(self) -> Device:
        """All pipelines."""
        return Device(
            designs={"pipeline.v": self.text},
            sources=(
                *(f"pipeline/{name}.sv" for name in ("harness", "dram_harness", "listed_runs")),
                *(name for name in DRAM if name != "dram/descriptor_runs.sv"),
            ),
            public="pipeline/bench.vlt",
            top=TOP,
            clock=CLOCK,
            main="pipeline/main.cpp",
            rewritten=False,
            memory=False,
        )

    def run(self, folder: Path) -> None:
        """Run what is in a folder; `ToolError` if it fails."""
        simulator_for(self.simulator, fast=self.fast).run_program(self.device, [f"+folder={folder}"])


def _design(parameters: PipelineParameters, name: str) -> str:
    """Verilog of one pipeline; its modules are named after ``name``."""
    return kept([name, repr(parameters)], lambda: converted(Pipeline(parameters), name))
