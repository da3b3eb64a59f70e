"""Boards with an ECP5 that are easy to buy: their FPGA, what it has, and the oscillator on the board.

LUT4, multipliers and block RAMs are those of the data sheet of the family (Lattice FPGA-DS-02012, selection guide;
LUT4 to the cell, as nextpnr counts them); devices, packages, speed grades, oscillators and pins those of the board
files of `amaranth-boards` and of the boards' own documentation.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hwgen.arch.parameter_error import ParameterError

__all__ = ["BOARDS", "Board", "Fpga", "Pins", "Pll", "pll_of"]


@dataclass(frozen=True)
class Fpga:
    """An FPGA: LUT4, multipliers of 18 x 18 bits, block RAMs of 18 Kibit."""

    luts: int
    dsps: int
    brams: int


OF_12, OF_25 = Fpga(12_000, 28, 32), Fpga(24_288, 28, 56)
OF_45, OF_85 = Fpga(43_848, 72, 108), Fpga(83_640, 156, 208)


@dataclass(frozen=True)
class Pins:
    """Where a design on the board has its pads; all of them are LVCMOS33.

    Members
    -------
    clock : the oscillator.
    rx, tx : of the USB serial chip: what the FPGA receives, and what it sends.
    lights : light-emitting diodes that are lit by a 1, from the first one on.
    high : what the board wants to be held at 1.
    """

    clock: str
    rx: str
    tx: str
    lights: tuple[str, ...] = ()
    high: tuple[str, ...] = ()


@dataclass(frozen=True)
class Board:
    """A board.

    Members
    -------
    device, package, speed : of the FPGA, as its order code has them: LFE5U-85F, BG381, grade 6.
    fpga : what that has.
    oscillator_mhz : the clock on the board, from which a PLL makes others.
    pins : None where they are not known here.
    """

    device: str
    package: str
    speed: int
    fpga: Fpga
    oscillator_mhz: float
    pins: Pins | None = None

    @property
    def size(self) -> str:
        """The FPGA as nextpnr names it, such as 85k or um5g-45k."""
        family, cells = self.device.removeprefix("LFE5").lower().split("-")
        return f"{family}-{cells[:-1]}k".removeprefix("u-")


OF_ULX3S = Pins("G2", "M1", "L4", ("B2", "C2", "C1", "D2", "D1", "E2", "E1", "H3"), ("L2",))
"""L2 is the pin GPIO0 of the ESP32 beside the FPGA: at 1 it leaves the FPGA alone."""
OF_ECPIX5 = Pins("K23", "R26", "R24")

BOARDS = {
    "ulx3s_12f": Board("LFE5U-12F", "BG381", 6, OF_12, 25, OF_ULX3S),
    "ulx3s_25f": Board("LFE5U-25F", "BG381", 6, OF_25, 25, OF_ULX3S),
    "ulx3s_45f": Board("LFE5U-45F", "BG381", 6, OF_45, 25, OF_ULX3S),
    "ulx3s_85f": Board("LFE5U-85F", "BG381", 6, OF_85, 25, OF_ULX3S),
    "colorlight_5a_75b": Board("LFE5U-25F", "BG256", 6, OF_25, 25),
    "colorlight_i5": Board("LFE5U-25F", "BG381", 6, OF_25, 25),
    "colorlight_i9": Board("LFE5U-45F", "BG381", 6, OF_45, 25),
    "orangecrab_25f": Board("LFE5U-25F", "MG285", 8, OF_25, 48),
    "orangecrab_85f": Board("LFE5U-85F", "MG285", 8, OF_85, 48),
    "versa_ecp5": Board("LFE5UM-45F", "BG381", 8, OF_45, 100),
    "ecpix5_45f": Board("LFE5UM5G-45F", "BG554", 8, OF_45, 100, OF_ECPIX5),
    "ecpix5_85f": Board("LFE5UM5G-85F", "BG554", 8, OF_85, 100, OF_ECPIX5),
    "ecp5_evn": Board("LFE5UM5G-85F", "BG381", 8, OF_85, 12),
}
"""Boards by name."""

# --- clocks ---

PFD_MHZ, VCO_MHZ, OUT_MHZ = (3.125, 400.0), (400.0, 800.0), (3.125, 400.0)
"""Limits of an ECP5's PLL: of its phase detector, of its oscillator, of its output."""
MOST_DIVISION, MOST_FEEDBACK = 128, 80


@dataclass(frozen=True)
class Pll:
    """A PLL with its output as feedback: in * ``feedback`` / ``reference``; its oscillator is ``output`` times that.

    Members
    -------
    mhz : of the output.
    """

    reference: int
    feedback: int
    output: int
    mhz: float


def pll_of(oscillator_mhz: float, mhz: float) -> Pll:
    """The PLL with the highest clock up to the one that is asked for; of equal ones that with the fastest phase
    detector. Raises `ParameterError` where there is none."""
    best = max(_plls(oscillator_mhz, mhz), key=lambda one: (one.mhz, -one.reference), default=None)
    if best is None or not OUT_MHZ[0] <= mhz <= OUT_MHZ[1]:
        raise ParameterError(f"expected {OUT_MHZ[0]:g} to {OUT_MHZ[1]:g} MHz, got {mhz:g}")
    return best


def _plls(oscillator: float, mhz: float) -> Iterator[Pll]:
    for reference in range(1, MOST_DIVISION + 1):
        if not PFD_MHZ[0] <= oscillator / reference <= PFD_MHZ[1]:
            continue
        feedback = min(int(mhz * reference / oscillator + 1e-9), MOST_FEEDBACK)
        found = oscillator * feedback / reference
        # The oscillator in the middle of what it may be.
        middle = sum(VCO_MHZ) / 2
        output = min(max(1, round(middle / found)), MOST_DIVISION) if found else 0
        if output and VCO_MHZ[0] <= found * output <= VCO_MHZ[1]:
            yield Pll(reference, feedback, output, found)
