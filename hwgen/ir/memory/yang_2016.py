"""Energy and area of memories in 45 nm, from Yang et al. 2016 (Table 3, Section 5.2), and what it leaves open.

Printed there: the energy of an access by size (1 KB to 1 MB) and word width, and that of a DRAM, which takes the
place of any memory above 16 MB. Between two sizes the energy is interpolated in both logarithms.

Ours, because the paper does not print it:

- SRAM from 1 MB to 16 MB: the energy of 1 MB times the square root of the size. The paper says (Section 3.4) that the
  growth is mostly wire from the array to the port, and the side of a square memory grows so.
- Register files below 1 KB: the energy of 1 KB times the size, down to 8 bytes. The architectures that the same group
  published later (Yang et al. 2020, Interstellar) take 0.015 pJ for 8 bytes, 0.06 for 32 and 0.48 for 256: in
  proportion to the size, too.
- A multiply-accumulate of 16 bits: 0.9 pJ. Horowitz 2014 prints 0.2 pJ for a product of 8 bits, 3.1 pJ for 32 and
  0.1 pJ for an addition of 32 bits, in 45 nm; between the products, in both logarithms, 16 bits take 0.8 pJ.
- Area: what the text says of two designs (Section 5.2), 8 MB in 45 mm2, 45 times DianNao, and 1 MB in six times as
  much as DianNao, makes 39 mm2 for 7 MB, and 0.43 mm2 without any memory.
"""

from math import exp, log
from typing import Literal, get_args

__all__ = ["AREA_WITHOUT_MEMORY", "DRAM_BYTES", "MAC_PICOJOULE", "WIDTHS", "Width", "area", "energy_per_byte"]

Width = Literal[64, 128, 256, 512]
"""Bits of an access: the columns of Table 3."""
WIDTHS: tuple[int, ...] = get_args(Width)

KIB = 1024
_TABLE_3: dict[int, tuple[float, float, float, float]] = {
    1: (1.20, 0.93, 0.69, 0.57),
    2: (1.54, 1.37, 0.91, 0.68),
    4: (2.11, 1.68, 1.34, 0.90),
    8: (3.19, 2.71, 2.21, 1.33),
    16: (4.36, 3.57, 2.66, 2.19),
    32: (5.82, 4.80, 3.52, 2.64),
    64: (8.10, 7.51, 5.79, 4.67),
    128: (11.66, 11.50, 8.46, 6.15),
    256: (15.60, 15.51, 13.09, 8.99),
    512: (23.37, 23.24, 17.93, 15.76),
    1024: (36.32, 32.81, 28.88, 25.22),
}
"""pJ for 16 bits by KiB, a column for each of `WIDTHS`."""
_DRAM = 320.0
"""pJ for 16 bits."""
DRAM_BYTES = 16384 * KIB
"""The largest SRAM; what is larger is a DRAM."""
_SMALLEST = 8
"""Bytes of the smallest register file."""

MAC_PICOJOULE = 0.9
"""Ours: of 16-bit operands."""

AREA_WITHOUT_MEMORY = 45 - 8 * (45 - 6) / 7
"""mm2 of the datapath, from the two designs of the text."""
_AREA_OF_BYTE = (45 - 6) / 7 / (KIB * KIB)


def energy_per_byte(size: int | None, width: int = 64) -> float:
    """pJ of a byte that a memory of ``size`` bytes serves in accesses of ``width`` bits; None: of the DRAM."""
    column, sizes = WIDTHS.index(width), list(_TABLE_3)
    if size is None or size > DRAM_BYTES:
        return _DRAM / 2
    kib, least, most = max(size, _SMALLEST) / KIB, sizes[0], sizes[-1]
    if kib <= least:
        return _TABLE_3[least][column] * kib / least / 2
    if kib >= most:
        return float(_TABLE_3[most][column] * (kib / most) ** 0.5 / 2)
    below = max(one for one in sizes if one <= kib)
    low, high = _TABLE_3[below][column], _TABLE_3[2 * below][column]
    if kib == below:
        return low / 2
    return exp(log(low) + log(high / low) * log(kib / below) / log(2)) / 2


def area(size: int) -> float:
    """mm2 of memories of ``size`` bytes together; `AREA_WITHOUT_MEMORY` comes on top for the datapath. Ours."""
    return _AREA_OF_BYTE * size
