# amaranth: UnusedElaboratable=no
"""Verilog of a generated cluster: HWC, core and memory as modules of their own, and the top that joins them."""

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import HEADER, QUEUES_OF, Opcode, Queue
from hwgen.arch.descriptor import FIELDS
from hwgen.arch.registers.cluster import CLUSTER_IDENTITY, cluster_registers
from hwgen.arch.registers.errors import ClusterError, DmaError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.arch.registers.vector import vector_registers
from hwgen.export.conversion import converted
from hwgen.export.driver.files import driver_files
from hwgen.export.example.system import front_end_files
from hwgen.export.hwc import DIGEST, digest, verilog
from hwgen.export.joined import FrontEnd, Instance, Port, joined, outer_ports, ports_of
from hwgen.export.manifest import core_file, waivers
from hwgen.export.registers.files import register_files
from hwgen.gateware.bus.apb import ApbBridge
from hwgen.gateware.cluster.cluster import ClusterCore
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks
from hwgen.ir.document import json_text

__all__ = ["cluster_digest", "cluster_files_of", "cluster_ports", "cluster_verilog"]


@lru_cache(maxsize=8)
def cluster_verilog(parameters: ClusterParameters, *, keep_init: bool = False) -> str:
    """Verilog of one cluster, top module ``cluster``; the same text for the same parameters, run after run.

    ``cluster`` joins ``cluster_core``, which has instances of ``hwc``, the memory ``cluster_tcdm``, and the bridge
    ``cluster_apb`` from the configuration port. Whoever wants to see the ports in between, or has a memory of his
    own, joins them himself.

    ``keep_init`` : with initial values of the registers, see `converted`.
    """
    core, tcdm, apb = ClusterCore(parameters), TcdmBanks(parameters.tcdm), ApbBridge()
    front = Instance("cluster_apb", "apb", ports_of(apb), clocked=False)
    top = joined("cluster", [front, *_core_and_memory(core, tcdm)], _inside(ports_of(core)))
    # Initial contents, a line for each word, would be most of the text.
    memory = converted(tcdm, "cluster_tcdm", memory_contents=False, keep_init=keep_init)
    bridge = converted(apb, "cluster_apb", keep_init=keep_init)
    middle = converted(core, "cluster_core", keep_init=keep_init)
    parts = [top, bridge, middle, memory, verilog(parameters.hwc, keep_init=keep_init)]
    return _heading(parameters) + "".join(parts)


def _front_end(parameters: ClusterParameters) -> FrontEnd:
    """The module ``cluster_axi_lite``, which joins the modules that `cluster_verilog` has."""
    core, tcdm = ClusterCore(parameters), TcdmBanks(parameters.tcdm)
    return FrontEnd("cluster", _core_and_memory(core, tcdm), _inside(ports_of(core)))


def cluster_files_of(
    parameters: ClusterParameters, text: str | None = None, *, memory_bytes: int = 0
) -> dict[str, str]:
    """One cluster, file by file: Verilog, waivers, registers of the cluster and of its HWCs, format of programs.

    ``text`` : the Verilog, if it has been made before. ``memory_bytes`` : that the example's memory has at least.
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
    front_end = front_end_files(_front_end(parameters), CLUSTER_IDENTITY, memory_bytes=memory_bytes)
    vector = vector_registers(parameters.dma.tcdm_address_bits, parameters.vector_shape)
    return {
        "cluster.v": text or cluster_verilog(parameters),
        **front_end,
        "cluster.vlt": waivers("cluster"),
        "cluster.json": json_text(summary, indent=2),
        "cluster_program.json": json_text(program, indent=2),
        **register_files(cluster_registers(parameters)),
        **driver_files(cluster_registers(parameters)),
        **register_files(hwc_registers(parameters.hwc)),
        **(register_files(vector) if parameters.vector else {}),
        "cluster.core": core_file("cluster", "Hardware convolution blocks, DMA and shared memory", front_end),
    }


def cluster_digest(parameters: ClusterParameters) -> str:
    """The digest of the parameters and of the tools that the Verilog depends on."""
    named = {**asdict(parameters), "hwc": digest(parameters.hwc)}
    if not parameters.vector:
        del named["vector"]
    if not parameters.vector_shape.wide:
        del named["vector_elements"]
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]


def _heading(parameters: ClusterParameters) -> str:
    units = f"{parameters.hwcs} HWCs, a vector unit" if parameters.vector else f"{parameters.hwcs} HWCs"
    return (
        f"// cluster: {units}, {parameters.tcdm_bytes} bytes of TCDM in {parameters.tcdm_banks} "
        f"banks, AXI of {parameters.axi_bits} bits; generated, do not edit.\n{DIGEST}{cluster_digest(parameters)}\n"
    )


def cluster_ports(core: ClusterCore, apb: ApbBridge) -> list[Port]:
    """The ports of the module ``cluster`` that is made of these, beside its clock and reset."""
    instances = [Instance("cluster_apb", "apb", ports_of(apb)), Instance("cluster_core", "core", ports_of(core))]
    return outer_ports(instances, _inside(ports_of(core)))


def _inside(core: list[Port]) -> set[str]:
    """The wires between the parts of a cluster: ports of the core."""
    counted = {"conflicts", "starts", "settles", "moves", "lane_accesses"}
    return {name for name, _, _ in core if name.startswith(("tcdm__", "cfg__"))} | counted


def _core_and_memory(core: ClusterCore, tcdm: TcdmBanks) -> list[Instance]:
    """What the configuration port reaches."""
    banks = ports_of(tcdm)
    to_banks = {name: name.replace("ports__", "tcdm__") for name, _, _ in banks} | {"clear": "starts"}
    return [Instance("cluster_core", "core", ports_of(core)), Instance("cluster_tcdm", "tcdm", banks, to_banks)]
