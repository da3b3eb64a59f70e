"""The register bank of a cluster."""

from collections.abc import Iterator

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dma import CHUNK_BYTES
from hwgen.arch.registers.bank import Access, Bank, BankBuilder, Content, Field, setting, value_register
from hwgen.arch.registers.control import control_register, identity_register, status_register
from hwgen.arch.registers.errors import ERROR_BITS, ClusterError

__all__ = [
    "CLUSTER_IDENTITY",
    "CLUSTER_WATCHDOG",
    "EVENTS",
    "FAULT_DETAIL",
    "RING_SETTINGS",
    "cluster_registers",
    "ring_registers",
]

CLUSTER_IDENTITY = 0x434C5531
"""Reads "CLU1"."""
CLUSTER_WATCHDOG = 1 << 16
"""Cycles that the watchdog waits after reset."""
COUNTERS_BASE, SETTINGS_BASE, CONFLICTS_BASE = 0x40, 0x80, 0x100

EVENTS = {
    "busy_load": "Cycles in which the DMA loads",
    "busy_compute": "Cycles in which at least one HWC works",
    "busy_store": "Cycles in which the DMA stores",
    "busy_hwcs": "Cycles in which an HWC works, added over all HWCs",
    "wait_load_for_compute": "Cycles in which a load waits for a token of the compute queue",
    "wait_load_for_store": "Cycles in which a load waits for a token of the store queue",
    "wait_compute_for_load": "Cycles in which the compute queue waits for a token of the load queue",
    "wait_compute_for_store": "Cycles in which the compute queue waits for a token of the store queue",
    "wait_store_for_load": "Cycles in which a store waits for a token of the load queue",
    "wait_store_for_compute": "Cycles in which a store waits for a token of the compute queue",
    "wait_hwcs": "Cycles in which the compute queue waits for HWCs to end",
    "wait_queue": "Cycles in which a command waits for room in its queue",
}
"""What is counted while a program runs: registers by name, and what each counts."""

RINGS = (("i", "input"), ("w", "weights"), ("o", "output"))
RING_SETTINGS = tuple(f"ring_{ring}_{what}" for ring, _ in RINGS for what in ("end", "size"))
"""Settings that a program may write, too: consecutive registers, in this order."""

FAULT_DETAIL = Content(
    "fault_detail",
    "Which part of the cluster failed, and why",
    (
        Field("code", 0, ERROR_BITS, Access.RO, "Error code of the HWC or of the DMA"),
        Field("hwc", 8, 8, Access.RO, "Number of the HWC"),
    ),
)


def cluster_registers(parameters: ClusterParameters) -> Bank:
    """Every register of a cluster."""
    builder = BankBuilder("cluster", "Registers of a cluster: its program, memory windows, status and counters")
    builder.place(
        0,
        [
            identity_register(CLUSTER_IDENTITY),
            control_register("Starts the program", aborts="Stops it: it fails when its accesses have been answered"),
            status_register(ClusterError),
            _counter("fault_address", "Address of what failed: of a register, or of an access to DRAM or TCDM"),
            _counter("fault_command", "DRAM byte address of the command that failed"),
            FAULT_DETAIL,
            _counter("cycles", "Clock cycles from the start to the end of the program"),
        ],
    )
    builder.place(COUNTERS_BASE, [_counter(name, meaning) for name, meaning in EVENTS.items()])
    builder.place(SETTINGS_BASE, _settings(parameters))
    waits = "waited for another port's access to the same bank"
    builder.place(
        CONFLICTS_BASE,
        [_counter(f"conflicts_{master}", f"Cycles in which port {master} {waits}") for master in parameters.masters],
    )
    return builder.bank()


def ring_registers(parameters: ClusterParameters) -> range:
    """The byte addresses of `RING_SETTINGS`."""
    addresses = cluster_registers(parameters).addresses
    found = [addresses[name] for name in RING_SETTINGS]
    return range(found[0], found[-1] + WORD_BYTES, WORD_BYTES)


def _counter(name: str, meaning: str) -> Content:
    return value_register(name, 32, meaning, Access.RO)


def _settings(parameters: ClusterParameters) -> Iterator[Content]:
    """The run-time settings, in register order."""
    inside = parameters.dma.tcdm_address_bits + 1
    yield setting("program_address", 32, f"DRAM byte address of the program, a multiple of {CHUNK_BYTES}")
    yield setting("program_words", 30, "Words of the program")
    yield setting("watchdog", 32, "Cycles without any progress after which the program is given up; 0: never",
                  CLUSTER_WATCHDOG)  # fmt: skip
    yield setting("dram_base", 32, "First byte of the DRAM window, which the DMA may access")
    yield setting("dram_end", 32, "Byte address after the DRAM window")
    yield setting("tcdm_base", inside, "First byte of the TCDM window, which the DMA may access")
    yield setting("tcdm_end", inside, "Byte address after the TCDM window")
    for ring, operand in RINGS:
        yield setting(f"ring_{ring}_end", inside, f"TCDM byte address after the ring buffer of the {operand}")
        yield setting(f"ring_{ring}_size", inside, f"Size of the ring buffer of the {operand} in bytes")
