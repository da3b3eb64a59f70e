"""The configuration port of a generated design under Verilator: the design alone, all its other inputs are 0.

That of a cluster is reached in the cluster's own harness, which other tests build, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import cosim.simulator.compiling as compiling
from cosim.cluster.model import SimulatedCluster
from cosim.device.device import HARNESS
from cosim.simulator.compiling import UNOPTIMISED, compile_library, verilate
from cosim.simulator.library import SimulatedLibrary
from cosim.simulator.verilator import QUICK
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_folder
from hwgen.tools.toolchain import cache_room, fingerprint

__all__ = ["Answer", "ClusterPort", "Port", "RegisterPort", "build"]

TCDM = {
    "req": "selected",
    "add": "address",
    "wen": "!writes",
    "be": "4'hf",
    "wdata": "data",
    "r_valid": "answered",
    "r_rdata": "answer",
    "r_opc": "refused",
}
MOST_CYCLES = 3
"""From a request to its answer."""
HARNESS_TEXT = """\
module harness;
  reg clk = 1'b0, rst = 1'b1, selected = 1'b0, writes = 1'b0;
  reg [31:0] address = 32'd0, data = 32'd0, extra = 32'd0;
  wire answered, refused;
  wire [31:0] answer;
  {outputs}
  reg seen = 1'b0;
  wire watched = {watched};
  always @(posedge clk) seen <= seen | watched;
  {top} dut (.clk(clk), .rst(rst), {connected});
endmodule
"""
CONTROL_TEXT = """\
`verilator_config
public_flat_rw -module "harness" -var "*"
"""


@dataclass(frozen=True)
class Answer:
    """The data of a read, and whether the access was refused."""

    data: int
    refused: bool


class Port(Protocol):
    """Accesses to registers, and a reset."""

    def reset(self) -> None: ...

    def read(self, address: int) -> Answer: ...

    def write(self, address: int, data: int) -> Answer: ...


class ClusterPort:
    """Accesses to the configuration port of a simulated cluster, in its own harness."""

    def __init__(self, model: SimulatedCluster) -> None:
        self._model = model

    def reset(self) -> None:
        """Reset the cluster and its harness."""
        self._model.harness.set(rst=1, clear=1)
        self._model.harness.run(3)
        self._model.harness.set(rst=0, clear=0)
        self._model.harness.run(2)

    def read(self, address: int) -> Answer:
        """Read the register at a byte address."""
        return Answer(*self._model.transfer(address))

    def write(self, address: int, data: int) -> Answer:
        """Write the register at a byte address."""
        return Answer(*self._model.transfer(address, data))


class RegisterPort:
    """Accesses to the configuration port.

    Parameters
    ----------
    library
        Made by `build`.
    """

    def __init__(self, library: Path) -> None:
        self._model = SimulatedLibrary(library)

    def reset(self) -> None:
        """Reset the design."""
        self._model.set(rst=1)
        self._model.run(3)
        self._model.set(rst=0)
        self._model.run(2)

    def power_up(self, seed: int) -> None:
        """Give every register a random value, as without a reset."""
        self._model.power_up(seed)
        self._model.set(clk=0, rst=0, selected=0, writes=0, extra=0)

    def output(self, name: str) -> int:
        """The value of a watched output."""
        return self._model.get(name)

    def seen(self, cycles: int) -> bool:
        """Whether one of the watched outputs is 1 in one of the next ``cycles`` cycles."""
        self._model.set(seen=0)
        self._model.run(cycles)
        return bool(self._model.get("seen"))

    def read(self, address: int) -> Answer:
        """Read the register at a byte address."""
        return self._access(address, writes=0, data=0)

    def write(self, address: int, data: int) -> Answer:
        """Write the register at a byte address."""
        return self._access(address, writes=1, data=data)

    def drive(self, value: int) -> None:
        """Set what `build` connects to ``extra``, for one cycle."""
        self._model.set(extra=value)
        self._model.run(1)
        self._model.set(extra=0)

    def _access(self, address: int, *, writes: int, data: int) -> Answer:
        self._model.set(selected=1, address=address, writes=writes, data=data)
        self._model.run(1)
        self._model.set(selected=0)
        cycles = 1
        while not self._model.get("answered"):
            assert cycles < MOST_CYCLES, "no answer"
            self._model.run(1)
            cycles += 1
        answer = Answer(self._model.get("answer"), bool(self._model.get("refused")))
        self._model.run(1)
        return answer


def build(
    verilog: str, top: str, port: str, *, extra: Mapping[str, str] | None = None, watch: Sequence[str] = ()
) -> Path:
    """The library of a design, verilated quickly and kept.

    Parameters
    ----------
    verilog, top : the design's text and the name of its top module.
    port : the configuration port's prefix in the names of ports.
    extra : inputs, each with the bits of ``extra`` that it is connected to: `RegisterPort.drive` sets them.
    watch : outputs that `RegisterPort.seen` looks at.
    """
    connected = [f".{port}__{name}({value})" for name, value in TCDM.items()]
    connected += [f".{name}({bits})" for name, bits in (extra or {}).items()]
    connected += [f".{name}({name})" for name in watch]
    text = HARNESS_TEXT.format(
        top=top,
        connected=", ".join(connected),
        outputs=" ".join(f"wire {name};" for name in watch),
        watched=" || ".join(watch) or "1'b0",
    )
    tools = [fingerprint("verilator"), sources_digest([HARNESS / "library.cpp", Path(compiling.__file__)])]

    def make(folder: Path) -> None:
        files = {"harness.vlt": CONTROL_TEXT, "harness.v": text, "design.v": verilog}
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
        options = [*QUICK, "-Wno-fatal", "--no-public-flat-rw", *(str(folder / name) for name in files)]
        verilate(folder / "sim", "harness", options, folder / "build.log")
        compile_library(folder / "sim", UNOPTIMISED, [HARNESS / "library.cpp"], folder / "build.log")

    key = digest_of([verilog, text, CONTROL_TEXT, QUICK, *tools])
    return kept_folder(cache_room("builds") / key, make) / "sim" / "model.so"
