# amaranth: UnusedElaboratable=no
"""Verilog of a board's design without pads: a cluster, a memory as its DRAM, and the link to the host."""

import hashlib
import json
from dataclasses import asdict, dataclass

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.layout import aligned
from hwgen.arch.serial import BLOCK_RAM_BYTES
from hwgen.export.cached import generated_cluster
from hwgen.export.cluster import cluster_digest
from hwgen.export.conversion import converted, kept
from hwgen.export.hwc import DIGEST
from hwgen.export.joined import Instance, joined, ports_of
from hwgen.gateware.board.link import Link
from hwgen.gateware.board.memory import AxiMemory
from hwgen.gateware.cluster.cluster import ClusterCore
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks

__all__ = ["BoardParameters", "board_digest", "board_verilog"]


@dataclass(frozen=True)
class BoardParameters:
    """Generation-time parameters of a board's design.

    Parameters
    ----------
    cluster
        The cluster.
    memory_bytes
        Bytes of the memory that its DMA reads and writes: whole block RAMs. See `of`.
    """

    cluster: ClusterParameters
    memory_bytes: int

    @classmethod
    def of(cls, cluster: ClusterParameters, needed: int) -> "BoardParameters":
        """Parameters with room for the bytes that are needed: whole block RAMs, one for each word of a beat."""
        return cls(cluster, aligned(needed, BLOCK_RAM_BYTES * (cluster.axi_bits // 32)))

    @property
    def memory_rams(self) -> int:
        """Block RAMs of the memory."""
        return self.memory_bytes // BLOCK_RAM_BYTES


def board_digest(parameters: BoardParameters) -> str:
    """The digest of the parameters and of the tools that the Verilog depends on."""
    named = [cluster_digest(parameters.cluster), asdict(parameters)]
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]


def design_digest(parameters: BoardParameters) -> int:
    """What of the digest the host reads from the design: 32 bits."""
    return int(board_digest(parameters)[:8], 16)


def board_verilog(parameters: BoardParameters) -> str:
    """Verilog of the design, top module ``board``; the same text for the same parameters, run after run.

    ``board`` has clock and reset, the serial line with the cycles of a bit of it as an input, and two signals for
    lights: what simulates it drives these as pads and PLL do.
    """
    cluster = parameters.cluster
    text = kept(["board", asdict(parameters)], lambda: _around(parameters))
    heading = (
        f"// board: a cluster, {parameters.memory_bytes} bytes of memory, a serial link; generated, do not edit.\n"
    )
    return f"{heading}{DIGEST}{board_digest(parameters)}\n{text}{generated_cluster(cluster)}"


def _around(parameters: BoardParameters) -> str:
    """What is around the cluster's modules."""
    cluster, size = parameters.cluster, parameters.memory_bytes
    link = Link(digest=design_digest(parameters), memory_bytes=size)
    memory = AxiMemory(data_bits=cluster.axi_bits, size=size)
    core, banks = ports_of(ClusterCore(cluster)), ports_of(TcdmBanks(cluster.tcdm))
    of_host = ports_of(memory)
    to_link = {name: name.replace("host__", "memory__") for name, _, _ in of_host}
    instances = [
        Instance("board_link", "link", ports_of(link)),
        Instance("board_memory", "memory", of_host, to_link),
        Instance("cluster_core", "core", core),
        Instance(
            "cluster_tcdm", "tcdm", banks,
            {name: name.replace("ports__", "tcdm__") for name, _, _ in banks} | {"clear": "starts"},
        ),
    ]  # fmt: skip
    outside = {"divisor", "rx", "tx", "busy", "irq"}
    inside = {wire for one in instances for wire, _, _ in one.connected()} - outside
    return "".join(
        [
            joined("board", instances, inside),
            converted(link, "board_link"),
            converted(memory, "board_memory", memory_contents=False),
        ]
    )
