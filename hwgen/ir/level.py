"""Memory levels: their order, what they do with data, and what is counted where they serve."""

from dataclasses import dataclass, field

__all__ = ["BUSES", "DRAM", "LEVELS", "LOCAL", "TCDM", "UNITS", "Bus", "Level", "level_named"]


@dataclass(frozen=True, slots=True)
class Bus:
    """What is counted of every access on a bus.

    Members
    -------
    quantities : in the order of the JSON form; elements are known everywhere.
    programs : whether programs are fetched over it, too.
    biases : whether biases are.
    """

    quantities: tuple[str, ...]
    programs: bool = False
    biases: bool = True


@dataclass(frozen=True, slots=True)
class Level:
    """A memory level; two of one name are the same.

    Members
    -------
    name : in files and in counts.
    depth : 0 is the outermost level; more is further in.
    bus : what is counted of the accesses that the level serves.
    shared : all HWCs use it; else each one has its own.
    prefetched : the data of the next iteration are loaded while those of the current one are in use, so that both
        need room.
    """

    name: str
    depth: int = field(compare=False)
    bus: Bus = field(compare=False)
    shared: bool = field(default=True, compare=False)
    prefetched: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.name


UNITS = {
    "bytes": "bytes",
    "words": "accesses",
    "beats": "AXI beats",
    "axi_bursts": "AXI bursts",
    "blocks": "bursts of 128 bytes",
    "jumps": "runs that do not go on from the last",
    "row_misses": "other rows opened",
}
"""What each quantity is a number of."""

_AXI = Bus(("bytes", "beats", "axi_bursts", "blocks", "jumps", "row_misses"), programs=True)
_PORT = Bus(("bytes", "words"))
_LANES = Bus(("words",), biases=False)

DRAM = Level("dram", 0, _AXI)
"""Off-chip memory. It holds everything, so no marker names it."""
TCDM = Level("tcdm", 1, _PORT, prefetched=True)
"""The memory that the HWCs of a cluster share."""
LOCAL = Level("local", 2, _LANES, shared=False)
"""The buffers inside an HWC: the level of a marker that names none."""

LEVELS: dict[str, Level] = {level.name: level for level in (TCDM, LOCAL)}
"""Levels that a marker may name, from the outermost inward."""

_OF_A_HIERARCHY = Bus(("bytes",))


def level_named(name: str) -> Level:
    """The level of that name: of the hardware, or else one of a hierarchy, which says where it is and how large."""
    return LEVELS.get(name) or Level(name, len(LEVELS) + 1, _OF_A_HIERARCHY, shared=False)


BUSES: dict[str, Bus] = {**{level.name: level.bus for level in (DRAM, TCDM, LOCAL)}, "tcdm_dma": _PORT}
"""Buses by the names that counts have: the levels that serve, and the DMA's ports to the TCDM."""
