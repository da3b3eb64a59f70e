"""The AXI4 signals that the cluster's port does not have, and what whoever connects it drives in their place."""

from dataclasses import dataclass

from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.dma.settings import StreamId
from manual.designs import cluster
from manual.markdown import table

__all__ = ["ABSENT", "AXI4", "Absent", "absent_table", "id_table"]

AXI4 = (
    *(
        f"{channel}{name}"
        for channel in ("aw", "ar")
        for name in (
            *("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos", "region", "user", "valid"),
            "ready",
        )
    ),
    *("wdata", "wstrb", "wlast", "wuser", "wvalid", "wready"),
    *("bid", "bresp", "buser", "bvalid", "bready"),
    *("rid", "rdata", "rresp", "rlast", "ruser", "rvalid", "rready"),
)
"""Every signal of an AXI4 interface."""


@dataclass(frozen=True)
class Absent:
    """Signals that the port does not have, the value to drive in their place, and why it is right."""

    names: tuple[str, ...]
    value: str
    reason: str


ABSENT = (
    Absent(("awlock", "arlock"), "0", "No access is exclusive."),
    Absent(("awcache", "arcache"), "4'b0011", "Normal memory, not cached; writes may be buffered."),
    Absent(("awprot", "arprot"), "3'b010", "Unprivileged, non-secure data. Use the value that the system expects."),
    Absent(("awqos", "arqos"), "0", "All bursts have the same priority."),
    Absent(("awregion", "arregion"), "0", "There is one address space."),
    Absent(("wuser", "buser", "ruser"), "left open", "Only addresses carry user bits."),
)


def absent_table() -> list[str]:
    """The signals that are not there, as a table."""
    there = set(AxiSignature(cluster().axi_bits).members)
    assert {name for one in ABSENT for name in one.names} == set(AXI4) - there
    rows = [[", ".join(f"`{name}`" for name in one.names), f"`{one.value}`", one.reason] for one in ABSENT]
    return list(table(["Signals", "Drive", "Why"], rows))


def id_table() -> list[str]:
    """The AXI IDs, as a table."""
    sources = {"LOAD": "loads: DRAM to TCDM", "STORE": "stores: TCDM to DRAM", "PROGRAM": "the fetch of the program"}
    rows = [[str(one.value), sources[name]] for name, one in StreamId.__members__.items()]
    return list(table(["ID", "Bursts of"], rows))
