"""What a simulator is built of: a generated design in its harness."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hwgen.arch.bus import ID_BITS, WORD_BYTES
from hwgen.arch.latency import DRAM_QUEUE
from hwgen.ir.document import InputError

__all__ = ["DEPTHS", "DRAM", "DRAM_SIZES", "HARNESS", "LANES", "Device", "dram_depth", "lane_macros"]

HARNESS = Path(__file__).resolve().parents[1] / "harness"
DRAM = tuple(f"dram/{name}.sv" for name in ("dram", "dram_counters", "open_rows", "descriptor_runs", "axi_rules"))
"""The sources of the DRAM."""
DRAM_SIZES = {"MasterIdBits": ID_BITS, "DramQueue": DRAM_QUEUE}
"""What a harness has to know of it and of the AXI port of a DMA."""
LANES = ("I", False), ("W", False), ("O", False), ("O", True)
"""What the lanes of an HWC access in its local memories: operands, and whether written; as `lane_watch` has them."""
LANE_MACRO = "LANE_REGISTERS"
"""Defined where lanes have registers, and a port that tells of their accesses."""
DEPTHS = (18, 20, 22, 24, 26, 28)
"""log2 of the words of a simulated DRAM: a few sizes only, so that one build serves many layers."""


@dataclass(frozen=True)
class Device:
    """A design, the harness around it, and how both are compiled.

    Members
    -------
    designs : the design's Verilog, by name of the file.
    sources : the harness' files in `HARNESS`.
    public : the file there that says which variables are driven and read.
    sizes : parameters of the module on top.
    top : its name.
    clock : the module around it that drives its clock, for a simulator that runs by itself.
    main : the C++ file that does so.
    macros : that are defined.
    loaded : it is a library in this process, and a test bench is built around that. Modules stay instances then, so
        that all of a kind run the same code; see the file ``public``.
    rewritten : the design is rewritten for long runs, see `cosim.simulator.rewriting`.
    memory : the harness has a memory and a clock that `native.cpp` knows.
    quick, fast : how Verilator's C++ is compiled for short runs and for long ones: flags of g++.
    """

    designs: Mapping[str, str]
    sources: tuple[str, ...]
    public: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    top: str = "harness"
    clock: str = ""
    main: str = ""
    macros: tuple[str, ...] = ()
    loaded: bool = False
    rewritten: bool = True
    memory: bool = True
    quick: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()

    @property
    def files(self) -> list[Path]:
        """The harness' Verilog, without what it includes."""
        return [HARNESS / name for name in self.sources]


def lane_macros(*, registers: bool) -> tuple[str, ...]:
    """The macros for a design whose lanes have registers, or not.

    A macro and no parameter: only where they have is there a port.
    """
    return (LANE_MACRO,) if registers else ()


def dram_depth(words: int) -> int:
    """The size of a DRAM, as a power of two in 32-bit words, for an image of ``words`` words.

    Raises `InputError` for more than the largest that is simulated.
    """
    for depth in DEPTHS:
        if words <= 1 << depth:
            return depth
    most = WORD_BYTES << DEPTHS[-1]
    raise InputError(f"DRAM: expected an image of at most {most:,} bytes to simulate, got {WORD_BYTES * words:,}")
