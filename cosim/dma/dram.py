"""The controls of the simulated DRAM, `cosim/harness/dram.sv`, from the timing that it should have."""

from hwgen.arch.dram import Dram, ticks

__all__ = ["dram_controls"]


def dram_controls(dram: Dram) -> dict[str, int]:
    """Values of the harness' inputs, by name."""
    return {
        "timing": dram.latency | dram.miss_cycles << 16,
        "block_rate": ticks(dram.block_cycles),
        "geometry": dram.row_bytes.bit_length() - 1 | (dram.banks.bit_length() - 1) << 5,
    }
