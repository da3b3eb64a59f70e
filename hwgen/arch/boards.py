"""Boards with an ECP5 that are easy to buy: their FPGA, what it has, and the oscillator on the board.

LUT4, multipliers and block RAMs are those of the data sheet of the family (Lattice FPGA-DS-02012, selection guide;
LUT4 to the cell, as nextpnr counts them); devices, packages, speed grades and oscillators those of the board files of
`amaranth-boards` and of the boards' own documentation.
"""

from dataclasses import dataclass

__all__ = ["BOARDS", "Board", "Fpga"]


@dataclass(frozen=True)
class Fpga:
    """An FPGA: LUT4, multipliers of 18 x 18 bits, block RAMs of 18 Kibit."""

    luts: int
    dsps: int
    brams: int


OF_12, OF_25 = Fpga(12_000, 28, 32), Fpga(24_288, 28, 56)
OF_45, OF_85 = Fpga(43_848, 72, 108), Fpga(83_640, 156, 208)


@dataclass(frozen=True)
class Board:
    """A board.

    Members
    -------
    device, package, speed : of the FPGA, as its order code has them: LFE5U-85F, BG381, grade 6.
    fpga : what that has.
    oscillator_mhz : the clock on the board, from which a PLL makes others.
    """

    device: str
    package: str
    speed: int
    fpga: Fpga
    oscillator_mhz: float


BOARDS = {
    "ulx3s_12f": Board("LFE5U-12F", "BG381", 6, OF_12, 25),
    "ulx3s_25f": Board("LFE5U-25F", "BG381", 6, OF_25, 25),
    "ulx3s_45f": Board("LFE5U-45F", "BG381", 6, OF_45, 25),
    "ulx3s_85f": Board("LFE5U-85F", "BG381", 6, OF_85, 25),
    "colorlight_5a_75b": Board("LFE5U-25F", "BG256", 6, OF_25, 25),
    "colorlight_i5": Board("LFE5U-25F", "BG381", 6, OF_25, 25),
    "colorlight_i9": Board("LFE5U-45F", "BG381", 6, OF_45, 25),
    "orangecrab_25f": Board("LFE5U-25F", "MG285", 8, OF_25, 48),
    "orangecrab_85f": Board("LFE5U-85F", "MG285", 8, OF_85, 48),
    "versa_ecp5": Board("LFE5UM-45F", "BG381", 8, OF_45, 100),
    "ecpix5_45f": Board("LFE5UM5G-45F", "BG554", 8, OF_45, 100),
    "ecpix5_85f": Board("LFE5UM5G-85F", "BG554", 8, OF_85, 100),
    "ecp5_evn": Board("LFE5UM5G-85F", "BG381", 8, OF_85, 12),
}
"""Boards by name."""
