"""Verilog of several clusters on one AXI4 port: the clusters, the interconnect, and the top that joins them."""

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache

from amaranth.hdl import Shape
from amaranth.lib import wiring

from hwgen.arch.cluster import WINDOW_BYTES, SystemParameters
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.export.cluster import cluster_digest, cluster_files_of, cluster_verilog
from hwgen.export.conversion import converted
from hwgen.export.hwc import DIGEST
from hwgen.export.joined import Instance, Port, ports_of, range_of
from hwgen.export.manifest import core_file, waivers
from hwgen.export.registers.files import system_rdl
from hwgen.gateware.bus.apb import ApbSignature, ApbWindows
from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.bus.axi_interconnect import AxiInterconnect
from hwgen.ir.document import json_text

__all__ = ["system_digest", "system_files_of", "system_header", "system_verilog"]

PREFIXES = {"apb": "completers", "axi": "masters"}
"""Ports of a cluster by their prefix, and those that they are connected to: of the decoder, of the interconnect."""


@lru_cache(maxsize=8)
def system_verilog(parameters: SystemParameters, *, keep_init: bool = False) -> str:
    """Verilog of a system, top module ``system``; the same text for the same parameters, run after run.

    ``system`` has an instance of ``cluster`` for each cluster, the interconnect ``system_axi`` and the decoder of the
    configuration port ``system_apb``. ``keep_init`` : with initial values of the registers, see `converted`.
    """
    axi = AxiInterconnect(masters=parameters.clusters, data_bits=parameters.cluster.axi_bits)
    apb = ApbWindows(completers=parameters.clusters, window=WINDOW_BYTES)
    parts = [
        _top(parameters.clusters, ports_of(axi), ports_of(apb), parameters.cluster.axi_bits),
        converted(apb, "system_apb", keep_init=keep_init),
        converted(axi, "system_axi", keep_init=keep_init),
        cluster_verilog(parameters.cluster, keep_init=keep_init),
    ]
    heading = f"// system: {parameters.clusters} clusters on one AXI port; generated, do not edit.\n"
    return heading + f"{DIGEST}{system_digest(parameters)}\n" + "".join(parts)


def system_files_of(parameters: SystemParameters, text: str | None = None) -> dict[str, str]:
    """One system, file by file: Verilog, waivers, registers of all clusters, and what there is of one cluster.

    ``text`` : the Verilog, if it has been made before.
    """
    text = text or system_verilog(parameters)
    of_cluster = cluster_files_of(parameters.cluster, text)
    registers = cluster_registers(parameters.cluster)
    last = max(register.address for register in registers)
    assert last < WINDOW_BYTES, "all registers of a cluster are in its window"
    rdl = system_rdl(registers) + _rdl(parameters)
    summary = {
        "clusters": parameters.clusters,
        "window_bytes": WINDOW_BYTES,
        "cluster": cluster_digest(parameters.cluster),
    }
    return {
        **{name: text for name, text in of_cluster.items() if not name.endswith((".v", ".vlt", ".core"))},
        "system.v": text,
        "system.vlt": waivers("system"),
        "system.json": json_text(summary, indent=2),
        "system_registers.rdl": rdl,
        "system.h": system_header(parameters),
        "system.core": core_file("system", "Clusters of hardware convolution blocks on one AXI port"),
    }


def system_digest(parameters: SystemParameters) -> str:
    """The digest of the parameters and of the tools that the Verilog depends on."""
    named = [cluster_digest(parameters.cluster), parameters.clusters, asdict(parameters)]
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]


def system_header(parameters: SystemParameters) -> str:
    """Where each cluster's registers are, in C."""
    return f"""\
/* Clusters of the system, each with a window of registers: see cluster_registers.h. Generated, do not edit. */
#ifndef SYSTEM_H
#define SYSTEM_H

#define SYSTEM_CLUSTERS {parameters.clusters}u
#define SYSTEM_WINDOW_BYTES 0x{WINDOW_BYTES:x}u
/* Address of the registers of a cluster; base is that of the configuration port. */
#define SYSTEM_CLUSTER(base, number) ((base) + SYSTEM_WINDOW_BYTES * (number))

#endif
"""


def _rdl(parameters: SystemParameters) -> str:
    """The register maps of all clusters, each in its window."""
    return (
        '\naddrmap system {\n  name = "system";\n'
        '  desc = "Registers of several clusters, each in a window of its own.";\n'
        f"  cluster cluster[{parameters.clusters}] @ 0x0 += 0x{WINDOW_BYTES:x};\n}};\n"
    )


def _outer(clusters: int, axi: list[Port], apb: list[Port]) -> list[Port]:
    """The ports of the top."""
    slave = [
        (name.replace("slave__", "axi__"), given, width) for name, given, width in axi if name.startswith("slave")
    ]
    own = [port for port in apb if port[0].startswith("apb__")]
    return [*own, *slave, ("irq", False, clusters)]


def _top(clusters: int, axi: list[Port], apb: list[Port], axi_bits: int) -> str:
    """The module that joins them. What all clusters have is side by side in one vector, cluster 0 from bit 0 up."""
    outer = _outer(clusters, axi, apb)
    lines = [f"module system({', '.join(['clk', 'rst', *(name for name, _, _ in outer)])});", "  input clk;"]
    lines += ["  input rst;"]
    lines += [f"  {'input' if given else 'output'} {range_of(width)}{name};" for name, given, width in outer]
    signatures: dict[str, wiring.Signature] = {"apb": ApbSignature(), "axi": AxiSignature(axi_bits)}
    joined = {
        f"{prefix}__{name}": Shape.cast(member.shape).width
        for prefix, signature in signatures.items()
        for name, member in signature.members.items()
    }
    lines += [f"  wire {range_of(clusters * width)}of_{name};" for name, width in joined.items()]

    def place(name: str, width: int, number: str) -> str:
        return f"of_{name}[{width} * {number} +: {width}]"

    def inside(prefix: str, ports: list[Port], renamed: dict[str, str]) -> dict[str, str]:
        """What the ports of decoder or interconnect are connected to."""
        found = {}
        for name, _, width in ports:
            group, *rest = name.split("__")
            if group == PREFIXES[prefix]:
                found[name] = place(f"{prefix}__{rest[1]}", width, rest[0])
            else:
                found[name] = "__".join([renamed.get(group, group), *rest])
        return found

    decoder = Instance("system_apb", "apb", apb, inside("apb", apb, {}), clocked=False)
    interconnect = Instance("system_axi", "axi", axi, inside("axi", axi, {"slave": "axi"}))
    own = {name: place(name, width, "i") for name, width in joined.items()} | {"irq": "irq[i]"}
    cluster = Instance("cluster", "cluster", [(name, True, 1) for name in own], own)
    lines += [*decoder.lines(), *interconnect.lines()]
    lines += ["  genvar i;", "  generate", f"    for (i = 0; i < {clusters}; i = i + 1) begin : clusters"]
    lines += [*cluster.lines(), "    end", "  endgenerate"]
    return "\n".join([*lines, "endmodule", "", ""])
