"""The lines of a cluster's DMA against a walk over the bytes of its descriptors."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Queue, encode, end, join, load, start, store
from hwgen.arch.descriptor import Descriptor
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from hwgen.ir.lanes import Lanes
from hwgen.lower.cluster import moved_lines as lines
from hwgen.model.cluster.bank_waits import Moved
from hwgen.model.system.cycles import PlayedProgram, play_together
from hwgen.model.system.times import Beside, Moves
from tests.model.system.test_cycles import HWC
from tests.random.descriptors import random_descriptors


def walked(one: Descriptor, dma: DmaParameters) -> list[tuple[set[int], bool]]:
    """The words of each line, byte by byte, and whether it writes single bytes: a line begins with a segment."""
    found: list[tuple[set[int], bool]] = []
    for _, begin in one.runs():
        addresses = [begin + offset for offset in one.offsets()]
        if one.apart:
            for at in range(0, len(addresses), dma.scattered_bytes):
                found.append(({byte // 4 for byte in addresses[at : at + dma.scattered_bytes]}, True))
            continue
        fold = one.fold if one.scattered else one.length
        for index, byte in enumerate(addresses):
            if index % fold == 0:
                first = byte // 4
            if index % fold == 0 or (byte % 4 == 0 and (byte // 4 - first) % dma.ports == 0):
                found.append((set(), False))
            found[-1][0].add(byte // 4)
    return found


@pytest.mark.parametrize("axi_bits", [32, 64, 128])
@pytest.mark.parametrize("queue", [Queue.LOAD, Queue.STORE])
def test_lines_of_random_programs(queue: Queue, axi_bits: int) -> None:
    rng, hardware = Random(axi_bits), ClusterParameters(HWC, 2, axi_bits=axi_bits)
    compared = 0
    for _ in range(40):
        moves = random_descriptors(rng, 4, loads=queue is Queue.LOAD)
        commands: list[Command] = [(load if queue is Queue.LOAD else store)(one.encode()) for one in moves]
        (played,) = play_together([_beside_one_start(commands)], hardware, Dram())
        (times,) = played.beside
        ((loads, stores),) = lines.moved_lines(commands, hardware, [0], [times])
        found, none = (loads, stores) if queue is Queue.LOAD else (stores, loads)
        assert none.number == 0
        # Bytes that are written one by one take a line more where a beat ends among them.
        more = sum(one.apart * one.count_1 * one.count_2 * (one.length * 8 // axi_bits + 1) for one in moves)
        number = (times.load if queue is Queue.LOAD else times.store).lines
        assert found.number <= number <= found.number + more
        assert (none.words < 0).all()
        if found.number > lines.PLAYED_LINES:
            continue
        compared += 1
        assert [
            ({word for word in words if word >= 0}, bool(single))
            for words, single in zip(found.words.tolist(), found.single, strict=True)
        ] == [line for one in moves for line in walked(one, hardware.dma)]
    assert compared >= 8


def test_long_programs_are_played_in_parts() -> None:
    """Of 4,000 lines of words and as many bytes there are stretches of both, in their order."""
    hardware = ClusterParameters(HWC, 2, axi_bits=32)
    words = Descriptor(16_000, 0, 0, 0, 0)  # type: ignore[arg-type]
    single = Descriptor(4_000, 2, 2, 0, 0, scattered=True, fold=9999, fast_stride=8)  # type: ignore[arg-type]
    moves = [load(words.encode()), load(single.encode())]
    ((loads, _),) = lines.moved_lines(moves, hardware, [0], [_loads(8000, 8000)])
    assert loads.number == 8000
    assert len(loads.words) == lines.PLAYED_LINES
    assert loads.single.sum() == pytest.approx(lines.PLAYED_LINES / 2, abs=lines.STRETCH)
    steps = np.diff(loads.words[~loads.single, 0])
    assert (steps == 1).sum() >= len(steps) - lines.PLAYED_LINES // lines.STRETCH


def _beside_one_start(moves: Sequence[Command]) -> PlayedProgram:
    """What is moved while an HWC computes for as long as it takes."""
    commands = [start(1), *moves, join(1), end()]
    return PlayedProgram(commands, [1 << 20], 1 << 24, len(encode(commands)))


def _loads(number: int, last: int) -> Beside:
    """So many lines are loaded beside a START, the last of them is this one."""
    return Beside(Moves(number, number, last), Moves())


def _tiles(number: int) -> list[Command]:
    """Three lines of 64 bits for each tile."""
    return [load(Descriptor(20, 2, 0, 0, 64 * tile).encode()) for tile in range(number)]  # type: ignore[arg-type]


def _places(moved: Moved) -> list[tuple[int, int]]:
    """The tile that each line is of, and its number in it."""
    return [(word // 16, word % 16 // 2) for word in moved.words[:, 0].tolist()]


def test_lines_beside_work_are_those_that_the_dma_moved_then() -> None:
    """Tiles of two kinds in turns; what is loaded before the first one is beside none."""
    hardware = ClusterParameters(HWC, 2, axi_bits=64)
    even = [*(_loads(3, 6 + 3 * tile) for tile in range(4)), _loads(0, 0)]
    (first, none), (second, _) = lines.moved_lines(_tiles(5), hardware, [0, 1, 0, 1, 0], even)
    assert _places(first) == [(1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (3, 2)]
    assert _places(second) == [(2, 0), (2, 1), (2, 2), (4, 0), (4, 1), (4, 2)]
    assert (first.number, none.number, second.number) == (6, 0, 6)
    # Two tiles are loaded beside the first one, two lines beside the third one.
    early = [_loads(6, 9), _loads(0, 0), _loads(2, 11), _loads(3, 15), _loads(0, 0)]
    (first, _), (second, _) = lines.moved_lines(_tiles(5), hardware, [0, 1, 0, 1, 0], early)
    assert _places(first) == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1)]
    assert _places(second) == [(4, 0), (4, 1), (4, 2)]


def test_lines_beside_work_of_no_kind_are_beside_none() -> None:
    hardware = ClusterParameters(HWC, 2, axi_bits=64)
    beside = [*(_loads(3, 6 + 3 * tile) for tile in range(3)), _loads(0, 0)]
    ((loads, _),) = lines.moved_lines(_tiles(4), hardware, [0, -1, 0, -1], beside)
    assert _places(loads) == [(1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (3, 2)]


def test_estimated_bytes_go_to_the_lanes() -> None:
    """Nine taps of a filter are a line of all lanes apart, the next channel as many bytes on as there are filters."""
    dma, lanes = DmaParameters(axi_bits=32), Lanes(m=16, c=8)
    loads, stores = lines.estimated_lines(dma, lanes, 9, (0, 1000, 500))
    assert (loads.number, stores.number) == (1000, 500)
    assert loads.single.all()
    assert loads.words[:10, 0].tolist() == [*(32 * tap for tap in range(9)), 4]
    mixed, _ = lines.estimated_lines(dma, lanes, 9, (3000, 1000, 0))
    assert mixed.single.mean() == pytest.approx(0.25, abs=0.02)
