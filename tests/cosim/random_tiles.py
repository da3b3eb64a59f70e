"""Random tiles of tensors for the DMA, of the kind that a schedule of two levels makes."""

from random import Random

from cosim.dma_run import DATA_BYTES
from hwgen.gateware.descriptor import Descriptor, OperandTag, Ring, RingSelect

RINGS = {
    RingSelect.I: Ring(0x10000, 0x10000),
    RingSelect.W: Ring(0x28000, 0x10000),
    RingSelect.O: Ring(0x3C000, 0x10000),
}


def random_tile(random: Random, *, loads: bool) -> Descriptor:
    """Channels, rows and columns out of a planar map, its rows on words in the TCDM; or weights."""
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
    pitch = -(-columns * element // 4) * 4 + 4
    tag = OperandTag.I if loads else OperandTag.O
    if columns == width:
        length = rows * width * element
        return Descriptor(length, tag, ring, base, start + base % 4, channels, 1, plane, 0, rows * pitch,
                          scattered=True, fold=width * element, fast_stride=1, slow_stride=pitch)  # fmt: skip
    begin = base + column * element
    return Descriptor(columns * element, tag, ring, begin, start + column * element % 4, rows, channels,
                      width * element, plane, pitch, rows * pitch)  # fmt: skip


def _weights(random: Random) -> Descriptor:
    """Weights of some channels, dense, or in the order in which lanes along m use them."""
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
