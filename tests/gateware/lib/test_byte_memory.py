"""The memory of byte-wide banks against a list of bytes: runs from anywhere, at its end too."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module

from hwgen.gateware.lib.byte_memory import BankWrites, ByteMemory
from tests.gateware.simulate import simulate


def _joined(word: BankWrites, *memories: ByteMemory) -> Module:
    """Memories that are written alike."""
    m = Module()
    m.submodules.word = word
    for memory in memories:
        m.submodules += memory
        m.d.comb += memory.i_banks.eq(word.o_banks)
    return m


SHAPES = [
    *((*sizes, 4, False) for sizes in [(2, 4, 1), (5, 4, 2), (3, 4, 4), (2, 8, 8), (7, 8, 3), (3, 16, 16)]),
    (2, 16, 1, 4, False),
    (8, 4, 4, 4, True),
    (3, 8, 2, 8, False),
    (2, 16, 3, 8, True),
    (3, 16, 16, 16, False),
]


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        *((shape, {}) for shape in SHAPES),
        *((shape, {"block_ram": True}) for shape in SHAPES[::2]),
        *((shape, {"rotates_late": True}) for shape in SHAPES[:6:2]),
        *((shape, {"fills": True}) for shape in SHAPES if shape[2] == 1),
    ],
)
def test_reads_what_was_written_wherever_a_run_begins_and_ends(
    shape: tuple[int, int, int, int, bool], kind: dict[str, bool]
) -> None:
    depth, banks, lanes, writes, aligned = shape
    memory = ByteMemory(depth=depth, banks=banks, lanes=lanes, **kind)
    word = BankWrites(depth=depth, banks=banks, writes=writes, aligned=aligned)
    apart = writes if aligned else 1
    size, rng = depth * banks, random.Random(depth * banks + lanes)
    expected = [0] * size

    async def bench(ctx: Any) -> None:
        async def write(address: int, enable: int, chosen: int = 1) -> None:
            values = [rng.randrange(256) for _ in range(writes)]
            ctx.set(word.address, address)
            ctx.set(word.enable, enable)
            ctx.set(word.data, values)
            ctx.set(memory.chosen, chosen)
            for i in range(writes):
                if enable >> i & chosen & 1:
                    expected[(address + i) % size] = values[i]
            await ctx.tick()
            ctx.set(word.enable, 0)

        async def read(address: int) -> list[int]:
            ctx.set(memory.read_address, address)
            if "fills" in kind:
                outside = rng.randrange(256)
                ctx.set(memory.inside, 0)
                ctx.set(memory.outside, outside)
                await ctx.tick()
                assert ctx.get(memory.read_data[0]) == outside
                ctx.set(memory.inside, 1)
            await ctx.tick()
            return [ctx.get(memory.read_data[lane]) for lane in range(lanes)]

        for address in range(0, size, apart):
            await write(address, (1 << writes) - 1)
        for _ in range(100):
            await write(rng.randrange(0, size, apart), rng.randrange(1 << writes), chosen=rng.choice((0, 1, 1)))
            at = rng.randrange(size)
            assert await read(at) == [expected[(at + lane) % size] for lane in range(lanes)]
        for at in range(size):
            assert await read(at) == [expected[(at + lane) % size] for lane in range(lanes)]
        # Lanes on padding come before the first byte.
        for before in range(1, lanes):
            seen = await read((1 << len(memory.read_address)) - before)
            assert seen[before:] == expected[: lanes - before]

    simulate(_joined(word, memory), bench)


def test_block_ram_answers_the_same_in_every_cycle() -> None:
    word, rng = BankWrites(depth=3, banks=8), random.Random("block ram")
    luts, blocks = (ByteMemory(depth=3, banks=8, lanes=5, block_ram=block_ram) for block_ram in (False, True))

    async def bench(ctx: Any) -> None:
        changed = 0
        for _ in range(400):
            at, into = rng.randrange(24), rng.randrange(24)
            values, enable = [rng.randrange(256) for _ in range(4)], rng.randrange(16)
            ctx.set(word.address, into)
            ctx.set(word.enable, enable)
            ctx.set(word.data, values)
            for memory in (luts, blocks):
                ctx.set(memory.read_address, at)
            await ctx.tick()
            one, other = (list(ctx.get(memory.read_data)) for memory in (luts, blocks))
            assert one == other
            changed += any(one)
        assert changed > 300

    simulate(_joined(word, luts, blocks), bench)
