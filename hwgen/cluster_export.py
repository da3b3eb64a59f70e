"""Verilog of a generated cluster: HWC, core and memory as modules of their own, and the top that joins them."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache

from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hwgen.export import converted, digest, verilog
from hwgen.gateware.cluster import ClusterCore
from hwgen.gateware.cluster_params import ClusterParameters
from hwgen.gateware.tcdm_banks import TcdmBanks

__all__ = ["cluster_verilog"]


@lru_cache(maxsize=8)
def cluster_verilog(parameters: ClusterParameters) -> str:
    """Verilog of one cluster, top module ``cluster``; the same text for the same parameters, run after run.

    ``cluster`` joins ``cluster_core``, which has instances of ``hwc``, and the memory ``cluster_tcdm``: whoever wants
    to see the ports in between, or has a memory of his own, joins them himself.
    """
    core, tcdm = ClusterCore(parameters), TcdmBanks(parameters.tcdm)
    top = _top(list(_ports(core)), list(_ports(tcdm)))
    # What the memory begins with is nobody's business; said word by word it would be most of the text.
    memory = re.sub(r"\n  initial begin\n(    \S+\[\d+\] = \S+;\n)+  end", "", converted(tcdm, "cluster_tcdm"))
    return _heading(parameters) + top + converted(core, "cluster_core") + memory + verilog(parameters.hwc)


def _heading(parameters: ClusterParameters) -> str:
    named = {**asdict(parameters), "hwc": digest(parameters.hwc)}
    found = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
    return (
        f"// cluster: {parameters.hwcs} HWCs, {parameters.tcdm_bytes} bytes of TCDM in {parameters.tcdm_banks} "
        f"banks, AXI of {parameters.axi_bits} bits; generated, do not edit.\n// Parameters and tools: {found}\n"
    )


Port = tuple[str, bool, int]
"""Name, whether it is an input, and width."""


def _ports(component: wiring.Component) -> Iterator[Port]:
    """The ports of a component, as Amaranth names them."""
    for path, member, _ in component.signature.flatten(component):
        yield "__".join(map(str, path)), member.flow is In, Shape.cast(member.shape).width


def _top(core: list[Port], tcdm: list[Port]) -> str:
    """The module that joins core and memory: what the core has besides the memory's ports are its own."""
    inside = {name for name, _, _ in core if name.startswith("tcdm__")} | {"conflicts", "starts", "moves"}
    outer = [port for port in core if port[0] not in inside]
    lines = [f"module cluster({', '.join(['clk', 'rst', *(name for name, _, _ in outer)])});", "  input clk;"]
    lines += ["  input rst;"]
    lines += [f"  {'input' if is_input else 'output'} {_range(width)}{name};" for name, is_input, width in outer]
    lines += [f"  wire {_range(width)}{name};" for name, _, width in core]
    lines += ["  cluster_core core (", "    .clk(clk),", "    .rst(rst),"]
    lines += [",\n".join(f"    .{name}({name})" for name, _, _ in core), "  );"]
    lines += ["  cluster_tcdm tcdm (", "    .clk(clk),", "    .rst(rst),"]
    joined = {"clear": "starts"} | {name: name.replace("ports__", "tcdm__") for name, _, _ in tcdm if name != "clear"}
    lines += [",\n".join(f"    .{name}({wire})" for name, wire in joined.items()), "  );", "endmodule", "", ""]
    return "\n".join(lines)


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""
