"""Random tiles of tensors as schedules of clusters have them, and the cycles that the DMA takes to move them."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from cosim.dma.model import load_model
from cosim.dma.run import DATA_BYTES, TCDM_BYTES, DmaJob, Memories, moved, run_dma
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import Descriptor, OperandTag, Ring, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from hwgen.arch.layout import aligned
from hwgen.model.dma.cycles import Times, load_times, store_times
from hwgen.model.dma.fit import Transfer
from hwgen.tools.toolchain import ToolError

__all__ = ["RINGS", "TileTime", "measure_tiles", "random_tile", "random_tiles"]

RINGS = {
    RingSelect.I: Ring(0x10000, 0x10000),
    RingSelect.W: Ring(0x28000, 0x10000),
    RingSelect.O: Ring(0x3C000, 0x10000),
}


def random_tile(random: Random, *, loads: bool) -> Descriptor:
    """A part of a planar map, with word-aligned rows in the TCDM, or a part of the weights."""
    ring = random.choice([RingSelect.I, RingSelect.O])
    start = RINGS[ring].start + random.randrange(0, RINGS[ring].size, 4)
    if loads and random.random() < 0.25:
        return _weights(random)
    element = random.choice([1, 1, 1, 4])
    height, width = random.randint(4, 60), random.randint(8, 228)
    rows = random.randint(1, min(16, height))
    columns = random.choice([width, random.randint(4, width)])
    channels = random.randint(1, 24)
    while channels * rows * columns * element > 24000:
        channels, rows = (channels + 1) // 2, (rows + 1) // 2
    channels = min(channels, DATA_BYTES // 2 // (height * width * element))
    plane, column = height * width * element, random.randint(0, width - columns)
    base = random.randrange(0, DATA_BYTES - channels * plane, 4096 if random.random() < 0.5 else 1)
    pitch = aligned(columns * element, WORD_BYTES) + WORD_BYTES
    tag = OperandTag.I if loads else OperandTag.O
    if columns == width:
        length = rows * width * element
        return Descriptor(length, tag, ring, base, start + base % WORD_BYTES, channels, 1, plane, 0, rows * pitch,
                          scattered=True, fold=width * element, fast_stride=1, slow_stride=pitch)  # fmt: skip
    begin = base + column * element
    return Descriptor(columns * element, tag, ring, begin, start + column * element % WORD_BYTES, rows, channels,
                      width * element, plane, pitch, rows * pitch)  # fmt: skip


def _weights(random: Random) -> Descriptor:
    """Weights of some channels, dense or in the fetch order of lanes along m."""
    taps, channels, lanes = random.choice([1, 9, 9, 25]), random.randint(1, 40), random.choice([1, 4, 8, 16])
    filters = lanes * random.randint(1, 3)
    whole = random.randint(channels, 3 * channels)
    begin = random.randrange(DATA_BYTES - filters * whole * taps)
    length = channels * taps
    start = RINGS[RingSelect.W].start + random.randrange(0, 0x10000, 4)
    if lanes == 1:
        return Descriptor(length, OperandTag.W, RingSelect.W, begin, start, filters, 1, whole * taps, 0, length)
    return Descriptor(length, OperandTag.W, RingSelect.W, begin, start, lanes, filters // lanes, whole * taps,
                      lanes * whole * taps, 1, lanes * length, scattered=True, fold=taps, fast_stride=lanes,
                      slow_stride=lanes * taps)  # fmt: skip


@dataclass(frozen=True)
class TileTime:
    """A tile and its cycles, from the first word of its descriptor (or the previous end) to its end."""

    tile: Descriptor
    measured: int
    predicted: int

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return abs(self.predicted - self.measured) / self.measured

    @property
    def transfer(self) -> Transfer:
        """The tile in the terms of the three-parameter model, whose runs are contiguous in DRAM."""
        joined = sum(joins for _, _, joins in self.tile.joined_runs())
        return Transfer(self.tile.count_1 * self.tile.count_2 - joined, self.tile.bytes, self.measured)


def random_tiles(seed: object, count: int, *, loads: bool, apart: bool = True) -> list[Descriptor]:
    """Random tiles; ``apart``: some of them scattered weights."""
    random = Random(f"{seed}")
    found: list[Descriptor] = []
    while len(found) < count:
        tile = random_tile(random, loads=loads)
        if apart or not tile.apart:
            found.append(tile)
    return found


def measure_tiles(
    tiles: Sequence[Descriptor], parameters: DmaParameters, timing: Dram, *, loads: bool, serial: bool = True
) -> list[TileTime]:
    """Move tiles, serially or as fast as the DMA accepts them, and check the memories."""
    generator = np.random.default_rng(len(tiles))
    memories = Memories(
        generator.integers(0, 256, DATA_BYTES, dtype=np.uint8), generator.integers(0, 256, TCDM_BYTES, dtype=np.uint8)
    )
    job = DmaJob(tiles if loads else [], [] if loads else tiles, RINGS, memories, serial=serial, timing=timing)
    result, expected = run_dma(load_model(parameters), job), moved(job)
    same = np.array_equal(result.memories.dram, expected.dram) and np.array_equal(result.memories.tcdm, expected.tcdm)
    if result.timed_out or not same:
        raise ToolError("the DMA has not moved what it should")
    predicted = (load_times if loads else store_times)(tiles, parameters, timing, serial=serial)
    measured = Times(tuple(result.begins), tuple(result.ends))
    pairs = (measured.cycles, predicted.cycles) if serial else (measured.ends, predicted.ends)
    return [TileTime(tile, *both) for tile, both in zip(tiles, zip(*pairs, strict=True), strict=True)]
