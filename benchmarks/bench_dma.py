"""The DMA: its rate on long rows, its cycle model on random tiles, and the three parameters of Cecconi 2017 (Eq. 1).

Marks: at least 0.95 of the AXI width from a DRAM that answers at once, in both directions, at every width; and cycles
within 2 % on each of 200 random tiles (100 each way) for every timing of the DRAM. Beside them: the rate with a DRAM
like DDR3, and T = C + s p + n t with its errors over the same tiles.
"""

import numpy as np

from cosim.dma.model import load_model
from cosim.dma.run import DATA_BYTES, TCDM_BYTES, DmaJob, Memories, run_dma
from cosim.dma.tiles import RINGS, TileTime, measure_tiles, random_tiles
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from hwgen.model.dma.fit import fit_cost

SHOWN = ("answers at once", "like DDR3")
LEAST_RATE = 0.95
MOST_ERROR = 0.02
TILES = 100
TIMINGS = {
    "answers at once": Dram(),
    "like DDR3": Dram(latency=25, miss_cycles=21, block_cycles=15),
    "slow": Dram(latency=30, miss_cycles=10, block_cycles=64.3),
}
"""Like DDR3, at 500 MHz: 50 ns through controller and CAS, 42 ns (tRP + tRCD + CL) more for another row, 128 bytes in
30 ns. Slow: a quarter of the width of the port."""


def rate(axi_bits: int, timing: Dram, *, loads: bool) -> float:
    """The part of the AXI width that rows of 4000 bytes at odd addresses get, 15 of them in one descriptor."""
    tag, start = OperandTag.I if loads else OperandTag.O, RINGS[RingSelect.I].start + 1
    rows = Descriptor(4000, tag, RingSelect.I, 0x10003, start, 15, 1, dram_stride_1=8005, tcdm_stride_1=4004)
    memories = Memories(np.arange(DATA_BYTES, dtype=np.uint8), np.arange(TCDM_BYTES, dtype=np.uint8))
    job = DmaJob([rows] if loads else [], [] if loads else [rows], RINGS, memories, timing=timing)
    result = run_dma(load_model(DmaParameters(axi_bits=axi_bits)), job)
    return rows.bytes / (result.ends[0] - result.begins[0]) / (axi_bits // 8)


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    met = True
    print("rate on rows of 4000 bytes at odd addresses, of the AXI width:")
    for axi_bits in (32, 64, 128):
        rates = {(name, loads): rate(axi_bits, TIMINGS[name], loads=loads)
                 for name in SHOWN for loads in (True, False)}  # fmt: skip
        met &= min(rates["answers at once", True], rates["answers at once", False]) >= LEAST_RATE
        shown = (f"{name}: load {rates[name, True]:.3f}, store {rates[name, False]:.3f}" for name in SHOWN)
        print(f"  {axi_bits:3} bit  {'; '.join(shown)}  (mark {LEAST_RATE} at once)")
    for name, timing in TIMINGS.items():
        sides = {
            loads: measure_tiles(random_tiles(f"bench {name} {loads}", TILES, loads=loads), DmaParameters(), timing,
                                 loads=loads)
            for loads in (True, False)
        }  # fmt: skip
        met &= _compare(name, sides[True] + sides[False])
        for loads, times in sides.items():
            _print_fit("loads " if loads else "stores", times)
    return met


def _print_fit(name: str, times: list[TileTime]) -> None:
    together = [time.transfer for time in times if not time.tile.scattered or time.tile.fast_stride == 1]
    fit = fit_cost(together)
    print(
        f"  {name} T = {fit.transfer:.1f} + {fit.run:.2f} s + {fit.byte:.4f} n over {len(together)} whose bytes lie "
        f"together; errors: mean {100 * fit.mean:.1f} %, 95th percentile {100 * fit.percentile_95:.1f} %, "
        f"largest {100 * fit.largest:.1f} %"
    )


def _compare(name: str, times: list[TileTime]) -> bool:
    errors, cycles = [time.error for time in times], [time.measured for time in times]
    exact = sum(time.predicted == time.measured for time in times)
    print(
        f"cycle model, {name}: {len(times)} random tiles of {min(cycles)} to {max(cycles)} cycles: {exact} to the "
        f"cycle, largest error {100 * max(errors):.2f} % (mark {100 * MOST_ERROR:.0f} %)"
    )
    return max(errors) <= MOST_ERROR
