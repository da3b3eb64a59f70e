"""Random descriptors for the DMA, and what the DRAM counts of them, computed from their runs one after the other."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from cosim.device.dram import COUNTERS, Region
from cosim.dma.run import DATA_BYTES, TCDM_BYTES, Memories
from hwgen.arch.descriptor import Descriptor, OperandTag, Ring, RingSelect
from hwgen.arch.dram import Dram

RINGS = {
    RingSelect.I: Ring(0x0C84, 0x0984),
    RingSelect.W: Ring(0x2000, 0x1000),
    RingSelect.O: Ring(TCDM_BYTES, 0x2F10),
}
REGIONS = (
    Region(0x0, 0x4000, OperandTag.I),
    Region(0x4000, 0x6000, OperandTag.P),
    Region(0x6000, 0x20000, OperandTag.W),
    Region(0x20000, 0x31000, OperandTag.B),
    Region(0x32000, 0x60000, OperandTag.O_PARTIAL),
    Region(0x60000, DATA_BYTES, OperandTag.O),
)
"""Of the DRAM, with a gap. Bursts do not cross their borders."""
LOADED = (OperandTag.I, OperandTag.W, OperandTag.B, OperandTag.O_PARTIAL)
STORED = (OperandTag.O, OperandTag.O_PARTIAL)


def random_memories(seed: int) -> Memories:
    generator = np.random.default_rng(seed)
    return Memories(
        generator.integers(0, 256, DATA_BYTES, dtype=np.uint8), generator.integers(0, 256, TCDM_BYTES, dtype=np.uint8)
    )


def random_length(random: Random, most: int) -> int:
    return min(most, random.choice([random.randint(1, 9), random.randint(1, 70), random.randint(1, 700), 5000]))


def random_descriptor(random: Random, *, loads: bool, dram: range = range(DATA_BYTES)) -> Descriptor:
    """Any kind: packed, folded or scattered; dense or with gaps on the DRAM's side."""
    tag = random.choice(LOADED if loads else STORED)
    ring = random.choice(list(RingSelect))
    size = RINGS[ring].size if ring else 0x6000
    length = random_length(random, size // 2)
    count_1, count_2 = random.choice([1, 1, 2, 3, 7]), random.choice([1, 1, 2, 5])
    stride_1 = length + random.choice([0, 0, 1, random.randint(0, 300)])
    stride_2 = count_1 * stride_1 + random.choice([0, 0, 3, random.randint(0, 3000)])
    span = (count_2 - 1) * stride_2 + (count_1 - 1) * stride_1 + length
    limit = size if ring else size // (count_1 * count_2)
    tcdm = RINGS[ring].start + random.randrange(size) if ring else 0x3000 + random.randrange(4096)
    steps = [random.randrange(limit) if ring else length + random.randrange(64) for _ in range(2)]
    if not ring:
        steps[1] += count_1 * steps[0]
    values = {}
    if ring and random.random() < 0.5:
        fold = random.randint(1, min(length, 40))
        fast = 1 if not loads or random.random() < 0.5 else random.randint(2, 20)
        if (length // fold + 1) * (fold * fast + 8) < size:
            values = {"scattered": True, "fold": fold, "fast_stride": fast}
            values["slow_stride"] = fold * fast + random.randrange(8)
    found = Descriptor(
        length=length,
        tag=tag,
        ring=ring,
        dram_address=dram[0] + random.randrange(max(1, len(dram) - span)),
        tcdm_address=tcdm,
        count_1=count_1,
        count_2=count_2,
        dram_stride_1=stride_1,
        dram_stride_2=stride_2,
        tcdm_stride_1=steps[0],
        tcdm_stride_2=steps[1],
        **values,
    )
    return found if span <= len(dram) else random_descriptor(random, loads=loads, dram=dram)


def random_descriptors(
    random: Random, count: int, *, loads: bool, dram: range = range(DATA_BYTES)
) -> list[Descriptor]:
    """Descriptors one after the other; now and then the next load continues the one before."""
    found: list[Descriptor] = []
    for _ in range(count):
        fresh = random_descriptor(random, loads=loads, dram=dram)
        if loads and found and random.random() < 0.3:
            moved = replace(fresh, dram_address=found[-1].dram_end, tag=found[-1].tag)
            if moved.dram_end <= dram[-1]:
                found[-1] = replace(found[-1], continues=True)
                fresh = moved
        found.append(fresh)
    return found


def maximal_runs(descriptors: Iterable[Descriptor]) -> list[tuple[int, int, OperandTag]]:
    """Address, bytes and tag of what is contiguous in DRAM."""
    runs: list[tuple[int, int, OperandTag]] = []
    joins = False
    for descriptor in descriptors:
        for address, _ in descriptor.runs():
            if joins and runs[-1][0] + runs[-1][1] == address:
                runs[-1] = (runs[-1][0], runs[-1][1] + descriptor.length, descriptor.tag)
            else:
                runs.append((address, descriptor.length, descriptor.tag))
            joins = True
        joins = descriptor.continues
    return runs


def kind_at(address: int) -> OperandTag | None:
    """What an access there is counted as."""
    return next((region.kind for region in REGIONS if region.base <= address < region.end), None)


def dram_counts(
    descriptors: Sequence[Descriptor], beat_bytes: int, timing: Dram
) -> dict[OperandTag | None, dict[str, int]]:
    """What the DRAM counts of one channel's descriptors, burst by burst, by the region that each is in."""
    window = min(4096, 256 * beat_bytes)
    counts = {kind: dict.fromkeys(COUNTERS, 0) for kind in (*OperandTag, None)}
    last_end, rows = -1, {}
    for first, length, _ in maximal_runs(descriptors):
        for part in range(first // window, (first + length - 1) // window + 1):
            begin, end = max(first, part * window), min(first + length, (part + 1) * window)
            counted = counts[kind_at(begin)]
            counted["bytes"] += end - begin
            counted["beats"] += (end - 1) // beat_bytes - begin // beat_bytes + 1
            counted["axi_bursts"] += 1
            counted["jumps"] += begin != last_end
            last_end = end
            for block in range(begin // 128, (end - 1) // 128 + 1):
                counted["blocks"] += 1
                row = block * 128 // timing.row_bytes
                bank = row % timing.banks
                counted["row_misses"] += rows.get(bank) != row
                rows[bank] = row
    return counts
