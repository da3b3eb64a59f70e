"""Verilog of a generated cluster: HWC, core and memory as modules of their own, and the top that joins them."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache

from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import HEADER, QUEUES_OF, Opcode, Queue
from hwgen.arch.descriptor import FIELDS
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.errors import ClusterError, DmaError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.export.conversion import MemoryArray, converted, memories_of
from hwgen.export.hwc import DIGEST, digest, hwc_memories, verilog
from hwgen.export.package import core_file, waivers
from hwgen.export.registers.files import register_files
from hwgen.gateware.bus.apb import ApbBridge
from hwgen.gateware.cluster.cluster import ClusterCore
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks

__all__ = ["cluster_digest", "cluster_files_of", "cluster_memories", "cluster_ports", "cluster_verilog"]

_WAIVERS = """\
// Arithmetic on bytes of a word compares with the largest value that there is.
lint_off -rule CMPCONST -file "*cluster.v"
"""


@lru_cache(maxsize=8)
def cluster_verilog(parameters: ClusterParameters, *, keep_init: bool = False) -> str:
    """Verilog of one cluster, top module ``cluster``; the same text for the same parameters, run after run.

    ``cluster`` joins ``cluster_core``, which has instances of ``hwc``, the memory ``cluster_tcdm``, and the bridge
    ``cluster_apb`` from the configuration port. Whoever wants to see the ports in between, or has a memory of his
    own, joins them himself.

    ``keep_init`` : with initial values of the registers, see `converted`.
    """
    core, tcdm, apb = ClusterCore(parameters), TcdmBanks(parameters.tcdm), ApbBridge()
    top = _top(*(list(_ports(part)) for part in (core, tcdm, apb)))
    # Initial contents, a line for each word, would be most of the text.
    memory = converted(tcdm, "cluster_tcdm", memory_contents=False, keep_init=keep_init)
    bridge = converted(apb, "cluster_apb", keep_init=keep_init)
    middle = converted(core, "cluster_core", keep_init=keep_init)
    parts = [top, bridge, middle, memory, verilog(parameters.hwc, keep_init=keep_init)]
    return _heading(parameters) + "".join(parts)


def cluster_memories(parameters: ClusterParameters) -> tuple[MemoryArray, ...]:
    """Every memory array of a cluster; those of an HWC are in it for each HWC."""
    core = memories_of(ClusterCore(parameters), "cluster_core")
    banks = memories_of(TcdmBanks(parameters.tcdm), "cluster_tcdm")
    return (*core, *banks, *(array for _ in range(parameters.hwcs) for array in hwc_memories(parameters.hwc)))


def cluster_files_of(parameters: ClusterParameters, text: str | None = None) -> dict[str, str]:
    """One cluster, file by file: Verilog, waivers, registers of the cluster and of its HWCs, format of programs.

    ``text`` : the Verilog, if it has been made before.
    """
    summary = {
        "parameters": asdict(parameters),
        "errors": {code.name: code.value for code in ClusterError},
        "dma_errors": {code.name: code.value for code in DmaError},
    }
    program = {
        "header": [asdict(entry) for entry in HEADER],
        "queues": {queue.name: queue.value for queue in Queue},
        "opcodes": {opcode.name: opcode.value for opcode in Opcode},
        "queues_of_opcodes": {opcode.name: [queue.name for queue in queues] for opcode, queues in QUEUES_OF.items()},
        "descriptor": [asdict(entry) for entry in FIELDS],
    }
    return {
        "cluster.v": text or cluster_verilog(parameters),
        "cluster.vlt": waivers("cluster", _WAIVERS),
        "cluster.json": json.dumps(summary, indent=2) + "\n",
        "cluster_program.json": json.dumps(program, indent=2) + "\n",
        **register_files(cluster_registers(parameters)),
        **register_files(hwc_registers(parameters.hwc)),
        "cluster.core": core_file("cluster", "Hardware convolution blocks, DMA and shared memory"),
    }


def cluster_digest(parameters: ClusterParameters) -> str:
    """Of the parameters and of the tools that the Verilog depends on."""
    named = {**asdict(parameters), "hwc": digest(parameters.hwc)}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]


def _heading(parameters: ClusterParameters) -> str:
    return (
        f"// cluster: {parameters.hwcs} HWCs, {parameters.tcdm_bytes} bytes of TCDM in {parameters.tcdm_banks} "
        f"banks, AXI of {parameters.axi_bits} bits; generated, do not edit.\n{DIGEST}{cluster_digest(parameters)}\n"
    )


Port = tuple[str, bool, int]
"""Name, whether it is an input, and width."""


def _ports(component: wiring.Component) -> Iterator[Port]:
    """The ports of a component, as Amaranth names them."""
    for path, member, _ in component.signature.flatten(component):
        yield "__".join(map(str, path)), member.flow is In, Shape.cast(member.shape).width


def cluster_ports(core: ClusterCore, apb: ApbBridge) -> list[Port]:
    """The ports of the module ``cluster`` that is made of these, beside its clock and reset."""
    return _outer(list(_ports(core)), list(_ports(apb)))


def _outer(core: list[Port], apb: list[Port]) -> list[Port]:
    """What of the ports of core and bridge does not connect the parts of the cluster."""
    inside = {name for name, _, _ in core if name.startswith(("tcdm__", "cfg__"))} | {"conflicts", "starts", "moves"}
    return [port for port in (*apb, *core) if port[0] not in inside]


def _top(core: list[Port], tcdm: list[Port], apb: list[Port]) -> str:
    """The module that joins them: what they have besides the ports between them are its own."""
    outer = _outer(core, apb)
    wires = {name: width for name, _, width in (*core, *apb)}
    lines = [f"module cluster({', '.join(['clk', 'rst', *(name for name, _, _ in outer)])});", "  input clk;"]
    lines += ["  input rst;"]
    lines += [f"  {'input' if is_input else 'output'} {_range(width)}{name};" for name, is_input, width in outer]
    lines += [f"  wire {_range(width)}{name};" for name, width in wires.items()]
    to_tcdm = {"clear": "starts"} | {
        name: name.replace("ports__", "tcdm__") for name, _, _ in tcdm if name != "clear"
    }
    lines += _instance("cluster_apb", "apb", {name: name for name, _, _ in apb}, clocked=False)
    lines += _instance("cluster_core", "core", {name: name for name, _, _ in core})
    lines += _instance("cluster_tcdm", "tcdm", to_tcdm)
    return "\n".join([*lines, "endmodule", "", ""])


def _instance(module: str, name: str, ports: dict[str, str], *, clocked: bool = True) -> list[str]:
    every = {**({"clk": "clk", "rst": "rst"} if clocked else {}), **ports}
    connected = ",\n".join(f"    .{port}({wire})" for port, wire in every.items())
    return [f"  {module} {name} (", connected, "  );"]


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""
