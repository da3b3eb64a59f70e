"""The cycles of a cluster's slices with what they wait at the banks of its memory."""

from collections import Counter
from collections.abc import Sequence

from hwgen.arch.bus import WORD_BITS
from hwgen.ir.hardware import Cluster
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster.leaders import input_read
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.model.cluster.bank_waits import InputWords, Port, cycles_at_banks
from hwgen.model.cluster.placement import Placed
from hwgen.model.nest.one_level import local_crossings
from hwgen.model.nest.ranges import Nest

__all__ = ["with_waits"]


def with_waits(
    works: Sequence[Sequence[int]], tiles: TileCommands, inputs: Placed, group: int, cluster: Cluster, moved: float
) -> list[list[int]]:
    """``works``, cycles of the slices of each tile where nothing waits, with the waits at the banks.

    ``inputs`` : where I is; ``group`` : output channels of a group; ``moved`` : words that the DMA moves in all.
    """
    rate = moved / max(1, sum(map(max, works)))
    found: dict[tuple[int, int, int, int], int] = {}

    def waiting(small: Schedule, work: int, hwcs: int, alike: int) -> int:
        """The cycles of a slice; ``alike`` : slices of the tile that read the same I."""
        key = id(small), work, hwcs, alike
        if key not in found:
            alike = min(alike, hwcs)
            led, read = cluster.multicast and alike > 1, _input_words(small, inputs)
            ports = _ports(small, hwcs, hwcs // alike if led else hwcs)
            found[key] = cycles_at_banks(ports, work, cluster.banks, rate, read, 1 if led else alike)
        return found[key]

    def tile(parts: Sequence[Slice], ones: Sequence[int]) -> list[int]:
        hwcs = len({part.hwc for part in parts})
        if hwcs == 1:
            return list(ones)
        reads = [input_read(part, group) for part in parts]
        number = Counter(reads)
        return [
            waiting(tiles.small(part), work, hwcs, number[read])
            for part, work, read in zip(parts, ones, reads, strict=True)
        ]

    return [tile(parts, ones) for parts, ones in zip(tiles.slices, works, strict=True)]


def _ports(small: Schedule, hwcs: int, readers: int) -> list[Port]:
    """The ports for I, W and O, without the few reads of biases; ``readers`` : HWCs that ask for I themselves."""
    crossings, found = local_crossings(Nest(small)), []
    for array in ARRAYS:
        accesses = sum(access.words for access in crossings[array].accesses.values())
        words = getattr(small.ports, array) // WORD_BITS
        found.append(Port(accesses, words, readers if array == "I" else hwcs))
    return found


def _input_words(small: Schedule, placed: Placed) -> InputWords:
    """What an HWC reads of I, by the extents of its first tile."""
    layer, marked = small.layer, small.marked_loop("I")
    held = layer.extents | {loop.dim: loop.step for loop in small.loops[: 0 if marked is None else marked + 1]}
    rows = min((held["y"] - 1) * layer.stride[0] + held["k"], layer.input_height)
    columns = min((held["x"] - 1) * layer.stride[1] + held["l"] + layer.columns_beside, layer.input_width)
    word, channels = small.ports.I // 8, min(held["c"], layer.channels_per_group)
    return InputWords(
        pitch=placed.pitch // word,
        plane=placed.plane // word,
        rows=rows,
        channels=channels,
        words=-(-columns * placed.element // word),
        tiles=-(-layer.channels_per_group // channels),
    )
