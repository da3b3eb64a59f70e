"""AlexNet's five rows, full size, on the cluster of four HWCs: counts, cycles, overlap of transfers and arithmetic.

Marks, all of simulated hardware:

- at full rate every count at every level is the predicted one and outputs are exact; cycles are within 5 % of the
  predicted ones; the multipliers are busy for 0.85 of the time on rows 2 to 5; one HWC takes 3.6 times as long as
  four on rows 3 to 5;
- with a DRAM that was tuned for the row, so that transfers take about as long as the arithmetic (0.8 to 1.2 of it),
  the whole takes at most 1.10 times the longer of the two, besides the first load and the last store, and at least
  1.6 times as long one after the other; cycles are within 5 %.

The DRAM of the second mark is another one for each row (`TIMINGS`): it shows that transfers and arithmetic overlap
where both take equally long, and says nothing about how fast the rows are with any one DRAM.

Without arguments all rows: some minutes. ``python -m benchmarks.bench_clusters 5`` does row 5 alone.
"""

import sys

from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from hwgen.arch.dram import Dram
from hwgen.arch.hardware_file import load_hardware
from hwgen.cli.console import CYCLES_NOTE
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.model.cluster.parts import loads, stores
from hwgen.model.cluster.tile_order import TileWalk
from hwgen.model.dram.counts import dram_layout, runs_of

BLOCK = 128
MOST_ERROR = 0.05
LEAST_UTILISATION = 0.85
LEAST_SPEEDUP = 3.6
MOST_OF_THE_LONGER = 1.10
LEAST_SERIAL = 1.6
BALANCE = (0.8, 1.2)
TIMINGS = {
    1: Dram(latency=20, miss_cycles=555, block_cycles=250.0),
    2: Dram(latency=20, miss_cycles=10, block_cycles=221.0),
    3: Dram(latency=20, miss_cycles=10, block_cycles=131.0),
    4: Dram(latency=20, miss_cycles=10, block_cycles=230.0),
    5: Dram(latency=20, miss_cycles=10, block_cycles=230.0),
}
"""The DRAM of each row: the cycles of a 128-byte block are chosen so that transfers take about as long as
the arithmetic of that row."""


def row(number: int) -> Schedule:
    """The schedule of one row."""
    return load_schedule(
        named_file("hardware", "alexnet_cluster").parents[1] / f"alexnet_cluster/alexnet_{number}.yaml"
    )


def transfer_cycles(result: LayerResult, timing: Dram) -> float:
    """What the DRAM is occupied for by all that was moved."""
    moved = result.measured.at("dram").accesses.values()
    return sum(one.blocks * timing.block_cycles + one.row_misses * timing.miss_cycles for one in moved)


def ends_cycles(schedule: Schedule, timing: Dram) -> float:
    """The same for what nothing can overlap: the loads of the first tile and the stores of the last one."""
    layout = dram_layout(schedule)
    last = len(TileWalk(schedule).tiles) - 1
    parts = [*(part for part in loads(schedule) if part.tile == 0), *(p for p in stores(schedule) if p.tile == last)]
    cycles = 0.0
    for part in parts:
        start, stop = runs_of(schedule, layout, part)
        blocks, rows = (int(((stop - 1) // unit - start // unit + 1).sum()) for unit in (BLOCK, timing.row_bytes))
        misses = min(rows, int(stop[-1] - start[0]) // timing.row_bytes + 1)
        cycles += blocks * timing.block_cycles + misses * timing.miss_cycles
    return cycles


def shown(name: str, result: LayerResult) -> bool:
    """Print one run; whether counts, outputs and cycles are what they should be."""
    error = result.predicted_cycles / result.cycles - 1
    print(
        f"  {name:18} {result.cycles:>11,} cycles, predicted {error:+.2%}; utilisation {result.utilisation:.3f}; "
        f"counts {'equal' if result.equal else 'DIFFER'}, outputs {'exact' if result.output_exact else 'WRONG'}",
        flush=True,
    )
    for failure in result.failures:
        print(f"    {failure}")
    return result.passed and abs(error) <= MOST_ERROR


def against_one(schedule: Schedule, one: Hardware, free: LayerResult) -> bool:
    """The same tiles on one HWC."""
    (alone,) = cosimulate_clusters([schedule], one)
    met = shown("one HWC", alone)
    speedup = alone.cycles / free.cycles
    print(f"  four HWCs against one: {speedup:.2f} (mark {LEAST_SPEEDUP})", flush=True)
    return met and speedup >= LEAST_SPEEDUP


def overlapping(number: int, schedule: Schedule, four: Hardware, free: LayerResult) -> bool:
    """Transfers that take about as long as the arithmetic: side by side, and one after the other."""
    timing, compute = TIMINGS[number], free.stalls["busy_compute"]
    transfer = transfer_cycles(free, timing)
    (timed,) = cosimulate_clusters([schedule], four, timing=timing)
    print(
        f"  DRAM tuned for this row: {timing.block_cycles:g} cycles a block, {timing.miss_cycles} more on a row miss",
        flush=True,
    )
    met = shown("tuned DRAM", timed)
    (serial,) = cosimulate_clusters([schedule], four, timing=timing, serial=True)
    met = shown("one after the other", serial) and met
    balance, longer, ratio = transfer / compute, max(transfer, compute), serial.cycles / timed.cycles
    between = timed.cycles - ends_cycles(timed.schedule, timing)
    print(
        f"  transfer / compute {balance:.2f} (mark {BALANCE[0]} to {BALANCE[1]}); between the ends / longer "
        f"{between / longer:.3f} (mark {MOST_OF_THE_LONGER}); serial / total {ratio:.2f} (mark {LEAST_SERIAL})",
        flush=True,
    )
    overlaps = between <= MOST_OF_THE_LONGER * longer and ratio >= LEAST_SERIAL
    return met and overlaps and BALANCE[0] <= balance <= BALANCE[1]


def main(rows: tuple[int, ...] = (1, 2, 3, 4, 5)) -> bool:
    """Measure, print, and say whether the marks are met."""
    four = load_hardware(named_file("hardware", "alexnet_cluster"))
    assert four.cluster is not None
    one = four.model_copy(update={"cluster": four.cluster.model_copy(update={"hwcs": 1})})
    met = True
    print(CYCLES_NOTE)
    for number in rows:
        schedule = row(number)
        print(f"{schedule.layer.name}: {schedule.layer.macs:,} multiply-accumulates", flush=True)
        (free,) = cosimulate_clusters([schedule], four)
        met = shown("full rate", free) and (number == 1 or free.utilisation >= LEAST_UTILISATION) and met
        met = overlapping(number, schedule, four, free) and met
        met = (number < 3 or against_one(schedule, one, free)) and met
    return met


if __name__ == "__main__":
    raise SystemExit(0 if main(tuple(map(int, sys.argv[1:])) or (1, 2, 3, 4, 5)) else 1)
