"""HWCs that read together: one read at the memory for each that all of a group make, whenever each of them asks."""

from random import Random
from typing import Any

import pytest

from hwgen.gateware.cluster.multicast import Multicast
from tests.gateware.simulate import simulate

HWCS = 4
READS = 30


def run(leaders: list[int], sequences: list[list[int]], rng: Random, cycles: int) -> tuple[list[list[int]], ...]:
    """The addresses that the memory was asked for at each port, and those whose answers each HWC got."""
    dut = Multicast(HWCS)
    asked: list[list[int]] = [[] for _ in range(HWCS)]
    answered: list[list[int]] = [[] for _ in range(HWCS)]

    async def bench(ctx: Any) -> None:
        for hwc, leader in enumerate(leaders):
            ctx.set(dut.leaders[hwc], leader)
        left, waits = [list(sequence) for sequence in sequences], [False] * HWCS
        due: list[int | None] = [None] * HWCS
        for _ in range(cycles):
            for i, (hwc, memory) in enumerate(zip(dut.hwcs, dut.memory, strict=True)):
                waits[i] = waits[i] or (bool(left[i]) and rng.random() < 0.6)
                ctx.set(hwc.req, waits[i])
                ctx.set(hwc.add, left[i][0] if waits[i] else rng.getrandbits(30) << 2)
                ctx.set(hwc.be, 0b1111)
                ctx.set(memory.gnt, rng.random() < 0.7)
                ctx.set(memory.r_valid, due[i] is not None)
                ctx.set(memory.r_rdata, rng.getrandbits(32) if due[i] is None else ~due[i] & 0xFFFFFFFF)
            for i, hwc in enumerate(dut.hwcs):
                if ctx.get(hwc.r_valid):
                    answered[i].append(~ctx.get(hwc.r_rdata) & 0xFFFFFFFF)
                if waits[i] and ctx.get(hwc.gnt):
                    waits[i] = False
                    del left[i][0]
            for i, memory in enumerate(dut.memory):
                due[i] = ctx.get(memory.add) if ctx.get(memory.req) and ctx.get(memory.gnt) else None
                if due[i] is not None:
                    asked[i].append(due[i])
            await ctx.tick()

    simulate(dut, bench)
    return asked, answered


@pytest.mark.parametrize("leaders", [[0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 2, 2], [0, 1, 2, 1]])
def test_one_read_answers_all_who_have_the_same_leader(leaders: list[int]) -> None:
    rng = Random(str(leaders))
    own = [[rng.getrandbits(30) << 2 for _ in range(READS)] for _ in range(HWCS)]
    sequences = [own[leader] for leader in leaders]
    asked, answered = run(leaders, sequences, rng, 40 * READS)
    assert answered == sequences
    assert asked == [own[hwc] if leaders[hwc] == hwc else [] for hwc in range(HWCS)]


def test_hwcs_that_ask_for_different_words_wait() -> None:
    sequences = [[0, 4, 8], [0, 4, 12], [0], [0]]
    asked, answered = run([0, 0, 2, 3], sequences, Random(1), 100)
    assert asked == [[0, 4], [], [0], [0]]
    assert answered == [[0, 4], [0, 4], [0], [0]]
